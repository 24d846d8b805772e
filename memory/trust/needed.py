"""What somebody should look at again: what is dirty, and whose review is overdue."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory.conflict.policy import ConflictKind
from memory.models import Activation, Conflict, ConflictState, Lifecycle, Mark, Memory
from memory.place import project_in_sight
from memory.trust.state import in_use
from memory.wire import memory_wires, with_authors
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.models import Project
from tenants.once import Answer
from tenants.paging import PAGE


def needs_verification(caller: Caller, *, project: str | None = None, limit: int = PAGE) -> Answer:
    """
    List what should be verified again, most recalled first: what is dirty or overdue for review.

    :raises Invalid: if the project is not there for the caller
    """
    with acting_as(caller):
        where = None
        if project is not None or caller.project_id is not None:
            where = project_in_sight(caller, project).id
        wanted = those_to_verify(timezone.now(), project_id=where)
        shown = list(with_authors(wanted)[:limit])
        return {"results": memory_wires(shown), "next": None, "count": wanted.count()}


def those_to_verify(now: datetime, *, project_id: UUID | None = None) -> QuerySet[Memory]:
    """Return what should be verified again, most recalled first. Belongs inside the door."""
    recalls = Activation.objects.filter(memory=OuterRef("id")).values("recalls")[:1]
    # First the few that may be meant: how each of them stands takes longer to find out.
    wanted = Memory.objects.filter(
        marked() | suspected() | overdue(now), in_use(now), lifecycle=Lifecycle.LIVE
    )
    if project_id is not None:
        wanted = wanted.filter(project=project_id)
    return wanted.annotate(recalls=Coalesce(Subquery(recalls), 0)).order_by("-recalls", "-sequence")


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


def overdue(now: datetime) -> Q:
    """Return the condition for memories whose review is overdue. Belongs inside the door."""
    # Few have a date or an interval that is over since they were written, and of these alone it is
    # worked out: an unset date must say no, as what is unknown would have it worked out too.
    may_be = Q(review_after__isnull=False, review_after__lte=now)
    with_intervals = Project.objects.exclude(review_intervals={})
    for project_id, intervals in with_intervals.values_list("id", "review_intervals"):
        for kind, days in intervals.items():
            may_be |= Q(project=project_id, kind=kind, created_at__lte=now - timedelta(days=days))
    is_so = Func(F("id"), Value(now), function="is_overdue", output_field=BooleanField())
    return may_be & Q(is_so)
