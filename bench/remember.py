"""
B2: remember over HTTP against its floor.

The floor embeds the note in this process and inserts the memory, its vector and its event as the
owner of the tables, in one transaction, with the same indexes, keys and triggers. It looks for
nothing: no repeats, no neighbours, no places.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import psycopg

from bench.instance import Client, Instance
from bench.measuring import compared, in_turns
from bench.world import World, fresh_notes

TARGET = 2.5

_MEMORY = """
INSERT INTO memories (id, tenant_id, owner_id, author_level, provenance_rank, project_id,
                      visibility, kind, content, text_key, words, subjects, tags, importance,
                      version)
VALUES (%s, %s, %s, 30, 2, %s, 'project', 'fact', %s, %s, %s::tsvector, '{}', '{}', 0.5, 1)
"""
_VECTOR = """
INSERT INTO embeddings (id, tenant_id, memory_id, space, vector,
                        owner_id, visibility, kind, lifecycle)
VALUES (%s, %s, %s, %s, %s::halfvec, %s, '', '', '')
"""
_EVENT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id,
                    request_id, reason, after)
VALUES (%s, %s, 'remember', 'memory', %s, %s, %s, '', '', %s)
"""


def against_the_floor(instance: Instance, world: World, requests: int) -> dict[str, Any]:
    """
    Return the measurement B2.

    :raises AssertionError: if what was remembered is not there, word for word
    """
    client = Client(instance.base_url, world.token)

    def ours(notes: tuple[str, str]) -> Any:
        return client.post("/memories", {"content": notes[0], "project": "notes"})

    count = requests + requests // 10
    notes = fresh_notes(world, 2 * count)
    with psycopg.connect(instance.owner_url) as connection:
        pair = in_turns(
            ours,
            floor_of(connection, world),
            list(zip(notes[::2], notes[1::2], strict=True)),
            warm_up=requests // 10,
            compare=must_be_kept,
        )
    return {**compared(pair, target=TARGET), "sizes": {"memories": world.size}}


def floor_of(
    connection: "psycopg.Connection[Any]", world: World
) -> Callable[[tuple[str, str]], None]:
    """Return the floor: it keeps the second of two notes."""
    from memory.finding.embedding import current  # noqa: PLC0415  needs Django
    from memory.finding.words import tsvector  # noqa: PLC0415
    from tenants.ids import new_id  # noqa: PLC0415

    embedder = current()

    def keep(notes: tuple[str, str]) -> None:
        note = notes[1]
        vector = embedder.embed([note])[0]
        memory_id = new_id()
        key = hashlib.sha256(note.encode()).digest()
        written = f"[{','.join(map(str, vector))}]"
        owned = (world.tenant_id, world.member_id, world.project_id)
        with connection.transaction():
            connection.execute(
                _MEMORY, (memory_id, *owned, note, key, tsvector(note)), prepare=True
            )
            connection.execute(
                _VECTOR,
                (new_id(), world.tenant_id, memory_id, embedder.id, written, world.member_id),
                prepare=True,
            )
            connection.execute(
                _EVENT,
                (
                    new_id(),
                    world.tenant_id,
                    memory_id,
                    memory_id,
                    world.member_id,
                    json.dumps({"kind": "fact"}),
                ),
                prepare=True,
            )

    return keep


def must_be_kept(notes: tuple[str, str], answer: dict[str, Any], _floor: None) -> None:
    """
    Refuse to measure a remember that did not remember.

    :raises AssertionError: if the note was absorbed, or is not kept word for word
    """
    if answer["absorbed"] or answer["memory"]["content"] != notes[0]:
        raise AssertionError(f"not kept word for word: {notes[0]!r}")
