"""
The sweep's work: memories near each other that were never compared, one after the other.

It walks what one member sees in the order of writing, and every memory is concluded and the
progress noted in one transaction. So it goes on where it was, whatever interrupts it.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from hygiene.asking import UNDONE, Compared, inquiry_about, let_go
from hygiene.budget import count_in_vain, must_be_within_budget
from hygiene.hearing import hear
from hygiene.judge import Judge
from hygiene.judging import conclude, judge_at_work
from hygiene.models import Sweep
from hygiene.neighbours import Beside, Pair, neighbours_of
from hygiene.noting import keep_for_later
from hygiene.sweep import SWEEP, worth_comparing
from memory.conflict.act import Acted
from memory.conflict.detect import Candidate
from memory.conflict.left_to_the_judge import JUDGE_MEMORY, of_batch
from memory.models import Memory
from memory.trust.state import has_expired
from memory.wire import with_authors
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.jobs import (
    JobInHand,
    LeaseLost,
    Obsolete,
    finishing,
    job_kind,
    keep_lease,
    lease_time,
    leave_job,
)

AT_A_TIME = 256  # memories whose neighbours are looked up together; of few, most is planning


class SweepOvertaken(LeaseLost):
    """Somebody else has moved the sweep on meanwhile."""


@dataclass
class Stretch:
    """Some memories in a row, and which of their neighbours nobody has compared them with."""

    memories: list[Memory]
    beside: dict[UUID, Beside]


@job_kind(SWEEP)
def sweep_on(caller: Caller, job: JobInHand) -> None:
    """
    Go on with a sweep, to its end.

    :raises Obsolete: if there is no such sweep
    :raises NotNow: if the judge is down, or the day's budget is used up
    """
    judge = judge_at_work()
    with acting_as(caller):
        sweep = Sweep.objects.filter(id__in=[job.subject_id]).first()
    if sweep is None:
        raise Obsolete("the sweep is gone")
    keep = _keeping(job)
    while stretch := next_stretch(caller, sweep, judge):
        for memory in stretch.memories:
            keep()
            beside = stretch.beside[memory.id]
            compared = _heard(job, judge, memory, beside.open, keep)
            sweep.memories += 1
            sweep.skipped += beside.known
            sweep.reached = memory.sequence
            clashing = beside.clashing
            # Where nothing was found, nothing is lost if it is looked at again.
            if compared or clashing or memory is stretch.memories[-1]:
                _conclude(job, sweep, judge, memory, compared, clashing=clashing)
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


def next_stretch(caller: Caller, sweep: Sweep, judge: Judge) -> Stretch | None:
    left = AT_A_TIME if sweep.most is None else min(AT_A_TIME, sweep.most - sweep.memories)
    if left <= 0:
        return None
    with acting_as(caller):
        must_be_within_budget(judge)
        again = [one for one in sweep.again if one > sweep.reached]
        ahead = worth_comparing(sweep.project_id).filter(
            Q(sequence__gt=sweep.since) | Q(sequence__in=again),
            sequence__gt=sweep.reached,
            sequence__lte=sweep.until,
        )
        # Chosen before their authors are joined: else all that lie ahead may be, to be sorted then.
        next_ones = ahead.order_by("sequence").values("id")[:left]
        chosen = with_authors(Memory.objects.filter(id__in=next_ones))
        memories = list(chosen.order_by("sequence"))
        if not memories:
            return None
        return Stretch(memories, neighbours_of(memories, lambda ids: _known(ids, judge)))


def _known(ids: Iterable[UUID], judge: Judge) -> set[Pair]:
    """Return the pairs that are decided, wait for a person, or were judged by this judge."""
    asked: list[Any] = [list(ids), judge.id, judge.prompt_version, list(UNDONE)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT low_id, high_id FROM pairs_known_among(%s, %s, %s, %s)", asked)
        return {(one, other) for one, other in cursor.fetchall()}


def _heard(
    job: JobInHand,
    judge: Judge,
    memory: Memory,
    candidates: Sequence[Candidate],
    keep: Callable[[], None],
) -> list[Compared]:
    """
    Return what the judge says of a memory and those neighbours.

    What another job asks about right now is left to that.

    :raises NotNow: if it is down, or the day's budget is used up
    """
    if not candidates:
        return []
    with acting_as(job.caller):
        must_be_within_budget(judge)
        inquiry = inquiry_about(memory, _still_to_compare(memory, candidates), judge, job)
    heard = hear(judge, inquiry, keep)
    if heard.missing is not None:
        with acting_as(job.caller):
            keep_for_later(memory, heard.compared + heard.unanswered, judge)
            count_in_vain(judge, heard.in_vain)
            let_go(job)
        raise heard.missing
    return heard.compared


def _conclude(
    job: JobInHand,
    sweep: Sweep,
    judge: Judge,
    memory: Memory,
    compared: Sequence[Compared],
    *,
    clashing: Sequence[Candidate],
) -> None:
    """Do what comes of it, and note that the sweep has come past the memory."""
    with acting_as(job.caller):
        _move_on(sweep)
        if compared or clashing:
            acted = conclude(memory, compared, judge, clashing, batch_id=sweep.id)
            _count(sweep, len(compared) + len(clashing), acted, memory)
            let_go(job)
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


def _move_on(sweep: Sweep) -> None:
    # Whoever has the row first moves it; a worker that was taken for dead finds it further on.
    moved = Sweep.objects.filter(
        id=sweep.id, reached__lt=sweep.reached, state=Sweep.State.RUNNING
    ).update(reached=sweep.reached)
    if moved == 0:
        raise SweepOvertaken(SWEEP)


def _count(sweep: Sweep, pairs: int, acted: Acted, memory: Memory) -> None:
    sweep.pairs += pairs
    settled = sum(conflict.winner_id is not None for conflict in acted.conflicts)
    sweep.actions += settled
    sweep.disputes += len(acted.conflicts) - settled
    if acted.changed:
        # Somebody changed something meanwhile: it is looked at again by itself.
        leave_job(
            JUDGE_MEMORY,
            dedup_key=f"{memory.id}:{sweep.id}",
            subject_id=memory.id,
            arguments=of_batch(sweep.id),
        )


def _note_counts(sweep: Sweep) -> None:
    Sweep.objects.filter(id=sweep.id).update(
        memories=sweep.memories,
        pairs=sweep.pairs,
        skipped=sweep.skipped,
        actions=sweep.actions,
        disputes=sweep.disputes,
    )
