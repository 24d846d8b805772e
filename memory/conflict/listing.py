"""What is in conflict, and what the policy settled by itself."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

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


def list_conflicts(
    caller: Caller,
    *,
    state: str = ConflictState.PENDING,
    kind: str | None = None,
    verdict: str | None = None,
    project: str | None = None,
    memory: UUID | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> Answer:
    """List the conflicts of which the caller may read all sides: pending ones, newest first."""
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
    """List what the policy retired by itself, newest first; one call restores each loser."""
    with acting_as(caller):
        lost = Conflict.objects.filter(
            state=ConflictState.RESOLVED,
            resolved_by_member=None,
            resolved_at__gte=since or timezone.now() - LATELY,
        )
        return _page(lost, of="auto-resolved", cursor=cursor, limit=limit)


def _page(wanted: QuerySet[Conflict], *, of: str, cursor: str | None, limit: int) -> Answer:
    shown = page(wanted, of=of, cursor=cursor, limit=limit)
    return shown.wire([conflict_with_sides(one) for one in shown.rows])
