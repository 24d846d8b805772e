"""The open marks of memories: as many as tell how each of them stands, and how many more."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.models import Change, Component, Mark

# The newest of a memory, whatever they lie on.
NEWEST = 20
# And of each place on which one lies the newest; no more than so many places.
MOST_PLACES = 200

# A thing may change a thousand times before anybody looks. What a memory's standing takes of its
# marks is where they lie, which came last there, and when that was seen last.
_OPEN = """
WITH known AS MATERIALIZED (
    SELECT k.id, k.memory_id, k.component_id, k.direct, k.created_at, k.observed_at,
           -- Numbers are sorted many times faster than texts.
           hashtextextended(concat_ws(' ', k.component_id, k.direct, k.cause, c.subject), 0) AS spot
    FROM marks k
    LEFT JOIN changes c ON c.tenant_id = k.tenant_id AND c.id = k.change_id
    WHERE k.tenant_id = (SELECT current_tenant()) AND k.memory_id = ANY (%(ids)s::uuid[])
      AND k.created_at <= %(until)s AND (k.cleared_at IS NULL OR k.cleared_at > %(until)s)
), placed AS (
    SELECT id, memory_id, component_id, count(*) OVER of_memory AS open_marks,
           row_number() OVER newest AS place,
           created_at = max(created_at) OVER there
           OR observed_at = max(observed_at) OVER there AS stands_out
    FROM known
    WINDOW of_memory AS (PARTITION BY memory_id),
           newest AS (PARTITION BY memory_id ORDER BY created_at DESC, direct DESC, id DESC),
           there AS (PARTITION BY memory_id, spot)
), chosen AS (
    SELECT placed.*, row_number() OVER (
               PARTITION BY memory_id, stands_out ORDER BY component_id IS NULL, place) AS turn
    FROM placed WHERE place <= %(newest)s OR stands_out
)
SELECT k.*, c.subject AS at_subject, c.summary AS of_summary, c.observed_at AS of_seen_at,
       p.subject AS on_subject, p.value AS on_value, chosen.open_marks
FROM chosen
-- One by one, because they are few, and never sought among all that there are.
CROSS JOIN LATERAL (
    SELECT * FROM marks one
    WHERE one.tenant_id = (SELECT current_tenant()) AND one.id = chosen.id LIMIT 1
) k
LEFT JOIN changes c ON c.tenant_id = k.tenant_id AND c.id = k.change_id
LEFT JOIN components p ON p.tenant_id = k.tenant_id AND p.id = k.component_id
WHERE chosen.place <= %(newest)s OR chosen.turn <= %(places)s
ORDER BY k.created_at DESC, k.direct DESC, k.id DESC
"""


def open_marks(
    ids: Sequence[UUID], until: datetime | str
) -> tuple[dict[UUID, list[Mark]], dict[UUID, int]]:
    """
    Return the marks of each memory, newest first, and how many more are open. Inside the door.

    :param until: as it was then; "infinity" for now
    """
    found: dict[UUID, list[Mark]] = defaultdict(list)
    more: dict[UUID, int] = {}
    if not ids:
        return found, more
    asked = {"ids": list(ids), "until": until, "newest": NEWEST, "places": MOST_PLACES}
    for mark in Mark.objects.raw(_OPEN, asked):
        Mark.change.field.set_cached_value(mark, _change(mark))
        Mark.component.field.set_cached_value(mark, _component(mark))
        found[mark.memory_id].append(mark)
        more[mark.memory_id] = _open(mark) - len(found[mark.memory_id])
    return found, more


def _open(mark: Any) -> int:
    count: int = mark.open_marks
    return count


def _change(mark: Any) -> Change | None:
    """Return what the mark came by; nothing of a change that is out of sight."""
    if mark.at_subject is None:
        return None
    return Change(
        id=mark.change_id,
        subject=mark.at_subject,
        summary=mark.of_summary,
        observed_at=mark.of_seen_at,
    )


def _component(mark: Any) -> Component | None:
    if mark.on_subject is None:
        return None
    return Component(id=mark.component_id, subject=mark.on_subject, value=mark.on_value)
