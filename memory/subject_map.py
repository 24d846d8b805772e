"""The subjects of a project as a tree: how many memories speak of each, and how many are dirty."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, Func, Q, QuerySet, Value
from django.db.models.functions import Collate

from memory.models import Component, Lifecycle, Memory
from memory.trust.expiry import rests_on_what_ended
from memory.trust.needed import marked, suspected
from memory.trust.state import in_use
from tenants.subject_paths import one_form

MOST_SUBJECTS = 1000
# A subject is spoken of by whatever speaks of one below it, so its count is never smaller, and in
# this order nothing comes before what it lies under.
_SUBJECTS = """
WITH wanted AS MATERIALIZED (
    SELECT m.id, m.subjects FROM memories m
    WHERE m.tenant_id = (SELECT current_tenant()) AND m.project_id = %s AND m.lifecycle = 'live'
      AND (m.valid_until IS NULL OR m.valid_until > %s)
), dirty AS MATERIALIZED ({dirty}),
said AS MATERIALIZED (
    SELECT w.id, subject FROM wanted w, unnest(w.subjects) AS subject
    UNION
    SELECT w.id, c.subject FROM wanted w
    JOIN components c ON c.tenant_id = (SELECT current_tenant()) AND c.memory_id = w.id
    WHERE NOT c.suggested AND c.dismissed_at IS NULL
), tree AS MATERIALIZED (
    SELECT one.subject, array_to_string(labels[1:depth], '.') AS above
    FROM (SELECT DISTINCT subject FROM said) one, string_to_array(one.subject, '.') AS labels,
         generate_series(1, cardinality(labels)) AS depth
), spoken AS (
    SELECT DISTINCT s.id, t.above AS subject FROM said s JOIN tree t ON t.subject = s.subject
)
SELECT s.subject, count(*) AS memories, count(d.id) AS dirty, count(*) OVER () AS subjects
FROM spoken s LEFT JOIN dirty d ON d.id = s.id
WHERE %s = '' OR s.subject = %s OR starts_with(s.subject, %s || '.')
GROUP BY s.subject HAVING NOT %s OR count(d.id) > 0
ORDER BY memories DESC, cardinality(string_to_array(s.subject, '.')), s.subject
LIMIT %s
"""


@dataclass
class Node:
    """
    A subject in the tree.

    :param share: its memories in percent of those of the most spoken of
    """

    subject: str
    name: str
    memories: int
    dirty: int
    share: int
    below: list["Node"] = field(default_factory=list)

    @property
    def dirty_share(self) -> int:
        """How many of its memories are dirty, in percent."""
        return round(100 * self.dirty / self.memories)

    @property
    def is_open(self) -> bool:
        """Whether there is something below it that should be seen at once."""
        return any(one.dirty for one in self.below)


@dataclass(frozen=True)
class Map:
    """The tree, as much of it as one page holds."""

    roots: list[Node]
    shown: int
    left_out: int


def subject_map(
    project_id: UUID, now: datetime, *, under: str = "", only_dirty: bool = False
) -> Map:
    """Return the subjects of a project that are most spoken of. Belongs inside a door."""
    dirty: QuerySet[Memory, Any] = Memory.objects.filter(
        marked() | rests_on_what_ended(now) | suspected(),
        in_use(now),
        project=project_id,
        lifecycle=Lifecycle.LIVE,
    )
    sql, parameters = dirty.values("id").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            _SUBJECTS.format(dirty=sql),
            [project_id, now, *parameters, under, under, under, only_dirty, MOST_SUBJECTS],
        )
        rows = cursor.fetchall()
    total = rows[0][3] if rows else 0
    return Map(_tree(rows), len(rows), total - len(rows))


def _tree(rows: Iterable[tuple[str, int, int, int]]) -> list[Node]:
    nodes: dict[str, Node] = {}
    roots: list[Node] = []
    most = 1
    for subject, memories, dirty, _ in rows:
        most = max(most, memories)
        above, _, name = subject.rpartition(".")
        parent = nodes.get(above)
        node = Node(
            subject,
            name if parent else subject,
            memories,
            dirty,
            round(100 * memories / most),
        )
        nodes[subject] = node
        (parent.below if parent else roots).append(node)
    for node in nodes.values():
        node.below.sort(key=lambda one: one.name)
    return sorted(roots, key=lambda one: one.name)


def speaks_of(subject: str) -> Q:
    """Return the condition for memories that say something of a subject, or of one below it."""
    subject = one_form(subject)
    named = Func(
        Value(subject),
        template="memories.subject_tree @> ARRAY[%(expressions)s]::text[]",
        output_field=BooleanField(),
    )
    # What lies below it is a range of bytes: from "deployment." up to "deployment/".
    stated = Component.objects.annotate(path=Collate("subject", "C")).filter(
        Q(subject=subject) | Q(path__gte=f"{subject}.", path__lt=f"{subject}/"),
        suggested=False,
        dismissed_at=None,
    )
    return Q(named) | Q(id__in=stated.values("memory_id"))
