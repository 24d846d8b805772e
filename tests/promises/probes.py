"""
What somebody may and may not do with SQL alone, a line each.

A probe runs in a savepoint of its own and is undone, so that a few hundred take no time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from tenants.ids import new_id
from tests.promises.raw import JUDGE, NOBODY, REFUSED, REVIEWER, Who, outcome
from tests.promises.sight import readable
from tests.promises.world import SPACE, Side, World

REFERENCE = "23503"


@dataclass(frozen=True)
class Probe:
    """A statement of somebody's, and what must come of it: ids, a number of rows, or an SQLSTATE."""

    name: str
    who: Who
    statement: str
    params: Any
    expected: set[Any] | int | str

    def fault(self, connection: psycopg.Connection[Any]) -> str | None:
        """Return what is wrong, if anything is."""
        found = outcome(connection, self.who, self.statement, self.params)
        return None if found == self.expected else f"{self.name}: {found} and not {self.expected}"


def battery(world: World) -> list[Probe]:
    """Return every probe, for a world in which all stands that they name."""
    a, b = world.a, world.b
    return [
        *_reading(world),
        *_administering(a, b),
        *_acting(a, b),
        *_remembering(a, b),
        *_tying(a, b),
        *_abroad(a, b),
        *_nobody(),
    ]


def _ids(side: Side, what: str) -> set[Any]:
    return {row for name, row in side.rows.items() if name.split()[0] == what}


def _sees(name: str, who: Who, table: str, expected: set[Any], key: str = "id") -> Probe:
    return Probe(f"{name} reads {table}", who, f"SELECT {key} FROM {table}", (), expected)


def _reading(world: World) -> Iterator[Probe]:
    a = world.a
    shared, private = ("shared",), ("shared", "private")
    for name in ("senior", "contractor", "viewer", "outsider", "admin", "agent", "companion"):
        yield _sees(name, a.who(name), "memories", readable(world, a.who(name)))
        tied = private if name in ("senior", "agent", "companion") else shared
        tied = () if name in ("outsider", "admin") else tied
        for table, what in (
            ("links", "link"),
            ("settled_pairs", "pair"),
            ("dependencies", "dependency"),
        ):
            yield _sees(name, a.who(name), table, {a.rows[f"{what} {one}"] for one in tied})
        distant = {a.rows["component distant"]} if name == "outsider" else set()
        parts = {a.rows[f"component {one}"] for one in tied} | distant
        yield _sees(name, a.who(name), "components", parts)
    yield _sees("judge", a.judge("senior"), "memories", readable(world, a.judge("senior")))
    yield _sees("gone", a.who("gone"), "memories", set())
    for role in (JUDGE, REVIEWER):
        who = a.who("viewer", role=role)
        yield _sees(f"{role} for viewer", who, "links", {a.rows["link shared"]})
        yield _sees(f"{role} for viewer", who, "settled_pairs", {a.rows["pair shared"]})
        yield _sees(f"{role} for viewer", who, "components", {a.rows["component shared"]})
    yield _sees("viewer", a.who("viewer"), "events", {a.rows["event shared"]})
    told = {a.rows["event shared"], a.rows["event private"]}
    yield _sees("senior", a.who("senior"), "events", told)
    yield _sees("admin", a.who("admin"), "events", {a.rows["event administered"]})
    yield _sees("senior", a.who("senior"), "tokens", {a.rows["token senior"]})
    yield _sees("agent", a.who("agent"), "tokens", set())
    yield _sees("admin", a.who("admin"), "tokens", _ids(a, "token"))
    yield _sees("senior", a.who("senior"), "jobs", {a.rows["job senior"]})
    yield _sees("judge", a.judge("contractor"), "jobs", {a.rows["job contractor"]})
    yield _sees("admin", a.who("admin"), "jobs", {a.rows["job senior"], a.rows["job contractor"]})
    for name in ("senior", "contractor", "agent"):
        yield _sees(name, a.who(name), "idempotency_keys", {a.rows[f"key {name}"]})
    yield _sees("retired agent", a.who("retired"), "idempotency_keys", set())
    yield _sees("viewer", a.who("viewer"), "tenants", {a.id})
    yield _sees("gone", a.who("gone"), "tenants", set())
    yield _sees("viewer", a.who("viewer"), "members", set(a.members.values()))
    yield _sees("gone", a.who("gone"), "members", set())
    yield _sees("viewer", a.who("viewer"), "projects", {a.projects["apollo"]})
    yield _sees("admin", a.who("admin"), "projects", set(a.projects.values()))
    yield _sees("viewer", a.who("viewer"), "agents", set(a.agents.values()))
    yield _sees("outsider", a.who("outsider"), "agents", set())
    yield _sees("admin", a.who("admin"), "agents", set(a.agents.values()))
    own = {a.users["viewer"]}
    yield _sees("viewer", a.who("viewer"), "project_permissions", own, "user_id")
    granted = {a.users[name] for name in a.users if name != "admin"}
    yield _sees("admin", a.who("admin"), "project_permissions", granted, "user_id")


def _administering(a: Side, b: Side) -> Iterator[Probe]:
    for name, rows, denied in (("admin", 1, 1), ("viewer", 0, REFUSED)):
        who = a.who(name)
        yield Probe(f"{name} renames the tenant", who, "UPDATE tenants SET name = 'x'", (), rows)
        yield Probe(
            f"{name} makes a project", who,
            "INSERT INTO projects (id, tenant_id, slug, name) VALUES (%s, %s, 'new', 'New')",
            [new_id(), a.id], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} closes a project", who, "UPDATE projects SET archived_at = now() WHERE id = %s",
            [a.projects["apollo"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} lets somebody in", who,
            "INSERT INTO project_permissions (tenant_id, user_id, content_object_id, permission_id)"
            " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = 'write_project'",
            [a.id, a.users["viewer"], a.projects["hermes"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} shuts somebody out", who, "DELETE FROM project_permissions WHERE user_id = %s",
            [a.users["contractor"]], rows * 2,
        )  # fmt: skip
        yield Probe(
            f"{name} gives a seat", who,
            "INSERT INTO members (id, tenant_id, user_id, username, name, role, level, active)"
            " VALUES (%s, %s, %s, 'x', 'x', 'admin', 1, true)",
            [new_id(), a.id, b.users["viewer"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} makes an administrator", who, "UPDATE members SET role = 'admin' WHERE id = %s",
            [a.members["viewer"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} makes an agent", who,
            "INSERT INTO agents (id, tenant_id, project_id, sponsor_id, name, level, active)"
            " VALUES (%s, %s, %s, %s, 'x', 1, true)",
            [new_id(), a.id, a.projects["apollo"], a.members["viewer"]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} takes over an agent", who, "UPDATE agents SET sponsor_id = %s WHERE id = %s",
            [a.members[name], a.agents["agent"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} makes a token", who,
            "INSERT INTO tokens (id, tenant_id, name, kind, member_id, personal, scopes, digest, last_four)"
            " VALUES (%s, %s, 'x', 'human', %s, true, '{admin}', 'x', 'xxxx')",
            [new_id(), a.id, a.members[name]], denied,
        )  # fmt: skip
        yield Probe(
            f"{name} revokes a token", who, "UPDATE tokens SET revoked_at = now() WHERE id = %s",
            [a.rows["token senior"]], rows,
        )  # fmt: skip
        yield Probe(
            f"{name} discards a job", who, "UPDATE jobs SET state = 'obsolete' WHERE id = %s",
            [a.rows["job senior"]], rows,
        )  # fmt: skip
    yield Probe(
        "senior discards their own job",
        a.who("senior"),
        "UPDATE jobs SET state = 'obsolete'",
        (),
        0,
    )
    yield Probe(
        "admin moves a seat elsewhere",
        a.who("admin"),
        "UPDATE members SET tenant_id = %s",
        [b.id],
        REFUSED,
    )
    yield Probe(
        "senior extends their own token",
        a.who("senior"),
        "UPDATE tokens SET expires_at = NULL",
        (),
        0,
    )
    yield Probe(
        "admin in one project's agent's name", Who(a.id, a.members["admin"], a.agents["agent"]),
        "SELECT id FROM members", (), set(),
    )  # fmt: skip


_EVENT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id, agent_id, request_id, reason)
VALUES (%s, %s, 'x', 'memory', %s, %s, %s, %s, '', '')
"""
_KEY = """
INSERT INTO idempotency_keys (id, tenant_id, principal_id, endpoint, key, fingerprint)
VALUES (%s, %s, %s, 'x', 'x', ''::bytea)
"""
_JOB = """
INSERT INTO jobs (id, tenant_id, kind, dedup_key, member_id, arguments, state, attempts, last_error)
VALUES (%s, %s, 'x', 'x', %s, '{}', 'queued', 0, '')
"""


def _acting(a: Side, b: Side) -> Iterator[Probe]:
    mine, theirs = a.members["senior"], a.members["contractor"]
    shared = a.memories["senior", "project", "apollo"]
    hidden = a.memories["outsider", "private", "hermes"]
    for role in ("palimpsest_member", JUDGE, REVIEWER):
        who = a.who("senior", role=role)
        for name, memory, member, agent, expected in (
            ("what was done", shared, mine, None, 1),
            ("what was administered", None, mine, None, 1),
            ("what another did", shared, theirs, None, REFUSED),
            ("what the agent did", shared, mine, a.agents["agent"], REFUSED),
            ("what happened out of sight", hidden, mine, None, REFUSED),
        ):
            yield Probe(
                f"{role} records {name}",
                who,
                _EVENT,
                [new_id(), a.id, new_id(), memory, member, agent],
                expected,
            )
    agent = a.agents["agent"]
    yield Probe(
        "agent records", a.who("agent"), _EVENT, [new_id(), a.id, agent, None, mine, agent], 1
    )
    yield Probe(
        "gone records", a.who("gone"), _EVENT, [new_id(), a.id, agent, None, mine, None], REFUSED
    )
    for name, who, principal, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("agent", a.who("agent"), agent, 1),
        ("senior for another", a.who("senior"), theirs, REFUSED),
        ("senior for the agent", a.who("senior"), agent, REFUSED),
        ("gone", a.who("gone"), a.members["gone"], REFUSED),
        ("retired agent", a.who("retired"), a.agents["retired"], REFUSED),
    ):
        yield Probe(f"{name} keeps a key", who, _KEY, [new_id(), a.id, principal], expected)
    yield Probe(
        "senior rewrites keys", a.who("senior"), "UPDATE idempotency_keys SET answer = '1'", (), 1
    )
    for name, who, member, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("judge", a.judge("senior"), mine, 1),
        ("senior for another", a.who("senior"), theirs, REFUSED),
        ("judge for another", a.judge("senior"), theirs, REFUSED),
        ("gone", a.who("gone"), a.members["gone"], REFUSED),
    ):
        yield Probe(f"{name} leaves a job", who, _JOB, [new_id(), a.id, member], expected)
    yield Probe("judge does its jobs", a.judge("senior"), "UPDATE jobs SET state = 'done'", (), 1)
    yield Probe(
        "judge gives its job away",
        a.judge("senior"),
        "UPDATE jobs SET member_id = %s",
        [theirs],
        REFUSED,
    )
    for table in ("events", "memories", "links", "members", "jobs", "tokens", "idempotency_keys"):
        yield Probe(f"admin deletes {table}", a.who("admin"), f"DELETE FROM {table}", (), REFUSED)
    yield Probe(
        "admin rewrites history", a.who("admin"), "UPDATE events SET reason = ''", (), REFUSED
    )


_MEMORY = """
INSERT INTO memories (id, tenant_id, owner_id, author_agent_id, author_level, provenance_rank, project_id,
                      visibility, kind, content, text_key, words, subjects, tags, importance, version)
VALUES (%s, %s, %s, %s, 10, 2, %s, %s, 'fact', 'x', ''::bytea, '', '{}', '{}', 0.5, 1)
"""
_VECTOR = """
INSERT INTO embeddings (id, tenant_id, memory_id, space, vector, owner_id, visibility, kind, lifecycle)
VALUES (%s, %s, %s, %s, '[0,1,0]', %s, '', '', '')
"""


def _remembering(a: Side, b: Side) -> Iterator[Probe]:
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
            f"{name} remembers for {visibility}", who, _MEMORY,
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
    search = "SELECT memory_id FROM nearest_memories('[1,0,0]', %s, 'everything', NULL, '{live}', true, NULL, 999, 999)"
    yield Probe("agent searches", a.who("agent"), search, [SPACE], _seen(a, "senior", "apollo"))


def _within(side: Side, owner: str, project: str) -> int:
    """Return how many an agent may change: its sponsor's in its project, and what others share there."""
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


def _tying(a: Side, b: Side) -> Iterator[Probe]:
    shared = a.memories["senior", "project", "apollo"]
    other = a.memories["contractor", "project", "apollo"]
    wide = a.memories["contractor", "tenant", "hermes"]
    wide_too = a.memories["outsider", "tenant", "hermes"]
    hidden = a.memories["outsider", "private", "hermes"]
    foreign = b.memories["senior", "tenant", None]
    draw = "INSERT INTO links (id, tenant_id, src_id, dst_id, type) VALUES (%s, %s, %s, %s, 'depends_on')"
    settle = "INSERT INTO settled_pairs (id, tenant_id, low_id, high_id, why) VALUES (%s, %s, %s, %s, '')"
    for name, who, src, dst, expected in (
        ("senior", a.who("senior"), shared, other, 1),
        ("contractor", a.who("contractor"), wide, shared, 1),
        ("reviewer", a.reviewing("reviewer"), shared, other, 1),
        ("viewer", a.who("viewer"), shared, other, REFUSED),
        ("senior to what is hidden", a.who("senior"), shared, hidden, REFUSED),
        ("senior from what is hidden", a.who("senior"), hidden, shared, REFUSED),
        ("senior abroad", a.who("senior"), shared, foreign, REFUSED),
        ("viewer between others'", a.who("viewer"), wide, wide_too, REFUSED),
        ("judge", a.judge("senior"), shared, other, REFUSED),
    ):
        yield Probe(f"{name} draws a link", who, draw, [new_id(), a.id, src, dst], expected)
    unlink = "UPDATE links SET removed_at = now()"
    for name, rows in (("senior", 2), ("contractor", 1), ("viewer", 0), ("outsider", 0)):
        yield Probe(f"{name} takes all links away", a.who(name), unlink, (), rows)
    for name, who, one, expected in (
        ("viewer", a.who("viewer"), wide, 1),
        ("viewer of what is hidden", a.who("viewer"), hidden, REFUSED),
        ("judge", a.judge("viewer"), wide, REFUSED),
    ):
        pair = sorted((shared, one))
        yield Probe(f"{name} settles", who, settle, [new_id(), a.id, *pair], expected)
    part = "INSERT INTO components (id, tenant_id, memory_id, subject, multi) VALUES (%s, %s, %s, 'x', false)"
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


def _abroad(a: Side, b: Side) -> Iterator[Probe]:
    """Whatever the policies of the own tenant allow, into the other's."""
    admin, senior = a.who("admin"), a.who("senior")
    for table, who, statement, params in (
        ("projects", admin, "(id, tenant_id, slug, name) VALUES (%s, %s, 'new', 'New')", [new_id(), b.id]),
        ("project_permissions", admin,
         "(tenant_id, user_id, content_object_id, permission_id)"
         " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = 'write_project'",
         [b.id, b.users["viewer"], b.projects["hermes"]]),
        ("members", admin,
         "(id, tenant_id, user_id, username, name, role, level, active)"
         " VALUES (%s, %s, %s, 'x', 'x', 'admin', 1, true)", [new_id(), b.id, a.users["admin"]]),
        ("agents", admin,
         "(id, tenant_id, project_id, sponsor_id, name, level, active) VALUES (%s, %s, %s, %s, 'x', 1, true)",
         [new_id(), b.id, b.projects["apollo"], b.members["viewer"]]),
        ("tokens", admin,
         "(id, tenant_id, name, kind, member_id, personal, scopes, digest, last_four)"
         " VALUES (%s, %s, 'x', 'human', %s, true, '{admin}', 'x', 'xxxx')",
         [new_id(), b.id, b.members["admin"]]),
    ):  # fmt: skip
        yield Probe(
            f"{table} of another tenant", who, f"INSERT INTO {table} {statement}", params, REFUSED
        )
    mine = a.members["senior"]
    apollo = a.projects["apollo"]
    yield Probe(
        "event abroad", senior, _EVENT, [new_id(), b.id, new_id(), None, mine, None], REFUSED
    )
    yield Probe("job abroad", senior, _JOB, [new_id(), b.id, mine], REFUSED)
    yield Probe("key abroad", senior, _KEY, [new_id(), b.id, mine], REFUSED)
    yield Probe(
        "memory abroad", senior, _MEMORY, [new_id(), b.id, mine, None, apollo, "project"], REFUSED
    )


def _nobody() -> Iterator[Probe]:
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
        yield _sees("nobody", NOBODY, table, set())
