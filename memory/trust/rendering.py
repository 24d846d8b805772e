"""How a memory is said safely, from templates and without a model."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memory.models import Memory
from memory.text import visible
from memory.trust.state import TrustState
from tenants.ids import Prefix, wire_id


def safe_rendering(
    memory: Memory,
    state: TrustState,
    author: Mapping[str, Any],
    competing: Sequence[Mapping[str, Any]] = (),
    *,
    successor_in_sight: bool,
) -> str:
    """
    Return the claim so that it can be repeated without claiming more than is known.

    :param author: who wrote it, by name and level
    :param competing: what others claim instead, as it is told in a recall
    """
    claim = visible(memory.content)
    if state == TrustState.CONFLICTED:
        return _sources_disagree(memory, author, competing)
    if state == TrustState.PROPOSED:
        return _("Unconfirmed (captured %(date)s): %(claim)s") % {
            "date": _day(memory.created_at),
            "claim": claim,
        }
    if state == TrustState.SUPERSEDED and memory.superseded_at is not None:
        until = _("Until %(date)s: %(claim)s") % {
            "date": _day(memory.superseded_at),
            "claim": claim,
        }
        if memory.superseded_by_id is None or not successor_in_sight:
            return f"{until}; {_('replaced since.')}"
        replaced = _("replaced by %(id)s.") % {
            "id": wire_id(Prefix.MEMORY, memory.superseded_by_id)
        }
        return f"{until}; {replaced}"
    if state == TrustState.EXPIRED and memory.valid_until is not None:
        return _("Until %(date)s: %(claim)s") % {"date": _day(memory.valid_until), "claim": claim}
    return claim


def _sources_disagree(
    memory: Memory, author: Mapping[str, Any], competing: Sequence[Mapping[str, Any]]
) -> str:
    own = _("%(claim)s <%(name)s, level %(level)s, %(date)s>") % {
        "claim": visible(memory.content),
        "name": author["name"],
        "level": author["level"],
        "date": _day(memory.created_at),
    }
    if not competing:
        return _("Disputed: %(claim)s") % {"claim": own}
    others = [
        _("%(claim)s <%(name)s, level %(level)s, %(date)s>")
        % {
            "claim": visible(one["content"]),
            "name": one["author"]["name"],
            "level": one["author"]["level"],
            "date": one["created_at"][:10],
        }
        for one in competing
    ]
    listed = "; ".join(
        f"({letter}) {claim}" for letter, claim in zip("abcdefghij", [own, *others], strict=False)
    )
    return _("Sources disagree: %(claims)s") % {"claims": listed}


def _day(at: datetime) -> str:
    return at.date().isoformat()
