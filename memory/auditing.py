"""What was done in the tenant, by whom and why, for its administrators."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.history import event_wires
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, wire_id
from tenants.models import Event
from tenants.once import Answer
from tenants.paging import PAGE, page

# By the time they were told, never by the number that the server gave them: that counts what other
# tenants do.
NEWEST_FIRST = ("-at", "-id")
PREFIXES: Mapping[str, Prefix] = {
    "agent": Prefix.AGENT,
    "batch": Prefix.BATCH,
    "certificate": Prefix.CERTIFICATE,
    "change": Prefix.CHANGE,
    "component": Prefix.COMPONENT,
    "conflict": Prefix.CONFLICT,
    "job": Prefix.JOB,
    "link": Prefix.LINK,
    "mark": Prefix.MARK,
    "member": Prefix.MEMBER,
    "memory": Prefix.MEMORY,
    "project": Prefix.PROJECT,
    "push_source": Prefix.PUSH_SOURCE,
    "signal": Prefix.SIGNAL,
    "sweep": Prefix.BATCH,
    "tenant": Prefix.TENANT,
    "token": Prefix.TOKEN,
    "transfer": Prefix.TRANSFER,
    "verification": Prefix.VERIFICATION,
}


def audit(
    caller: Caller,
    *,
    actor: UUID | None = None,
    command: str | None = None,
    object: UUID | None = None,  # noqa: A002  the contract's name
    since: datetime | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> Answer:
    """
    List what was done in the tenant, newest first.

    Only what the administrator may see: of a memory, what happened to one that is in sight.

    :param actor: a member or an agent, who did it themselves
    :param object: whatever it was done to, or the memory that it tells of
    :raises NotAllowed: if the caller does not administer the tenant
    """
    caller.must_administer()
    with acting_as(caller):
        events = audited(actor=actor, command=command, object_id=object, since=since)
        found = page(events, of="audit", cursor=cursor, limit=limit, by=NEWEST_FIRST)
        return found.wire(audit_wires(found.rows))


def audited(
    *,
    actor: UUID | None = None,
    command: str | None = None,
    object_id: UUID | None = None,
    since: datetime | None = None,
) -> QuerySet[Event]:
    """Return the events in sight that fit all of this. Belongs inside a door."""
    wanted = Event.objects.select_related("member", "agent")
    if actor is not None:
        wanted = wanted.filter(Q(agent=actor) | Q(member=actor, agent__isnull=True))
    if command is not None:
        wanted = wanted.filter(command=command)
    if object_id is not None:
        wanted = wanted.filter(Q(object_id=object_id) | Q(memory_id=object_id))
    return wanted if since is None else wanted.filter(at__gte=since)


def audit_wires(events: Sequence[Event]) -> list[Answer]:
    """Return the events as they are told, with what they were done to. Belongs inside a door."""
    return [
        told | {"object": {"type": event.object_type, "id": object_name(event)}}
        for event, told in zip(events, event_wires(events), strict=True)
    ]


def object_name(event: Event) -> str:
    """Return the id of what it was done to."""
    prefix = PREFIXES.get(event.object_type)
    return str(event.object_id) if prefix is None else wire_id(prefix, event.object_id)
