"""
Ends that were declared and have passed: whatever depends on such a memory is told.

A memory is over the moment its end passes, and so what depends on it is dirty from that moment on.
Whoever asks is told so at once; a worker stores it as marks like any others.
"""

from datetime import datetime
from uuid import UUID, uuid5

from django.db import connection
from django.db.models import Func, Q, Value

from memory.models import Cause, Mark
from tenants.context import must_be_outside

AT_A_TIME = 500


def mark_what_expired() -> int:
    """
    Mark what depends on memories whose end has passed, and return of how many. Outside the door.

    Any number of workers may do so as often as they like: each end is told once, and an index knows
    those that are not told yet.
    """
    must_be_outside("mark_what_expired()")
    in_all = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT mark_what_expired(%s)", [AT_A_TIME])
            (told,) = cursor.fetchone()
        in_all += int(told)
        if told < AT_A_TIME:
            return in_all


def mark_by_end(memory_id: UUID, on_memory_id: str, path: list[str], ended_at: str) -> Mark:
    """
    Return the mark that an end has left on a memory, and that no worker has stored yet.

    :param path: the memories by which it came, from the one that has ended
    """
    at = datetime.fromisoformat(ended_at)
    return Mark(
        # The same whenever it is told, and never that of the row that will be stored.
        id=uuid5(memory_id, f"{on_memory_id} ended"),
        memory_id=memory_id,
        cause=Cause.EXPIRED,
        cause_memory_id=UUID(on_memory_id),
        path=[UUID(one) for one in path],
        direct=False,
        observed_at=at,
        created_at=at,
    )


def rests_on_what_ended(now: datetime) -> Q:
    """Return the condition for memories with such a mark that is not stored yet. In the door."""
    found = Func(
        Value(now),
        function="resting_on_what_ended",
        template="SELECT memory_id FROM %(function)s(%(expressions)s)",
    )
    return Q(id__in=found)
