"""What one sweep did by itself, so that all of it can be undone at once."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Q

from memory.models import Conflict, ConflictState
from reviews.deciding import Desk
from reviews.wish import AUTOMATICALLY
from tenants.caller import Caller, Scope
from tenants.ids import Prefix, wire_id

MOST_SWEEPS = 20


@dataclass(frozen=True)
class Sweep:
    """
    A sweep of which something stands.

    :param retired: how many pairs it decided of which the loser is gone by it to this day
    :param waiting: how many disputes it found that wait
    """

    batch: str
    at: datetime
    retired: int
    waiting: int


def sweeps(caller: Caller) -> list[Sweep]:
    """Return those that retired something in sight, newest first. Belongs inside a door."""
    if Scope.REVIEW not in caller.scopes or not Desk.of(caller).projects:
        return []
    still_gone = Q(memory_a__superseded_by=F("winner")) | Q(memory_b__superseded_by=F("winner"))
    found = (
        Conflict.objects.filter(AUTOMATICALLY, still_gone, batch_id__isnull=False)
        .values("batch_id")
        .annotate(at=Max("resolved_at"), retired=Count("id"))
        .order_by("-at", "-batch_id")[:MOST_SWEEPS]
    )
    stood = list(found)
    waiting = dict(
        Conflict.objects.filter(
            batch_id__in=[one["batch_id"] for one in stood], state=ConflictState.PENDING
        )
        .values_list("batch_id")
        .annotate(Count("id"))
    )
    return [
        Sweep(
            batch=wire_id(Prefix.BATCH, batch),
            at=one["at"],
            retired=one["retired"],
            waiting=waiting.get(batch, 0),
        )
        for one in stood
        if (batch := one["batch_id"]) is not None
    ]
