"""How a memory is said safely, from templates and without a model."""

from datetime import datetime

from django.utils.translation import gettext as _

from memory.models import Memory
from memory.text import visible
from memory.trust.state import TrustState
from tenants.ids import Prefix, wire_id


def safe_rendering(memory: Memory, state: TrustState, successor_in_sight: bool) -> str:
    """Return the claim so that it can be repeated without claiming more than is known."""
    claim = visible(memory.content)
    if state == TrustState.PROPOSED:
        return _("Unconfirmed (captured %(date)s): %(claim)s") % {
            "date": _day(memory.created_at),
            "claim": claim,
        }
    if state == TrustState.SUPERSEDED and memory.superseded_at is not None:
        until = _("Until %(date)s: %(claim)s") % {"date": _day(memory.superseded_at), "claim": claim}
        if memory.superseded_by_id is None or not successor_in_sight:
            return f"{until}; {_('replaced since.')}"
        replaced = _("replaced by %(id)s.") % {"id": wire_id(Prefix.MEMORY, memory.superseded_by_id)}
        return f"{until}; {replaced}"
    if state == TrustState.EXPIRED and memory.valid_until is not None:
        return _("Until %(date)s: %(claim)s") % {"date": _day(memory.valid_until), "claim": claim}
    return claim


def _day(at: datetime) -> str:
    return at.date().isoformat()
