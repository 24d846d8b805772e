"""What is done in whose name, and in which tenant."""

from collections.abc import Iterator

from tenants.ids import new_id
from tests.promises.probe import Probe, sees
from tests.promises.probes_of_remembering import MEMORY
from tests.promises.raw import JUDGE, REFUSED, REVIEWER
from tests.promises.world import TRANSFER, Side

EVENT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id,
    agent_id, request_id, reason)
VALUES (%s, %s, 'x', 'memory', %s, %s, %s, %s, '', '')
"""
KEY = """
INSERT INTO idempotency_keys (id, tenant_id, principal_id, endpoint, key, fingerprint)
VALUES (%s, %s, %s, 'x', 'x', ''::bytea)
"""
JOB = """
INSERT INTO jobs (id, tenant_id, kind, dedup_key, member_id, arguments, state, attempts, last_error)
VALUES (%s, %s, 'x', 'x', %s, '{}', 'queued', 0, '')
"""


def acting(a: Side) -> Iterator[Probe]:
    """Return what is recorded, kept and left for later in whose name."""
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
                EVENT,
                [new_id(), a.id, new_id(), memory, member, agent],
                expected,
            )
    agent = a.agents["agent"]
    yield Probe(
        "agent records", a.who("agent"), EVENT, [new_id(), a.id, agent, None, mine, agent], 1
    )
    yield Probe(
        "gone records", a.who("gone"), EVENT, [new_id(), a.id, agent, None, mine, None], REFUSED
    )
    for name, who, principal, expected in (
        ("senior", a.who("senior"), mine, 1),
        ("agent", a.who("agent"), agent, 1),
        ("senior for another", a.who("senior"), theirs, REFUSED),
        ("senior for the agent", a.who("senior"), agent, REFUSED),
        ("gone", a.who("gone"), a.members["gone"], REFUSED),
        ("retired agent", a.who("retired"), a.agents["retired"], REFUSED),
    ):
        yield Probe(f"{name} keeps a key", who, KEY, [new_id(), a.id, principal], expected)
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
        yield Probe(f"{name} leaves a job", who, JOB, [new_id(), a.id, member], expected)
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


def transferring(a: Side, b: Side) -> Iterator[Probe]:
    """Return who imports and exports in whose name, and who reads what came of it."""
    senior, apollo = a.members["senior"], a.projects["apollo"]
    every, within = a.rows["transfer everywhere"], a.rows["transfer within"]
    change = "UPDATE transfers SET done = 1"
    for name, who, ids in (
        ("senior", a.who("senior"), {every, within}),
        ("senior as reviewer", a.reviewing("senior"), {every, within}),
        ("senior in apollo", a.confined("senior", "apollo"), {within}),
        ("senior in hermes", a.confined("senior", "hermes"), set()),
        ("agent", a.who("agent"), set()),
        ("admin", a.who("admin"), set()),
        ("gone", a.who("gone"), set()),
    ):
        yield sees(name, who, "transfers", ids)
        yield Probe(f"{name} moves transfers on", who, change, (), len(ids))
    for name, who, side, member, project, expected in (
        ("senior", a.who("senior"), a, senior, None, 1),
        ("senior in apollo", a.confined("senior", "apollo"), a, senior, apollo, 1),
        ("senior in apollo everywhere", a.confined("senior", "apollo"), a, senior, None, REFUSED),
        ("senior for another", a.who("senior"), a, a.members["contractor"], None, REFUSED),
        ("agent", a.who("agent"), a, senior, apollo, REFUSED),
        ("gone", a.who("gone"), a, a.members["gone"], None, REFUSED),
        ("senior abroad", a.who("senior"), b, senior, None, REFUSED),
    ):
        row = [new_id(), side.id, member, project, ""]
        yield Probe(f"{name} transfers", who, TRANSFER, row, expected)
    for what in ("member_id = NULL", "project_id = NULL", "format = 'x'", f"tenant_id = '{b.id}'"):
        yield Probe(
            f"senior sets {what} of a transfer", a.who("senior"), f"UPDATE transfers SET {what}",
            (), REFUSED,
        )  # fmt: skip
    yield Probe("judge reads transfers", a.judge("senior"), "SELECT id FROM transfers", (), REFUSED)


def abroad(a: Side, b: Side) -> Iterator[Probe]:
    """Whatever the policies of the own tenant allow, into the other's."""
    admin, senior = a.who("admin"), a.who("senior")
    for table, who, statement, params in (
        ("projects", admin, "(id, tenant_id, slug, name) VALUES (%s, %s, 'new', 'New')",
         [new_id(), b.id]),
        ("project_permissions", admin,
         ("(tenant_id, user_id, content_object_id, permission_id)"
         " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = 'write_project'"),
         [b.id, b.users["viewer"], b.projects["hermes"]]),
        ("members", admin,
         ("(id, tenant_id, user_id, username, name, role, level, active)"
         " VALUES (%s, %s, %s, 'x', 'x', 'admin', 1, true)"), [new_id(), b.id, a.users["admin"]]),
        ("agents", admin,
         ("(id, tenant_id, project_id, sponsor_id, name, level, active) VALUES (%s, %s, %s, %s,"
         " 'x', 1, true)"),
         [new_id(), b.id, b.projects["apollo"], b.members["viewer"]]),
        ("tokens", admin,
         ("(id, tenant_id, name, kind, member_id, personal, scopes, digest, last_four)"
         " VALUES (%s, %s, 'x', 'human', %s, true, '{admin}', 'x', 'xxxx')"),
         [new_id(), b.id, b.members["admin"]]),
    ):  # fmt: skip
        yield Probe(
            f"{table} of another tenant", who, f"INSERT INTO {table} {statement}", params, REFUSED
        )
    mine = a.members["senior"]
    apollo = a.projects["apollo"]
    yield Probe(
        "event abroad", senior, EVENT, [new_id(), b.id, new_id(), None, mine, None], REFUSED
    )
    yield Probe("job abroad", senior, JOB, [new_id(), b.id, mine], REFUSED)
    yield Probe("key abroad", senior, KEY, [new_id(), b.id, mine], REFUSED)
    yield Probe(
        "memory abroad", senior, MEMORY, [new_id(), b.id, mine, None, apollo, "project"], REFUSED
    )
