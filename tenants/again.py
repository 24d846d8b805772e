"""Doing over what collided with somebody else's transaction, and so left nothing behind."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError
from psycopg.errors import DeadlockDetected, SerializationFailure

from tenants.context import must_be_outside

MOST_RETRIES = 3
FIRST_PAUSE = 0.05  # seconds at most, then twice as long
COLLISIONS = (DeadlockDetected, SerializationFailure)

Answer = TypeVar("Answer")


def retried(call: Callable[[], Answer]) -> Answer:
    """
    Return what the call does, done over where PostgreSQL broke it off in favour of another.

    :raises OperationalError: if it was broken off every time, or failed for another reason
    """
    must_be_outside("retried()")
    for attempt in range(MOST_RETRIES):
        try:
            return call()
        except OperationalError as error:
            if not isinstance(error.__cause__, COLLISIONS):
                raise
        # Not all at once again.
        time.sleep(random.uniform(0, FIRST_PAUSE * 2**attempt))  # noqa: S311  no secret
    return call()
