"""What somebody has confirmed although it was superseded, and has nothing left in its place."""

from uuid import UUID

from django.db.models import F
from django.utils import timezone

from memory.conflict.orphans import last_after
from memory.feed import Line, in_brief, lines
from memory.models import Door, Memory, Outcome, Verification

# Among so many, newest first, are sought those that nobody else's text replaces any more.
MOST = 200


def confirmed_without_successor() -> list[Line]:
    """
    Return what was confirmed after it was superseded, where no dispute could be opened about that.

    Belongs inside a door. What took its place is out of use since, or out of sight; whether it
    should come back is for a person to say.
    """
    looks = Verification.objects.filter(
        outcome=Outcome.CONFIRMED,
        memory__invalidated_reason=Door.SUPERSEDED,
        observed_at__gt=F("memory__superseded_at"),
    )
    found = in_brief(Memory.objects.filter(id__in=looks.values("memory")))
    rows: dict[UUID, Memory] = {}
    alone = [
        memory
        for memory in found.order_by("-superseded_at", "-id")[:MOST]
        if last_after(memory, rows) is None
    ]
    return lines(alone, timezone.now())
