"""What was done, by whom and why: events, which are added and never changed."""

from collections.abc import Sequence
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
    (event_id,) = _record(
        command, object_type, [(object_id, memory_id)], reason=reason, before=before, after=after
    )
    return event_id


def record_of_each(
    command: str,
    memory_ids: Sequence[UUID],
    *,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Add the same event to each of the memories, in one statement."""
    if memory_ids:
        told = [(one, one) for one in memory_ids]
        _record(command, "memory", told, reason=reason, before=before, after=after)


def _record(
    command: str,
    object_type: str,
    told: Sequence[tuple[UUID, UUID | None]],
    *,
    reason: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> list[UUID]:
    caller = whose_door()
    ids = [new_id() for _ in told]
    values: list[Any] = []
    for event_id, (object_id, memory_id) in zip(ids, told, strict=True):
        values += [
            *(event_id, caller.tenant_id, command, object_type, object_id, memory_id),
            *(caller.member_id, caller.agent_id, caller.token_id, caller.request_id, reason),
            None if before is None else Jsonb(before),
            None if after is None else Jsonb(after),
        ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT + ", ".join([_ROW] * len(ids)), values)
    return ids
