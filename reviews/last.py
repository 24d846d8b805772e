"""What somebody did last, so that one key takes it back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.models import Conflict, ConflictState, Door, Memory
from reviews.listed import decided
from reviews.proposals import ACCEPT, REJECT
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id
from tenants.models import Event

# Older decisions are undone where they stand, in the tab of what was decided.
OFFERED_FOR = timedelta(hours=1)
# What handing_on records.
DEFER, ASSIGN = "defer", "assign"
# Among so many answers to proposals the last is sought that was not taken back.
MOST_ANSWERS = 50


@dataclass(frozen=True)
class Last:
    """
    A decision, or several made at once; or that a dispute was put off, or given to somebody.

    :param command: the page that takes it back
    :param object_id: of what that page asks for
    :param said: what is sent to it
    :param conflict: the dispute, if it was about one alone
    :param memory: the proposal, if it was about one
    :param together: how many were decided at once
    """

    object_id: str
    what: str
    at: datetime
    command: str = "undo"
    said: Mapping[str, str] = field(default_factory=dict)
    conflict: str | None = None
    memory: str | None = None
    together: int = 1


def last_decision(caller: Caller) -> Last | None:
    """Return what the person did last, unless it was long ago. Belongs inside a door."""
    since = timezone.now() - OFFERED_FOR
    found = [
        _of_disputes(caller, since),
        _of_proposals(caller, since),
        _handed_on(caller, since),
    ]
    return max((one for one in found if one is not None), key=lambda one: one.at, default=None)


def _of_disputes(caller: Caller, since: datetime) -> Last | None:
    mine = Conflict.objects.filter(
        state=ConflictState.RESOLVED,
        resolved_by_member=caller.member_id,
        resolved_by_agent=None,
        batch_id__isnull=False,
        resolved_at__gte=since,
    ).order_by("-resolved_at", "-id")
    last = mine.first()
    if last is None or last.batch_id is None or last.resolved_at is None:
        return None
    batch = wire_id(Prefix.BATCH, last.batch_id)
    together = mine.filter(batch_id=last.batch_id).count()
    if together > 1:
        what = f"{together} disputes decided at once"
        return Last(batch, what, last.resolved_at, together=together)
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
                object_id=wire_id(Prefix.BATCH, event.id),
                what="Accepted" if event.command == ACCEPT else "Rejected",
                at=event.at,
                memory=wire_id(Prefix.MEMORY, memory_id),
            )
    return None


def _handed_on(caller: Caller, since: datetime) -> Last | None:
    """Return the last putting off, or giving to somebody, that stands and was not taken back."""
    standing = _standing(caller, since)
    waiting = set(
        Conflict.objects.filter(
            id__in=[one.object_id for one in standing], state=ConflictState.PENDING
        ).values_list("id", flat=True)
    )
    for event in standing:
        if event.object_id in waiting:
            return _taking_back(event)
    return None


def _standing(caller: Caller, since: datetime) -> list[Event]:
    """Return the last of such events about each dispute, newest first, as far as it counts yet."""
    events = (
        Event.objects.filter(
            command__in=(DEFER, ASSIGN), member=caller.member_id, agent=None, at__gte=since
        )
        .exclude(memory_id=None)
        .order_by("-sequence")[:MOST_ANSWERS]
    )
    left: dict[tuple[UUID, str], list[Event]] = {}
    for event in reversed(events):
        before = left.setdefault((event.object_id, event.command), [])
        if before and _of(before[-1], before[-1].before) == _of(event, event.after):
            # It gives back what was before: the two of them are as if they had not been.
            before.pop()
        else:
            before.append(event)
    tops = [each[-1] for each in left.values() if each]
    return sorted(tops, key=lambda one: one.sequence, reverse=True)


def _of(event: Event, payload: Any) -> str:
    """Return until when, or whose, it was or is by that event."""
    return (payload or {}).get("until" if event.command == DEFER else "member") or ""


def _taking_back(event: Event) -> Last:
    was, now = _of(event, event.before), _of(event, event.after)
    conflict = wire_id(Prefix.CONFLICT, event.object_id)
    if event.command == ASSIGN:
        what = "Assigned" if now else "Assigned to nobody"
        said = {"member": was}
    else:
        what = f"Deferred until {now[:16].replace('T', ' ')}" if now else "Not deferred any more"
        has_passed = not was or datetime.fromisoformat(was) <= timezone.now()
        said = {"preset": "back", "until": "" if has_passed else was}
    return Last(conflict, what, event.at, command=event.command, said=said, conflict=conflict)
