"""
The sweep: memories that lie near each other and were never compared, looked at one after the other.

It walks what one member sees in the order of writing, and every memory is concluded and the progress
noted in one transaction. So it goes on where it was, whatever interrupts it.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from hygiene.budget import must_be_within_budget
from hygiene.judge import Judge, JudgeDown
from hygiene.judging import Compared, compare, conclude, current_judge, exhibits_of
from hygiene.models import Judgement, Sweep
from memory.conflict.act import Acted
from memory.conflict.detect import Candidate
from memory.conflict.on_write import JUDGE_MEMORY
from memory.finding.embedding import current
from memory.finding.similar import EXACT_UP_TO
from memory.models import Conflict, ConflictState, Lifecycle, Memory, SettledPair
from memory.place import project_in_sight
from memory.trust.state import has_expired
from memory.wire import with_authors
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.jobs import (
    JobInHand,
    LeaseLost,
    NotNow,
    Obsolete,
    finishing,
    job_kind,
    keep_lease,
    lease_time,
    leave_job,
)
from tenants.models import Job
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound, Refusal

SWEEP = "sweep"
NEIGHBOURS = 3
_ASKED_FOR = 8  # neighbours, since some of them may be proposals
AT_A_TIME = 50  # memories whose neighbours are looked up in one statement
RETRY = timedelta(seconds=30)
_OPEN = ("queued", "running")

Pair = tuple[UUID, UUID]

_NEIGHBOURS = """
SELECT memory_id, neighbour_id, similarity FROM neighbours_of(%s, %s, %s, %s, %s)
ORDER BY memory_id, similarity DESC, neighbour_id
"""


class JudgingIsOff(Refusal):
    status = HTTPStatus.CONFLICT
    code = "judging_off"
    title = "Judging is switched off"


class SweepOvertaken(LeaseLost):
    """Somebody else has moved the sweep on meanwhile."""


@dataclass
class _Stretch:
    """Some memories in a row, and which of their neighbours nobody has compared them with."""

    memories: list[Memory]
    open_pairs: dict[UUID, list[Candidate]] = field(default_factory=dict)
    known: dict[UUID, int] = field(default_factory=dict)


def start_sweep(caller: Caller, *, project: str | None = None, limit: int | None = None) -> Answer:
    """
    Start comparing what the caller sees with its neighbours, as far as it is new since the last time.

    One that is under way for the same is told instead of starting another.

    :param limit: look at so many memories at most, and go on from there next time
    :raises NotAllowed: for an agent
    :raises JudgingIsOff: if there is no judge
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may start a sweep.")
    if settings.JUDGE == "off":
        raise JudgingIsOff("JUDGE is off, so there is nobody who could compare.")
    with writing_as(caller) as keep:
        where = project_in_sight(caller, project).id if project or caller.project_id else None
        return keep(sweep_wire(open_sweep(caller, where, limit, current_judge())))


def get_sweep(caller: Caller, *, sweep_id: UUID) -> Answer:
    """
    Tell how far a sweep has come.

    :raises NotFound: if there is none that is the caller's, or in the tenant of an administrator
    """
    with acting_as(caller):
        sweep = Sweep.objects.filter(id=sweep_id).first()
        if sweep is None:
            raise NotFound
        return sweep_wire(sweep)


def open_sweep(caller: Caller, project_id: UUID | None, limit: int | None, judge: Judge) -> Sweep:
    """Return a new sweep with its job, or the one that is under way. Inside the door."""
    sweep = _planned(caller, project_id, limit, judge)
    left = leave_job(
        SWEEP, dedup_key=f"{caller.member_id}:{project_id or 'all'}", subject_id=sweep.id
    )
    if left is None:
        under_way = Job.objects.filter(
            kind=SWEEP, state__in=_OPEN, dedup_key=f"{caller.member_id}:{project_id or 'all'}"
        ).values("subject_id")
        return Sweep.objects.get(id__in=under_way)
    sweep.save(force_insert=True)
    record("start_sweep", "sweep", sweep.id, after={"of_memories": sweep.of_memories})
    sweep.refresh_from_db()
    return sweep


def _planned(caller: Caller, project_id: UUID | None, limit: int | None, judge: Judge) -> Sweep:
    earlier = Sweep.objects.filter(
        Q(project=project_id) | Q(project__isnull=True),
        member=caller.member_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
    )
    since = earlier.aggregate(reached=Max("reached"))["reached"] or 0
    ahead = _worth_comparing(project_id).filter(sequence__gt=since)
    until = ahead.aggregate(last=Max("sequence"))["last"] or since
    number = ahead.count()
    return Sweep(
        tenant_id=caller.tenant_id,
        member_id=caller.member_id,
        project_id=project_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        since=since,
        reached=since,
        until=until,
        most=limit,
        of_memories=number if limit is None else min(limit, number),
    )


def _worth_comparing(project_id: UUID | None) -> "QuerySet[Memory]":
    """Return the current knowledge in sight: nothing retired, expired or merely proposed."""
    live = Memory.objects.filter(
        Q(valid_until__isnull=True) | Q(valid_until__gt=Now()),
        Q(provenance_rank__gt=0) | Q(accepted_at__isnull=False),
        lifecycle=Lifecycle.LIVE,
    )
    return live if project_id is None else live.filter(project=project_id)


def sweep_wire(sweep: Sweep) -> Answer:
    """Return a sweep as it is told outside. Inside the door."""
    job = Job.objects.filter(kind=SWEEP, subject_id=sweep.id).order_by("-created_at").first()
    state = sweep.state if job is None or sweep.state == Sweep.State.DONE else job.state
    return {
        "id": wire_id(Prefix.BATCH, sweep.id),
        "state": state,
        "project": wire_id_or_none(Prefix.PROJECT, sweep.project_id),
        "judge": sweep.judge,
        "prompt_version": sweep.prompt_version,
        "memories": sweep.memories,
        "of_memories": sweep.of_memories,
        "pairs": sweep.pairs,
        "skipped": sweep.skipped,
        "actions": sweep.actions,
        "disputes": sweep.disputes,
        "started_at": moment(sweep.started_at),
        "finished_at": moment(sweep.finished_at),
    }


@job_kind(SWEEP)
def sweep_on(caller: Caller, job: JobInHand) -> None:
    """
    Go on with a sweep, to its end.

    :raises Obsolete: if there is no such sweep
    :raises NotNow: if the judge is down, or the day's budget is used up
    """
    judge = current_judge()
    with acting_as(caller):
        sweep = Sweep.objects.filter(id=job.subject_id).first()
    if sweep is None:
        raise Obsolete("the sweep is gone")
    keep = _keeping(job)
    while stretch := _next_stretch(caller, sweep, judge):
        for memory in stretch.memories:
            keep()
            _look_at(caller, sweep, judge, memory, stretch, keep)
    with finishing(caller, job) as done:
        reached = sweep.until if _is_over(sweep) else sweep.reached
        Sweep.objects.filter(id=sweep.id).update(
            state=Sweep.State.DONE, reached=reached, finished_at=timezone.now()
        )
        done({"memories": sweep.memories, "pairs": sweep.pairs, "actions": sweep.actions})


def _keeping(job: JobInHand) -> Callable[[], None]:
    """Return what keeps the lease, at most thrice in its time however often it is called."""
    pause = lease_time().total_seconds() / 3
    last = time.monotonic()

    def keep() -> None:
        nonlocal last
        if time.monotonic() - last > pause:
            keep_lease(job)
            last = time.monotonic()

    return keep


def _is_over(sweep: Sweep) -> bool:
    """Return whether it ended because there is nothing more, and not at its limit."""
    return sweep.most is None or sweep.memories < sweep.most


def _next_stretch(caller: Caller, sweep: Sweep, judge: Judge) -> _Stretch | None:
    left = AT_A_TIME if sweep.most is None else min(AT_A_TIME, sweep.most - sweep.memories)
    if left <= 0:
        return None
    with acting_as(caller):
        must_be_within_budget(judge)
        ahead = with_authors(_worth_comparing(sweep.project_id)).filter(
            sequence__gt=sweep.reached, sequence__lte=sweep.until
        )
        memories = list(ahead.order_by("sequence")[:left])
        return _looked_up(memories, judge) if memories else None


def _looked_up(memories: list[Memory], judge: Judge) -> _Stretch:
    stretch = _Stretch(memories)
    near = _nearest_of([memory.id for memory in memories])
    ids = {one for pair in near for one in pair}
    found = {one.id: one for one in with_authors(_worth_comparing(None)).filter(id__in=ids)}
    known = _known(ids, judge)
    taken: dict[UUID, int] = {}
    for (memory_id, other), similarity in near.items():
        if other not in found or taken.get(memory_id, 0) >= NEIGHBOURS:
            continue
        taken[memory_id] = taken.get(memory_id, 0) + 1
        pair = _pair(memory_id, other)
        if pair in known:
            stretch.known[memory_id] = stretch.known.get(memory_id, 0) + 1
            continue
        # From the other's side it would be the same pair again.
        known.add(pair)
        stretch.open_pairs.setdefault(memory_id, []).append(Candidate(found[other], similarity))
    return stretch


def _nearest_of(ids: Sequence[UUID]) -> dict[Pair, float]:
    """Return the neighbours of each, nearest first."""
    embedder = current()
    with connection.cursor() as cursor:
        cursor.execute(
            _NEIGHBOURS,
            [list(ids), embedder.id, embedder.bars.sweep_floor, _ASKED_FOR, EXACT_UP_TO],
        )
        return {(memory, other): similarity for memory, other, similarity in cursor.fetchall()}


def _known(ids: Iterable[UUID], judge: Judge) -> set[Pair]:
    """Return the pairs that were settled, stand in an open dispute, or were judged by this judge."""
    among = list(ids)
    settled = SettledPair.objects.filter(low__in=among, high__in=among)
    disputed = Conflict.objects.filter(
        low_id__in=among,
        high_id__in=among,
        memory_b__isnull=False,
        state=ConflictState.PENDING,
    )
    judged = Judgement.objects.filter(
        older__in=among,
        newer__in=among,
        judge=judge.id,
        prompt_version=judge.prompt_version,
    )
    return {
        _pair(one, other)
        for pairs in (
            settled.values_list("low_id", "high_id"),
            disputed.values_list("low_id", "high_id"),
            judged.values_list("older_id", "newer_id"),
        )
        for one, other in pairs
    }


def _pair(one: UUID, other: UUID) -> Pair:
    return (one, other) if one < other else (other, one)


def _look_at(
    caller: Caller,
    sweep: Sweep,
    judge: Judge,
    memory: Memory,
    stretch: _Stretch,
    keep: Callable[[], None],
) -> None:
    """Compare a memory with its open neighbours, and move the sweep past it with what comes of it."""
    candidates = stretch.open_pairs.get(memory.id, [])
    is_last = memory is stretch.memories[-1]
    compared: list[Compared] = []
    if candidates:
        with acting_as(caller):
            must_be_within_budget(judge)
            compared_with = _still_to_compare(memory, candidates)
            exhibits = exhibits_of([memory, *(one.memory for one in compared_with)])
        for candidate in compared_with:
            try:
                compared.append(compare(judge, memory, candidate, exhibits))
            except JudgeDown as error:
                after = RETRY if error.after is None else timedelta(seconds=max(1.0, error.after))
                raise NotNow("the judge is down", after=after) from None
            keep()
    before = sweep.reached
    sweep.memories += 1
    sweep.skipped += stretch.known.get(memory.id, 0)
    sweep.reached = memory.sequence
    if not compared and not is_last:
        return  # Nothing was asked, so nothing is lost if this is looked at again.
    with acting_as(caller):
        _move_on(sweep, before)
        if compared:
            _count(sweep, compared, conclude(memory, compared, judge, batch_id=sweep.id), memory)
        _note_counts(sweep)


def _still_to_compare(memory: Memory, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those that are live, if the memory is: much may have happened in this very stretch."""
    ids = [memory.id, *(one.memory.id for one in candidates)]
    live = {
        one.id: one
        for one in Memory.objects.filter(id__in=ids, invalidated_at=None).only("id", "valid_until")
        if not has_expired(one, timezone.now())
    }
    return [one for one in candidates if memory.id in live and one.memory.id in live]


def _move_on(sweep: Sweep, _before: int) -> None:
    # Whoever has the row first moves it; a worker that was taken for dead finds it further on.
    moved = Sweep.objects.filter(
        id=sweep.id, reached__lt=sweep.reached, state=Sweep.State.RUNNING
    ).update(reached=sweep.reached)
    if moved == 0:
        raise SweepOvertaken(SWEEP)


def _count(sweep: Sweep, compared: Sequence[Compared], acted: Acted, memory: Memory) -> None:
    sweep.pairs += len(compared)
    settled = sum(conflict.winner_id is not None for conflict in acted.conflicts)
    sweep.actions += settled
    sweep.disputes += len(acted.conflicts) - settled
    if acted.changed:
        # Somebody changed something meanwhile: it is looked at again by itself.
        leave_job(JUDGE_MEMORY, dedup_key=str(memory.id), subject_id=memory.id)


def _note_counts(sweep: Sweep) -> None:
    Sweep.objects.filter(id=sweep.id).update(
        memories=sweep.memories,
        pairs=sweep.pairs,
        skipped=sweep.skipped,
        actions=sweep.actions,
        disputes=sweep.disputes,
    )
