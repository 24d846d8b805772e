"""The open disputes about memories: what waits for a decision."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from memory.conflict.policy import ConflictKind
from memory.models import Conflict, ConflictState

# In these somebody says that it is not so; in others they merely wonder.
DISAGREEING = (ConflictKind.CONTRADICTION, ConflictKind.STALE, ConflictKind.CHALLENGED)

_PENDING = "SELECT * FROM open_disputes_about(%s)"


def disputes_about(ids: Iterable[UUID]) -> dict[UUID, list[Conflict]]:
    """Return the open disputes in sight about each of the memories, oldest first."""
    wanted = set(ids)
    found: dict[UUID, list[Conflict]] = defaultdict(list)
    if not wanted:
        return found
    for conflict in Conflict.objects.raw(_PENDING, [[*wanted]]):
        for side in wanted & {conflict.memory_a_id, conflict.memory_b_id}:
            found[side].append(conflict)
    return found


def is_conflicted(disputes: Iterable[Conflict]) -> bool:
    """Return whether somebody says that it is not so."""
    return any(conflict.kind in DISAGREEING for conflict in disputes)


def disagreeing(disputes: Iterable[Conflict]) -> list[Conflict]:
    """Return those in which somebody says that it is not so; a duplicate agrees."""
    return [conflict for conflict in disputes if conflict.kind in DISAGREEING]


def conflicted_in_database() -> Exists:
    """Return the same as a condition on memories."""
    return Exists(_open_about_it().filter(kind__in=DISAGREEING))


def disputed_in_database() -> Exists:
    """Return, as a condition on memories, whether any dispute about it is open."""
    return Exists(_open_about_it())


def suspected_in_database() -> Exists:
    """Return, as a condition on memories, whether it is suspected of being out of date."""
    return Exists(_open_about_it().filter(kind=ConflictKind.STALE_SUSPECT))


def _open_about_it() -> "QuerySet[Conflict]":
    return Conflict.objects.filter(
        Q(memory_a=OuterRef("id")) | Q(memory_b=OuterRef("id")), state=ConflictState.PENDING
    )


def put_off() -> Q:
    """Return, as a condition on conflicts, whether somebody put it off to a time to come."""
    return Q(deferred_until__isnull=False, deferred_until__gt=Now())


def other_side(conflict: Conflict, memory_id: UUID) -> UUID | None:
    """Return the other memory of a pair; none where it stands alone."""
    return conflict.memory_b_id if conflict.memory_a_id == memory_id else conflict.memory_a_id
