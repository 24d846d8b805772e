"""What people say against a memory without having written another: who, what and when."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from memory.conflict.policy import ConflictKind
from memory.models import Conflict
from memory.trust.verifications import UNNAMED_AGENT
from tenants.ids import moment
from tenants.once import Answer

UNNAMED = "somebody"


def objections_in(disputes: Iterable[Conflict]) -> dict[UUID, Answer]:
    """Return what was said against a memory alone, by dispute, as a competing claim. In a door."""
    asked = [one.id for one in disputes if one.kind == ConflictKind.CHALLENGED]
    if not asked:
        return {}
    found = Conflict.objects.filter(id__in=asked, memory_b=None)
    return {
        one.id: {
            "memory_id": None,
            "content": one.reason,
            "author": _author(one),
            "created_at": moment(one.created_at),
            "valid_from": None,
        }
        for one in found.select_related("raised_by_member", "raised_by_agent")
    }


def _author(one: Conflict) -> dict[str, Any]:
    member, agent = one.raised_by_member, one.raised_by_agent
    if one.raised_by_agent_id is None:
        name = UNNAMED if member is None else member.name
        return {"name": name, "type": "member", "level": 0 if member is None else member.level}
    name = UNNAMED_AGENT if agent is None else agent.name
    return {"name": name, "type": "agent", "level": 0 if agent is None else agent.level}
