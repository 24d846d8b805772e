"""What everybody reads."""

from collections.abc import Iterator
from typing import Any

from tests.promises.probe import Probe, sees
from tests.promises.raw import JUDGE, NOBODY, REVIEWER
from tests.promises.sight import readable
from tests.promises.world import Side, World


def _ids(side: Side, what: str) -> set[Any]:
    return {row for name, row in side.rows.items() if name.split()[0] == what}


def _several_values(a: Side, b: Side) -> Iterator[Probe]:
    """Return who learns that somebody's private memory says that a subject has several values."""
    told = a.memories["contractor", "project", "apollo"]
    said_by = a.memories["senior", "private", "apollo"]
    for name, who, expected in (
        ("senior", a.who("senior"), {told, said_by}),
        ("viewer", a.who("viewer"), {told}),
        ("judge for viewer", a.judge("viewer"), {told}),
        ("outsider", a.who("outsider"), set()),
        ("senior in hermes", a.confined("senior", "hermes"), set()),
        ("gone", a.who("gone"), set()),
        ("senior abroad", b.who("senior"), set()),
    ):
        statement = "SELECT memory_id FROM several_valued(%s)"
        ids = [list(a.memories.values())]
        yield Probe(f"{name} asks for several values", who, statement, ids, expected)


def reading(world: World) -> Iterator[Probe]:
    """Return what everybody reads of every table."""
    a = world.a
    yield from _several_values(a, world.b)
    shared, private = ("shared",), ("shared", "private")
    for name in ("senior", "contractor", "viewer", "outsider", "admin", "agent", "companion"):
        yield sees(name, a.who(name), "memories", readable(world, a.who(name)))
        tied: tuple[str, ...] = private if name in ("senior", "agent", "companion") else shared
        tied = () if name in ("outsider", "admin") else tied
        for table, what in (
            ("links", "link"),
            ("settled_pairs", "pair"),
            ("dependencies", "dependency"),
        ):
            ids = {a.rows[f"{what} {one}"] for one in tied}
            if table == "settled_pairs" and tied:
                ids.add(a.rows["pair reopened"])
            yield sees(name, a.who(name), table, ids)
    yield sees("judge", a.judge("senior"), "memories", readable(world, a.judge("senior")))
    yield sees("gone", a.who("gone"), "memories", set())
    for role in (JUDGE, REVIEWER):
        who = a.who("viewer", role=role)
        yield sees(f"{role} for viewer", who, "links", {a.rows["link shared"]})
        pairs = {a.rows["pair shared"], a.rows["pair reopened"]}
        yield sees(f"{role} for viewer", who, "settled_pairs", pairs)
    known = {a.rows[f"{what} shared"] for what in ("event", "told")} | {a.rows["reported apollo"]}
    yield sees("viewer", a.who("viewer"), "events", known)
    told = known | {a.rows["event private"], a.rows["told private"]}
    yield sees("senior", a.who("senior"), "events", told)
    yield sees("admin", a.who("admin"), "events", {a.rows["event administered"]})
    yield sees("senior", a.who("senior"), "tokens", {a.rows["token senior"]})
    yield sees("agent", a.who("agent"), "tokens", set())
    yield sees("admin", a.who("admin"), "tokens", _ids(a, "token"))
    yield sees("admin in apollo", a.confined("admin", "apollo"), "tokens", set())
    yield sees("admin in apollo", a.confined("admin", "apollo"), "jobs", set())
    yield sees("admin in apollo", a.confined("admin", "apollo"), "projects", set())
    yield sees("senior", a.who("senior"), "jobs", {a.rows["job senior"]})
    yield sees("judge", a.judge("contractor"), "jobs", {a.rows["job contractor"]})
    yield sees("admin", a.who("admin"), "jobs", {a.rows["job senior"], a.rows["job contractor"]})
    for name in ("senior", "contractor", "agent"):
        yield sees(name, a.who(name), "idempotency_keys", {a.rows[f"key {name}"]})
    yield sees("retired agent", a.who("retired"), "idempotency_keys", set())
    yield sees("viewer", a.who("viewer"), "tenants", {a.id})
    yield sees("gone", a.who("gone"), "tenants", set())
    yield sees("viewer", a.who("viewer"), "members", set(a.members.values()))
    yield sees("gone", a.who("gone"), "members", set())
    yield sees("viewer", a.who("viewer"), "projects", {a.projects["apollo"]})
    yield sees("admin", a.who("admin"), "projects", set(a.projects.values()))
    yield sees("viewer", a.who("viewer"), "agents", set(a.agents.values()))
    yield sees("outsider", a.who("outsider"), "agents", set())
    yield sees("admin", a.who("admin"), "agents", set(a.agents.values()))
    own = {a.users["viewer"]}
    yield sees("viewer", a.who("viewer"), "project_permissions", own, "user_id")
    granted = {a.users[name] for name in a.users if name != "admin"}
    yield sees("admin", a.who("admin"), "project_permissions", granted, "user_id")


def nobody() -> Iterator[Probe]:
    """Return what is seen without a tenant."""
    for table in (
        "tenants",
        "projects",
        "members",
        "agents",
        "memories",
        "links",
        "events",
        "jobs",
    ):
        yield sees("nobody", NOBODY, table, set())
