"""From verdicts to deeds: all that concerns a memory is decided first, then done together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from memory.conflict.decided import Decided, Judged
from memory.conflict.detect import settled_with
from memory.conflict.given_back import give_back_what_it_won
from memory.conflict.left_to_the_judge import of_batch
from memory.conflict.pairs import age_of, in_order, pair_of
from memory.conflict.periods import Times, times_of
from memory.conflict.policy import (
    Action,
    Bars,
    Deed,
    Relation,
    Resolution,
)
from memory.conflict.record import (
    brought_back_by_undoing,
    challenged,
    decided_with,
    note_conflict,
)
from memory.conflict.supersede import draw_links, let_it_end, locked, settle, supersede
from memory.models import Conflict, Link, LinkType, Memory, SupersedeReason
from memory.trust.corroboration import corroborate
from tenants.context import whose_door
from tenants.jobs import leave_job

BEGIN_MEMORY = "begin_memory"

# The brake: so many automatic retirements in a tenant and hour, or this share of what is live.
MOST_RETIRED = 50
MOST_RETIRED_SHARE = 0.05
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_REASONS = {
    Resolution.AUTHORITY: SupersedeReason.AUTHORITY,
    Resolution.RECENCY: SupersedeReason.RECENCY,
    Resolution.DUPLICATE: SupersedeReason.DUPLICATE,
}


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
    deeds = {one.other.id: one.action.deed for one in done if not (one.pair.closed or one.waits)}
    for one in decided:
        if one.waits:
            _come_back_to(now, one, batch_id)
    corroborate(now, _by_others_who_say_the_same(now, decided), batch_id=batch_id)
    conflicts = _lose(now, lost, batch_id) if lost else _win(now, decided, batch_id)
    return Acted(deeds, conflicts, changed)


def _come_back_to(memory: Memory, one: Decided, batch_id: UUID | None) -> None:
    """Have it looked at again when the one begins to hold that does not yet."""
    later = memory if one.times.begins_later is age_of(memory, one.other) else one.other
    earlier = one.other if later is memory else memory
    leave_job(
        BEGIN_MEMORY,
        dedup_key=f"{later.id}:{earlier.id}",
        subject_id=later.id,
        arguments=of_batch(batch_id),
        run_after=later.valid_from,
    )


def _by_others_who_say_the_same(memory: Memory, decided: Sequence[Decided]) -> list[UUID]:
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
) -> list[Decided]:
    # Of what has nothing to do with the memory, nothing need be known.
    others = [other.id for one, other in judged if one.is_related]
    closed = settled_with(memory, others) | decided_with(memory.id, others) if others else set()
    disputed = challenged([memory.id, *others]) if others else set()
    decided = []
    for one, other in sorted(judged, key=lambda pair: pair[1].sequence):
        pair = pair_of(
            memory,
            other,
            one.verdict.relation,
            clashes=one.candidate.clashes,
            disputed=disputed,
            closed=other.id in closed,
        )
        allowed = replace(bars, certified=bars.certified or one.is_proven)
        is_open = one.is_rival and not pair.closed
        times = times_of(*in_order(memory, other)) if is_open else Times()
        undecided = Decided(one, other, pair, times, allowed, Action(Deed.NOTHING, ""))
        decided.append(undecided.under(allowed))
    return _braked(memory, _sparing_what_came_back(memory, decided))


def _sparing_what_came_back(memory: Memory, decided: list[Decided]) -> list[Decided]:
    """Leave to people what would retire something that a person brought back by undoing."""
    losers = {one.other.id: one.loser(memory) for one in decided if one.retires}
    back = brought_back_by_undoing(losers.values()) if losers else set()
    return [
        one.with_loser_restored() if losers.get(one.other.id) in back else one for one in decided
    ]


def _braked(memory: Memory, decided: list[Decided]) -> list[Decided]:
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
            kept.append(one.under(replace(one.bars, brake=True)))
        else:
            kept.append(one)
    return kept


def _allowance() -> int:
    """
    Return how many more may be retired automatically in this hour.

    One at a time: who counts here has all memories locked that it will change, and the next one
    counts what this one has committed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"brake:{whose_door().tenant_id}"])
        cursor.execute(
            "SELECT retired, live FROM retired_by_policy(%s)", [timezone.now() - timedelta(hours=1)]
        )
        retired, live = cursor.fetchone()
    return int(max(MOST_RETIRED, live * MOST_RETIRED_SHARE) - retired)


def _lose(memory: Memory, lost: Sequence[Decided], batch_id: UUID | None) -> list[Conflict]:
    """Let the memory be superseded by the best of those that beat it; it beats nobody."""
    best = max(
        lost,
        key=lambda one: (one.other.rank, one.other.author_level, one.other.sequence),
    )
    conflicts = [
        note_conflict(memory, one.other, one.action, one.judged, winner=one.other) for one in lost
    ]
    supersede([memory], best.other, _reason(best.action), why=best.action.row)
    # One of them is its successor; all of them have won, and none of them need win again.
    for one in lost:
        settle(memory.id, [one.other.id], _reason(one.action))
    if any(one.other.sequence < memory.sequence for one in lost):
        give_back_what_it_won(memory, batch_id=batch_id)
    return conflicts


def _win(memory: Memory, decided: Sequence[Decided], batch_id: UUID | None) -> list[Conflict]:
    conflicts = []
    for one in decided:
        if one.action.deed is Deed.RELATE:
            _relate(memory, one.other, batch_id)
        elif one.action.deed is Deed.DISPUTE:
            recommended = (
                None if one.action.winner is None else (memory if one.wins(memory) else one.other)
            )
            conflicts.append(
                note_conflict(memory, one.other, one.action, one.judged, recommended=recommended)
            )
        elif one.action.deed is Deed.SUCCEED:
            ending, beginning = (one.other, memory) if one.wins(memory) else (memory, one.other)
            let_it_end(ending, beginning, why=one.action.row, batch_id=batch_id)
        elif one.action.deed is Deed.SUPERSEDE:
            conflicts.append(
                note_conflict(memory, one.other, one.action, one.judged, winner=memory)
            )
            supersede([one.other], memory, _reason(one.action), why=one.action.row)
            if memory.sequence < one.other.sequence:
                give_back_what_it_won(one.other, batch_id=batch_id)
    return conflicts


def _relate(memory: Memory, other: Memory, batch_id: UUID | None) -> None:
    """Link the two, unless they are linked, or somebody has taken that away: it stays away."""
    either_way = Q(src=memory.id, dst=other.id) | Q(src=other.id, dst=memory.id)
    if not Link.objects.filter(either_way, type=LinkType.RELATES_TO).exists():
        draw_links(memory.id, [other.id], LinkType.RELATES_TO, batch_id=batch_id)


def _reason(action: Action) -> SupersedeReason:
    assert action.resolution is not None
    return _REASONS[action.resolution]
