"""Who writes, changes and ties together which memories."""

from collections.abc import Iterator
from typing import Any

from tenants.ids import new_id
from tests.promises.probe import Probe
from tests.promises.raw import REFUSED
from tests.promises.world import SPACE, Side

MEMORY = """
INSERT INTO memories (id, tenant_id, owner_id, author_agent_id, author_level, provenance_rank,
    project_id,
                      visibility, kind, content, text_key, words, subjects, tags, importance,
                      version)
VALUES (%s, %s, %s, %s, 10, 2, %s, %s, 'fact', 'x', ''::bytea, '', '{}', '{}', 0.5, 1)
"""
_VECTOR = """
INSERT INTO embeddings (id, tenant_id, memory_id, space, vector, owner_id, visibility, kind,
    lifecycle)
VALUES (%s, %s, %s, %s, '[0,1,0]', %s, '', '', '')
"""


def remembering(a: Side, b: Side) -> Iterator[Probe]:
    """Return who writes and changes which memories."""
    apollo, hermes = a.projects["apollo"], a.projects["hermes"]
    senior, agent = a.members["senior"], a.agents["agent"]
    for name, who, owner, author, project, visibility, expected in (
        ("senior", a.who("senior"), senior, None, apollo, "project", 1),
        ("senior", a.who("senior"), senior, None, None, "private", 1),
        ("senior as reviewer", a.reviewing("senior"), senior, None, apollo, "project", 1),
        ("senior elsewhere", a.who("senior"), senior, None, hermes, "project", REFUSED),
        (
            "senior as another",
            a.who("senior"),
            a.members["contractor"],
            None,
            apollo,
            "project",
            REFUSED,
        ),
        ("senior as agent", a.who("senior"), senior, agent, apollo, "project", REFUSED),
        ("agent", a.who("agent"), senior, agent, apollo, "project", 1),
        ("agent as its sponsor", a.who("agent"), senior, None, apollo, "project", REFUSED),
        ("agent personally", a.who("agent"), senior, agent, None, "private", REFUSED),
        (
            "companion personally",
            a.who("companion"),
            senior,
            a.agents["companion"],
            None,
            "private",
            1,
        ),
        ("viewer", a.who("viewer"), a.members["viewer"], None, apollo, "project", REFUSED),
        (
            "viewer privately",
            a.who("viewer"),
            a.members["viewer"],
            None,
            apollo,
            "private",
            REFUSED,
        ),
        ("judge", a.judge("senior"), senior, None, apollo, "project", REFUSED),
        ("gone", a.who("gone"), a.members["gone"], None, None, "private", REFUSED),
    ):
        yield Probe(
            f"{name} remembers for {visibility}", who, MEMORY,
            [new_id(), a.id, owner, author, project, visibility], expected,
        )  # fmt: skip
    mine = a.memories["contractor", "private", "hermes"]
    shared = a.memories["senior", "project", "apollo"]
    elsewhere = a.memories["outsider", "project", "hermes"]
    change = "UPDATE memories SET importance = 0.1 WHERE id = %s"
    wide = a.memories["senior", "tenant", "hermes"]
    for name, who, memory, expected in (
        ("owner", a.who("contractor"), mine, 1),
        ("writer", a.who("contractor"), shared, 1),
        ("reviewer of what they only review", a.reviewing("reviewer"), elsewhere, 1),
        ("reviewer in their plain role", a.who("reviewer"), elsewhere, 0),
        ("viewer", a.who("viewer"), shared, 0),
        ("viewer as reviewer", a.reviewing("viewer"), shared, 0),
        ("agent out of its project", a.who("agent"), wide, 0),
        ("agent's sponsor", a.who("senior"), wide, 1),
        ("judge", a.judge("senior"), shared, REFUSED),
    ):
        yield Probe(f"{name} changes a memory", who, change, [memory], expected)
    all_of_them = "UPDATE memories SET importance = 0.1"
    yield Probe(
        "agent changes all that it can",
        a.who("agent"),
        all_of_them,
        (),
        _within(a, "senior", "apollo"),
    )
    publish = "UPDATE memories SET visibility = 'tenant' WHERE id = %s"
    yield Probe(
        "agent publishes out of its reach",
        a.who("agent"),
        publish,
        [a.memories["senior", "private", None]],
        0,
    )
    hide = "UPDATE memories SET visibility = 'private' WHERE id = %s"
    yield Probe(
        "writer hides another's",
        a.who("senior"),
        hide,
        [a.memories["contractor", "project", "apollo"]],
        REFUSED,
    )
    theirs = a.memories["contractor", "tenant", "hermes"]
    yield Probe("owner narrows", a.who("contractor"), hide, [theirs], 1)
    yield Probe(
        "owner shows it to a project they left", a.who("contractor"),
        "UPDATE memories SET visibility = 'project' WHERE id = %s", [mine], REFUSED,
    )  # fmt: skip
    for what in ("content = 'x'", "owner_id = NULL", "author_level = 99", f"tenant_id = '{b.id}'"):
        yield Probe(
            f"senior sets {what[:10]}", a.who("senior"), f"UPDATE memories SET {what}", (), REFUSED
        )
    for name, who, memory, expected in (
        ("viewer", a.who("viewer"), shared, 1),
        ("judge", a.judge("viewer"), shared, 1),
        ("viewer out of sight", a.who("viewer"), elsewhere, REFUSED),
        ("judge out of sight", a.judge("viewer"), elsewhere, REFUSED),
    ):
        yield Probe(
            f"{name} adds a vector",
            who,
            _VECTOR,
            [new_id(), a.id, memory, "other", senior],
            expected,
        )
    yield Probe("senior reads vectors", a.who("senior"), "SELECT id FROM embeddings", (), REFUSED)
    search = (
        "SELECT memory_id FROM nearest_memories('[1,0,0]', %s, 'everything', NULL, '{live}', true,"
        " NULL, 999, 999)"
    )
    yield Probe("agent searches", a.who("agent"), search, [SPACE], _seen(a, "senior", "apollo"))


def _within(side: Side, owner: str, project: str) -> int:
    """Return how many an agent may change: its sponsor's in its project, and others' shared."""
    own = sum(1 for name, _, where in side.memories if name == owner and where == project)
    shared = sum(
        1
        for name, visibility, where in side.memories
        if name != owner and where == project and visibility != "private"
    )
    return own + shared


def _seen(side: Side, owner: str, project: str) -> set[Any]:
    return {
        memory
        for (name, visibility, where), memory in side.memories.items()
        if visibility == "tenant"
        or (visibility == "project" and where == project)
        or (visibility == "private" and name == owner and where == project)
    }


def tying(a: Side, b: Side) -> Iterator[Probe]:
    """Return who ties memories together."""
    shared = a.memories["senior", "project", "apollo"]
    other = a.memories["contractor", "project", "apollo"]
    wide = a.memories["contractor", "tenant", "hermes"]
    wide_too = a.memories["outsider", "tenant", "hermes"]
    hidden = a.memories["outsider", "private", "hermes"]
    foreign = b.memories["senior", "tenant", None]
    draw = "INSERT INTO links (id, tenant_id, src_id, dst_id, type) VALUES (%s, %s, %s, %s, %s)"
    settle = (
        "INSERT INTO settled_pairs (id, tenant_id, low_id, high_id, why)"
        " VALUES (%s, %s, %s, %s, '')"
    )
    for name, who, src, dst, expected in (
        ("senior", a.who("senior"), shared, other, 1),
        ("contractor", a.who("contractor"), wide, shared, 1),
        ("reviewer", a.reviewing("reviewer"), shared, other, 1),
        ("viewer", a.who("viewer"), shared, other, REFUSED),
        ("senior to what is hidden", a.who("senior"), shared, hidden, REFUSED),
        ("senior from what is hidden", a.who("senior"), hidden, shared, REFUSED),
        ("senior abroad", a.who("senior"), shared, foreign, REFUSED),
        ("viewer between others'", a.who("viewer"), wide, wide_too, REFUSED),
        (
            "agent elsewhere",
            a.who("agent"),
            a.memories["senior", "tenant", "hermes"],
            wide,
            REFUSED,
        ),
        ("judge", a.judge("senior"), shared, other, REFUSED),
    ):
        for kind in ("contradicts", "depends_on"):
            ends = [new_id(), a.id, src, dst, kind]
            yield Probe(f"{name} draws a link: {kind}", who, draw, ends, expected)
    for kind, expected in (("supersedes", 1), ("depends_on", REFUSED), ("derived_from", REFUSED)):
        ends = [new_id(), a.id, wide_too, shared, kind]
        yield Probe(f"senior lets another's: {kind}", a.who("senior"), draw, ends, expected)
    unlink = "UPDATE links SET removed_at = now()"
    for name, rows in (("senior", 2), ("contractor", 1), ("viewer", 0), ("outsider", 0)):
        yield Probe(f"{name} takes all links away", a.who(name), unlink, (), rows)
    for name, who, one, expected in (
        ("senior", a.who("senior"), wide, 1),
        ("senior of what is hidden", a.who("senior"), hidden, REFUSED),
        ("reviewer", a.reviewing("reviewer"), wide, 1),
        ("reviewer in their plain role", a.who("reviewer"), wide, REFUSED),
        ("viewer", a.who("viewer"), wide, REFUSED),
        ("judge", a.judge("viewer"), wide, 1),
        ("judge of what is hidden", a.judge("viewer"), hidden, REFUSED),
    ):
        pair = sorted((shared, one))
        yield Probe(f"{name} settles", who, settle, [new_id(), a.id, *pair], expected)
    part = (
        "INSERT INTO components (id, tenant_id, memory_id, subject, multi, suggested)"
        " VALUES (%s, %s, %s, 'x', false, false)"
    )
    for name, who, memory, expected in (
        ("owner", a.who("senior"), shared, 1),
        ("agent", a.who("agent"), shared, 1),
        ("contractor", a.who("contractor"), shared, REFUSED),
        ("judge", a.judge("senior"), shared, REFUSED),
        (
            "agent out of its reach",
            a.who("agent"),
            a.memories["senior", "private", "hermes"],
            REFUSED,
        ),
        (
            "agent of its sponsor's elsewhere",
            a.who("agent"),
            a.memories["senior", "tenant", "hermes"],
            REFUSED,
        ),
    ):
        yield Probe(f"{name} states a part", who, part, [new_id(), a.id, memory], expected)
    rely = (
        "INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id) VALUES (%s, %s, %s, %s)"
    )
    for name, who, memory, on, expected in (
        ("owner", a.who("senior"), shared, wide, 1),
        ("contractor", a.who("contractor"), shared, wide, REFUSED),
        ("owner on what is hidden", a.who("senior"), shared, hidden, REFUSED),
        ("owner abroad", a.who("senior"), shared, foreign, REFUSED),
    ):
        yield Probe(f"{name} relies", who, rely, [new_id(), a.id, memory, on], expected)
