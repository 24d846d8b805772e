"""
Until when somebody waits for what is being done for them.

Whatever takes long asks here how long it may: a question to a model, a lock, the next of many
steps. It stops in time, and leaves the rest so that somebody else can go on.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

_until: ContextVar[float] = ContextVar("until", default=inf)


@contextmanager
def awaited_until(moment: float) -> Iterator[None]:
    """
    Have somebody wait for what is done inside, and no longer.

    :param moment: on the clock that time.monotonic() reads
    """
    before = _until.set(min(moment, _until.get()))
    try:
        yield
    finally:
        _until.reset(before)


def awaited() -> float:
    """Return until when somebody waits; if nobody does, infinity."""
    return _until.get()


def nobody_waits_any_more() -> bool:
    """Return whether the time of whoever waited is over."""
    return time.monotonic() >= _until.get()
