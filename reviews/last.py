"""What somebody decided last, so that one key takes it back."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from memory.models import Conflict, ConflictState, Door, Memory
from reviews.listed import decided
from reviews.proposals import ACCEPT, REJECT
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id
from tenants.models import Event

# Older decisions are undone where they stand, in the tab of what was decided.
OFFERED_FOR = timedelta(hours=1)
# Among so many answers to proposals the last is sought that was not taken back.
MOST_ANSWERS = 50


@dataclass(frozen=True)
class Last:
    """
    A decision, or several made at once.

    :param batch: what undoing it takes
    :param conflict: the dispute, if it was about one alone
    :param memory: the proposal, if it was about one
    """

    batch: str
    what: str
    at: datetime
    conflict: str | None = None
    memory: str | None = None


def last_decision(caller: Caller) -> Last | None:
    """Return what the person decided last, unless it was long ago. Belongs inside a door."""
    since = timezone.now() - OFFERED_FOR
    found = [_of_disputes(caller, since), _of_proposals(caller, since)]
    return max((one for one in found if one is not None), key=lambda one: one.at, default=None)


def _of_disputes(caller: Caller, since: datetime) -> Last | None:
    mine = Conflict.objects.filter(
        state=ConflictState.RESOLVED,
        resolved_by_member=caller.member_id,
        resolved_by_agent=None,
        batch_id__isnull=False,
        resolved_at__gte=since,
    ).order_by("-resolved_at", "-id")
    # All of a batch have one time, so two of one batch stand beside each other.
    last, *before = mine[:2] or [None]
    if last is None or last.batch_id is None or last.resolved_at is None:
        return None
    batch = wire_id(Prefix.BATCH, last.batch_id)
    if any(one is not None and one.batch_id == last.batch_id for one in before):
        return Last(batch, "Several disputes decided at once", last.resolved_at)
    alone = wire_id(Prefix.CONFLICT, last.id)
    return Last(batch, decided(last).capitalize(), last.resolved_at, conflict=alone)


def _of_proposals(caller: Caller, since: datetime) -> Last | None:
    events = list(
        Event.objects.filter(
            command__in=(ACCEPT, REJECT), member=caller.member_id, agent=None, at__gte=since
        )
        .exclude(memory_id=None)
        .order_by("-sequence")[:MOST_ANSWERS]
    )
    if not events:
        return None
    standing = {
        one: {ACCEPT: accepted_at is not None, REJECT: door == Door.REJECTED}
        for one, accepted_at, door in Memory.objects.filter(
            id__in=[one.memory_id for one in events]
        ).values_list("id", "accepted_at", "invalidated_reason")
    }
    for event in events:
        memory_id = event.memory_id
        if memory_id is not None and standing.get(memory_id, {}).get(event.command):
            return Last(
                batch=wire_id(Prefix.BATCH, event.id),
                what="Accepted" if event.command == ACCEPT else "Rejected",
                at=event.at,
                memory=wire_id(Prefix.MEMORY, memory_id),
            )
    return None
