"""Which disputes a policy is to decide, of all that wait."""

from typing import Any
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Value

from memory.conflict.disputes import put_off
from memory.models import Conflict, ConflictState
from memory.place import project_in_sight
from tenants.caller import Caller


def sought(caller: Caller, wanted: dict[str, Any], *, most: int) -> tuple[list[UUID], int, int]:
    """
    Return the disputes that a policy is to decide, oldest first.

    And of how many it decides nothing: those left over, and those left to the time to which
    somebody put them off. Belongs inside a door.
    """
    found: QuerySet[Conflict] = Conflict.objects.filter(state=ConflictState.PENDING)
    if "kind" in wanted:
        found = found.filter(kind=wanted["kind"])
    elif "disputes" not in wanted:
        found = found.filter(memory_b__isnull=False)
    if "disputes" in wanted:
        found = found.filter(id__in=wanted["disputes"])
    if "verdict" in wanted:
        found = found.filter(verdict__relation=wanted["verdict"])
    if "project" in wanted:
        where = project_in_sight(caller, wanted["project"], field="filter.project").id
        found = found.filter(Q(memory_a__project=where) | Q(memory_b__project=where))
    if "memory" in wanted:
        found = found.filter(Q(memory_a=wanted["memory"]) | Q(memory_b=wanted["memory"]))
    asked_for = wanted.get("deferred", False)
    if asked_for:
        found = found.filter(put_off())
    leaves = not asked_for and "disputes" not in wanted
    later = ExpressionWrapper(put_off(), BooleanField()) if leaves else Value(False)
    rows = list(
        found.annotate(later=later)
        .order_by("later", "created_at", "id")
        .values_list("id", "later")[: most + 1]
    )
    ids = [one for one, is_later in rows if not is_later]
    if len(rows) <= most:
        return ids, 0, len(rows) - len(ids)
    deferred = found.filter(put_off()).count() if leaves else 0
    return ids[:most], max(found.count() - deferred - most, 0), deferred
