"""What was captured and nobody has vouched for yet, a line each."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.feed import in_brief, lines, searched
from memory.models import Lifecycle, Memory
from memory.trust.state import TrustState, in_state
from reviews.deciding import Desk
from reviews.wish import FILTERS_OF_PROPOSALS, OLDEST, Wish, of_age
from tenants.caller import Caller, Scope
from tenants.ids import MalformedId, Prefix, read_id


def proposals(caller: Caller, wish: Wish) -> QuerySet[Memory]:
    """Return the proposals in sight that somebody wants. Belongs inside a door."""
    proposed = in_state(TrustState.PROPOSED, timezone.now())
    wanted = Memory.objects.filter(proposed, lifecycle=Lifecycle.LIVE)
    for name in FILTERS_OF_PROPOSALS:
        if value := wish.values.get(name):
            wanted = wanted.filter(_condition(caller, name, value))
    return searched(wanted, wish.q) if wish.q else wanted


def _condition(caller: Caller, name: str, value: str) -> Q:
    nothing = Q(pk__in=[])
    if name == "whose":
        return Q(owner=caller.member_id) if value == "mine" else nothing
    if name == "age":
        return of_age(value)
    try:
        return Q(project=read_id(Prefix.PROJECT, value))
    except MalformedId:
        return nothing


def in_order(wanted: QuerySet[Memory], wish: Wish) -> QuerySet[Memory]:
    """Return the proposals in the wanted order, with what a line needs."""
    return in_brief(wanted).order_by("sequence" if wish.sort == OLDEST else "-sequence")


def answerable(caller: Caller, memories: Sequence[Memory]) -> list[dict[str, Any]]:
    """Return a line for each, and whether the caller gets the buttons. Belongs inside a door."""
    memories, desk = list(memories), Desk.of(caller)
    may = Scope.REVIEW in caller.scopes
    return [
        {
            "line": line,
            "may_answer": may and desk.reviews(memory) and memory.owner_id != caller.member_id,
        }
        for memory, line in zip(memories, lines(memories, timezone.now()), strict=True)
    ]
