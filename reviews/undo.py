"""Undoing a batch: all that one sweep, or one decision of people, has done."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from memory.authority import must_be_restorable
from memory.conflict.supersede import LET_IT_END, settle
from memory.lifecycle import restore_memory
from memory.models import Conflict, ConflictState, Corroboration, Link, LinkType, Memory
from memory.trust.corroboration import corroborate_no_more
from reviews.deciding import Desk, reviewing
from reviews.taking_back import (
    NOT_ALLOWED,
    NOTHING_TO_UNDO,
    REOPENED,
    RESTORED,
    item,
    taken_back,
    verdict_taken_back,
)
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound

DISMISSED = "dismissed"
# What is moot would wait again as soon as its memory is back.
UNDECIDED = (ConflictState.PENDING, ConflictState.MOOT)
UNLINKED = "unlinked"
OUTCOMES = (RESTORED, REOPENED, DISMISSED, UNLINKED, NOT_ALLOWED, NOTHING_TO_UNDO)
UNDONE = "undone"


def undo_batch(caller: Caller, *, batch_id: UUID) -> Answer:
    """
    Undo what a sweep, a decision or a bulk of decisions did, as far as the caller may decide it.

    What a machine did is undone for good: who lost comes back, what waits is dismissed, links go,
    and the pairs are settled. What people decided is as it was before: the dispute is open again,
    and all that was retired by it is live. What is undone already is left alone.

    :raises NotAllowed: for an agent
    :raises NotFound: if the caller sees nothing of such a batch
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may undo a batch.")
    caller = reviewing(caller)
    with writing_as(caller) as keep:
        desk = Desk.of(caller)
        conflicts = list(Conflict.objects.filter(batch_id=batch_id).order_by("created_at", "id"))
        links = list(Link.objects.filter(batch_id=batch_id, type=LinkType.RELATES_TO))
        event = Event.objects.filter(id=batch_id).first()
        by_people = [one for one in conflicts if one.resolved_by_member_id is not None]
        ends = [] if by_people else _ends_set_by(batch_id)
        if not (conflicts or links or event or ends):
            raise NotFound
        by_machine = [one for one in conflicts if one.resolved_by_member_id is None]
        items = [*taken_back(desk, batch_id, by_people), *verdict_taken_back(desk, event)]
        items += [*_disputes_dismissed(desk, by_machine), *_losers_restored(desk, by_machine)]
        items += [_unlinked(desk, link) for link in links if link.removed_at is None]
        items += [_goes_on(desk, memory) for memory in ends]
        _corroborations_taken_back(desk, batch_id)
        done = [one for one in items if one["outcome"] not in (NOT_ALLOWED, NOTHING_TO_UNDO)]
        if done:
            record("undo_batch", "batch", batch_id, after={"items": len(done)})
        return keep({"batch": wire_id(Prefix.BATCH, batch_id), "undone": len(done), "items": items})


def _losers_restored(desk: Desk, conflicts: Iterable[Conflict]) -> list[Answer]:
    """Bring back every loser that is still retired by one of those it lost to in this batch."""
    won_over: dict[UUID, list[Conflict]] = defaultdict(list)
    for conflict in conflicts:
        if conflict.state != ConflictState.RESOLVED:
            continue
        for side in (conflict.memory_a_id, conflict.memory_b_id):
            if side is not None and side != conflict.winner_id:
                won_over[side].append(conflict)
    losers = {one.id: one for one in Memory.objects.filter(id__in=won_over)}
    return [
        _restored(desk, losers[loser], decided)
        for loser, decided in won_over.items()
        if loser in losers
    ]


def _restored(desk: Desk, loser: Memory, decided: list[Conflict]) -> Answer:
    winners = {one.winner_id for one in decided if one.winner_id is not None}
    if loser.superseded_by_id not in winners:
        return item(decided[0], loser.id, NOTHING_TO_UNDO)
    if not _decides(desk, loser.id, *winners):
        return item(decided[0], loser.id, NOT_ALLOWED)
    try:
        must_be_restorable(desk.caller, loser)
    except NotAllowed:
        return item(decided[0], loser.id, NOT_ALLOWED)
    restore_memory(desk.caller, memory_id=loser.id, reason="the batch was undone")
    settle(loser.id, winners, UNDONE)
    return item(decided[0], loser.id, RESTORED)


def _disputes_dismissed(desk: Desk, conflicts: Iterable[Conflict]) -> list[Answer]:
    undecided = [one for one in conflicts if one.state in UNDECIDED]
    return [_dismissed(desk, conflict) for conflict in undecided]


def _dismissed(desk: Desk, conflict: Conflict) -> Answer:
    if not _decides(desk, conflict.memory_a_id, conflict.memory_b_id):
        return item(conflict, conflict.memory_a_id, NOT_ALLOWED)
    changed = Conflict.objects.filter(id=conflict.id, state=conflict.state).update(
        state=ConflictState.DISMISSED,
        resolved_at=Now(),
        resolved_by_member=desk.caller.member_id,
        note="The batch was undone.",
    )
    if not changed:
        return item(conflict, conflict.memory_a_id, NOTHING_TO_UNDO)
    if conflict.memory_b_id is not None:
        settle(conflict.memory_a_id, [conflict.memory_b_id], UNDONE)
    record(
        "dismiss",
        "conflict",
        conflict.id,
        memory_id=conflict.memory_a_id,
        reason="the batch was undone",
        before={"state": conflict.state},
        after={"state": ConflictState.DISMISSED},
    )
    return item(conflict, conflict.memory_a_id, DISMISSED)


def _unlinked(desk: Desk, link: Link) -> Answer:
    told = {
        "conflict": None,
        "memory": wire_id(Prefix.MEMORY, link.src_id),
        "other": wire_id(Prefix.MEMORY, link.dst_id),
        "outcome": UNLINKED,
    }
    if not _decides(desk, link.src_id, link.dst_id):
        return told | {"outcome": NOT_ALLOWED}
    Link.objects.filter(id=link.id).update(removed_at=Now())
    settle(link.src_id, [link.dst_id], UNDONE)
    record(
        "unlink", "link", link.id, memory_id=link.src_id, reason="the batch was undone",
        before={"type": link.type},
    )  # fmt: skip
    return told


def _ends_set_by(batch_id: UUID) -> list[Memory]:
    """Return what is to end, or has, as something else begins, because the sweep found that so."""
    ending = Memory.objects.filter(ends_with__isnull=False, invalidated_at=None)
    said = Event.objects.filter(
        memory_id__in=ending.values("id"),
        command=LET_IT_END,
        after__batch=wire_id(Prefix.BATCH, batch_id),
    )
    return list(ending.filter(id__in=said.values("memory_id")).order_by("id"))


def _goes_on(desk: Desk, memory: Memory) -> Answer:
    """Let a memory go on that was to end, for good: no machine ends it for that one again."""
    told = {
        "conflict": None,
        "memory": wire_id(Prefix.MEMORY, memory.id),
        "other": wire_id_or_none(Prefix.MEMORY, memory.ends_with_id),
        "outcome": RESTORED,
    }
    if not desk.settles(memory) or memory.ends_with_id is None:
        return told | {"outcome": NOT_ALLOWED}
    with connection.cursor() as cursor:
        cursor.execute("SELECT take_back_end(%s)", [memory.id])
    settle(memory.id, [memory.ends_with_id], UNDONE)
    record(
        "take_back_end",
        "memory",
        memory.id,
        memory_id=memory.id,
        reason="the batch was undone",
        before={"valid_until": moment(memory.valid_until)},
        after={"valid_until": None},
    )
    return told


def _corroborations_taken_back(desk: Desk, batch_id: UUID) -> None:
    """Let what said the same, as the sweep found, speak for each other no more."""
    for found in Corroboration.objects.filter(batch_id=batch_id):
        if _decides(desk, found.memory_id, found.by_memory_id):
            corroborate_no_more(found)


def _decides(desk: Desk, *sides: UUID | None) -> bool:
    """Return whether the caller decides about one of them."""
    ids = [one for one in sides if one is not None]
    return any(desk.settles(memory) for memory in Memory.objects.filter(id__in=ids))
