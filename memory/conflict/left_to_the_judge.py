"""What is left for the judge to look at, once whoever caused it has gone on."""

from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from memory.models import Memory
from tenants.jobs import JobInHand, wake_for

JUDGE_MEMORY = "judge_memory"  # also in trust.sql
OFF = "off"
_BATCH = "batch"


def of_batch(batch_id: UUID | None) -> dict[str, Any]:
    """Return the arguments of a job whose effects are a sweep's, to be undone together with it."""
    return {} if batch_id is None else {_BATCH: str(batch_id)}


def batch_of(job: JobInHand) -> UUID | None:
    """Return the sweep whose effects the job's are, if they are one's."""
    said = job.arguments.get(_BATCH)
    return None if said is None else UUID(said)


def leave_to_the_judge(*memories: Memory, again: str, batch_id: UUID | None = None) -> None:
    """
    Have memories compared with what they missed, not in use or not in sight. Inside a door.

    Each in the sight of its owner, whoever's door it is. While judging is off it is left as well:
    it comes to nothing then, and is tried again once there is a judge.

    :param again: what has happened to them, as they are in this version
    :param batch_id: the sweep that has caused it, if one has
    """
    if not memories:
        return
    names = [f"{one.id}:{again}:{one.version}" for one in memories]
    with connection.cursor() as cursor:
        asked: list[Any] = [_ids(memories), names, Jsonb(of_batch(batch_id))]
        cursor.execute("SELECT leave_to_its_owners_judge(%s, %s, %s)", asked)
        wake_for([job_id for (job_id,) in cursor.fetchall()])


def _ids(memories: tuple[Memory, ...]) -> list[object]:
    return [one.id for one in memories]
