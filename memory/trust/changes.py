"""Changes of the world: who saw what move, and which memories that calls into question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from memory.models import Change, Mark, Memory
from memory.parts import must_have_no_secret
from memory.place import Archived, project_in_sight, writable_projects
from memory.trust.marks import readable_causes
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import whose_door
from tenants.ids import Prefix, moment, new_id, wire_id, wire_id_or_none
from tenants.once import Answer, writing_as
from tenants.refusals import FieldError, Invalid, NotAllowed

# Clocks differ; what lies further ahead was not seen yet.
CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True)
class Seen:
    """A change that a write carries: at which subject, and what."""

    subject: str
    summary: str


def report_change(
    caller: Caller,
    *,
    subject: str,
    summary: str,
    project: str | None = None,
    observed_at: datetime | None = None,
    source: dict[str, Any] | None = None,
    whole_tree: bool = False,
    kind: str = Change.Kind.CHANGE,
) -> Answer:
    """
    Say that something in the world has changed, so that nobody relies on what was true before.

    Whatever says something of the subject, of what lies below it, or depends on either, is marked
    until somebody verifies it; nothing is taken for false. A mention marks nothing.

    :param observed_at: when it was seen to have changed; now, if not said
    :param whole_tree: reach below a subject of a single label, too
    :raises Invalid: if the project is not there for the caller, or the time lies ahead
    :raises NotAllowed: if the caller may see the project and not write in it
    :raises Archived: if the project takes no more
    """
    named = source or {}
    must_have_no_secret(
        [
            ("subject", subject),
            ("summary", summary),
            *((f"source.{name}", named[name]) for name in named),
        ]
    )
    seen_at = seen_by_now(observed_at)
    with writing_as(caller) as keep:
        change = Change(
            id=new_id(),
            tenant_id=caller.tenant_id,
            project_id=where_changes_go(caller, project),
            subject=subject,
            summary=summary,
            kind=kind,
            whole_tree=whole_tree,
            source=source,
            by_member_id=caller.member_id,
            by_agent_id=caller.agent_id,
            observed_at=seen_at or Now(),
        )
        note_changes([change])
        record("report_change", "change", change.id, after={"subject": subject, "kind": kind})
        return keep({"event": change_wire(change), "marked": _marked_by(change)})


def seen_by_now(observed_at: datetime | None, field: str = "observed_at") -> datetime | None:
    """
    Return when something was seen, at the latest now.

    :raises Invalid: if that lies further ahead than clocks differ
    """
    if observed_at is None:
        return None
    now = timezone.now()
    if observed_at > now + CLOCKS_DIFFER:
        raise Invalid.field(field, "lies ahead; say when it was seen, or leave it out for now")
    return min(observed_at, now)


def where_changes_go(caller: Caller, project: str | None) -> UUID:
    """
    Return the project whose changes the caller reports. Belongs inside a door.

    :raises Invalid: if none is named, or it is not there for the caller
    :raises NotAllowed: if the caller may see it and not write in it
    :raises Archived: if it takes no more
    """
    if project is None and caller.project_id is None:
        raise Invalid.field("project", "name the project in which it changed", "required")
    found = project_in_sight(caller, project)
    if found.archived_at is not None:
        raise Archived("The project is archived; nothing more is written in it.")
    if found.id not in writable_projects():
        why = "You may see this project, but not write in it."
        raise NotAllowed(why, [FieldError("project", "forbidden", why)])
    return found.id


def take_in_changes(memory: Memory, seen: Sequence[Seen]) -> list[UUID]:
    """
    Note the changes that a write carries, and return what they mark, as far as it is in sight.

    Belongs inside the door of who writes, in the transaction of the write. The memory itself tells
    of the change, and is not marked by it.
    """
    if not seen:
        return []
    caller = whose_door()
    assert memory.project_id is not None
    changes = [
        Change(
            id=new_id(),
            tenant_id=memory.tenant_id,
            project_id=memory.project_id,
            subject=one.subject,
            summary=one.summary,
            memory_id=memory.id,
            by_member_id=caller.member_id,
            by_agent_id=caller.agent_id,
            observed_at=Now(),
        )
        for one in seen
    ]
    note_changes(changes)
    for change in changes:
        record(
            "report_change",
            "change",
            change.id,
            memory_id=memory.id,
            after={"subject": change.subject, "kind": change.kind},
        )
    marked = Mark.objects.filter(change__in=[change.id for change in changes])
    return list(dict.fromkeys(marked.order_by("id").values_list("memory_id", flat=True)))


def note_changes(changes: Sequence[Change]) -> None:
    """
    Note changes, and mark what they call into question.

    Belongs inside the door of who reports them.
    """
    Change.objects.bulk_create(changes)
    ids = [change.id for change in changes]
    with connection.cursor() as cursor:
        cursor.execute("SELECT mark_what_changed(one) FROM unnest(%s::uuid[]) AS one", [ids])
    at = dict(Change.objects.filter(id__in=ids).values_list("id", "observed_at"))
    for change in changes:
        change.observed_at = at[change.id]


def _marked_by(change: Change) -> list[dict[str, Any]]:
    """Return what the change marks, as far as it is in sight: a line for each mark."""
    marks = list(
        Mark.objects.filter(change=change.id)
        .select_related("component")
        .order_by("-direct", "created_at", "id")
    )
    readable = readable_causes(marks)
    return [
        {
            "memory_id": wire_id(Prefix.MEMORY, mark.memory_id),
            "subject": change.subject if mark.component is None else mark.component.subject,
            "path": [wire_id(Prefix.MEMORY, one) for one in mark.path if one in readable],
        }
        for mark in marks
    ]


def change_wire(change: Change) -> Answer:
    """Return a change as it is told outside, to those who may see its project."""
    return {
        "id": wire_id(Prefix.CHANGE, change.id),
        "project": wire_id(Prefix.PROJECT, change.project_id),
        "subject": change.subject,
        "summary": change.summary,
        "kind": change.kind,
        "whole_tree": change.whole_tree,
        "source": change.source,
        "memory_id": wire_id_or_none(Prefix.MEMORY, change.memory_id),
        "observed_at": moment(change.observed_at),
    }
