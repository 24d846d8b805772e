"""Verifications as they are told: who looked, how, and what they found."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from memory.independence import is_independent
from memory.models import Memory, Method, Outcome, Verification
from tenants.ids import Prefix, moment, wire_id
from tenants.once import Answer

UNNAMED_AGENT = "an agent"


def verifications_of(ids: Iterable[UUID]) -> dict[UUID, list[Verification]]:
    """Return who looked at each of the memories, oldest first. Inside the door."""
    found: dict[UUID, list[Verification]] = defaultdict(list)
    wanted = set(ids)
    if not wanted:
        return found
    rows = Verification.objects.filter(memory__in=wanted).select_related("by_member", "by_agent")
    for verification in rows.order_by("created_at", "id"):
        found[verification.memory_id].append(verification)
    return found


def verification_wires(
    memory: Memory, found: Iterable[Verification], author: dict[str, Any]
) -> list[Answer]:
    """
    Return what vouches for a memory or speaks against it, oldest first.

    What is written deliberately its author vouches for by writing it: that comes first.

    :param author: who wrote it, as that is told outside
    """
    told = [_wire(one, memory) for one in found]
    return told if memory.provenance_rank == 0 else [_self_attestation(memory, author), *told]


def _self_attestation(memory: Memory, author: dict[str, Any]) -> Answer:
    return {
        "id": None,
        "outcome": Outcome.CONFIRMED.value,
        "method": Method.SELF.value,
        "components": [],
        "observed_value": None,
        "evidence": "",
        "by": author,
        "independent": False,
        "weighs": True,
        "observed_at": moment(memory.created_at),
        "created_at": moment(memory.created_at),
    }


def _wire(one: Verification, memory: Memory) -> Answer:
    return {
        "id": wire_id(Prefix.VERIFICATION, one.id),
        "outcome": one.outcome,
        "method": one.method,
        "components": list(one.subjects),
        "observed_value": one.observed_value,
        "evidence": one.evidence,
        "by": _by(one),
        "independent": is_independent(memory, one.by_member_id, one.by_agent_id),
        "weighs": one.weighs,
        "observed_at": moment(one.observed_at),
        "created_at": moment(one.created_at),
    }


def _by(one: Verification) -> dict[str, Any]:
    if one.by_agent_id is None:
        return {
            "id": wire_id(Prefix.MEMBER, one.by_member_id),
            "name": one.by_member.name,
            "type": "member",
            "level": one.level,
        }
    return {
        "id": wire_id(Prefix.AGENT, one.by_agent_id),
        "name": UNNAMED_AGENT if one.by_agent is None else one.by_agent.name,
        "type": "agent",
        "level": one.level,
    }
