"""What counts about two memories that may be in conflict, as it stands in the tables."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from memory.conflict.coverage import (
    MOST_TOLD,
    changed_values,
    lost_with_duplicate,
    lost_with_replaced,
    uncovered,
    unsaid_values,
)
from memory.conflict.detect import have_the_same_readers, several_valued
from memory.conflict.environments import environment_lost
from memory.conflict.policy import Age, Pair, Relation, Side, would_be_winner
from memory.conflict.record import outranked_by
from memory.conflict.verified import verified_since
from memory.models import PROTECTED_KINDS, Component, Dependency, Memory
from memory.values import same_value


def in_order(memory: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return the newer one and the older, by the server's order of writing."""
    return (memory, other) if memory.sequence > other.sequence else (other, memory)


def age_of(memory: Memory, other: Memory) -> Age:
    """Return which of the two the memory is."""
    return Age.NEWER if memory.sequence > other.sequence else Age.OLDER


def pair_of(
    memory: Memory,
    other: Memory,
    relation: Relation,
    *,
    clashes: Sequence[str],
    disputed: Collection[UUID],
    closed: bool,
) -> Pair:
    """
    Return what counts about two memories, as far as it matters for what is said of them.

    :param clashes: the subjects on which they were declared to contradict each other
    :param disputed: those that stand in an open dispute of their own
    :param closed: it was decided between them, or waits for people
    """
    newer, older = in_order(memory, other)
    pair = Pair(
        newer=_side(newer, disputed),
        older=_side(older, disputed),
        closed=closed,
        same_readers=have_the_same_readers(memory, other),
    )
    winner = would_be_winner(pair, relation)
    if winner is None:
        return pair
    # Looked up for these alone: of two that may both stay, nobody asks.
    if relation is Relation.CONTRADICTION:
        since = verified_since(older, newer, clashes)
        pair = replace(pair, older=replace(pair.older, verified_since=since))
    lost = _lost(newer, older, winner, relation, clashes)
    if winner is Age.NEWER:
        outranked = outranked_by(newer.owner_id, older.id)
        return replace(
            pair,
            newer=replace(pair.newer, outranked=outranked),
            older=replace(pair.older, lost_specifics=lost),
        )
    outranked = outranked_by(older.owner_id, newer.id)
    return replace(
        pair,
        newer=replace(pair.newer, lost_specifics=lost),
        older=replace(pair.older, outranked=outranked),
    )


def _side(memory: Memory, disputed: Collection[UUID]) -> Side:
    return Side(
        rank=memory.rank,
        level=memory.author_level,
        protected_kind=memory.kind in PROTECTED_KINDS,
        restored=memory.restored_by_person_at is not None,
        challenged=memory.id in disputed,
    )


def _lost(
    newer: Memory, older: Memory, winner: Age, relation: Relation, clashes: Sequence[str]
) -> tuple[str, ...]:
    """Return what would be lost if the winner took the place of the other, in text and declared."""
    kept, gone = (newer, older) if winner is Age.NEWER else (older, newer)
    stated: dict[UUID, list[Component]] = {gone.id: [], kept.id: []}
    for component in Component.objects.filter(
        memory__in=stated, suggested=False, dismissed_at=None
    ):
        stated[component.memory_id].append(component)
    mine, said = stated[gone.id], stated[kept.id]
    if relation is Relation.DUPLICATE:
        lost = lost_with_duplicate(gone.content, kept.content) + _unsaid(gone, kept, mine, said)
        lost += environment_lost(_all_said(gone, mine), _all_said(kept, said))
        return tuple(dict.fromkeys(lost))[:MOST_TOLD]
    # What clashes has one value, or it would not: the rest alone need be asked about.
    several: frozenset[str] = frozenset()
    if {one.subject for one in mine} - set(clashes):
        several = several_valued([gone.id])[gone.id]
    changed = changed_values(mine, said, several=several)
    lost = lost_with_replaced(gone.content, kept.content, changed=changed)
    lost += uncovered(mine, said) if changed else ()
    lost += unsaid_values(mine, said, several=several)
    lost += environment_lost(_all_said(gone, mine), _all_said(kept, said), changed=changed)
    return tuple(dict.fromkeys(lost))[:MOST_TOLD]


def _all_said(memory: Memory, declared: Sequence[Component]) -> str:
    return "\n".join([memory.content, *(one.value or "" for one in declared)])


def _unsaid(
    gone: Memory, kept: Memory, mine: Sequence[Component], said: Sequence[Component]
) -> tuple[str, ...]:
    """
    Return what one of two of the same text is beside it, and the other is not.

    Of another kind it is not the same: what is to be done is not what was done.
    """
    kinds = (gone.kind,) if gone.kind != kept.kind else ()
    components = tuple(
        one.subject
        for one in mine
        if not any(
            one.subject == other.subject and same_value(one.value or "", other.value or "")
            for other in said
        )
    )
    spoken_of = {*kept.subjects, *(one.subject for one in said)}
    subjects = tuple(one for one in gone.subjects if one not in spoken_of)
    known = {(one.on_memory_id, one.on_subject) for one in _dependencies(kept)}
    dependencies = tuple(
        one.on_subject or "depends_on"
        for one in _dependencies(gone)
        if (one.on_memory_id, one.on_subject) not in known
    )
    ends = ("valid_until",) if _ends_before(kept, gone) else ()
    return kinds + components + subjects + dependencies + ends


def _ends_before(kept: Memory, gone: Memory) -> bool:
    """Return whether what stays would be over, by its own word, while what goes still held."""
    end = None if kept.ends_with_id is not None else kept.valid_until
    return end is not None and (gone.valid_until is None or gone.valid_until > end)


def _dependencies(memory: Memory) -> QuerySet[Dependency]:
    return Dependency.objects.filter(memory=memory.id)
