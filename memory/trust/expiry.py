"""Ends that were declared and have passed: whatever depends on such a memory is told."""

from django.db import connection

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
