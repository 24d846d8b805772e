"""What the world of the wall holds of conflicts, of verdicts on them, and of sweeps."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from tenants.ids import new_id

if TYPE_CHECKING:
    from tests.promises.world import Side

NOTE = """
INSERT INTO conflicts (id, tenant_id, memory_a_id, memory_b_id, low_id, high_id, kind, state,
    winner_id, recommended_winner_id, raised_by_member_id, raised_by_agent_id,
    resolved_by_member_id, resolved_by_agent_id, level_a, via, "row", missing_specifics, reason,
    evidence, note, batch_id, deferred_until, assigned_to_id)
VALUES (%(id)s, %(tenant)s, %(a)s, %(b)s, %(low)s, %(high)s, %(kind)s, %(state)s, %(winner)s,
    %(recommended)s, %(raised_by)s, %(raised_by_agent)s, %(resolved_by)s, %(resolved_by_agent)s, 10,
    'vector', '', '{}', '', '', '', %(batch)s, %(deferred_until)s, %(assigned_to)s)
"""
JUDGE_A_PAIR = """
INSERT INTO judgements (id, tenant_id, older_id, newer_id, older_version, newer_version, judge,
    prompt_version, relation, confidence, reasoning, shared_subject, missing_specifics, deed,
    tokens_in, tokens_out, latency_ms)
VALUES (%s, %s, %s, %s, 1, 1, %s, '1', 'unsure', 0.5, '', '', '[]', 'nothing', 1, 0, 0)
"""
CERTIFY = """
INSERT INTO certificates (id, tenant_id, judge, prompt_version, passed, reason, report)
VALUES (%s, %s, %s, '1', true, '', '{}')
"""
SWEEP = """
INSERT INTO sweeps (id, tenant_id, member_id, project_id, judge, prompt_version, state, since,
    reached, until, memories, of_memories, pairs, skipped, actions, disputes)
VALUES (%s, %s, %s, %s, 'seeded', '1', 'running', 0, 0, 0, 0, 0, 0, 0, 0, 0)
"""
_TOLD = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id,
    request_id, reason)
VALUES (%s, %s, 'open_dispute', 'conflict', %s, %s, %s, '', %s)
"""


def noted(side: "Side", a: UUID, b: UUID | None, **more: Any) -> dict[str, Any]:
    """Return a conflict as it is noted, with whatever is said to be otherwise."""
    sides = [one for one in (a, b) if one is not None]
    nothing = dict.fromkeys(
        ("winner", "recommended", "raised_by", "raised_by_agent", "resolved_by",
         "resolved_by_agent", "batch", "deferred_until", "assigned_to")
    )  # fmt: skip
    said = {
        "id": new_id(),
        "tenant": side.id,
        "a": a,
        "b": b,
        "low": min(sides),
        "high": max(sides),
    }
    return {**nothing, **said, "kind": "contradiction", "state": "pending", **more}


def disagree(owner: psycopg.Connection[Any], side: "Side", ties: dict[str, UUID]) -> None:
    """Let what is tied together disagree; let one be disputed alone, and one pair be decided."""
    shared = side.memories["senior", "project", "apollo"]
    for name, other in ties.items():
        note = noted(side, shared, other, batch=new_id())
        side.rows[f"conflict {name}"] = note["id"]
        owner.execute(NOTE, note)
        for what in ("judgement", "told"):
            side.rows[f"{what} {name}"] = new_id()
        owner.execute(
            JUDGE_A_PAIR,
            [side.rows[f"judgement {name}"], side.id, shared, other, side.canary],
        )
        owner.execute(
            _TOLD,
            [side.rows[f"told {name}"], side.id, note["id"], shared, side.members["senior"],
             side.canary],
        )  # fmt: skip
    for name, note in _others(side).items():
        side.rows[f"conflict {name}"] = note["id"]
        owner.execute(NOTE, note)
    side.rows["certificate"] = new_id()
    owner.execute(CERTIFY, [side.rows["certificate"], side.id, side.canary])
    for name, member, project in (
        ("everywhere", "senior", None),
        ("within", "senior", side.projects["apollo"]),
        ("another's", "contractor", None),
    ):
        side.rows[f"sweep {name}"] = new_id()
        owner.execute(SWEEP, [side.rows[f"sweep {name}"], side.id, side.members[member], project])


def _others(side: "Side") -> dict[str, dict[str, Any]]:
    """Return disputes of one memory, and pairs of others', some of which have been decided."""
    shared, theirs = (side.memories[name, "project", "apollo"] for name in ("senior", "contractor"))
    wide, gone = (side.memories[name, "tenant", "apollo"] for name in ("contractor", "gone"))
    senior, contractor = side.members["senior"], side.members["contractor"]
    agent = side.agents["agent"]
    decided = {"state": "resolved", "resolved_by": senior}
    challenged: dict[str, Any] = {"b": None, "kind": "challenged"}
    return {
        "alone": noted(side, side.memories["outsider", "project", "hermes"], None),
        "personal": noted(side, side.memories["contractor", "private", None], None),
        "decided": noted(side, shared, wide, winner=shared, **decided),
        "closed": noted(side, theirs, gone, winner=theirs, **decided),
        "others": noted(side, theirs, wide),
        "raised": noted(side, theirs, **challenged, raised_by=senior),
        # Their sponsor was another then.
        "asked": noted(
            side, side.memories["admin", "project", "apollo"], **challenged,
            raised_by=contractor, raised_by_agent=agent,
        ),
        "written": noted(side, side.memories["gone", "project", "apollo"], **challenged),
    }  # fmt: skip
