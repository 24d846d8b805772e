"""Sweeps that nobody has to think of: one for every member who has written since the last one."""

import logging
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from hygiene.judging import configured_judge
from hygiene.sweep import open_sweep
from tenants.caller import Caller, Rank, Role, Scope
from tenants.context import acting_as, must_be_outside

logger = logging.getLogger(__name__)

LOOKED_EVERY = 60.0  # seconds, in each worker
AT_A_TIME = 20

_DUE = "SELECT tenant_id, member_id FROM sweeps_due(%s, %s, %s, %s)"


class _Here:
    """When this process looked last."""

    last_look: float | None = None


def start_due_sweeps() -> int:
    """
    Start a sweep for every member whose last one is too long ago, and return how many that were.

    Any number of workers may do so: an open sweep's job is there once. Outside the door.
    """
    must_be_outside("start_due_sweeps()")
    now = time.monotonic()
    if settings.SWEEP_EVERY <= 0 or settings.JUDGE == "off":
        return 0
    if _Here.last_look is not None and now - _Here.last_look < LOOKED_EVERY:
        return 0
    _Here.last_look = now
    return sweep_those_due(timedelta(hours=settings.SWEEP_EVERY))


def sweep_those_due(every: timedelta) -> int:
    """Start the sweeps that are due, whenever somebody looked last, and return how many."""
    judge = configured_judge()
    if judge is None:
        return 0
    with connection.cursor() as cursor:
        within: list[Any] = [every, AT_A_TIME, judge.id, judge.prompt_version]
        cursor.execute(_DUE, within)
        due = cursor.fetchall()
    for tenant_id, member_id in due:
        caller = Caller(
            tenant_id=tenant_id,
            member_id=member_id,
            name="",
            level=0,
            rank=Rank.PROVISIONAL,
            scopes=frozenset({Scope.HYGIENE}),
            role=Role.JUDGE,
            request_id="schedule",
        )
        with acting_as(caller):
            open_sweep(caller, None, None, judge)
    if due:
        logger.info("%s sweeps are due", len(due))
    return len(due)
