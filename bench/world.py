"""
A world to measure in: a tenant of so many memories among others, written as the tables' owner.

The notes are made up, of words as unequally frequent as those of a language, with names, numbers
and paths between them. One in ten is embedded by the bundled model; the others stand near one of
those, as restated and related notes do.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

Vectors = np.ndarray[Any, Any]

EMBEDDED_SHARE = 10
SPREAD = 0.35  # how far the others stand from the embedded ones; the cosine is some 0.94
MANDELBROT = 40
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
OTHER_TENANTS = 4
_SYLLABLES = [first + second for first in "bdklmnrst" for second in "aeio"]
_SMALL = ("the", "is", "on", "for", "and", "to", "in", "of", "with")
_COPIED = (
    "id", "tenant_id", "owner_id", "author_level", "provenance_rank", "project_id", "visibility",
    "kind", "content", "text_key", "words", "subjects", "tags", "importance", "created_at",
    "version",
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """A tenant whose one project somebody reads and writes, with its notes."""

    tenant_id: UUID
    project_id: UUID
    member_id: UUID
    token: str
    notes: list[str]
    size: int


def built(owner_url: str, size: int) -> World:
    """Return a world of so many live memories, beside smaller tenants of some of the same notes."""
    chance = random.Random(size)
    notes = _notes(chance, size)
    vectors = _vectors(notes)
    with psycopg.connect(owner_url) as connection:
        world = _tenant(connection, "measured", notes, vectors)
        for number in range(OTHER_TENANTS):
            some = slice(number, None, 5)
            _tenant(connection, f"other-{number}", notes[some], vectors[some])
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM (ANALYZE) memories, embeddings")
    return world


def questions(world: World, count: int, seed: int = 1) -> list[str]:
    """Return so many questions, of some words of one note each."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        words = chance.choice(world.notes).rstrip(".").split()
        start = chance.randrange(max(1, len(words) - 7))
        found.append(" ".join(words[start : start + chance.randint(4, 8)]))
    return found


def fresh_notes(world: World, count: int, seed: int = 2) -> list[str]:
    """Return so many notes that the world does not hold."""
    known = set(world.notes)
    made: dict[str, None] = {}
    chance = random.Random(seed)
    words = _vocabulary()
    while len(made) < count:
        note = _note(chance, words)
        if note not in known:
            made[note] = None
    return list(made)


def _vocabulary() -> list[str]:
    chance = random.Random(0)
    words = {"".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(6000)}
    names = [f"{one.upper()}_{chance.randint(1, 99)}" for one in sorted(words)[:600]]
    paths = [f"src/{one}/{one}.py" for one in sorted(words)[600:1200]]
    every = sorted(words) + names + paths
    chance.shuffle(every)
    return every


def _notes(chance: random.Random, count: int) -> list[str]:
    words = _vocabulary()
    made: dict[str, None] = {}
    while len(made) < count:
        made[_note(chance, words)] = None
    return list(made)


def _note(chance: random.Random, words: Sequence[str]) -> str:
    # As in a language without its small words (Mandelbrot's form of Zipf's law): the commonest
    # words stand in one note of ten.
    said = []
    for _ in range(chance.randint(8, 30)):
        place = int(MANDELBROT * ((len(words) / MANDELBROT + 1) ** chance.random() - 1))
        said.append(chance.choice(_SMALL) if chance.random() < 0.35 else words[place])
    said.insert(chance.randrange(len(said)), str(chance.randint(1000, 9999)))
    return " ".join(said) + "."


def _vectors(notes: Sequence[str]) -> Vectors:
    from memory.finding.embedding import embed_all  # noqa: PLC0415  needs Django

    base = np.array(embed_all(notes[::EMBEDDED_SHARE]), dtype=np.float32)
    noise = np.random.default_rng(0)
    vectors = np.repeat(base, EMBEDDED_SHARE, axis=0)[: len(notes)]
    offsets = noise.normal(size=vectors.shape).astype(np.float32) / np.sqrt(vectors.shape[1])
    offsets[::EMBEDDED_SHARE] = 0
    vectors = vectors + SPREAD * offsets
    normed: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normed


def _tenant(
    connection: "psycopg.Connection[Any]",
    slug: str,
    notes: Sequence[str],
    vectors: Vectors,
) -> World:
    from tenants.caller import Scope  # noqa: PLC0415  needs Django
    from tenants.founding import found_project, found_tenant, give_token, grant, seat  # noqa: PLC0415

    tenant = found_tenant(slug, slug)
    project = found_project(tenant, "notes", "Notes")
    writer = seat(tenant, f"writer-{slug}", "Writer", level=30)
    reader = seat(tenant, f"reader-{slug}", "Reader", level=30)
    for member in (writer, reader):
        grant(member, project, ("see_project", "write_project"))
    _, token = give_token(reader, "bench", scopes=(Scope.READ, Scope.WRITE), project=project)
    world = World(tenant.id, project.id, reader.id, token, list(notes), len(notes))
    _copy(connection, world, writer.id, vectors)
    return world


def _copy(
    connection: "psycopg.Connection[Any]",
    world: World,
    writer_id: UUID,
    vectors: Vectors,
) -> None:
    from memory.finding.embedding import current  # noqa: PLC0415  needs Django
    from tenants.ids import new_id  # noqa: PLC0415

    ids = [new_id() for _ in world.notes]
    cursor = connection.cursor()
    with cursor.copy(f"COPY memories ({', '.join(_COPIED)}) FROM STDIN") as copy:
        for row in _rows(world, writer_id, ids):
            copy.write_row(row)
    space = current().id
    columns = "id, tenant_id, memory_id, space, vector, owner_id, visibility, kind, lifecycle"
    with cursor.copy(f"COPY embeddings ({columns}) FROM STDIN") as copy:
        for memory_id, vector in zip(ids, vectors, strict=True):
            text = f"[{','.join(map(str, vector))}]"
            copy.write_row(
                (new_id(), world.tenant_id, memory_id, space, text, writer_id, "", "", "")
            )


def _rows(world: World, writer_id: UUID, ids: Sequence[UUID]) -> Iterator[tuple[Any, ...]]:
    from memory.finding.words import tsvector  # noqa: PLC0415  needs Django

    for number, (memory_id, note) in enumerate(zip(ids, world.notes, strict=True)):
        # All is in the reader's sight, by the three ways there are.
        visibility = "tenant" if number % 20 == 0 else "private" if number % 20 == 1 else "project"
        owner_id = world.member_id if visibility == "private" else writer_id
        yield (
            memory_id, world.tenant_id, owner_id, 30, 2, world.project_id, visibility, "fact", note,
            hashlib.sha256(note.encode()).digest(), tsvector(note), ["bench.notes"], ["bench"], 0.5,
            WRITTEN + timedelta(seconds=number), 1,
        )  # fmt: skip
