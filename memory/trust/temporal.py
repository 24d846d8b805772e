"""
Whether a memory may be used for what was asked: the table of temporal status, as one function.

It is computed for each question and stored nowhere. The same dirty memory is good evidence of the
past and has to be verified before it is used now.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import TextChoices

from memory.models import Door, Mark, Memory
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
    :param uncheckable: whether nothing in it can be checked, or the last attempt told nothing
    :param overdue: whether its review is overdue
    """

    state: TrustState
    retired: bool = False
    marked_where_asked: bool = False
    uncheckable: bool = False
    overdue: bool = False


@dataclass(frozen=True)
class Use:
    """
    How a memory may be used: its one temporal status; none where it is left out.

    :param withheld: whether the claim itself is kept back until somebody has verified it
    """

    status: TemporalStatus | None
    withheld: bool = False


LEFT_OUT = Use(None)


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
        return Use(TemporalStatus.VALID_AS_HISTORICAL)
    if state in (TrustState.SUPERSEDED, TrustState.EXPIRED):
        return LEFT_OUT if high else Use(TemporalStatus(state.value))
    if footing.retired:
        return LEFT_OUT
    if state == TrustState.VERIFIED:
        return _of_what_is_clean(footing, high=high)
    return _of_what_is_not(footing, high=high)


def _of_what_is_clean(footing: Footing, *, high: bool) -> Use:
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


def meets(subject: str, asked: Sequence[str]) -> bool:
    """Return whether a subject is one of those asked about, or lies above or below one."""
    return any(
        subject == one or subject.startswith(f"{one}.") or one.startswith(f"{subject}.")
        for one in asked
    )


def footing_of(standing: Standing, memory: Memory, asked: Sequence[str]) -> Footing:
    """
    Return what decides how the memory may be used.

    :param asked: the subjects that the question is about; without them, all are meant
    """
    gone = memory.invalidated_reason
    return Footing(
        standing.state,
        retired=gone is not None and gone != Door.SUPERSEDED,
        marked_where_asked=standing.suspected
        or any(mark.direct and _is_where_asked(mark, asked) for mark in standing.marks),
        uncheckable=standing.inconclusive or not standing.checkable,
        overdue=standing.overdue,
    )


def marked_subjects(standing: Standing, asked: Sequence[str]) -> list[str]:
    """Return the components on which direct marks lie: those asked about, or else all."""
    marked = [
        mark.component.subject
        for mark in standing.marks
        if mark.direct and mark.component is not None
    ]
    marked = list(dict.fromkeys(marked))
    return [one for one in marked if meets(one, asked)] or marked


def _is_where_asked(mark: Mark, asked: Sequence[str]) -> bool:
    subject = _subject_of(mark)
    # Of a change that is out of sight nobody can say where it lies.
    return not asked or subject is None or meets(subject, asked)


def _subject_of(mark: Mark) -> str | None:
    if mark.component is not None:
        return mark.component.subject
    return None if mark.change is None else mark.change.subject
