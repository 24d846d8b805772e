"""Putting a dispute off, and giving it to somebody."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.conflict.record import conflict_with_sides
from memory.models import Conflict, Memory
from reviews.deciding import Desk, reviewing
from reviews.taking_up import take_up_one
from tenants.audit import record
from tenants.caller import Caller, Rank, Role
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id_or_none
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed

NO_SUCH_REVIEWER = "there is no such member, or none who could decide this"


def defer(caller: Caller, *, dispute_id: UUID, until: datetime | None) -> Answer:
    """
    Put a dispute off until a time; without one it is back in the queue.

    It stays open, and its sides stay disputed.

    :raises Invalid: if the time has passed
    :raises NotAllowed: if the caller may see it and not decide it
    :raises AlreadyResolved: if it does not wait any more
    """
    if until is not None and until <= timezone.now():
        raise Invalid.field("until", "has passed; name a time to come, or null to take it up again")
    return _handed_on(
        caller, dispute_id, "defer", {"deferred_until": until}, {"until": moment(until)}
    )


def assign(caller: Caller, *, dispute_id: UUID, member: UUID | None) -> Answer:
    """
    Give a dispute to a member who could decide it; without one it is anybody's again.

    :raises Invalid: if that member could not decide it
    :raises NotAllowed: if the caller may see it and not decide it
    :raises AlreadyResolved: if it does not wait any more
    """
    if member is not None and not _could_decide(caller, member, dispute_id):
        # Who may not decide is told so before they learn anything of others.
        with acting_as(reviewing(caller)):
            take_up_one(Desk.of(reviewing(caller)), dispute_id)
        raise Invalid.field("member", NO_SUCH_REVIEWER, "unknown_reference")
    return _handed_on(
        caller,
        dispute_id,
        "assign",
        {"assigned_to": member},
        {"member": wire_id_or_none(Prefix.MEMBER, member)},
    )


def _handed_on(
    caller: Caller, dispute_id: UUID, command: str, columns: dict[str, Any], after: dict[str, Any]
) -> Answer:
    caller = reviewing(caller)
    with writing_as(caller) as keep:
        taken = take_up_one(Desk.of(caller), dispute_id)
        Conflict.objects.filter(id=dispute_id).update(**columns)
        record(
            command,
            "conflict",
            dispute_id,
            memory_id=taken.conflict.memory_a_id,
            before={
                "until": moment(taken.conflict.deferred_until),
                "member": wire_id_or_none(Prefix.MEMBER, taken.conflict.assigned_to_id),
            },
            after=after,
        )
        return keep(conflict_with_sides(Conflict.objects.get(id=dispute_id)))


def _could_decide(caller: Caller, member: UUID, dispute_id: UUID) -> bool:
    """
    Return whether that member could decide it, by looking with their eyes.

    Nothing of it is shown to anybody: what comes out is a yes or a no, to who may decide it.
    """
    theirs = Caller(
        tenant_id=caller.tenant_id,
        member_id=member,
        name="",
        level=0,
        rank=Rank.HUMAN,
        scopes=frozenset(),
        role=Role.REVIEWER,
    )
    with acting_as(theirs):
        conflict = Conflict.objects.filter(id=dispute_id).first()
        if conflict is None:
            return False
        sides = Memory.objects.filter(id__in=[conflict.memory_a_id, conflict.memory_b_id])
        try:
            Desk.of(theirs).must_decide(conflict, list(sides))
        except NotAllowed:
            return False
    return True
