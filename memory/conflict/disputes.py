"""The open disputes about memories: what waits for a decision."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memory.conflict.policy import ConflictKind
from memory.models import Conflict, ConflictState

# In these somebody says that it is not so; in others they merely wonder.
DISAGREEING = (ConflictKind.CONTRADICTION, ConflictKind.STALE, ConflictKind.CHALLENGED)


def disputes_about(ids: Iterable[UUID]) -> dict[UUID, list[Conflict]]:
    """Return the open disputes in sight about each of the memories, oldest first."""
    wanted = set(ids)
    found: dict[UUID, list[Conflict]] = defaultdict(list)
    if not wanted:
        return found
    pending = Conflict.objects.filter(
        Q(memory_a__in=wanted) | Q(memory_b__in=wanted), state=ConflictState.PENDING
    )
    for conflict in pending.order_by("created_at", "id"):
        for side in wanted & {conflict.memory_a_id, conflict.memory_b_id}:
            found[side].append(conflict)
    return found


def is_conflicted(disputes: Iterable[Conflict]) -> bool:
    """Return whether somebody says that it is not so."""
    return any(conflict.kind in DISAGREEING for conflict in disputes)


def conflicted_in_database() -> Exists:
    """Return the same as a condition on memories."""
    return Exists(
        Conflict.objects.filter(
            Q(memory_a=OuterRef("id")) | Q(memory_b=OuterRef("id")),
            state=ConflictState.PENDING,
            kind__in=DISAGREEING,
        )
    )


def other_side(conflict: Conflict, memory_id: UUID) -> UUID | None:
    """Return the other memory of a pair; none where it stands alone."""
    return conflict.memory_b_id if conflict.memory_a_id == memory_id else conflict.memory_a_id
