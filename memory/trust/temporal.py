"""
Whether a memory may be used for what was asked: the table of temporal status, as one function.

It is computed for each question and stored nowhere. The same dirty memory is good evidence of the
past and has to be verified before it is used now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import TextChoices

from memory.models import Door, Memory
from memory.trust.in_vain import all_are_in_vain
from memory.trust.marks import lies_where_asked, meets
from memory.trust.standing import Standing
from memory.trust.state import TrustState


class TemporalStatus(TextChoices):
    VALID_AS_HISTORICAL = "valid_as_historical"
    CURRENT_ENOUGH = "current_enough"
    QUALIFIED = "qualified"
    VERIFY_BEFORE_USE = "verify_before_use"
    CONFLICTED = "conflicted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True)
class Footing:
    """
    What of a memory's standing decides how it may be used.

    :param retired: whether it was taken out of use otherwise than by a successor
    :param marked_where_asked: whether a direct mark lies on what was asked about
    :param uncheckable: whether nothing in it can be checked, or those who tried could not tell
    :param overdue: whether its review is overdue
    :param still_to_come: whether what it says had yet to become so at the time asked about
    """

    state: TrustState
    retired: bool = False
    marked_where_asked: bool = False
    uncheckable: bool = False
    overdue: bool = False
    still_to_come: bool = False


@dataclass(frozen=True)
class Use:
    """
    How a memory may be used: its one temporal status; none where it is left out.

    :param withheld: whether the claim itself is kept back until somebody has verified it
    """

    status: TemporalStatus | None
    withheld: bool = False


LEFT_OUT = Use(None)
THEN = Use(TemporalStatus.VALID_AS_HISTORICAL)


def use_of(footing: Footing, *, historical: bool, high: bool) -> Use:
    """
    Return how the memory may be used.

    :param historical: whether the question is about the past; what was not valid at the asked time
        has been left out before
    :param high: whether much hangs on it
    """
    state = footing.state
    if state == TrustState.REJECTED:
        return LEFT_OUT
    if state == TrustState.CONFLICTED and (historical or not footing.retired):
        return Use(TemporalStatus.CONFLICTED, withheld=high)
    if historical:
        return _of_what_is_still_to_come(high=high) if footing.still_to_come else THEN
    if state in (TrustState.SUPERSEDED, TrustState.EXPIRED):
        return LEFT_OUT if high else Use(TemporalStatus(state.value))
    if footing.retired:
        return LEFT_OUT
    if state == TrustState.VERIFIED:
        return _of_what_is_clean(footing, high=high)
    return _of_what_is_not(footing, high=high)


def _of_what_is_still_to_come(*, high: bool) -> Use:
    """Return how may be used what nobody doubts, and what was not so yet."""
    return Use(TemporalStatus.VERIFY_BEFORE_USE if high else TemporalStatus.QUALIFIED, high)


def _of_what_is_clean(footing: Footing, *, high: bool) -> Use:
    if footing.still_to_come:
        return _of_what_is_still_to_come(high=high)
    if not footing.overdue:
        return Use(TemporalStatus.CURRENT_ENOUGH)
    return Use(TemporalStatus.VERIFY_BEFORE_USE if high else TemporalStatus.QUALIFIED)


def _of_what_is_not(footing: Footing, *, high: bool) -> Use:
    """Return how what is dirty or proposed may be used."""
    if footing.uncheckable:
        return Use(TemporalStatus.UNVERIFIABLE, withheld=high)
    if high:
        return Use(TemporalStatus.VERIFY_BEFORE_USE, withheld=True)
    if footing.state == TrustState.DIRTY and footing.marked_where_asked:
        return Use(TemporalStatus.VERIFY_BEFORE_USE)
    return Use(TemporalStatus.QUALIFIED)


def footing_of(standing: Standing, memory: Memory, asked: Sequence[str], at: datetime) -> Footing:
    """
    Return what decides how the memory may be used.

    :param asked: the subjects that the question is about; without them, all are meant
    :param at: the time asked about
    """
    gone = memory.invalidated_reason
    return Footing(
        standing.state,
        retired=gone is not None and gone != Door.SUPERSEDED,
        marked_where_asked=standing.suspected
        or any(mark.direct and lies_where_asked(mark, asked) for mark in standing.marks),
        uncheckable=not standing.checkable or all_are_in_vain(standing.doubts, asked),
        overdue=standing.overdue,
        still_to_come=is_still_to_come(memory, at),
    )


def is_still_to_come(memory: Memory, at: datetime) -> bool:
    """
    Return whether what it says had yet to become so at a time, or has never become so by then.

    What went out of use before its beginning stays without one.
    """
    if memory.valid_from is None:
        return False
    return min(at, memory.invalidated_at or at) < memory.valid_from


def marked_subjects(standing: Standing, asked: Sequence[str]) -> list[str]:
    """Return the components on which direct marks lie; if any are asked about, of those alone."""
    marked = [
        mark.component.subject
        for mark in standing.marks
        if mark.direct and mark.component is not None
    ]
    marked = list(dict.fromkeys(marked))
    return [one for one in marked if meets(one, asked)] if asked else marked
