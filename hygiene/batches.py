"""Undoing whole batches: everything that one sweep, or one bulk resolution, did."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from hygiene.models import Judgement
from memory.authority import may_replace, must_be_restorable, reviews
from memory.conflict.policy import Deed
from memory.conflict.supersede import settle
from memory.lifecycle import restore_memory
from memory.models import Conflict, ConflictState, Door, Link, LinkType, Memory
from tenants.audit import record
from tenants.caller import Caller, Role
from tenants.ids import Prefix, wire_id
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound

RESTORED = "restored"
DISMISSED = "dismissed"
UNLINKED = "unlinked"
NOT_ALLOWED = "not_allowed"
NOTHING_TO_UNDO = "nothing_to_undo"
OUTCOMES = (RESTORED, DISMISSED, UNLINKED, NOT_ALLOWED, NOTHING_TO_UNDO)
UNDONE = "undone"
ONE_TRANSACTION = timedelta(seconds=5)


def undo_batch(caller: Caller, *, batch_id: UUID) -> Answer:
    """
    Undo what a sweep or a bulk resolution did, as far as the caller may undo each part of it.

    Who lost comes back, what was opened and nobody has decided is dismissed, links go; and the
    pairs are settled, so that no machine does it again. What is undone already is left alone.

    :raises NotAllowed: for an agent
    :raises NotFound: if the caller sees nothing of such a batch
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may undo a batch.")
    caller = caller.as_role(Role.REVIEWER)
    with writing_as(caller) as keep:
        conflicts = list(Conflict.objects.filter(batch_id=batch_id).order_by("created_at", "id"))
        related = list(Judgement.objects.filter(batch_id=batch_id, deed=Deed.RELATE).order_by("id"))
        if not conflicts and not Judgement.objects.filter(batch_id=batch_id).exists():
            raise NotFound
        items = [*_disputes_dismissed(caller, conflicts), *_losers_restored(caller, conflicts)]
        items += _links_taken_away(caller, related)
        batch = wire_id(Prefix.BATCH, batch_id)
        done = [one for one in items if one["outcome"] in (RESTORED, DISMISSED, UNLINKED)]
        if done:
            record("undo_batch", "batch", batch_id, after={"items": len(done)})
        return keep({"batch": batch, "undone": len(done), "items": items})


def _losers_restored(caller: Caller, conflicts: Iterable[Conflict]) -> list[Answer]:
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
        _restored(caller, losers[loser], decided)
        for loser, decided in won_over.items()
        if loser in losers
    ]


def _restored(caller: Caller, loser: Memory, decided: list[Conflict]) -> Answer:
    winners = {one.winner_id for one in decided if one.winner_id is not None}
    by_it = loser.superseded_by_id in winners or (
        loser.invalidated_reason == Door.RETIRED
        and any(one.resolved_at == loser.invalidated_at for one in decided)
    )
    if not by_it:
        return _item(decided[0], loser.id, NOTHING_TO_UNDO)
    try:
        must_be_restorable(caller, loser)
    except NotAllowed:
        return _item(decided[0], loser.id, NOT_ALLOWED)
    restore_memory(caller, memory_id=loser.id, reason="the batch was undone")
    settle(loser.id, winners, UNDONE)
    return _item(decided[0], loser.id, RESTORED)


def _disputes_dismissed(caller: Caller, conflicts: Iterable[Conflict]) -> list[Answer]:
    pending = [one for one in conflicts if one.state == ConflictState.PENDING]
    return [_dismissed(caller, conflict) for conflict in pending]


def _dismissed(caller: Caller, conflict: Conflict) -> Answer:
    if not _decides(caller, (conflict.memory_a_id, conflict.memory_b_id)):
        return _item(conflict, conflict.memory_a_id, NOT_ALLOWED)
    changed = Conflict.objects.filter(id=conflict.id, state=ConflictState.PENDING).update(
        state=ConflictState.DISMISSED,
        resolved_at=Now(),
        resolved_by_member=caller.member_id,
        note="The batch was undone.",
    )
    if not changed:
        return _item(conflict, conflict.memory_a_id, NOTHING_TO_UNDO)
    if conflict.memory_b_id is not None:
        settle(conflict.memory_a_id, [conflict.memory_b_id], UNDONE)
    record(
        "dismiss",
        "conflict",
        conflict.id,
        memory_id=conflict.memory_a_id,
        reason="the batch was undone",
        before={"state": ConflictState.PENDING},
        after={"state": ConflictState.DISMISSED},
    )
    return _item(conflict, conflict.memory_a_id, DISMISSED)


def _links_taken_away(caller: Caller, related: Iterable[Judgement]) -> list[Answer]:
    items = []
    for judgement in related:
        # Drawn in the transaction in which it was judged, a little earlier in it.
        link = Link.objects.filter(
            Q(src=judgement.older_id, dst=judgement.newer_id)
            | Q(src=judgement.newer_id, dst=judgement.older_id),
            type=LinkType.RELATES_TO,
            created_at__range=(judgement.judged_at - ONE_TRANSACTION, judgement.judged_at),
            removed_at=None,
        ).first()
        if link is not None:
            items.append(_unlinked(caller, link))
    return items


def _unlinked(caller: Caller, link: Link) -> Answer:
    item = {
        "conflict": None,
        "memory": wire_id(Prefix.MEMORY, link.src_id),
        "other": wire_id(Prefix.MEMORY, link.dst_id),
        "outcome": UNLINKED,
    }
    if not _decides(caller, (link.src_id, link.dst_id)):
        return item | {"outcome": NOT_ALLOWED}
    Link.objects.filter(id=link.id).update(removed_at=Now())
    settle(link.src_id, [link.dst_id], UNDONE)
    record(
        "unlink", "link", link.id, memory_id=link.src_id, reason="the batch was undone",
        before={"type": link.type},
    )  # fmt: skip
    return item


def _decides(caller: Caller, sides: Iterable[UUID | None]) -> bool:
    """Return whether the caller could take one of them out of use, or bring it back."""
    ids = [one for one in sides if one is not None]
    return any(
        may_replace(caller, memory) or reviews(caller, memory)
        for memory in Memory.objects.filter(id__in=ids)
    )


def _item(conflict: Conflict, memory_id: UUID, outcome: str) -> Answer:
    other = conflict.memory_b_id if conflict.memory_a_id == memory_id else conflict.memory_a_id
    return {
        "conflict": wire_id(Prefix.CONFLICT, conflict.id),
        "memory": wire_id(Prefix.MEMORY, memory_id),
        "other": None if other is None else wire_id(Prefix.MEMORY, other),
        "outcome": outcome,
    }
