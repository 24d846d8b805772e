"""Which side of a pair may win: not one by which somebody would be left with nothing."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.models import Memory, Visibility
from memory.place import Place
from memory.trust.state import has_expired
from tenants.ids import Prefix, wire_id


def keeps_its_readers(winner: Memory, loser: Memory) -> bool:
    """
    Return whether all who read the loser read the winner.

    What is private only its owner reads, who decides it and has the other one in sight.
    """
    is_read = Place.of(winner).is_read_by_all_who_read(Place.of(loser))
    return is_read or loser.visibility == Visibility.PRIVATE


def leaves_nothing(winner: Memory, loser: Memory, now: datetime) -> bool:
    """Return whether the winner has ended, and the loser, which it contradicts no more, has not."""
    return has_expired(winner, now) and not has_expired(loser, now)


def decision_of(
    pair: tuple[Memory, Memory], may_retire: Callable[[Memory], bool] | None
) -> dict[str, Any]:
    """
    Return what is to be said to decide between the two; nothing that would be refused.

    :param may_retire: whether whoever decides may take a side out of use; none, if nobody knows who
    """
    now = timezone.now()
    may_win = [
        wire_id(Prefix.MEMORY, winner.id)
        for winner, loser in (pair, pair[::-1])
        if keeps_its_readers(winner, loser)
        and not leaves_nothing(winner, loser, now)
        and (may_retire is None or may_retire(loser))
    ]
    if not may_win:
        return {"keep_both": True}
    if len(may_win) == 1:
        return {"winner": f"{may_win[0]} if it holds; otherwise keep_both: true instead of winner"}
    return {"winner": " | ".join(may_win)}
