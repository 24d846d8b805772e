"""What the world of the wall holds of changes, marks, verifications, and whatever else tells."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from tenants.ids import new_id

if TYPE_CHECKING:
    from tests.promises.world import Side

CHANGE = """
INSERT INTO changes (id, tenant_id, project_id, subject, summary, kind, whole_tree, memory_id,
    by_member_id, by_agent_id, observed_at)
VALUES (%(id)s, %(tenant)s, %(project)s, %(subject)s, %(summary)s, 'change', false, %(memory)s,
    %(member)s, %(agent)s, now() + %(ahead)s::interval)
"""
MARK = """
INSERT INTO marks (id, tenant_id, memory_id, cause, change_id, path, direct, observed_at)
VALUES (%s, %s, %s, 'change', %s, %s, %s, now() + interval '1 second')
"""
VERIFY = """
INSERT INTO verifications (id, tenant_id, memory_id, subjects, outcome, method, evidence,
    by_member_id, by_agent_id, level, weighs, observed_at)
VALUES (%(id)s, %(tenant)s, %(memory)s, '{}', 'confirmed', 'command', '', %(member)s, %(agent)s, 10,
    true, now() + %(ahead)s::interval)
"""
CORROBORATE = """
INSERT INTO corroborations (id, tenant_id, memory_id, by_member_id, by_memory_id)
VALUES (%s, %s, %s, %s, %s)
"""
COUNT = """
INSERT INTO activations (id, tenant_id, memory_id, recalls, last_recalled_at)
VALUES (%s, %s, %s, 1, now())
"""
RETIREMENT = """
INSERT INTO retirements (id, tenant_id, memory_id, door, began_at, ended_at)
VALUES (%s, %s, %s, 'forgotten', now(), now())
"""
ACCEPTANCE = """
INSERT INTO acceptances (id, tenant_id, memory_id, began_at, ended_at)
VALUES (%s, %s, %s, now(), now())
"""
SIGNAL = """
INSERT INTO signals (id, tenant_id, memory_id, kind, reason, query, by_member_id, by_agent_id,
    created_at)
VALUES (%(id)s, %(tenant)s, %(memory)s, %(kind)s, '', '', %(member)s, %(agent)s,
    now() + %(ahead)s::interval)
"""
ATTRIBUTE = """
INSERT INTO attributions (id, tenant_id, report_id, memory_version, judge, prompt_version, blame,
    confidence, reasoning, counted, tokens_in, tokens_out, latency_ms)
VALUES (%s, %s, %s, 1, 'x', '1', 'unsure', 0.5, %s, false, 1, 0, 0)
"""
PUSH_SOURCE = """
INSERT INTO push_sources (id, tenant_id, project_id, name, host, member_id, branch, secret_version,
    active)
VALUES (%s, %s, %s, %s, 'github', %s, '', 1, true)
"""
_SUGGESTED = """
INSERT INTO components (id, tenant_id, memory_id, subject, value, multi, suggested)
VALUES (%s, %s, %s, 'suggested', %s, false, true)
"""
_REPORTED = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, member_id, request_id, reason)
VALUES (%s, %s, 'report_change', 'change', %s, %s, '', %s)
"""


def said(side: "Side", **more: Any) -> dict[str, Any]:
    """Return what somebody says of the world, with whatever is said to be otherwise."""
    nothing: dict[str, Any] = dict.fromkeys(("memory", "agent", "member", "project"))
    return {**nothing, "id": new_id(), "tenant": side.id, "ahead": "-1 hour", **more}


def trust(owner: psycopg.Connection[Any], side: "Side", ties: dict[str, UUID]) -> None:
    """Let the world move, and people look at what is tied together."""
    for project, name in (("apollo", "senior"), ("hermes", "outsider")):
        _report(owner, side, project, side.members[name])
    for name, other in ties.items():
        _tell(owner, side, name, other)
    shared = side.memories["senior", "project", "apollo"]
    for row in ("component suggested", "mark spread"):
        side.rows[row] = new_id()
    owner.execute(_SUGGESTED, [side.rows["component suggested"], side.id, shared, side.canary])
    owner.execute(
        MARK,
        [side.rows["mark spread"], side.id, shared, side.rows["change hermes"], [ties["distant"]],
         False],
    )  # fmt: skip
    periods = owner.execute(
        "SELECT conflict_id, id FROM dispute_periods WHERE tenant_id = %s", [side.id]
    ).fetchall()
    conflicts = {row: name for name, row in side.rows.items() if name.startswith("conflict ")}
    for conflict, period in periods:
        side.rows[conflicts[conflict].replace("conflict", "period")] = period


def _report(owner: psycopg.Connection[Any], side: "Side", project: str, member: UUID) -> None:
    for what in ("change", "reported", "source"):
        side.rows[f"{what} {project}"] = new_id()
    change, where = side.rows[f"change {project}"], side.projects[project]
    words = {"subject": side.canary.lower(), "summary": side.canary}
    owner.execute(CHANGE, said(side, id=change, project=where, member=member, **words))
    owner.execute(
        _REPORTED, [side.rows[f"reported {project}"], side.id, change, member, side.canary]
    )
    owner.execute(
        PUSH_SOURCE, [side.rows[f"source {project}"], side.id, where, side.canary, member]
    )


def _tell(owner: psycopg.Connection[Any], side: "Side", name: str, memory: UUID) -> None:
    told = ("mark", "verification", "corroboration", "activation", "retirement", "acceptance",
            "signal", "attribution")  # fmt: skip
    ids = {what: new_id() for what in told}
    side.rows |= {f"{what} {name}": row for what, row in ids.items()}
    change = side.rows["change hermes" if name == "distant" else "change apollo"]
    by, by_what = side.members["admin"], side.memories["admin", "tenant", "hermes"]
    owner.execute(MARK, [ids["mark"], side.id, memory, change, [], True])
    owner.execute(VERIFY, said(side, id=ids["verification"], memory=memory, member=by))
    owner.execute(CORROBORATE, [ids["corroboration"], side.id, memory, by, by_what])
    owner.execute(COUNT, [ids["activation"], side.id, memory])
    owner.execute(RETIREMENT, [ids["retirement"], side.id, memory])
    owner.execute(ACCEPTANCE, [ids["acceptance"], side.id, memory])
    owner.execute(SIGNAL, said(side, id=ids["signal"], memory=memory, kind="misled", member=by))
    owner.execute(ATTRIBUTE, [ids["attribution"], side.id, ids["signal"], side.canary])
