"""What counts about two memories that may be in conflict, as it stands in the tables."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from memory.conflict.coverage import MOST_TOLD, what_is_lost
from memory.conflict.detect import have_the_same_readers, several_valued
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
    is_duplicate = relation is Relation.DUPLICATE
    # What clashes has one value, or it would not: the rest alone need be asked about.
    several: frozenset[str] = frozenset()
    if not is_duplicate and {one.subject for one in mine} - set(clashes):
        several = several_valued([gone.id])[gone.id]
    lost = what_is_lost(
        gone.content, kept.content, mine, said, is_duplicate=is_duplicate, several=several
    )
    lost += _unsaid(gone, kept, mine, said) if is_duplicate else ()
    return tuple(dict.fromkeys(lost))[:MOST_TOLD]


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
