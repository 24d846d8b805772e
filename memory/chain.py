"""The versions of a memory, one superseded by the next."""

from typing import Any
from uuid import UUID

from django.db import connection

from memory.models import Memory
from memory.wire import author_wire, with_authors
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none

# Both ways along superseded_by, as far as the caller may read. UNION ends it in a circle, too.
_CHAIN = """
WITH RECURSIVE later (id, next) AS (
    SELECT id, superseded_by_id FROM memories WHERE id = %(of)s
    UNION
    SELECT m.id, m.superseded_by_id FROM memories m JOIN later ON m.id = later.next
), earlier (id) AS (
    SELECT id FROM later
    UNION
    SELECT m.id FROM memories m JOIN earlier ON m.superseded_by_id = earlier.id
)
SELECT id FROM earlier
"""


def chain_ids(memory_id: UUID) -> list[UUID]:
    """Return every version before and after a memory, itself among them, in no order."""
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN, {"of": memory_id})
        return [row[0] for row in cursor.fetchall()]


def chain_wire(memory_id: UUID) -> list[dict[str, Any]]:
    """Return the versions, oldest first, each with who, when, and why it was replaced."""
    versions = list(
        with_authors(Memory.objects.filter(id__in=chain_ids(memory_id))).order_by("sequence")
    )
    seen = {version.id for version in versions}
    return [
        {
            "id": wire_id(Prefix.MEMORY, version.id),
            "content": version.content,
            "kind": version.kind,
            "author": author_wire(version),
            "created_at": moment(version.created_at),
            "lifecycle": version.lifecycle,
            "invalidated_at": moment(version.invalidated_at),
            "invalidated_reason": version.invalidated_reason,
            "superseded_by": wire_id_or_none(
                Prefix.MEMORY,
                version.superseded_by_id if version.superseded_by_id in seen else None,
            ),
            "superseded_at": moment(version.superseded_at),
            "supersede_reason": version.supersede_reason,
        }
        for version in versions
    ]
