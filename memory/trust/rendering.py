"""How a memory is said safely, from templates and without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memory.models import Door, Memory
from memory.text import visible
from memory.trust.standing import Standing
from memory.trust.state import TrustState
from memory.trust.temporal import marked_subjects


@dataclass(frozen=True)
class Telling:
    """
    To whom and about when a memory is told.

    :param author: who wrote it, by name and level
    :param competing: what others claim instead, as it is told in a recall
    :param successor: the id of what replaced it, if the reader may see that
    :param historical: whether the past was asked about
    :param as_of: when in the past
    :param subjects: what was asked about
    :param withheld: whether the claim itself is kept back
    """

    author: Mapping[str, Any]
    competing: Sequence[Mapping[str, Any]] = ()
    successor: str | None = None
    historical: bool = False
    as_of: datetime | None = None
    subjects: Sequence[str] = ()
    withheld: bool = False


def safe_rendering(memory: Memory, standing: Standing, telling: Telling) -> str:
    """Return the claim so that it can be repeated without claiming more than is known."""
    state = standing.state
    if telling.withheld:
        return _what_to_verify(standing, telling)
    if state == TrustState.CONFLICTED:
        own = {
            "content": memory.content,
            "author": telling.author,
            "created_at": memory.created_at.isoformat(),
        }
        return in_dispute([own, *telling.competing])
    if until := _until(memory, standing, telling):
        return until
    if state == TrustState.PROPOSED:
        said = _("Unconfirmed (captured %(date)s): %(claim)s") % {
            "date": _day(memory.created_at),
            "claim": visible(memory.content),
        }
        return _with_reason(said, standing.dirty_reason)
    if state == TrustState.DIRTY:
        return _with_reason(_last_verified(memory, standing, telling), standing.dirty_reason)
    if telling.as_of is not None:
        return _as_of(telling.as_of, memory)
    if standing.overdue:
        said = _as_of(standing.last_verified_at or memory.created_at, memory)
        return _with_reason(said, _("It is due to be looked at again"))
    return visible(memory.content)


def _until(memory: Memory, standing: Standing, telling: Telling) -> str | None:
    """Return how it is said of what is over; nothing of what still stands."""
    said = _("Until %(date)s: %(claim)s")
    claim = visible(memory.content)
    if memory.invalidated_at is None or standing.state == TrustState.EXPIRED:
        if standing.state == TrustState.EXPIRED and memory.valid_until is not None:
            return said % {"date": _day(memory.valid_until), "claim": claim}
        return None
    until = said % {"date": _day(memory.invalidated_at), "claim": claim}
    if memory.invalidated_reason == Door.SUPERSEDED:
        if telling.successor is None:
            return f"{until}; {_('replaced since.')}"
        return f"{until}; {_('replaced by %(id)s.') % {'id': telling.successor}}"
    gone = {
        Door.FORGOTTEN: _("forgotten since."),
        Door.CLOSED: _("closed since."),
        Door.RETIRED: _("taken out of use since."),
    }
    return f"{until}; {gone[Door(memory.invalidated_reason or Door.RETIRED)]}"


def _last_verified(memory: Memory, standing: Standing, telling: Telling) -> str:
    """Return as what, and when, that which is marked was last verified."""
    said = [
        _("%(subject)s was last verified as %(value)s on %(date)s.")
        % {
            "subject": subject,
            "value": visible(standing.last_value[subject]),
            "date": _day(standing.verified[subject]),
        }
        for subject in marked_subjects(standing, telling.subjects)
        if subject in standing.last_value and subject in standing.verified
    ]
    if said:
        return " ".join(said)
    return _as_of(standing.last_verified_at or memory.created_at, memory)


def _as_of(at: datetime, memory: Memory) -> str:
    return _("As of %(date)s: %(claim)s") % {"date": _day(at), "claim": visible(memory.content)}


def _with_reason(said: str, reason: str | None) -> str:
    if reason is None:
        return said
    doubt = _("%(reason)s; check the current value.") % {"reason": _sentence(reason)}
    return f"{said} {doubt}"


def _what_to_verify(standing: Standing, telling: Telling) -> str:
    """Return what has to be looked at, and nothing of what is claimed."""
    if standing.state == TrustState.CONFLICTED:
        why = _("Sources disagree")
    elif standing.state == TrustState.PROPOSED:
        why = _("It was captured, and nobody has confirmed it")
    else:
        why = _sentence(standing.dirty_reason or _("It was marked as possibly out of date"))
    what = ", ".join(marked_subjects(standing, telling.subjects) or standing.verified)
    if not what:
        return _("Withheld until it is verified. %(why)s; verify it first.") % {"why": why}
    return _("Withheld until it is verified. %(why)s; verify %(what)s first.") % {
        "why": why,
        "what": what,
    }


def in_dispute(claims: Sequence[Mapping[str, Any]], *, disagreeing: bool = True) -> str:
    """
    Return what is claimed, by whom and when, without picking any of it.

    :param disagreeing: whether they are known to contradict each other
    """
    said = [
        _("%(claim)s <%(name)s, level %(level)s, %(date)s>")
        % {
            "claim": visible(one["content"]),
            "name": one["author"]["name"],
            "level": one["author"]["level"],
            "date": one["created_at"][:10],
        }
        for one in claims
    ]
    if len(said) == 1:
        return _("Disputed: %(claim)s") % {"claim": said[0]}
    listed = "; ".join(
        f"({letter}) {claim}" for letter, claim in zip("abcdefghij", said, strict=False)
    )
    if disagreeing:
        return _("Sources disagree: %(claims)s") % {"claims": listed}
    return _("Perhaps these disagree: %(claims)s") % {"claims": listed}


def replaced_by_policy(memory_id: str, successor: str) -> str:
    """Return what whoever wrote a memory is told when the policy has retired it."""
    return _("%(id)s was replaced by %(successor)s automatically; restore it if that is wrong.") % {
        "id": memory_id,
        "successor": successor,
    }


def _sentence(phrase: str) -> str:
    """Return the phrase as the beginning of a sentence; a subject stays as it is written."""
    return phrase.rstrip(" .")


def _day(at: datetime) -> str:
    return at.date().isoformat()
