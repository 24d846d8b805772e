"""What somebody should look at again: what is dirty, and whose review is overdue."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Func, OuterRef, Q, QuerySet, Subquery, UUIDField, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory.conflict.policy import ConflictKind
from memory.models import Activation, Conflict, ConflictState, Lifecycle, Mark, Memory, Visibility
from memory.place import project_in_sight
from memory.trust.expiry import rests_on_what_ended
from memory.trust.state import in_use
from memory.wire import memory_wires, with_authors
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.once import Answer
from tenants.paging import PAGE, page

MOST_RECALLED_FIRST = ("-recalls", "-sequence")


def needs_verification(
    caller: Caller, *, project: str | None = None, cursor: str | None = None, limit: int = PAGE
) -> Answer:
    """
    List what should be verified again, most recalled first: what is dirty or overdue for review.

    :raises Invalid: if the project is not there for the caller, or the cursor is none of theirs
    """
    with acting_as(caller):
        where = None
        if project is not None or caller.project_id is not None:
            where = project_in_sight(caller, project).id
        wanted = those_to_verify(timezone.now(), project_id=where)
        shown = page(
            with_authors(wanted),
            of=f"needs-verification:{where or ''}",
            cursor=cursor,
            limit=limit,
            by=MOST_RECALLED_FIRST,
        )
        return shown.wire(memory_wires(shown.rows))


def those_to_verify(now: datetime, *, project_id: UUID | None = None) -> QuerySet[Memory]:
    """
    Return what should be verified again, most recalled first. Belongs inside the door.

    :param project_id: where alone; what belongs to no other, or to all, is there, too
    """
    recalls = Activation.objects.filter(memory=OuterRef("id")).values("recalls")[:1]
    # First the few that may be meant: how each of them stands takes longer to find out.
    wanted = Memory.objects.filter(
        marked() | rests_on_what_ended(now) | suspected() | overdue(now, project_id=project_id),
        in_use(now),
        lifecycle=Lifecycle.LIVE,
    )
    if project_id is not None:
        everywhere = Q(project=None) | Q(visibility=Visibility.TENANT)
        wanted = wanted.filter(Q(project=project_id) | everywhere)
    return wanted.annotate(recalls=Coalesce(Subquery(recalls), 0)).order_by(*MOST_RECALLED_FIRST)


def marked(**which: Any) -> Q:
    """Return the condition for memories with an open mark, of some sort. Of all at once."""
    return Q(id__in=Mark.objects.filter(cleared_at=None, **which).values("memory"))


def suspected() -> Q:
    """Return the condition for memories that are suspected of being out of date."""
    open_ones = Conflict.objects.filter(
        state=ConflictState.PENDING, kind=ConflictKind.STALE_SUSPECT
    )
    return Q(id__in=open_ones.values("memory_a")) | Q(
        id__in=open_ones.filter(memory_b__isnull=False).values("memory_b")
    )


def overdue(now: datetime, *, project_id: UUID | None = None) -> Q:
    """
    Return the condition for memories whose review is overdue. Belongs inside the door.

    :param project_id: where alone they are looked for, if it is known
    """
    # All of them at once: asked of each row by itself, it takes seconds where there are many.
    found = Func(
        Value(now),
        Value(project_id, UUIDField(null=True)),
        function="overdue_memories",
        template="SELECT %(function)s(%(expressions)s)",
    )
    return Q(id__in=found)
