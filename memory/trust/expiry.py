"""Ends that were declared and have passed: whatever depends on such a memory is told."""

import time

from django.db import connection

from tenants.context import must_be_outside

LOOKED_EVERY = 30.0  # seconds, in each worker
AT_A_TIME = 500


class _Here:
    """When this process looked last."""

    last_look: float | None = None


def mark_what_expired() -> int:
    """
    Mark what depends on memories whose end has passed, and return of how many. Outside the door.

    Any number of workers may do so: each end is told once.
    """
    must_be_outside("mark_what_expired()")
    now = time.monotonic()
    if _Here.last_look is not None and now - _Here.last_look < LOOKED_EVERY:
        return 0
    _Here.last_look = now
    return mark_all_that_expired()


def mark_all_that_expired() -> int:
    """Do so whenever somebody looked last, a batch at a time."""
    in_all = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT mark_what_expired(%s)", [AT_A_TIME])
            (told,) = cursor.fetchone()
        in_all += int(told)
        if told < AT_A_TIME:
            return in_all
