"""Taking back what people decided, so that everything is as it was before."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, UUIDField
from django.db.models.functions import Now

from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.conflict.policy import Resolution
from memory.conflict.record import UNDO
from memory.conflict.supersede import locked
from memory.models import (
    Conflict,
    ConflictState,
    Door,
    Lifecycle,
    Link,
    LinkType,
    Memory,
    Retirement,
    SettledPair,
    Signal,
)
from reviews.carrying_out import RESOLVE, by_id
from reviews.deciding import Desk
from reviews.merging import not_taken_up
from reviews.proposals import ACCEPT, REJECT
from tenants.audit import Told, record_all
from tenants.ids import MalformedId, Prefix, read_id, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer
from tenants.refusals import NotAllowed

RESTORED = "restored"
REOPENED = "reopened"
NOT_ALLOWED = "not_allowed"
NOTHING_TO_UNDO = "nothing_to_undo"

Sides = dict[UUID, Memory]


def taken_back(desk: Desk, batch_id: UUID, conflicts: Sequence[Conflict]) -> list[Answer]:
    """
    Open again the disputes that people decided in this batch, and bring back what they retired.

    What has been decided otherwise since is left alone. Belongs inside the door.
    """
    memories = _locked_sides(conflicts)
    current = {
        one.id: one
        for one in Conflict.objects.filter(id__in=[conflict.id for conflict in conflicts])
        .order_by("id")
        .select_for_update(no_key=True)
    }
    told, reopened = [], []
    for seen in conflicts:
        conflict = current.get(seen.id, seen)
        outcome = _outcome(desk, batch_id, conflict, memories)
        told.append(item(conflict, conflict.memory_a_id, outcome))
        if outcome == REOPENED:
            reopened.append(conflict)
    if reopened:
        _take_back(batch_id, reopened, memories)
    return told


def _locked_sides(conflicts: Sequence[Conflict]) -> Sides:
    ids = {side for one in conflicts for side in (one.memory_a_id, one.memory_b_id) if side}
    before = {one.id: one for one in Memory.objects.filter(id__in=ids)}
    merged = {one.superseded_by_id for one in before.values() if one.superseded_by_id is not None}
    after = {one.id: one for one in Memory.objects.filter(id__in=merged - ids)}
    return before | after | locked({*before, *after})


def _outcome(desk: Desk, batch_id: UUID, conflict: Conflict, memories: Sides) -> str:
    if conflict.state != ConflictState.RESOLVED or conflict.batch_id != batch_id:
        return NOTHING_TO_UNDO
    sides = [memories[one] for one in _sides(conflict)]
    gone = [side for side in sides if _went_by(side, conflict)]
    try:
        desk.must_decide(conflict, sides)
        desk.must_retire(gone)
    except NotAllowed:
        return NOT_ALLOWED
    if any(side.invalidated_at is not None and side not in gone for side in sides):
        return NOTHING_TO_UNDO
    return NOTHING_TO_UNDO if _is_disputed_again(conflict) else REOPENED


def _sides(conflict: Conflict) -> list[UUID]:
    return [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]


def _went_by(memory: Memory, conflict: Conflict) -> bool:
    """Return whether this decision retired it: all that it did has one time, exactly."""
    return memory.invalidated_at is not None and memory.invalidated_at == conflict.resolved_at


def _is_disputed_again(conflict: Conflict) -> bool:
    """Return whether somebody disputes the memory anew, so that there is a question already."""
    return (
        conflict.memory_b_id is None
        and Conflict.objects.filter(
            memory_a=conflict.memory_a_id, memory_b=None, state=ConflictState.PENDING
        ).exists()
    )


def _take_back(batch_id: UUID, conflicts: Sequence[Conflict], memories: Sides) -> None:
    at = conflicts[0].resolved_at
    assert at is not None
    sides = {one for conflict in conflicts for one in _sides(conflict)}
    gone = [memories[one] for one in sides if memories[one].invalidated_at == at]
    others = {one for memory in gone if (one := memory.superseded_by_id) is not None} - sides
    # Written for it, and not before: what was there already stays.
    merged = [memories[one] for one in others if memories[one].created_at >= at]
    merged = not_taken_up(merged)
    _unsettle(conflicts, memories, others, at)
    _bring_back(gone)
    Link.objects.filter(
        batch_id=batch_id,
        type=LinkType.SUPERSEDES,
        dst__in=[memory.id for memory in gone],
        removed_at=None,
    ).update(removed_at=Now())
    _withdraw(merged)
    Signal.objects.filter(weighed_by__in=[one.id for one in conflicts]).update(weighed_by=None)
    _reopen(conflicts)


def _bring_back(gone: Sequence[Memory]) -> None:
    Memory.objects.filter(id__in=[memory.id for memory in gone]).update(
        invalidated_at=None,
        invalidated_reason=None,
        superseded_by=None,
        superseded_at=None,
        supersede_reason=None,
        version=F("version") + 1,
    )
    # What was written while they were away was not compared with them.
    leave_to_the_judge(*gone, again="undone")
    record_all(UNDO, "memory", [_told(memory, _lives()) for memory in gone])


def _withdraw(merged: Sequence[Memory]) -> None:
    """Take the texts out of use that were written to take the place of others."""
    live = [memory for memory in merged if memory.invalidated_at is None]
    Memory.objects.filter(id__in=[memory.id for memory in live]).update(
        invalidated_at=Now(), invalidated_reason=Door.FORGOTTEN, version=F("version") + 1
    )
    after = {"lifecycle": Lifecycle.RETIRED, "invalidated_reason": Door.FORGOTTEN}
    record_all(UNDO, "memory", [_told(memory, after) for memory in live])


def _lives() -> dict[str, Any]:
    return {"lifecycle": Lifecycle.LIVE}


def _told(memory: Memory, after: dict[str, Any]) -> Told:
    return Told(
        memory.id,
        memory.id,
        "the decision was undone",
        before={
            "lifecycle": memory.lifecycle,
            "invalidated_reason": memory.invalidated_reason,
            "superseded_by": wire_id_or_none(Prefix.MEMORY, memory.superseded_by_id),
        },
        after=after,
    )


def _unsettle(
    conflicts: Sequence[Conflict], memories: Sides, after: Collection[UUID], at: datetime
) -> None:
    """Take up again the pairs that this decision settled, apart from what a restore settled."""
    ids = {one for conflict in conflicts for one in _sides(conflict)} | set(after)
    for_good = {
        (min(side, other), max(side, other))
        for conflict in conflicts
        for side in _restored_since(conflict, memories)
        for other in (after if conflict.winner_id is None else [conflict.winner_id])
    }
    pairs = SettledPair.objects.filter(low__in=ids, high__in=ids, settled_at=at, reopened_at=None)
    for low, high in for_good:
        pairs = pairs.exclude(low=low, high=high)
    pairs.update(reopened_at=Now())


def _restored_since(conflict: Conflict, memories: Sides) -> list[UUID]:
    """Return the sides that this decision retired, and that somebody has restored since."""
    if conflict.resolution not in (Resolution.MANUAL, Resolution.MERGED):
        return []
    return [
        one
        for one in _sides(conflict)
        if one != conflict.winner_id and memories[one].invalidated_at is None
    ]


def _reopen(conflicts: Sequence[Conflict]) -> None:
    """Let the disputes wait again, in the batch that they came from, and what went with them."""
    before = _batches_before(conflicts)
    Conflict.objects.filter(id__in=before).update(
        state=ConflictState.PENDING,
        resolution=None,
        winner=None,
        note="",
        resolved_at=None,
        resolved_by_member=None,
        resolved_by_agent=None,
        batch_id=by_id(before, UUIDField()),
    )
    record_all(
        UNDO,
        "conflict",
        [
            Told(
                one.id,
                one.memory_a_id,
                before={"state": one.state, "resolution": one.resolution},
                after={"state": ConflictState.PENDING},
            )
            for one in conflicts
        ],
    )


def _batches_before(conflicts: Sequence[Conflict]) -> dict[UUID, UUID | None]:
    """Return in which batch each was before it was decided: the sweep that found it, if one did."""
    before: dict[UUID, UUID | None] = {one.id: None for one in conflicts}
    events = Event.objects.filter(
        memory_id__in={one.memory_a_id for one in conflicts}
        | {one.memory_b_id for one in conflicts},
        object_type="conflict",
        object_id__in=before,
        command=RESOLVE,
    )
    for event in events.order_by("sequence"):
        said = (event.before or {}).get("batch")
        try:
            before[event.object_id] = None if said is None else read_id(Prefix.BATCH, said)
        except MalformedId:
            before[event.object_id] = None
    return before


def verdict_taken_back(desk: Desk, event: Event | None) -> list[Answer]:
    """Take back that a proposal was accepted or rejected, if the event tells of that."""
    if event is None or event.command not in (ACCEPT, REJECT):
        return []
    memory = locked([event.object_id]).get(event.object_id)
    told = {
        "conflict": None,
        "memory": wire_id(Prefix.MEMORY, event.object_id),
        "other": None,
        "outcome": NOTHING_TO_UNDO,
    }
    if memory is None or not desk.reviews(memory) or memory.owner_id == desk.caller.member_id:
        return [told | {"outcome": NOT_ALLOWED}]
    if not _is_the_last(event):
        return [told]
    if event.command == ACCEPT and memory.accepted_at is not None:
        Memory.objects.filter(id=memory.id).update(accepted_at=None, version=F("version") + 1)
        record_all(UNDO, "memory", [_told(memory, {"trust_state": "proposed"})])
        return [told | {"outcome": REOPENED}]
    if event.command == REJECT and memory.invalidated_reason == Door.REJECTED:
        if not _put_back(memory, event):
            _bring_back([memory])
        return [told | {"outcome": REOPENED}]
    return [told]


def _put_back(memory: Memory, event: Event) -> bool:
    """Let a memory be superseded again that was so when it was rejected. Return whether it was."""
    if (event.before or {}).get("lifecycle") != Lifecycle.SUPERSEDED:
        return False
    before = (
        Retirement.objects.filter(memory=memory.id, door=Door.SUPERSEDED, ended_at__isnull=False)
        .order_by("-ended_at", "-id")
        .first()
    )
    if before is None or before.successor_id is None:
        return False
    Memory.objects.filter(id=memory.id).update(
        invalidated_at=before.began_at,
        invalidated_reason=Door.SUPERSEDED,
        superseded_by=before.successor_id,
        superseded_at=before.began_at,
        supersede_reason=before.supersede_reason,
        version=F("version") + 1,
    )
    after = {
        "lifecycle": Lifecycle.SUPERSEDED,
        "superseded_by": wire_id(Prefix.MEMORY, before.successor_id),
    }
    record_all(UNDO, "memory", [_told(memory, after)])
    return True


def _is_the_last(event: Event) -> bool:
    """Return whether the proposal was not accepted, or rejected, anew since."""
    later = Event.objects.filter(memory_id=event.memory_id, command=event.command)
    return not later.filter(sequence__gt=event.sequence).exists()


def item(conflict: Conflict, memory_id: UUID, outcome: str) -> Answer:
    """Return what became of one part of a batch."""
    other = conflict.memory_b_id if conflict.memory_a_id == memory_id else conflict.memory_a_id
    return {
        "conflict": wire_id(Prefix.CONFLICT, conflict.id),
        "memory": wire_id(Prefix.MEMORY, memory_id),
        "other": wire_id_or_none(Prefix.MEMORY, other),
        "outcome": outcome,
    }
