"""Waiting for the judge, for a writer who would rather know at once."""

import time
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import DurationField, ExpressionWrapper, F, Q
from django.db.models.functions import Now

from memory.conflict.orphans import loser_of
from memory.conflict.record import conflict_wire
from memory.models import Conflict
from memory.reading import told
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.deadline import awaited_until
from tenants.ids import Prefix, wire_id, wire_id_or_none
from tenants.jobs import claim, run_job
from tenants.models import Job
from tenants.once import Answer, AnsweredBefore, answered_before, keep_in_the_end

LOOKED_EVERY = 0.1  # seconds
WRITING = 2.0  # seconds that a write may have taken before it began to wait
QUEUED = "queued"
DEFERRED = "deferred"
# What a writer is told of a job in this state. Of one that has failed the sweep takes what it left.
_JUDGING = {
    Job.State.QUEUED: QUEUED,
    Job.State.RUNNING: QUEUED,
    Job.State.FAILED: DEFERRED,
}


def judged_within(
    caller: Caller, answer: Answer, memory_id: UUID, job_id: UUID, seconds: int
) -> Answer:
    """
    Have a memory judged now, or wait for who does it, and return the write's answer with what came.

    Outside the door. When the time is over, judging goes on without us. Whoever sends the same
    request again is answered alike.
    """
    deadline = time.monotonic() + seconds
    job = claim(job_id)
    if job is not None:
        with awaited_until(deadline):
            run_job(job)
    judging = _judging(caller, job_id, deadline)
    while judging == QUEUED and time.monotonic() < deadline:
        time.sleep(LOOKED_EVERY)
        judging = _judging(caller, job_id, deadline)
    if judging is None:
        # Put out meanwhile, or the tenant is closed: what was written stays, and more is not told.
        return answer
    with acting_as(caller):
        found = Conflict.objects.filter(Q(memory_a=memory_id) | Q(memory_b=memory_id))
        memory, conflicts = told(memory_id), list(found.order_by("created_at", "id"))
        return keep_in_the_end(
            caller,
            answer
            | {
                "memory": memory,
                "superseded": _superseded(answer["superseded"], memory, conflicts, job_id),
                "conflicts": [conflict_wire(one) for one in conflicts],
                "judging": judging,
            },
        )


def _superseded(
    before: list[str], memory: Answer, conflicts: Iterable[Conflict], job_id: UUID
) -> list[str]:
    """
    Return what the write has superseded by now: what has come back since is not among it.

    :param before: what it had superseded when it was stored
    :param memory: as it is told now
    """
    asked_at = Job.objects.only("created_at").get(id=job_id).created_at
    since = [
        wire_id(Prefix.MEMORY, loser)
        for one in conflicts
        if wire_id_or_none(Prefix.MEMORY, one.winner_id) == memory["id"]
        and one.resolved_at is not None
        and one.resolved_at >= asked_at
        and (loser := loser_of(one)) is not None
    ]
    stand = set(memory["supersedes"])
    return [one for one in dict.fromkeys([*before, *since]) if one in stand]


def _judging(caller: Caller, job_id: UUID, deadline: float) -> str | None:
    """Return what to tell of the job; nothing to whom nothing is shown any more."""
    ahead = ExpressionWrapper(F("run_after") - Now(), DurationField())
    with acting_as(caller):
        mine = Job.objects.annotate(ahead=ahead).only("state", "last_error")
        job = mine.filter(id=job_id).first()
    if job is None:
        return None
    told = _JUDGING.get(Job.State(job.state), "done")
    # What it needs was found down or used up, and is not tried again while anybody waits here.
    is_put_off = bool(job.last_error) and job.ahead.total_seconds() > deadline - time.monotonic()
    return DEFERRED if told == QUEUED and is_put_off and job.ahead > timedelta() else told


def as_it_was_told(caller: Caller, before: AnsweredBefore, seconds: int) -> AnsweredBefore:
    """
    Return what an earlier request was told, also if it waits still: once it has been told.

    Outside the door.

    :param seconds: for which both wait
    """
    if seconds == 0:
        return before
    deadline = time.monotonic() + seconds + WRITING - before.age
    while before.answer["judging"] == QUEUED and time.monotonic() < deadline:
        time.sleep(LOOKED_EVERY)
        before = answered_before(caller)
    return before
