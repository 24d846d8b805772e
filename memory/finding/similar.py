"""What lies near a vector, among what somebody may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from memory.finding.embedding import Vector, current
from memory.models import Lifecycle, Memory
from memory.wire import with_authors

# Above this many memories of a tenant the graph is walked; up to it all are compared. Measured: all
# of 20,000 take some 20 ms, and the graph finds too little among few.
EXACT_UP_TO = 20_000


class Reach(StrEnum):
    """How far a search goes, inside what is in sight (search.sql)."""

    EVERYTHING = "everything"
    PROJECT = "project"
    OWN_PROJECT = "own project"
    OWN_PERSONAL = "own personal"


@dataclass(frozen=True)
class Near:
    """A memory and its cosine similarity to what was asked."""

    memory: Memory
    similarity: float


_NEAREST = """
SELECT memory_id, max(similarity) FROM nearest_memories(%s::halfvec, %s, %s, %s, %s, %s, %s, %s, %s)
GROUP BY memory_id
"""


def nearest(
    vector: Vector,
    *,
    reach: Reach,
    project_id: UUID | None,
    wanted: int,
    lifecycles: Sequence[str] = (Lifecycle.LIVE,),
    with_expired: bool = False,
    kinds: Sequence[str] | None = None,
) -> dict[UUID, float]:
    """Return the nearest memories in reach and their similarities, in no order."""
    with connection.cursor() as cursor:
        cursor.execute(
            _NEAREST,
            [
                HalfVector(vector).to_text(),
                current().id,
                reach.value,
                project_id,
                list(lifecycles),
                with_expired,
                None if kinds is None else list(kinds),
                wanted,
                EXACT_UP_TO,
            ],
        )
        return dict(cursor.fetchall())


def own_neighbours(vector: Vector, *, project_id: UUID | None, wanted: int) -> list[Near]:
    """Return the member's own live memories in this scope, nearest first."""
    reach = Reach.OWN_PERSONAL if project_id is None else Reach.OWN_PROJECT
    similarities = nearest(vector, reach=reach, project_id=project_id, wanted=wanted)
    memories = with_authors(Memory.objects.filter(id__in=similarities))
    found = [Near(memory, similarities[memory.id]) for memory in memories]
    return sorted(found, key=lambda near: (-near.similarity, -near.memory.sequence))
