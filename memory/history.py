"""What was done to a memory and its other versions, by whom and why."""

from uuid import UUID

from memory.chain import chain_ids, chain_wire
from memory.reading import existing
from memory.wire import UNNAMED_AGENT
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer


def history(caller: Caller, *, memory_id: UUID) -> Answer:
    """
    Tell the chain of versions that a memory stands in, and every event of it, oldest first.

    :raises NotFound: if there is no such memory for the caller
    """
    with acting_as(caller):
        existing(memory_id)
        ids = chain_ids(memory_id)
        events = (
            Event.objects.filter(memory_id__in=ids).select_related("member", "agent").order_by("sequence")
        )
        return {
            "memory_id": wire_id(Prefix.MEMORY, memory_id),
            "chain": chain_wire(memory_id),
            "events": [event_wire(event) for event in events],
        }


def event_wire(event: Event) -> Answer:
    """Return what was done, by whom, and why."""
    return {
        "id": wire_id(Prefix.EVENT, event.id),
        "at": moment(event.at),
        "command": event.command,
        "memory_id": wire_id_or_none(Prefix.MEMORY, event.memory_id),
        "actor": _actor_wire(event),
        "token": wire_id_or_none(Prefix.TOKEN, event.token_id),
        "reason": event.reason,
        "before": event.before,
        "after": event.after,
        "request_id": event.request_id,
    }


def _actor_wire(event: Event) -> Answer:
    if event.agent_id is not None:
        name = UNNAMED_AGENT if event.agent is None else event.agent.name
        return {"id": wire_id(Prefix.AGENT, event.agent_id), "name": name, "type": "agent"}
    name = None if event.member is None else event.member.name
    return {"id": wire_id_or_none(Prefix.MEMBER, event.member_id), "name": name, "type": "member"}
