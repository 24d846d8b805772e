"""Supersedes links never lead round in a circle, however they were drawn."""

from uuid import UUID

from django.db import connection

from tenants.context import whose_door

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_ABOVE = """
WITH RECURSIVE above (id) AS (
    SELECT src_id FROM links WHERE dst_id = %(of)s AND type = 'supersedes' AND removed_at IS NULL
    UNION
    SELECT l.src_id FROM links l JOIN above ON l.dst_id = above.id
    WHERE l.type = 'supersedes' AND l.removed_at IS NULL
)
SELECT id FROM above
"""


def those_above(memory_id: UUID) -> set[UUID]:
    """
    Return the memories from which supersedes links lead to this one.

    A link from it to one of them would close a circle. Two that want to know this wait for each
    other, so that they cannot close one together; take it after all row locks.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"{whose_door().tenant_id}:circles"])
        cursor.execute(_ABOVE, {"of": memory_id})
        return {row[0] for row in cursor.fetchall()}
