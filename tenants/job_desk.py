"""What becomes of jobs that nobody has in hand: swept up, tried again, discarded, counted."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, connection

from tenants.audit import record
from tenants.caller import Caller
from tenants.context import must_be_outside
from tenants.ids import Prefix, wire_id
from tenants.once import Answer, writing_as
from tenants.refusals import NotFound, Refusal

STATES = ("queued", "running", "done", "failed", "obsolete")
ALIVE_WITHIN = timedelta(seconds=30)

_STATE = "SELECT state, attempts FROM jobs WHERE id = %s FOR UPDATE"
_RETRY = """
UPDATE jobs SET state = 'queued', attempts = 0, run_after = now(), last_error = '',
                finished_at = NULL
WHERE id = %s
"""
_DISCARD = """
UPDATE jobs SET state = 'obsolete', lease = NULL, lease_until = NULL, finished_at = now()
WHERE id = %s
"""


class NotInThisState(Refusal):
    code = "job_state"
    title = "Not possible with the job in this state"


def sweep_jobs(limit: int = 1000) -> int:
    """
    Queue again what was leased to workers that died, and return how many jobs that were.

    One that had its last attempt has failed. Any number of workers may sweep at the same time.
    """
    must_be_outside("sweep_jobs()")
    with connection.cursor() as cursor:
        cursor.execute("SELECT release_overdue_jobs(%s)", [limit])
        return int(cursor.fetchone()[0])


def job_counts() -> dict[str, int]:
    """Return how many jobs of all tenants are in each state."""
    must_be_outside("job_counts()")
    with connection.cursor() as cursor:
        cursor.execute("SELECT state, jobs FROM count_jobs()")
        found = dict(cursor.fetchall())
    return {state: found.get(state, 0) for state in STATES}


def beat(worker: str) -> None:
    """Say that the worker of this name is alive."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT beat(%s)", [worker])


def workers_that_beat() -> list[str]:
    """Return the names of the workers that have said so, whether or not they still live."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT workers_that_beat()")
        return [name for (name,) in cursor.fetchall()]


def beat_no_more(workers: Sequence[str]) -> None:
    """Say that the workers of these names are alive no more."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT beat_no_more(%s)", [list(workers)])


def workers_alive(within: timedelta = ALIVE_WITHIN) -> int:
    """Return how many workers have said so of late."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT workers_alive(make_interval(secs => %s))", [within.total_seconds()])
        return int(cursor.fetchone()[0])


def retry_job(caller: Caller, *, job_id: UUID) -> Answer:
    """
    Queue a job that has failed or was discarded, its attempts counted from nought again.

    :raises NotInThisState: if it is neither, or the same work is queued by now
    """
    caller.must_administer()
    with writing_as(caller) as keep, connection.cursor() as cursor:
        before = _state_of(job_id)
        if before["state"] not in ("failed", "obsolete"):
            raise NotInThisState(f"The job is {before['state']}; there is nothing to try again.")
        try:
            cursor.execute(_RETRY, [job_id])
        except IntegrityError:
            raise NotInThisState("The same work is queued already.") from None
        return keep(_told("retry_job", job_id, before, "queued"))


def discard_job(caller: Caller, *, job_id: UUID) -> Answer:
    """
    Take a job off the queue for good; a worker that has it in hand can no longer finish it.

    :raises NotInThisState: if it is done, or discarded already
    """
    caller.must_administer()
    with writing_as(caller) as keep, connection.cursor() as cursor:
        before = _state_of(job_id)
        if before["state"] in ("done", "obsolete"):
            raise NotInThisState(f"The job is {before['state']} already.")
        cursor.execute(_DISCARD, [job_id])
        return keep(_told("discard_job", job_id, before, "obsolete"))


def _state_of(job_id: UUID) -> dict[str, str | int]:
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [job_id])
        found = cursor.fetchone()
    if found is None:
        raise NotFound
    return {"state": found[0], "attempts": found[1]}


def _told(command: str, job_id: UUID, before: dict[str, str | int], state: str) -> Answer:
    record(command, "job", job_id, before=before, after={"state": state})
    return {"job_id": wire_id(Prefix.JOB, job_id), "state": state}
