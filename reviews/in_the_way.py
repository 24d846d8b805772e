"""Why a decision cannot be undone as things are, and why a dispute is moot: who went, and how."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.models import Conflict, ConflictState, Door, Memory
from memory.page import hand_name
from tenants.ids import Prefix, wire_id
from tenants.models import Event

# How each door is told of the memory that went through it.
_DOORS = {
    Door.SUPERSEDED: "superseded",
    Door.FORGOTTEN: "forgotten",
    Door.CLOSED: "closed",
    Door.RETIRED: "retired",
    Door.REJECTED: "rejected",
}


@dataclass(frozen=True)
class Gone:
    """
    A side of a dispute that is not live, and by whom and when it went.

    :param letter: A or B
    :param by: empty if nobody in sight did it
    """

    letter: str
    memory: str
    how: str
    by: str
    at: datetime | None


def gone_sides(conflict: Conflict, memories: Iterable[Memory]) -> list[Gone]:
    """Return the sides that are not live. Belongs inside a door."""
    gone = [one for one in memories if one.invalidated_at is not None]
    by = _hands(gone)
    return [
        Gone(
            letter="A" if one.id == conflict.memory_a_id else "B",
            memory=wire_id(Prefix.MEMORY, one.id),
            how=_DOORS.get(Door(one.invalidated_reason or Door.RETIRED), "retired"),
            by=by.get(one.id, ""),
            at=one.invalidated_at,
        )
        for one in gone
    ]


def _hands(gone: Iterable[Memory]) -> Mapping[UUID, str]:
    """Return who took each out of use: of what was done to it, the last that says so."""
    events = (
        Event.objects.filter(
            memory_id__in=[one.id for one in gone],
            object_type="memory",
            after__lifecycle__in=["superseded", "retired"],
        )
        .select_related("member", "agent")
        .order_by("sequence")
    )
    return {
        one.object_id: hand_name(one.member, one.agent, one.agent_id)
        for one in events
        if one.object_id == one.memory_id
    }


@dataclass(frozen=True)
class Later:
    """A decision that has to be undone first, or the memory that has to be restored first."""

    conflict: str | None
    memory: str
    gone: Gone


def in_the_way(conflict: Conflict) -> Later | None:
    """Return what stands in the way of undoing a decision, if a side went since. Inside a door."""
    ids = [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]
    gone = Memory.objects.filter(id__in=ids, invalidated_at__isnull=False).exclude(
        invalidated_at=conflict.resolved_at
    )
    for memory in gone.order_by("-invalidated_at", "-id"):
        later = (
            Conflict.objects.filter(
                state=ConflictState.RESOLVED,
                resolved_at=memory.invalidated_at,
                resolved_by_member__isnull=False,
            )
            .filter(Q(memory_a=memory.id) | Q(memory_b=memory.id))
            .exclude(id=conflict.id)
            .first()
        )
        (how,) = gone_sides(conflict, [memory])
        told = None if later is None else wire_id(Prefix.CONFLICT, later.id)
        return Later(told, wire_id(Prefix.MEMORY, memory.id), how)
    return None
