"""What was done, by whom and why: events, which are added and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from tenants.context import whose_door
from tenants.ids import new_id

_INSERT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id, agent_id,
                    token_id, request_id, reason, before, after)
VALUES """
_ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


@dataclass(frozen=True)
class Told:
    """
    One event among several of the same command.

    :param memory_id: the memory that it tells of, where it tells of one
    :param event_id: its own id, where something else goes by it
    """

    object_id: UUID
    memory_id: UUID | None = None
    reason: str = ""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    event_id: UUID | None = None


def record(
    command: str,
    object_type: str,
    object_id: UUID,
    *,
    memory_id: UUID | None = None,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> UUID:
    """
    Add an event in the name of whoever's door is open, and return its id.

    :param memory_id: the memory that it tells of, where it tells of one
    """
    (event_id,) = record_all(
        command, object_type, [Told(object_id, memory_id, reason, before, after)]
    )
    return event_id


def record_all(command: str, object_type: str, told: Sequence[Told]) -> list[UUID]:
    """Add several events of one command in one statement, and return their ids."""
    if not told:
        return []
    caller = whose_door()
    ids = [one.event_id or new_id() for one in told]
    values: list[Any] = []
    for event_id, one in zip(ids, told, strict=True):
        values += [
            *(event_id, caller.tenant_id, command, object_type, one.object_id, one.memory_id),
            *(caller.member_id, caller.agent_id, caller.token_id, caller.request_id, one.reason),
            None if one.before is None else Jsonb(one.before),
            None if one.after is None else Jsonb(one.after),
        ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT + ", ".join([_ROW] * len(ids)), values)
    return ids
