"""
When memories hold: whether two of them ever do at once, and what that leaves of an action.

What somebody says of times never makes a winner. It only keeps two from being held against each
other while they cannot contradict each other, or hands the question to people.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from django.db import connection

from memory.conflict.policy import Action, Age, Deed, Relation, Resolution
from memory.models import Memory


class Meeting(StrEnum):
    """Whether two memories ever hold at the same time, and when."""

    NOW = "now"
    AHEAD = "ahead"
    NEVER = "never"


@dataclass(frozen=True)
class Times:
    """
    How the times lie to each other at which two memories hold.

    :param begins_later: which of them, where they do not hold together yet
    :param from_then_on: that one holds from its beginning without an end
    :param older_began_since: the older one began to hold only after the newer was asserted
    """

    meeting: Meeting = Meeting.NOW
    begins_later: Age | None = None
    from_then_on: bool = False
    older_began_since: bool = False


def times_of(newer: Memory, older: Memory) -> Times:
    """Return how the times lie to each other at which the two hold. Inside the door."""
    told = ((one.valid_from, one.valid_until, one.asserted_at) for one in (newer, older))
    if not any(any(times) for times in told):
        return Times()
    now = _clock()
    starts = {Age.NEWER: _begins(newer), Age.OLDER: _begins(older)}
    ends = [end for end in (_said_end(newer), _said_end(older)) if end is not None]
    later = max(starts, key=lambda age: starts[age])
    if any(end <= max(now, starts[later]) for end in ends):
        return Times(Meeting.NEVER)
    if starts[later] <= now or len(set(starts.values())) == 1:
        since = later is Age.OLDER and starts[later] > newer.said_at
        return Times(older_began_since=since)
    coming = newer if later is Age.NEWER else older
    return Times(Meeting.AHEAD, later, from_then_on=_said_end(coming) is None)


def _begins(memory: Memory) -> datetime:
    """Return since when it holds: what says nothing of that, since it was asserted."""
    return memory.valid_from or memory.said_at


def _said_end(memory: Memory) -> datetime | None:
    """Return the end that it says itself, and not that it has because another one begins."""
    return None if memory.ends_with_id is not None else memory.valid_until


def _clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def in_its_time(action: Action, relation: Relation, times: Times) -> Action:
    """
    Return what is left of an action, by the times at which the two hold.

    :param action: what the policy says of two that contradict each other
    """
    if times.meeting is Meeting.NEVER:
        return Action(Deed.NOTHING, "they never hold at the same time")
    if times.meeting is Meeting.AHEAD:
        return _until_they_meet(action, relation, times)
    newer_wins = action.deed is Deed.SUPERSEDE and action.winner is Age.NEWER
    if newer_wins and action.resolution is Resolution.RECENCY and times.older_began_since:
        # Written first, and yet about a later time: neither order says which was to last.
        return replace(
            action, deed=Deed.DISPUTE, row="the older has begun to hold since", resolution=None
        )
    return action


def _until_they_meet(action: Action, relation: Relation, times: Times) -> Action:
    """
    Return what is done about two of which one begins to hold only in time to come.

    Until then they contradict each other in nothing. Who would win takes the place of the other as
    it begins; who would lose to more authority loses now: a date to come wins nothing.
    """
    if action.deed is Deed.SUPERSEDE and times.begins_later is Age.NEWER:
        if action.winner is Age.OLDER:
            return action
        if times.from_then_on and relation is not Relation.DUPLICATE:
            return replace(action, deed=Deed.SUCCEED)
    return Action(Deed.NOTHING, "they do not hold at the same time yet")
