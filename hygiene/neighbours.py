"""What a sweep compares with a memory: its neighbours, and what states another value."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from hygiene.sweep import worth_comparing
from memory.conflict.detect import Candidate, candidates_of
from memory.finding.embedding import current
from memory.finding.similar import EXACT_UP_TO
from memory.models import Component, Memory
from memory.wire import with_authors
from tenants.caller import Rank

NEIGHBOURS = 3
_ASKED_FOR = 8  # neighbours, since some of them may be proposals

_NEIGHBOURS = """
SELECT memory_id, neighbour_id, similarity FROM neighbours_of(%s, %s, %s, %s, %s)
WHERE neighbour_id IS NOT NULL ORDER BY memory_id, similarity DESC, neighbour_id
"""


def neighbours_of(memories: Sequence[Memory]) -> dict[UUID, list[Candidate]]:
    """
    Return what each of the memories is to be compared with. Inside the door.

    All that states, or seems to state, another value of the same subject, and the nearest three of
    the others; nothing that is merely proposed.
    """
    near = _nearest_of([memory.id for memory in memories])
    beside = {one for pair in near for one in pair}
    found = {one.id: one for one in with_authors(worth_comparing(None)).filter(id__in=beside)}
    rivals = _rivals_of(memories)
    nearest: dict[UUID, list[Candidate]] = {memory.id: [] for memory in memories}
    for (memory_id, other), similarity in near.items():
        is_rival = any(one.memory.id == other for one in rivals.get(memory_id, []))
        if other in found and not is_rival and len(nearest[memory_id]) < NEIGHBOURS:
            nearest[memory_id].append(Candidate(found[other], similarity))
    return {one: rivals.get(one, []) + others for one, others in nearest.items()}


def _rivals_of(memories: Sequence[Memory]) -> dict[UUID, list[Candidate]]:
    stated = Component.objects.filter(
        memory__in=[memory.id for memory in memories],
        value__isnull=False,
        multi=False,
        dismissed_at=None,
    )
    stating = set(stated.values_list("memory_id", flat=True))
    return {
        memory.id: [one for one in candidates_of(memory, {}) if _counts(one.memory)]
        for memory in memories
        if memory.id in stating
    }


def _counts(memory: Memory) -> bool:
    return memory.provenance_rank > Rank.PROVISIONAL or memory.accepted_at is not None


def _nearest_of(ids: Sequence[UUID]) -> dict[tuple[UUID, UUID], float]:
    """Return the neighbours of each, nearest first."""
    embedder = current()
    with connection.cursor() as cursor:
        cursor.execute(
            _NEIGHBOURS,
            [list(ids), embedder.id, embedder.bars.sweep_floor, _ASKED_FOR, EXACT_UP_TO],
        )
        return {(memory, other): similarity for memory, other, similarity in cursor.fetchall()}
