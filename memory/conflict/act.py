"""From verdicts to deeds: all that concerns a memory is decided first, then done together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memory.conflict.coverage import (
    changed_values,
    lost_with_duplicate,
    lost_with_replaced,
    uncovered,
)
from memory.conflict.detect import Candidate, have_the_same_readers, settled_with
from memory.conflict.policy import (
    Action,
    Age,
    Bars,
    Deed,
    Pair,
    Relation,
    Resolution,
    Side,
    Verdict,
    decide,
    would_be_winner,
)
from memory.conflict.record import challenged, decided_with, note_conflict, outranked_by
from memory.conflict.supersede import draw_links, locked, settle, supersede
from memory.conflict.verified import verified_since
from memory.models import PROTECTED_KINDS, Component, Conflict, LinkType, Memory, SupersedeReason
from memory.trust.corroboration import corroborate

# The brake: so many automatic retirements in a tenant and hour, or this share of what is live.
MOST_RETIRED = 50
MOST_RETIRED_SHARE = 0.05
_REASONS = {
    Resolution.AUTHORITY: SupersedeReason.AUTHORITY,
    Resolution.RECENCY: SupersedeReason.RECENCY,
    Resolution.DUPLICATE: SupersedeReason.DUPLICATE,
}


@dataclass(frozen=True)
class Judged:
    """
    A candidate, and what a judge says of it and the memory.

    :param evidence: the verdict as it is kept, told for the memory and the candidate
    :param is_proven: the verdict follows from what was declared, whichever judge is configured
    """

    candidate: Candidate
    verdict: Verdict
    evidence: dict[str, object] = field(default_factory=dict)
    is_proven: bool = False

    @property
    def is_related(self) -> bool:
        return self.verdict.relation is not Relation.UNRELATED


@dataclass(frozen=True)
class _Decided:
    judged: Judged
    other: Memory
    pair: Pair
    bars: Bars
    action: Action

    @property
    def brakes(self) -> bool:
        """Whether something is retired by it that somebody wrote deliberately."""
        deliberate = min(self.pair.newer.rank, self.pair.older.rank) > 0
        return self.action.deed is Deed.SUPERSEDE and deliberate

    def wins(self, memory: Memory) -> bool:
        """Return whether the memory, and not the other, is who wins or should."""
        return self.action.winner is _age(memory, self.other)


@dataclass(frozen=True)
class Acted:
    """
    What became of some verdicts.

    :param deeds: what was done to each pair, by the candidate's id, if that is all there is to do
    :param conflicts: the records that were made
    :param changed: candidates that have changed since the judge saw them, and are live: ask again
    """

    deeds: dict[UUID, Deed] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    changed: list[UUID] = field(default_factory=list)


def act(
    memory: Memory,
    judged: Sequence[Judged],
    bars: Bars,
    *,
    batch_id: UUID | None = None,
    rows: Mapping[UUID, Memory] | None = None,
) -> Acted:
    """
    Do what the policy says about a memory and those it was compared with.

    Inside the door, in the judge's role. Whatever was retired since the judge saw it is left
    alone, and what has changed is to be judged again. A memory that loses to any of them
    supersedes nobody.

    :param memory: as the judge saw it
    :param batch_id: the sweep that does it, if one does
    :param rows: all of them as they came from `locked`, if the caller has locked them
    """
    if rows is None:
        rows = locked([memory.id, *(one.candidate.memory.id for one in judged)])
    now = rows.get(memory.id)
    if now is None or now.invalidated_at is not None:
        return Acted()
    live = [
        (one, rows[one.candidate.memory.id])
        for one in judged
        if one.candidate.memory.id in rows and rows[one.candidate.memory.id].invalidated_at is None
    ]
    if now.version != memory.version:
        return Acted(changed=[other.id for _, other in live])
    seen = [(one, other) for one, other in live if other.version == one.candidate.memory.version]
    changed = [other.id for one, other in live if other.version != one.candidate.memory.version]
    decided = _decide_all(now, seen, bars)
    lost = [one for one in decided if one.action.deed is Deed.SUPERSEDE and not one.wins(now)]
    # What loses to one is gone: about the others nothing is done, nor is anything over, until it
    # is back. And what is closed was not decided here.
    done = [one for one in decided if not lost or one in lost or one.action.deed is Deed.NOTHING]
    deeds = {one.other.id: one.action.deed for one in done if not one.pair.closed}
    corroborate(now, _by_others_who_say_the_same(now, decided))
    return Acted(deeds, _lose(now, lost) if lost else _win(now, decided, batch_id), changed)


def _by_others_who_say_the_same(memory: Memory, decided: Sequence[_Decided]) -> list[UUID]:
    """Return what somebody else wrote, if the judge may act on it and is sure of it."""
    return [
        one.other.id
        for one in decided
        if one.judged.verdict.relation is Relation.DUPLICATE
        and one.judged.verdict.confidence >= one.bars.drop_duplicate
        and one.bars.certified
        and one.other.owner_id != memory.owner_id
    ]


def _decide_all(
    memory: Memory, judged: Sequence[tuple[Judged, Memory]], bars: Bars
) -> list[_Decided]:
    # Of what has nothing to do with the memory, nothing need be known.
    others = [other.id for one, other in judged if one.is_related]
    closed = settled_with(memory, others) | decided_with(memory.id, others) if others else set()
    disputed = challenged([memory.id, *others]) if others else set()
    decided = []
    for one, other in sorted(judged, key=lambda pair: pair[1].sequence):
        pair = _pair(memory, other, one, disputed, closed=other.id in closed)
        allowed = replace(bars, certified=bars.certified or one.is_proven)
        decided.append(_Decided(one, other, pair, allowed, decide(pair, one.verdict, allowed)))
    return _braked(memory, decided)


def _braked(memory: Memory, decided: list[_Decided]) -> list[_Decided]:
    """Leave to people what would be more than the brake allows, whatever it was decided to be."""
    if not any(one.brakes for one in decided):
        return decided
    allowance = _allowance()
    won = 0
    kept = []
    for one in decided:
        # The memory itself is retired once, however many it loses to.
        allowed = allowance > (won if one.wins(memory) else 0)
        if one.brakes and one.wins(memory):
            won += 1
        if one.brakes and not allowed:
            action = decide(one.pair, one.judged.verdict, replace(one.bars, brake=True))
            kept.append(replace(one, action=action))
        else:
            kept.append(one)
    return kept


def _allowance() -> int:
    """Return how many more may be retired automatically in this hour."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT retired, live FROM retired_by_policy(%s)", [timezone.now() - timedelta(hours=1)]
        )
        retired, live = cursor.fetchone()
    return int(max(MOST_RETIRED, live * MOST_RETIRED_SHARE) - retired)


def _age(memory: Memory, other: Memory) -> Age:
    return Age.NEWER if memory.sequence > other.sequence else Age.OLDER


def _pair(
    memory: Memory, other: Memory, judged: Judged, disputed: set[UUID], *, closed: bool
) -> Pair:
    relation = judged.verdict.relation
    newer, older = (memory, other) if memory.sequence > other.sequence else (other, memory)
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
        since = verified_since(older, newer, judged.candidate.clashes)
        pair = replace(pair, older=replace(pair.older, verified_since=since))
    lost = _lost(newer, older, winner, relation)
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


def _side(memory: Memory, disputed: set[UUID]) -> Side:
    return Side(
        rank=memory.provenance_rank,
        level=memory.author_level,
        protected_kind=memory.kind in PROTECTED_KINDS,
        restored=memory.restored_by_person_at is not None,
        challenged=memory.id in disputed,
    )


def _lost(newer: Memory, older: Memory, winner: Age, relation: Relation) -> tuple[str, ...]:
    kept, gone = (newer, older) if winner is Age.NEWER else (older, newer)
    if relation is Relation.DUPLICATE:
        return lost_with_duplicate(gone.content, kept.content)
    stated: dict[UUID, list[Component]] = {gone.id: [], kept.id: []}
    for component in Component.objects.filter(
        memory__in=stated, suggested=False, dismissed_at=None
    ):
        stated[component.memory_id].append(component)
    changed = changed_values(stated[gone.id], stated[kept.id])
    lost = lost_with_replaced(gone.content, kept.content, changed=changed)
    return lost + (uncovered(stated[gone.id], stated[kept.id]) if changed else ())


def _lose(memory: Memory, lost: Sequence[_Decided]) -> list[Conflict]:
    """Let the memory be superseded by the best of those that beat it; it beats nobody."""
    best = max(
        lost,
        key=lambda one: (one.other.provenance_rank, one.other.author_level, one.other.sequence),
    )
    conflicts = [
        note_conflict(memory, one.other, one.action, one.judged, winner=one.other) for one in lost
    ]
    supersede([memory], best.other, _reason(best.action), why=best.action.row)
    # One of them is its successor; all of them have won, and none of them need win again.
    for one in lost:
        settle(memory.id, [one.other.id], _reason(one.action))
    return conflicts


def _win(memory: Memory, decided: Sequence[_Decided], batch_id: UUID | None) -> list[Conflict]:
    conflicts = []
    for one in decided:
        if one.action.deed is Deed.RELATE:
            draw_links(memory.id, [one.other.id], LinkType.RELATES_TO, batch_id=batch_id)
        elif one.action.deed is Deed.DISPUTE:
            recommended = (
                None if one.action.winner is None else (memory if one.wins(memory) else one.other)
            )
            conflicts.append(
                note_conflict(memory, one.other, one.action, one.judged, recommended=recommended)
            )
        elif one.action.deed is Deed.SUPERSEDE:
            conflicts.append(
                note_conflict(memory, one.other, one.action, one.judged, winner=memory)
            )
            supersede([one.other], memory, _reason(one.action), why=one.action.row)
    return conflicts


def _reason(action: Action) -> SupersedeReason:
    assert action.resolution is not None
    return _REASONS[action.resolution]
