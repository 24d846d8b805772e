"""What was done, by whom and why: events, which are added and never changed."""

from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from tenants.context import whose_door
from tenants.ids import new_id

_INSERT = """
INSERT INTO events (id, tenant_id, command, object_type, object_id, memory_id, member_id, agent_id,
                    token_id, request_id, reason, before, after)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


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
    caller = whose_door()
    event_id = new_id()
    row: list[Any] = [
        *(event_id, caller.tenant_id, command, object_type, object_id, memory_id),
        *(caller.member_id, caller.agent_id, caller.token_id, caller.request_id, reason),
        None if before is None else Jsonb(before),
        None if after is None else Jsonb(after),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, row)
    return event_id
