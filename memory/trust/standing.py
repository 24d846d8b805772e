"""How memories stand at a time: their trust state, and all the stored facts that it comes from."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memory.conflict.disputes import is_conflicted
from memory.conflict.policy import ConflictKind
from memory.models import Conflict, DisputePeriod, Mark, Memory, Retirement
from memory.trust.confidence import confidence_of, sources
from memory.trust.expiry import mark_by_end
from memory.trust.in_vain import Doubt, doubt_of
from memory.trust.intervals import is_overdue
from memory.trust.looked import Looked, Part, Repeat, looked_of, repeat_of
from memory.trust.marks import SUSPECTED, newest_first, readable_causes, reason_of, weightiest
from memory.trust.open_marks import open_marks
from memory.trust.state import Facts, TrustState, state_of
from memory.trust.vouching import attested, last_values, vouched_for

# What tells of a memory, a row each. Everything that came later than a time is left out of it.
_EVIDENCE = "SELECT * FROM evidence_about(%(ids)s, %(until)s)"
FOREVER = "infinity"


@dataclass(frozen=True)
class Standing:
    """
    How a memory stands, at the time that was asked for.

    :param last_verified_at: when the oldest of its components was last vouched for
    :param marks: of the open ones, newest first, all that tell how it stands; of a change that is
        out of sight only the cause
    :param more_marks: how many more are open, which lie where these lie
    :param dirty_reason: what is known of the mark that weighs most, as a phrase without a full stop
    :param overdue: its date of review, or its project's interval for its kind, has passed
    :param checkable: there is a component, subject or dependency to look at
    :param doubts: what a look may settle, and where those who looked could not tell
    :param verified: when each component was last vouched for, by subject
    :param last_value: what it was found or said to be then
    :param suspected: people say that it misled them, and nobody has decided yet
    :param looked_at: whether anybody has ever tried to verify it
    :param causes: those of the memories by which the marks came that the reader may know of
    :param parts: what it states
    """

    state: TrustState
    confidence: float
    last_verified_at: datetime | None
    marks: tuple[Mark, ...]
    dirty_reason: str | None
    overdue: bool
    checkable: bool
    doubts: tuple[Doubt, ...]
    verified: Mapping[str, datetime]
    last_value: Mapping[str, str]
    suspected: bool
    looked_at: bool
    causes: frozenset[UUID] = frozenset()
    parts: tuple[Part, ...] = ()
    more_marks: int = 0

    def asked_about(self, subjects: Sequence[str]) -> "Standing":
        """Return the same with the reason that concerns what was asked about."""
        if not subjects or not self.marks:
            return self
        reason = _reason(self.marks, subjects, self.causes, suspected=self.suspected)
        return replace(self, dirty_reason=reason)


@dataclass(frozen=True)
class Evidence:
    """
    The stored rows that tell of one memory.

    :param ended: what would mark it, but has ended so lately that nobody has stored that yet
    """

    checkable: bool
    review_days: int | None
    repeats: tuple[Repeat, ...]
    parts: tuple[Part, ...]
    looked: tuple[Looked, ...]
    is_marked: bool
    accepted_at: datetime | None
    ended: tuple[Mark, ...] = ()


def standings(
    memories: Sequence[Memory],
    at: datetime,
    disputes: Mapping[UUID, Sequence[Conflict]],
    *,
    as_of: datetime | None = None,
) -> dict[UUID, Standing]:
    """
    Return how each of the memories stands, in a fixed number of statements. Inside the door.

    :param at: the present
    :param disputes: the open ones about each of the memories
    :param as_of: then in place of now: nothing counts that came later, and `disputes` are looked up
    """
    ids = [memory.id for memory in memories]
    if not ids:
        return {}
    evidence = evidence_of(ids, as_of)
    marked = [one for one in ids if evidence[one].is_marked]
    marks, more = open_marks(marked, as_of or FOREVER)
    for one in (one for one in ids if evidence[one].ended):
        marks[one] = newest_first([*marks.get(one, ()), *evidence[one].ended])
    causes = readable_causes(mark for found in marks.values() for mark in found)
    doors: Mapping[UUID, str | None] = {memory.id: memory.invalidated_reason for memory in memories}
    if as_of is not None:
        disputes = disputes_at(ids, as_of)
        gone = retirements_at(ids, as_of)
        doors = {one: gone[one].door if one in gone else None for one in ids}
    return {
        memory.id: _standing(
            memory,
            evidence[memory.id],
            marks.get(memory.id, ()),
            disputes.get(memory.id, ()),
            causes,
            door=doors[memory.id],
            at=at if as_of is None else as_of,
            more_marks=more.get(memory.id, 0),
        )
        for memory in memories
    }


def standing_of_new(memory: Memory, at: datetime) -> Standing:
    """Return how a memory stands that was written just now, and on which nothing hangs yet."""
    evidence = Evidence(
        checkable=bool(memory.subjects),
        review_days=None,
        repeats=(),
        parts=(),
        looked=(),
        is_marked=False,
        accepted_at=None,
    )
    door = memory.invalidated_reason
    return _standing(memory, evidence, (), (), set(), door=door, at=at)


def _standing(
    memory: Memory,
    evidence: Evidence,
    marks: Sequence[Mark],
    disputes: Sequence[Conflict],
    causes: set[UUID],
    *,
    door: str | None,
    at: datetime,
    more_marks: int = 0,
) -> Standing:
    was_looked_at = bool(evidence.looked)
    conflicted = is_conflicted(disputes)
    suspected = any(one.kind == ConflictKind.STALE_SUSPECT for one in disputes)
    attested_at = attested(memory, evidence.accepted_at)
    verified, oldest = vouched_for(memory, evidence.parts, evidence.looked, attested_at)
    spoken = sources(
        memory,
        attested=attested_at is not None,
        looked=evidence.looked,
        repeats=evidence.repeats,
        parts=evidence.parts,
    )
    facts = Facts(
        door=door,
        valid_until=memory.valid_until,
        conflicted=conflicted,
        verified=oldest is not None,
        doubted=bool(marks) or suspected,
    )
    return Standing(
        state=state_of(facts, at),
        confidence=confidence_of(spoken, conflicted=conflicted),
        last_verified_at=oldest,
        marks=tuple(marks),
        dirty_reason=_reason(marks, (), causes, suspected=suspected),
        overdue=is_overdue(
            at,
            review_after=memory.review_after,
            days=evidence.review_days,
            verified_at=oldest,
            written_at=memory.created_at,
        ),
        checkable=evidence.checkable or bool(evidence.parts),
        doubts=tuple(_doubts(evidence, marks, disputes, (verified, oldest))),
        verified=verified,
        last_value=last_values(evidence.parts, evidence.looked, verified),
        suspected=suspected,
        looked_at=was_looked_at,
        causes=frozenset(causes),
        parts=evidence.parts,
        more_marks=more_marks,
    )


def _reason(
    marks: Sequence[Mark], asked: Sequence[str], causes: Collection[UUID], *, suspected: bool
) -> str | None:
    """Return why it is in doubt. A suspicion is about the memory itself, as a direct mark is."""
    mark = weightiest(marks, asked)
    if suspected and (mark is None or not mark.direct):
        return str(SUSPECTED)
    return None if mark is None else reason_of(mark, causes)


def _doubts(
    evidence: Evidence,
    marks: Sequence[Mark],
    disputes: Sequence[Conflict],
    vouched: tuple[Mapping[str, datetime], datetime | None],
) -> Iterator[Doubt]:
    """Return what a look may settle: marks, suspicions, and what nobody has vouched for."""
    parts, looked = evidence.parts, evidence.looked
    for mark in marks:
        yield doubt_of(parts, looked, since=mark.observed_at, mark=mark)
    for one in disputes:
        if one.kind == ConflictKind.STALE_SUSPECT:
            yield doubt_of(parts, looked, since=one.created_at)
    verified, all_of_it = vouched
    if all_of_it is None:
        yield doubt_of([part for part in parts if part.subject not in verified], looked)


def evidence_of(ids: Iterable[UUID], as_of: datetime | None = None) -> dict[UUID, Evidence]:
    """Return the rows that tell of each memory, as they were at a time; those in sight alone."""
    with connection.cursor() as cursor:
        cursor.execute(_EVIDENCE, {"ids": list(ids), "until": as_of or FOREVER})
        rows = cursor.fetchall()
    return {one: _evidence(one, row) for one, *row in rows}


def _evidence(memory_id: UUID, row: list[Any]) -> Evidence:
    checkable, days, repeats, stated, looked, is_marked, accepted_at, ended = row
    return Evidence(
        checkable=checkable,
        review_days=days,
        repeats=tuple(repeat_of(one) for one in repeats or ()),
        parts=tuple(
            Part(subject, value, datetime.fromisoformat(at)) for subject, value, at in stated or ()
        ),
        looked=tuple(map(looked_of, looked or ())),
        is_marked=is_marked,
        accepted_at=accepted_at,
        ended=tuple(mark_by_end(memory_id, *one) for one in ended or ()),
    )


def disputes_at(ids: Iterable[UUID], as_of: datetime) -> dict[UUID, list[Conflict]]:
    """Return the disputes about each memory that were open then, of the kind they had then."""
    wanted = set(ids)
    found: dict[UUID, list[Conflict]] = defaultdict(list)
    periods = DisputePeriod.objects.filter(
        Q(conflict__memory_a__in=wanted) | Q(conflict__memory_b__in=wanted),
        Q(ended_at=None) | Q(ended_at__gt=as_of),
        began_at__lte=as_of,
    )
    for period in periods.select_related("conflict").order_by("began_at", "id"):
        conflict = period.conflict
        conflict.kind = period.kind
        for side in wanted & {conflict.memory_a_id, conflict.memory_b_id}:
            found[side].append(conflict)
    return found


def retirements_at(ids: Iterable[UUID], as_of: datetime) -> dict[UUID, Retirement]:
    """Return for each memory that was out of use then by which door it had gone."""
    periods = Retirement.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=as_of), memory__in=set(ids), began_at__lte=as_of
    )
    return {period.memory_id: period for period in periods}
