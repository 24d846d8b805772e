"""What lies near a vector, among what somebody may see."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from memory.finding.embedding import Vector, current
from memory.models import Lifecycle, Memory
from memory.wire import with_authors
from tenants.context import whose_door
from tenants.deadline import awaited

# Above this many memories of a tenant the graph is walked; up to it all are compared. Measured: all
# of 20,000 take some 20 ms, and the graph finds too little among few.
EXACT_UP_TO = 20_000
MOST_COMPARED = 200
LOCK_TIMEOUT = 2.0  # seconds, as everywhere


_WRITERS = "hashtextextended(%s::text || ':writers', 0)"


class Reach(StrEnum):
    """How far a search goes, inside what is in sight (search.sql)."""

    EVERYTHING = "everything"
    PROJECT = "project"


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


_AROUND = """
SELECT memory_id, similarity, own FROM nearest_around(%s::halfvec, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True)
class Around:
    """
    What lies near a text that is being written, found in one search.

    :param own: the member's own live memories in its scope, nearest first
    :param in_reach: the similarities of all that it may be compared with
    :param among_writers: others were writing in the tenant, so there may be more
    """

    own: list[Near]
    in_reach: dict[UUID, float]
    among_writers: bool = False


_NEAR_STORED = """
SELECT neighbour_id, max(similarity) FROM neighbours_of(%s, %s, %s, %s, %s) GROUP BY neighbour_id
"""


def compared_by_its_vector(memory_id: UUID) -> dict[UUID, float] | None:
    """
    Return what lies near enough to a memory to be compared with it, by the vector that it has.

    Nothing if it has none in the embedder's space: then its text is to be embedded first.
    """
    embedder = current()
    with connection.cursor() as cursor:
        cursor.execute(
            _NEAR_STORED,
            [[memory_id], embedder.id, embedder.bars.candidate, MOST_COMPARED, EXACT_UP_TO],
        )
        found = dict(cursor.fetchall())
    if not found:
        return None
    # One row without a neighbour says that there is a vector.
    return {one: similarity for one, similarity in found.items() if one is not None}


def compared_with(vector: Vector, *, project_id: UUID | None) -> dict[UUID, float]:
    """Return the nearest of what a memory in this scope may be in conflict with."""
    reach = Reach.EVERYTHING if project_id is None else Reach.PROJECT
    return nearest(vector, reach=reach, project_id=project_id, wanted=MOST_COMPARED)


def around(vector: Vector, *, project_id: UUID | None, own_wanted: int) -> Around:
    """Return what lies near in the scope: the member's own, and what may be compared with it."""
    # Asked before it is looked, and answered till this transaction ends: of two writes that do not
    # see each other, one at least is told of the other.
    among_writers = not _is_the_only_writer()
    embedder = current()
    written = HalfVector(vector).to_text()
    with connection.cursor() as cursor:
        cursor.execute(
            _AROUND,
            [written, embedder.id, project_id, MOST_COMPARED, own_wanted, EXACT_UP_TO],
        )
        found = cursor.fetchall()
    own = {one: similarity for one, similarity, is_own in found if is_own}
    memories = with_authors(Memory.objects.filter(id__in=own))
    near = [Near(memory, own[memory.id]) for memory in memories]
    return Around(
        sorted(near, key=lambda near: (-near.similarity, -near.memory.sequence)),
        {one: similarity for one, similarity, is_own in found if not is_own},
        among_writers,
    )


def _is_the_only_writer() -> bool:
    """Return whether nobody else writes in the tenant; whoever asks later is told of us."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pg_try_advisory_xact_lock({_WRITERS})",
            [whose_door().tenant_id],
        )
        (alone,) = cursor.fetchone()
    return bool(alone)


def wait_for_the_writer() -> None:
    """
    Wait until whoever is writing in the tenant is to be seen by the next statement.

    :raises OperationalError: if that takes longer than anybody waits
    """
    with connection.cursor() as cursor:
        if awaited() < inf:
            left = min(LOCK_TIMEOUT, awaited() - time.monotonic())
            milliseconds = max(1, round(left * 1000))
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(milliseconds)])
        cursor.execute(
            f"SELECT pg_advisory_xact_lock({_WRITERS})",
            [whose_door().tenant_id],
        )
