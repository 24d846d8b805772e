"""What is in conflict, and what the policy settled by itself."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memory.conflict.disputes import put_off
from memory.conflict.orphans import loser_of, orphaned
from memory.conflict.policy import Resolution
from memory.conflict.record import conflict_with_sides
from memory.models import Conflict, ConflictState
from memory.place import project_in_sight
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.once import Answer
from tenants.paging import PAGE, page
from tenants.refusals import NotFound

EVERY_STATE = (*ConflictState.values, "all")
LATELY = timedelta(days=30)
# How a cursor of the automatic losses begins: in which of the two lists that stand there it is.
_UPSETS, _OTHERS = "first:", "then:"


def list_conflicts(
    caller: Caller,
    *,
    state: str = ConflictState.PENDING,
    kind: str | None = None,
    verdict: str | None = None,
    project: str | None = None,
    memory: UUID | None = None,
    deferred: bool | None = None,
    assigned: str | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> Answer:
    """
    List the conflicts of which the caller may read all sides: pending ones, newest first.

    :param deferred: those alone that are put off to a time to come, or all but those
    :param assigned: `me` for those alone that were given to the caller
    """
    with acting_as(caller):
        wanted = Conflict.objects.all()
        if state != "all":
            wanted = wanted.filter(state=state)
        if kind is not None:
            wanted = wanted.filter(kind=kind)
        if verdict is not None:
            wanted = wanted.filter(verdict__relation=verdict)
        if project is not None:
            where = project_in_sight(caller, project).id
            wanted = wanted.filter(Q(memory_a__project=where) | Q(memory_b__project=where))
        if memory is not None:
            wanted = wanted.filter(Q(memory_a=memory) | Q(memory_b=memory))
        if deferred is not None:
            wanted = wanted.filter(put_off() if deferred else ~put_off())
        if assigned is not None:
            wanted = wanted.filter(assigned_to=caller.member_id)
        return _page(wanted, of="conflicts", cursor=cursor, limit=limit)


def get_conflict(caller: Caller, *, dispute_id: UUID) -> Answer:
    """
    Tell a conflict with both sides in full.

    :raises NotFound: if there is none for the caller
    """
    with acting_as(caller):
        found = Conflict.objects.filter(id=dispute_id).first()
        if found is None:
            raise NotFound
        return conflict_with_sides(found)


def auto_resolved(
    caller: Caller, *, since: datetime | None = None, cursor: str | None = None, limit: int = PAGE
) -> Answer:
    """
    List what the policy retired by itself, newest first; each loser can be restored in one call.

    Before all others stand those that won, by being newer, over somebody of a higher level.
    """
    with acting_as(caller):
        lost = Conflict.objects.filter(
            state=ConflictState.RESOLVED,
            resolved_by_member=None,
            resolved_at__gte=since or timezone.now() - LATELY,
        )
        rows, following = _upsets_first(lost, cursor, limit)
        alone = orphaned(rows)
        told = [conflict_with_sides(one) | {"orphaned": one.id in alone} for one in rows]
        return {"results": told, "next": following, "count": lost.count()}


def lost_of_ones_own(caller: Caller, *, since: datetime) -> int:
    """Return how many of the caller's own memories the policy has retired. Inside the door."""
    lost = Conflict.objects.filter(
        Q(memory_a__owner=caller.member_id) & ~Q(memory_a=F("winner"))
        | Q(memory_b__owner=caller.member_id) & ~Q(memory_b=F("winner")),
        state=ConflictState.RESOLVED,
        resolved_by_member=None,
        resolved_at__gte=since,
    )
    # Who lost to several was retired once.
    return len({loser_of(one) for one in lost.only("memory_a", "memory_b", "winner")})


def _upsets_first(
    lost: QuerySet[Conflict], cursor: str | None, limit: int
) -> tuple[list[Conflict], str | None]:
    upset = Q(resolution=Resolution.RECENCY) & (
        Q(winner=F("memory_a"), level_a__lt=F("level_b"))
        | Q(winner=F("memory_b"), level_b__lt=F("level_a"))
    )
    rows: list[Conflict] = []
    if cursor is None or cursor.startswith(_UPSETS):
        told = None if cursor is None else cursor.removeprefix(_UPSETS)
        first = page(lost.filter(upset), of="auto-resolved first", cursor=told, limit=limit)
        if first.next is not None:
            return first.rows, _UPSETS + first.next
        rows, cursor = first.rows, _OTHERS
    room = limit - len(rows)
    told = cursor.removeprefix(_OTHERS) or None
    rest = page(lost.exclude(upset), of="auto-resolved", cursor=told, limit=max(room, 1))
    if room == 0:
        return rows, _OTHERS if rest.rows else None
    return rows + rest.rows, None if rest.next is None else _OTHERS + rest.next


def _page(wanted: QuerySet[Conflict], *, of: str, cursor: str | None, limit: int) -> Answer:
    shown = page(wanted, of=of, cursor=cursor, limit=limit)
    return shown.wire([conflict_with_sides(one) for one in shown.rows])
