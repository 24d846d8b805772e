"""What is left for the judge to look at, once whoever caused it has gone on."""

from django.db import connection

from memory.models import Memory
from tenants.jobs import wake_for

JUDGE_MEMORY = "judge_memory"  # also in trust.sql
OFF = "off"


def leave_to_the_judge(*memories: Memory, again: str) -> None:
    """
    Have memories compared with what they missed, not in use or not in sight. Inside a door.

    Each in the sight of its owner, whoever's door it is. While judging is off it is left as well:
    it comes to nothing then, and is tried again once there is a judge.

    :param again: what has happened to them, as they are in this version
    """
    if not memories:
        return
    names = [f"{one.id}:{again}:{one.version}" for one in memories]
    with connection.cursor() as cursor:
        cursor.execute("SELECT leave_to_its_owners_judge(%s, %s)", [_ids(memories), names])
        wake_for([job_id for (job_id,) in cursor.fetchall()])


def _ids(memories: tuple[Memory, ...]) -> list[object]:
    return [one.id for one in memories]
