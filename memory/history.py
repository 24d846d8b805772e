"""What was done to a memory and its other versions, by whom and why."""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from memory.chain import chain_ids, chain_wire
from memory.reading import existing
from memory.trust.verifications import UNNAMED_AGENT
from memory.wire import in_sight
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, read_id, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer

# As the server writes it: what anybody else wrote is content, and left alone.
_MEMORY_ID = re.compile("mem_[0-7][0-9a-hjkmnp-tv-z]{25}")


def history(caller: Caller, *, memory_id: UUID) -> Answer:
    """
    Tell the chain of versions that a memory stands in, and every event of it, oldest first.

    :raises NotFound: if there is no such memory for the caller
    """
    with acting_as(caller):
        existing(memory_id)
        ids = chain_ids(memory_id)
        events = (
            Event.objects.filter(memory_id__in=ids)
            .select_related("member", "agent")
            .order_by("sequence")
        )
        return {
            "memory_id": wire_id(Prefix.MEMORY, memory_id),
            "chain": chain_wire(memory_id),
            "events": event_wires(list(events)),
        }


def event_wires(events: Sequence[Event]) -> list[Answer]:
    """
    Return what was done, by whom, and why. Belongs inside a door.

    An event tells of the memory that it happened to, and whoever reads that one reads the event. Of
    another memory that it names, only those who read that one too learn so much as the id.
    """
    named: set[str] = set()
    for event in events:
        named.update(_ids_in((event.before, event.after)))
    seen = in_sight(read_id(Prefix.MEMORY, one) for one in named)
    hidden = named - {wire_id(Prefix.MEMORY, one) for one in seen}
    return [
        {
            "id": wire_id(Prefix.EVENT, event.id),
            "at": moment(event.at),
            "command": event.command,
            "memory_id": wire_id_or_none(Prefix.MEMORY, event.memory_id),
            "actor": _actor_wire(event),
            "token": wire_id_or_none(Prefix.TOKEN, event.token_id),
            "reason": event.reason,
            "before": _without(event.before, hidden),
            "after": _without(event.after, hidden),
            "request_id": event.request_id,
        }
        for event in events
    ]


def _ids_in(payload: Any) -> Iterator[str]:
    if isinstance(payload, dict):
        payload = payload.values()
    elif isinstance(payload, str):
        if _MEMORY_ID.fullmatch(payload):
            yield payload
        return
    elif not isinstance(payload, list | tuple):
        return
    for inner in payload:
        yield from _ids_in(inner)


def _without(payload: Any, hidden: set[str]) -> Any:
    if isinstance(payload, dict):
        return {name: _without(inner, hidden) for name, inner in payload.items()}
    if isinstance(payload, list):
        return [_without(inner, hidden) for inner in payload]
    return None if isinstance(payload, str) and payload in hidden else payload


def _actor_wire(event: Event) -> Answer:
    if event.agent_id is not None:
        agent = UNNAMED_AGENT if event.agent is None else event.agent.name
        return {"id": wire_id(Prefix.AGENT, event.agent_id), "name": agent, "type": "agent"}
    name = None if event.member is None else event.member.name
    return {"id": wire_id_or_none(Prefix.MEMBER, event.member_id), "name": name, "type": "member"}
