"""What a sweep compares with a memory: its neighbours, and what states another value."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from hygiene.sweep import MOST_PAIRS, worth_comparing
from memory.conflict.detect import Candidate, candidates_of
from memory.finding.embedding import current
from memory.finding.similar import EXACT_UP_TO
from memory.models import Component, Memory
from memory.wire import with_authors
from tenants.caller import Rank

# So many are looked up: some may be proposals, or compared already; then more, until three are not.
_ASKED_FOR = (4, 32, 512)
# Of so many memories in one statement: far within its time, also where all are compared with each.
_LOOKED_UP_AT_ONCE = 64

Pair = tuple[UUID, UUID]
Known = Callable[[Iterable[UUID]], set[Pair]]

_NEIGHBOURS = """
SELECT memory_id, neighbour_id, similarity FROM neighbours_of(%s, %s, %s, %s, %s)
WHERE neighbour_id IS NOT NULL ORDER BY memory_id, similarity DESC, neighbour_id
"""


@dataclass
class Beside:
    """
    What is to be compared with a memory.

    :param clashing: those about which no judge need be asked, however many they are
    :param open: the judge is asked about these, at most three
    :param known: how many others there are about which nothing need be asked
    :param left: so many more it may have, those counted that are asked about from the other's side
    """

    clashing: list[Candidate] = field(default_factory=list)
    open: list[Candidate] = field(default_factory=list)
    known: int = 0
    left: int = MOST_PAIRS


def pair_of(one: UUID, other: UUID) -> Pair:
    """Return the two in the order in which pairs are known."""
    return (one, other) if one < other else (other, one)


def neighbours_of(memories: Sequence[Memory], known_among: Known) -> dict[UUID, Beside]:
    """
    Return what each of the memories is to be compared with. Inside the door.

    First what states, or seems to state, another value of the same subject, then the nearest;
    nothing that is merely proposed, and no pair from both its sides.

    :param known_among: tells which pairs of these ids are decided, or were judged before
    """
    rivals = _rivals_of(memories)
    known = known_among([*rivals, *_ids_in(rivals.values())]) if rivals else set()
    told: set[Pair] = set()
    beside = {memory.id: Beside() for memory in memories}
    for memory_id, candidates in rivals.items():
        for one in candidates:
            _add(beside[memory_id], memory_id, one, known, told)
    wanting = [one for one in beside if beside[one].left > 0]
    looked_at = {one: {rival.memory.id for rival in rivals.get(one, ())} for one in wanting}
    for number in _ASKED_FOR:
        if not wanting:
            break
        near = _nearest_of(wanting, number)
        _add_nearest(near, beside, looked_at, known_among, told)
        # Who has fewer than were asked for has no more.
        wanting = [
            one for one in wanting if beside[one].left > 0 and len(near.get(one, ())) >= number
        ]
    return beside


def _ids_in(groups: Iterable[Iterable[Candidate]]) -> list[UUID]:
    return [one.memory.id for group in groups for one in group]


def _add(
    beside: Beside, memory_id: UUID, candidate: Candidate, known: set[Pair], told: set[Pair]
) -> None:
    """Add the candidate where it belongs, if it belongs anywhere."""
    pair = pair_of(memory_id, candidate.memory.id)
    if pair in known:
        beside.known += 1
    elif candidate.clashes or beside.left > 0:
        if not candidate.clashes:
            beside.left -= 1
        # From the other's side it would be the same pair again.
        if pair not in told:
            told.add(pair)
            (beside.clashing if candidate.clashes else beside.open).append(candidate)


def _add_nearest(
    near: dict[UUID, dict[UUID, float]],
    beside: dict[UUID, Beside],
    looked_at: dict[UUID, set[UUID]],
    known_among: Known,
    told: set[Pair],
) -> None:
    new = {
        memory_id: {one: score for one, score in others.items() if one not in looked_at[memory_id]}
        for memory_id, others in near.items()
    }
    known = known_among([*near, *(one for others in new.values() for one in others)])
    # Read is only what there may be anything to ask about.
    unknown = {
        one
        for memory_id, others in new.items()
        for one in others
        if pair_of(memory_id, one) not in known
    }
    found = {one.id: one for one in with_authors(worth_comparing(None)).filter(id__in=unknown)}
    for memory_id, others in new.items():
        for other, score in others.items():
            if pair_of(memory_id, other) in known:
                beside[memory_id].known += 1
            elif other in found:
                _add(beside[memory_id], memory_id, Candidate(found[other], score), known, told)
        looked_at[memory_id] |= others.keys()


def _rivals_of(memories: Sequence[Memory]) -> dict[UUID, list[Candidate]]:
    stated = Component.objects.filter(
        memory__in=[memory.id for memory in memories],
        value__isnull=False,
        multi=False,
        dismissed_at=None,
    )
    stating = set(stated.values_list("memory_id", flat=True))
    return {
        memory.id: [one for one in candidates_of(memory, {}) if _counts(one.memory)]
        for memory in memories
        if memory.id in stating
    }


def _counts(memory: Memory) -> bool:
    return memory.provenance_rank > Rank.PROVISIONAL or memory.accepted_at is not None


def _nearest_of(ids: Sequence[UUID], number: int) -> dict[UUID, dict[UUID, float]]:
    """Return the neighbours of each, nearest first, with how near they are."""
    embedder = current()
    near: dict[UUID, dict[UUID, float]] = {}
    how: list[Any] = [embedder.id, embedder.bars.sweep_floor, number, EXACT_UP_TO]
    with connection.cursor() as cursor:
        for start in range(0, len(ids), _LOOKED_UP_AT_ONCE):
            some = list(ids[start : start + _LOOKED_UP_AT_ONCE])
            cursor.execute(_NEIGHBOURS, [some, *how])
            for memory, other, similarity in cursor.fetchall():
                near.setdefault(memory, {})[other] = similarity
    return near
