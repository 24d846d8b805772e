"""Memories that lost to one which has gone since, and are retired all the same."""

from collections.abc import Sequence
from uuid import UUID

from memory.conflict.coverage import changed_values
from memory.conflict.detect import several_valued
from memory.models import Component, Conflict, Memory


def orphaned(conflicts: Sequence[Conflict]) -> set[UUID]:
    """
    Return those of the conflicts whose loser is without a winner. Belongs inside a door.

    Its winner is not live any more, and what came after the winner, if anything did, declares
    nothing that contradicts the loser. Whether it should come back is for a person to say.
    """
    losers = {one.id: loser_of(one) for one in conflicts}
    rows = _rows({*losers.values(), *(one.winner_id for one in conflicts)})
    ends: dict[UUID, Memory | None] = {}
    for one in conflicts:
        loser = rows.get(losers[one.id] or one.id)
        winner = rows.get(one.winner_id or one.id)
        if loser is None or winner is None or loser.superseded_by_id != winner.id:
            continue
        if winner.invalidated_at is not None:
            ends[one.id] = last_after(winner, rows)
    return {
        conflict_id
        for conflict_id, end in ends.items()
        if end is None or not _contradict(losers[conflict_id], end.id)
    }


def loser_of(conflict: Conflict) -> UUID | None:
    """Return who lost, where somebody won."""
    if conflict.winner_id == conflict.memory_a_id:
        return conflict.memory_b_id
    return conflict.memory_a_id


def _rows(ids: set[UUID | None]) -> dict[UUID, Memory]:
    wanted = [one for one in ids if one is not None]
    found = Memory.objects.filter(id__in=wanted)
    return {one.id: one for one in found.only("id", "invalidated_at", "superseded_by")}


def last_after(memory: Memory, rows: dict[UUID, Memory]) -> Memory | None:
    """Return the live one at the chain's end; nothing if it ends otherwise, or out of sight."""
    following = memory.superseded_by_id
    passed = {memory.id}
    while following is not None and following not in passed:
        passed.add(following)
        if following not in rows:
            rows |= _rows({following})
        successor = rows.get(following)
        if successor is None or successor.invalidated_at is None:
            return successor
        following = successor.superseded_by_id
    return None


def _contradict(one: UUID | None, other: UUID) -> bool:
    """Return whether both state a value of a subject that has but one, and not the same."""
    if one is None:
        return False
    stated: dict[UUID, list[Component]] = {one: [], other: []}
    several = several_valued(stated)
    for component in Component.objects.filter(
        memory__in=stated, suggested=False, dismissed_at=None
    ):
        if component.subject not in several[one] | several[other]:
            stated[component.memory_id].append(component)
    return bool(changed_values(stated[one], stated[other]))
