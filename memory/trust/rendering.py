"""How a memory is said safely, from templates and without a model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from memory.models import Door, Memory
from memory.spoken import gettext as _
from memory.text import visible
from memory.trust.marks import meets
from memory.trust.standing import Standing
from memory.trust.state import TrustState
from memory.trust.temporal import marked_subjects
from tenants.ids import moment

# So many claims are listed; how many there are besides is said.
LETTERS = "abcdefghij"
# A sentence is over, whatever quotes or brackets close after it.
_ENDED = re.compile(r"[.!?…。！？।؟:;]\W*$")


@dataclass(frozen=True)
class Telling:
    """
    To whom and about when a memory is told.

    :param author: who wrote it, by name and level
    :param competing: what others claim instead, as it is told in a recall
    :param to_decide: the id of the dispute in which it is decided what holds
    :param looks_at: what has to be looked at, if it is not the whole of it
    :param is_beside_the_point: whether nothing of what was asked about is in doubt
    :param successor: the id of what replaced it, if the reader may see that
    :param historical: whether the past was asked about
    :param as_of: when in the past
    :param subjects: what was asked about
    :param withheld: whether the claim itself is kept back
    :param still_to_come: whether what it says had yet to become so at the time asked about
    """

    author: Mapping[str, Any]
    competing: Sequence[Mapping[str, Any]] = ()
    to_decide: str | None = None
    looks_at: Sequence[str] = ()
    is_beside_the_point: bool = False
    successor: str | None = None
    historical: bool = False
    as_of: datetime | None = None
    subjects: Sequence[str] = ()
    withheld: bool = False
    still_to_come: bool = False


def safe_rendering(memory: Memory, standing: Standing, telling: Telling) -> str:
    """Return the claim so that it can be repeated without claiming more than is known."""
    state = standing.state
    if telling.withheld:
        return _what_to_verify(memory, standing, telling)
    if state == TrustState.CONFLICTED:
        own = {
            "content": memory.content,
            "author": telling.author,
            "created_at": memory.created_at.isoformat(),
            "valid_from": moment(memory.valid_from),
        }
        return in_dispute([own, *telling.competing])
    if until := _until(memory, standing, telling):
        return until
    if state == TrustState.PROPOSED:
        said = _("Unconfirmed (captured %(date)s): %(claim)s") % {
            "date": _day(memory.created_at),
            "claim": _claim(memory, telling),
        }
        return _with_reason(said, standing.dirty_reason)
    if telling.still_to_come:
        # Nobody can have seen it so yet, whatever was vouched for.
        return _with_reason(_claim(memory, telling), _doubt(standing))
    if state == TrustState.DIRTY:
        return _with_reason(_last_verified(memory, standing, telling), standing.dirty_reason)
    if telling.as_of is not None:
        return _as_of(telling.as_of, memory)
    if standing.overdue:
        said = _as_of(standing.last_verified_at or memory.created_at, memory)
        return _with_reason(said, _doubt(standing))
    return visible(memory.content)


def _claim(memory: Memory, telling: Telling) -> str:
    """Return what it says, with its beginning as long as that had not come."""
    claim = visible(memory.content)
    if memory.valid_from is None or not telling.still_to_come:
        return claim
    return _from(memory.valid_from, claim)


def _from(at: datetime, claim: str) -> str:
    return _("From %(date)s: %(claim)s") % {"date": _day_or_moment(at), "claim": claim}


def _doubt(standing: Standing) -> str | None:
    """Return why it should be looked at again; nothing if it need not."""
    if standing.dirty_reason is None and standing.overdue:
        return _("It is due to be looked at again")
    return standing.dirty_reason


def _until(memory: Memory, standing: Standing, telling: Telling) -> str | None:
    """Return how it is said of what is over; nothing of what still stands."""
    over_at = memory.invalidated_at
    if standing.state == TrustState.EXPIRED and not telling.still_to_come:
        over_at = memory.valid_until or over_at
    if over_at is None:
        return None
    until = _within(memory, telling, over_at)
    if over_at != memory.invalidated_at:
        return until
    return f"{until}; {_went(memory, telling)}"


def _went(memory: Memory, telling: Telling) -> str:
    """Return how it went out of use, as the end of a sentence."""
    if memory.invalidated_reason != Door.SUPERSEDED:
        gone = {
            Door.FORGOTTEN: _("forgotten since."),
            Door.CLOSED: _("closed since."),
            Door.RETIRED: _("taken out of use since."),
        }
        return gone[Door(memory.invalidated_reason or Door.RETIRED)]
    if telling.successor is None:
        return _("replaced since.")
    return _("replaced by %(id)s.") % {"id": telling.successor}


def _within(memory: Memory, telling: Telling, over_at: datetime) -> str:
    """Return the claim with its end, and with its beginning if that had not come."""
    words = {"end": _day(over_at), "claim": visible(memory.content)}
    if memory.valid_from is None or not telling.still_to_come:
        return _("Until %(end)s: %(claim)s") % words
    words["start"] = _day_or_moment(memory.valid_from)
    if over_at <= memory.valid_from:
        return _("It was to hold from %(start)s: %(claim)s") % words
    return _("From %(start)s until %(end)s: %(claim)s") % words


def _last_verified(memory: Memory, standing: Standing, telling: Telling) -> str:
    """Return as what, and when, that which is marked was last verified."""
    marked = marked_subjects(standing, telling.subjects)
    # What was asked about and nothing lies on is told, and why not all of it is so certain.
    clean = [one for one in standing.last_value if meets(one, telling.subjects)]
    said = [
        _("%(subject)s was last verified as %(value)s on %(date)s.")
        % {
            "subject": subject,
            "value": visible(standing.last_value[subject]),
            "date": _day(standing.verified[subject]),
        }
        for subject in marked or clean
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
    return f"{said}{'' if _ENDED.search(said) else ';'} {doubt}"


def _what_to_verify(memory: Memory, standing: Standing, telling: Telling) -> str:
    """Return what has to be looked at, and nothing of what is claimed."""
    doubtful = (TrustState.CONFLICTED, TrustState.PROPOSED, TrustState.DIRTY)
    if memory.valid_from is not None and standing.state not in doubtful:
        return _("Withheld: it holds from %(date)s. Verify what holds before then.") % {
            "date": _day_or_moment(memory.valid_from)
        }
    if standing.state == TrustState.CONFLICTED and telling.to_decide is None:
        return _("Withheld: sources disagreed at that time, and it has been decided since.")
    if standing.state == TrustState.CONFLICTED:
        why = _("Sources disagree")
    elif standing.state == TrustState.PROPOSED:
        why = _("It was captured, and nobody has confirmed it")
    else:
        why = _sentence(standing.dirty_reason or _("It was marked as possibly out of date"))
    if telling.to_decide is not None:
        return _("Withheld until it is decided. %(why)s; resolve %(dispute)s first.") % {
            "why": why,
            "dispute": telling.to_decide,
        }
    if telling.is_beside_the_point:
        return _("Withheld because of what was not asked about. %(why)s.") % {"why": why}
    if not telling.looks_at:
        return _("Withheld until it is verified. %(why)s; verify it first.") % {"why": why}
    return _("Withheld until it is verified. %(why)s; verify %(what)s first.") % {
        "why": why,
        "what": ", ".join(telling.looks_at),
    }


def in_dispute(claims: Sequence[Mapping[str, Any]], *, disagreeing: bool = True) -> str:
    """
    Return what is claimed, by whom and when, without picking any of it.

    :param disagreeing: whether they are known to contradict each other
    """
    said = [
        _("%(claim)s <%(name)s, level %(level)s, %(date)s>")
        % {
            "claim": _claimed(one),
            "name": one["author"]["name"],
            "level": one["author"]["level"],
            "date": one["created_at"][:10],
        }
        for one in claims
    ]
    if len(said) == 1:
        return _("Disputed: %(claim)s") % {"claim": said[0]}
    listed = "; ".join(f"({letter}) {claim}" for letter, claim in zip(LETTERS, said, strict=False))
    if (untold := len(said) - len(LETTERS)) > 0:
        listed = _("%(claims)s; and %(number)s more") % {"claims": listed, "number": untold}
    if disagreeing:
        return _("Sources disagree: %(claims)s") % {"claims": listed}
    return _("Perhaps these disagree: %(claims)s") % {"claims": listed}


def _claimed(one: Mapping[str, Any]) -> str:
    """Return what one side claims, and from when on if it says so."""
    claim = visible(one["content"])
    start = one.get("valid_from")
    return claim if start is None else _from(datetime.fromisoformat(start), claim)


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


def _day_or_moment(at: datetime) -> str:
    """Return the day; where it does not begin with midnight, to the minute."""
    at = at.astimezone(UTC)
    return _day(at) if at.time() == time.min else f"{at:%Y-%m-%d %H:%M} UTC"
