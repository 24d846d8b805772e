"""Doing over what collided with somebody else's transaction, and so left nothing behind."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, ProgrammingError
from psycopg.errors import DeadlockDetected, InsufficientPrivilege, SerializationFailure

from tenants.context import must_be_outside

MOST_RETRIES = 3
FIRST_PAUSE = 0.05  # seconds at most, then twice as long
COLLISIONS = (DeadlockDetected, SerializationFailure)

Answer = TypeVar("Answer")


def collided(error: BaseException) -> bool:
    """Return whether PostgreSQL broke off what raised this in favour of somebody else's."""
    return isinstance(error, OperationalError) and isinstance(error.__cause__, COLLISIONS)


def _lost_a_right(error: BaseException) -> bool:
    """Return whether a policy refused what was allowed when it was asked, or looks like it."""
    return isinstance(error, ProgrammingError) and isinstance(
        error.__cause__, InsufficientPrivilege
    )


def retried(call: Callable[[], Answer]) -> Answer:
    """
    Return what the call does, done over where PostgreSQL broke it off in favour of another.

    Also where a right was taken away in the middle: done over, it is refused in due form.

    :raises OperationalError: if it was broken off every time, or failed for another reason
    :raises ProgrammingError: if a policy refuses every time what nobody refused before
    """
    must_be_outside("retried()")
    for attempt in range(MOST_RETRIES):
        try:
            return call()
        except (OperationalError, ProgrammingError) as error:
            if not (collided(error) or _lost_a_right(error)):
                raise
        # Not all at once again.
        time.sleep(random.uniform(0, FIRST_PAUSE * 2**attempt))  # noqa: S311  no secret
    return call()
