"""
Work for later: left with its cause, claimed under a lease, finished together with its effects.

The row is the truth, and a message on a broker only wakes somebody up. Whatever the broker loses,
and whoever is killed, the row is still there and its lease runs out.
"""

import json
import logging
import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from psycopg.types.json import Jsonb

from tenants.again import collided
from tenants.caller import Caller, Rank, Role, Scope
from tenants.context import acting_as, must_be_outside, whose_door
from tenants.fault_points import reach_fault_point
from tenants.ids import Prefix, new_id, wire_id
from tenants.refusals import Refusal

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3  # also in policies.sql
PARKED_FOR = timedelta(minutes=5)
COLLIDED = "met somebody else's transaction"

Result = dict[str, Any] | None

_LEAVE = """
INSERT INTO jobs (id, tenant_id, kind, subject_id, dedup_key, member_id, arguments, state, attempts,
                  run_after, last_error)
VALUES (%s, %s, %s, %s, %s, %s, %s, 'queued', 0, coalesce(%s, now()), '')
ON CONFLICT (tenant_id, kind, dedup_key) WHERE state IN ('queued', 'running') DO NOTHING
RETURNING id
"""
_LEAVE_EACH = """
INSERT INTO jobs (id, tenant_id, kind, subject_id, dedup_key, member_id, arguments, state, attempts,
                  run_after, last_error)
SELECT one.id, %s, %s, one.subject_id, one.dedup_key, %s, %s, 'queued', 0, now(), ''
FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) AS one (id, subject_id, dedup_key)
ON CONFLICT (tenant_id, kind, dedup_key) WHERE state IN ('queued', 'running') DO NOTHING
RETURNING id
"""
_OPEN = """
SELECT id FROM jobs WHERE kind = %s AND dedup_key = %s AND state IN ('queued', 'running')
"""
_LOOK_AT = """
SELECT j.kind, j.subject_id, j.arguments, j.attempts, m.name, m.level
FROM jobs j JOIN members m ON m.id = j.member_id
WHERE j.id = %s AND j.lease = %s AND j.state = 'running'
"""
_HOLD = "SELECT id FROM jobs WHERE id = %s AND lease = %s AND state = 'running' FOR UPDATE"
_KEEP = "UPDATE jobs SET lease_until = clock_timestamp() + %s WHERE id = %s AND lease = %s"
_FINISH = """
UPDATE jobs SET state = 'done', result = %s, lease = NULL, lease_until = NULL, last_error = '',
                finished_at = clock_timestamp()
WHERE id = %s
"""
_LET_GO = """
UPDATE jobs SET state = %s, attempts = attempts - %s, run_after = clock_timestamp() + %s,
                last_error = %s, lease = NULL, lease_until = NULL,
                finished_at = CASE WHEN %s THEN clock_timestamp() END
WHERE id = %s AND lease = %s AND state = 'running'
"""


class LeaseLost(Exception):
    """Somebody else has the job by now, or it is over."""


class Obsolete(Exception):
    """What the job was for is gone; the message says so, and names no content."""


class NotNow(Exception):
    """
    Something needed is down or used up: try again later, and do not count this time.

    :param reason: is shown to administrators, and names no content
    """

    def __init__(self, reason: str, *, after: timedelta) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(eq=False)
class JobInHand:
    """A job that this process has leased, and the caller in whose sight it is done."""

    id: UUID
    tenant_id: UUID
    kind: str
    subject_id: UUID | None
    arguments: dict[str, Any]
    attempts: int
    lease: UUID
    caller: Caller
    finished: bool = field(default=False, init=False)
    leased_at: float = field(default_factory=time.monotonic, init=False)


Handler = Callable[[Caller, JobInHand], Result]
Waker = Callable[[UUID, UUID], None]


class Done:
    """What a handler calls with its result, once its effects are written."""

    def __init__(self) -> None:
        self.called = False
        self.result: Result = None

    def __call__(self, result: Result = None) -> None:
        self.called, self.result = True, result


class _Here:
    """What this process knows of jobs: who does which kind, whom to wake, whose turn it was."""

    handlers: dict[str, Handler] = {}
    waker: Waker | None = None
    last_served: UUID | None = None


def job_kind(kind: str) -> Callable[[Handler], Handler]:
    """
    Have the function do the jobs of this kind.

    It runs outside the door, for a caller with the judge's role and the sight of the job's member.
    It may run again after any interruption, so its effects belong into finishing().
    """

    def register(handler: Handler) -> Handler:
        _Here.handlers[kind] = handler
        return handler

    return register


def set_waker(waker: Waker | None) -> None:
    """Have this called with tenant and job whenever a job was committed."""
    _Here.waker = waker


def leave_job(
    kind: str,
    *,
    dedup_key: str,
    subject_id: UUID | None = None,
    arguments: dict[str, Any] | None = None,
    run_after: datetime | None = None,
) -> UUID | None:
    """
    Leave a job with the change that causes it, and return its id; nothing if one is open already.

    A running job absorbs it too, so dedup_key names all that the work depends on: the version of a
    memory, not only its id. Arguments are ids and numbers, never content: administrators see them.
    """
    caller = whose_door()
    row: list[Any] = [new_id(), caller.tenant_id, kind, subject_id, dedup_key, caller.member_id]
    row += [Jsonb(arguments or {}), run_after]
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE, row)
        left = cursor.fetchone()
    if left is None:
        return None
    if run_after is None:
        transaction.on_commit(partial(_wake, caller.tenant_id, left[0]))
    return UUID(str(left[0]))


def leave_job_for_each(
    kind: str, subjects: Mapping[str, UUID], arguments: Mapping[str, Any] | None = None
) -> None:
    """
    Leave a job for each, by one statement; as `leave_job` does.

    :param subjects: by the dedup_key of the job
    """
    caller = whose_door()
    row: list[Any] = [caller.tenant_id, kind, caller.member_id, Jsonb(dict(arguments or {}))]
    row += [[new_id() for _ in subjects], list(subjects.values()), list(subjects)]
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE_EACH, row)
        wake_for([job_id for (job_id,) in cursor.fetchall()])


def wake_for(job_ids: Iterable[UUID]) -> None:
    """Have workers told of these jobs, which were just left, once that is committed."""
    tenant_id = whose_door().tenant_id
    for job_id in job_ids:
        transaction.on_commit(partial(_wake, tenant_id, job_id))


def open_job(kind: str, dedup_key: str) -> UUID | None:
    """Return the caller's open job that absorbs another of its name. Inside the door."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [kind, dedup_key])
        found = cursor.fetchone()
    return None if found is None else UUID(str(found[0]))


def is_put_off(kind: str, why: Sequence[str]) -> bool:
    """
    Return whether any job of this kind in the tenant is put off, whoever left it. Inside the door.

    :param why: how the reasons begin that count
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT job_is_put_off(%s, %s)", [kind, list(why)])
        return bool(cursor.fetchone()[0])


def _wake(tenant_id: UUID, job_id: UUID) -> None:
    reach_fault_point("before_wake")
    if _Here.waker is None:
        return
    try:
        _Here.waker(tenant_id, job_id)
    except Exception:  # whatever a broker's client raises: the sweeper finds the job
        logger.warning("nobody was woken for job %s", job_id, exc_info=True)


def claim(job_id: UUID | None = None) -> JobInHand | None:
    """
    Take a job in hand: this one, or one of the tenant whose turn it is; nothing if none is due.

    The attempt is counted and committed before this returns, so a job that kills its process is
    counted too.
    """
    must_be_outside("claim()")
    limits: list[Any] = [lease_time(), settings.JOBS_AT_ONCE]
    with connection.cursor() as cursor:
        if job_id is None:
            limits.insert(0, _Here.last_served)
            cursor.execute("SELECT * FROM claim_next_job(%s, %s, %s)", limits)
        else:
            cursor.execute("SELECT * FROM claim_job(%s, %s, %s)", [job_id, *limits])
        claimed = cursor.fetchone()
    if claimed is None:
        return None
    if job_id is None:
        _Here.last_served = claimed[1]
    reach_fault_point("claimed")
    return _look_at(*claimed)


def lease_time() -> timedelta:
    """Return for how long a job is leased: this and a sweep after a kill, it is taken up again."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _look_at(job_id: UUID, tenant_id: UUID, member_id: UUID, lease: UUID) -> JobInHand | None:
    caller = Caller(
        tenant_id=tenant_id,
        member_id=member_id,
        name="",
        level=0,
        rank=Rank.PROVISIONAL,
        scopes=frozenset({Scope.READ, Scope.WRITE, Scope.HYGIENE}),
        role=Role.JUDGE,
        request_id=wire_id(Prefix.JOB, job_id),
    )
    with acting_as(caller), connection.cursor() as cursor:
        cursor.execute(_LOOK_AT, [job_id, lease])
        found = cursor.fetchone()
    if found is None:  # Suspended this very moment. The lease runs out, and the next claim decides.
        return None
    kind, subject_id, arguments, attempts, name, level = found
    seen_by = replace(caller, name=name, level=level)
    given = json.loads(arguments)
    return JobInHand(job_id, tenant_id, kind, subject_id, given, attempts, lease, seen_by)


@contextmanager
def finishing(caller: Caller, job: JobInHand) -> Iterator[Done]:
    """
    Open the door for the effects of a job, which commit together with its end or not at all.

    :raises LeaseLost: if somebody else has the job by now
    """
    must_be_outside("finishing()")
    with acting_as(caller), connection.cursor() as cursor:
        cursor.execute(_HOLD, [job.id, job.lease])
        if cursor.fetchone() is None:
            raise LeaseLost(job.kind)
        reach_fault_point("before_effects")
        done = Done()
        yield done
        if not done.called:
            raise RuntimeError(f"{job.kind} left finishing() without calling what it was given")
        ending: list[Any] = [None if done.result is None else Jsonb(done.result), job.id]
        cursor.execute(_FINISH, ending)
        reach_fault_point("before_commit")
    job.finished = True
    reach_fault_point("after_commit")


def keep_lease(job: JobInHand) -> None:
    """
    Lease the job anew, in the middle of long work.

    :raises LeaseLost: if it is too late for that
    """
    longer: list[Any] = [lease_time(), job.id, job.lease]
    with acting_as(job.caller), connection.cursor() as cursor:
        cursor.execute(_KEEP, longer)
        if cursor.rowcount == 0:
            raise LeaseLost(job.kind)
    job.leased_at = time.monotonic()


def keep_lease_in_time(job: JobInHand) -> None:
    """
    Lease the job anew once a third of its lease is over, however often this is called.

    :raises LeaseLost: if it was too late for that
    """
    if time.monotonic() - job.leased_at > lease_time().total_seconds() / 3:
        keep_lease(job)


def run_job(job: JobInHand) -> None:
    """Do the job, and say in its row how it went. Whatever the handler raises ends here."""
    handler = _Here.handlers.get(job.kind)
    if handler is None:
        _let_go(
            job,
            "queued",
            error="no worker of this version knows it",
            after=PARKED_FOR,
            uncounted=True,
        )
        return
    try:
        result = handler(job.caller, job)
        if not job.finished:
            with finishing(job.caller, job) as done:
                done(result)
    except LeaseLost:
        logger.info("job %s is somebody else's by now", job.id)
    except Obsolete as why:
        _let_go(job, "obsolete", error=str(why))
    except NotNow as why:
        _let_go(job, "queued", error=str(why), after=why.after, uncounted=True)
        if not why.after:
            _wake(job.tenant_id, job.id)
    except Exception as error:  # a handler may raise anything, and it must be counted
        if collided(error):
            logger.info("job %s (%s) met somebody else's transaction", job.id, job.kind)
            _let_go(job, "queued", error=COLLIDED, after=_backoff(1), uncounted=True)
            return
        logger.warning(
            "job %s (%s) failed, attempt %s", job.id, job.kind, job.attempts, exc_info=True
        )
        hopeless = job.attempts >= MOST_ATTEMPTS
        _let_go(
            job,
            "failed" if hopeless else "queued",
            error=_without_content(error),
            after=timedelta() if hopeless else _backoff(job.attempts),
        )


def give_back(job: JobInHand) -> None:
    """Let another worker do the job, as if this one had never had it."""
    _let_go(job, "queued", uncounted=True)


def _let_go(
    job: JobInHand,
    state: str,
    *,
    error: str = "",
    after: timedelta = timedelta(),
    uncounted: bool = False,
) -> None:
    """Say what becomes of a job that is not done, if it is still ours."""
    ends = state != "queued"
    row: list[Any] = [state, int(uncounted), after, error[:200], ends, job.id, job.lease]
    with acting_as(job.caller), connection.cursor() as cursor:
        cursor.execute(_LET_GO, row)


def _backoff(attempts: int) -> timedelta:
    """Return 5 s, then 30 s, each half as much again or half as little."""
    first = settings.JOB_BACKOFF_SECONDS
    return timedelta(seconds=first * 6 ** (attempts - 1) * random.uniform(0.5, 1.5))  # noqa: S311


def _without_content(error: Exception) -> str:
    # Never the message of an error that is not ours: a database error quotes rows.
    name = type(error).__name__
    if isinstance(error, Refusal):
        return f"{name}: {error.title}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{name} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name
