"""Marks as they are told: they hold no words, and say no more than their reader may know."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from memory.models import Cause, Mark, Memory
from memory.spoken import gettext as _
from memory.spoken import gettext_lazy
from memory.text import visible
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer

SUSPECTED = gettext_lazy("It is suspected of being out of date")
_HAPPENED = {
    Cause.SUPERSEDED: gettext_lazy("was superseded"),
    Cause.CONFLICTED: gettext_lazy("is disputed"),
    Cause.EXPIRED: gettext_lazy("has expired"),
    Cause.REJECTED: gettext_lazy("was rejected"),
    Cause.RETIRED: gettext_lazy("was retired by review"),
}


def readable_causes(marks: Iterable[Mark]) -> set[UUID]:
    """Return those of the memories by which the marks came that are in sight. Inside the door."""
    named = {one for mark in marks for one in (mark.cause_memory_id, *mark.path) if one is not None}
    if not named:
        return set()
    return set(Memory.objects.filter(id__in=named).values_list("id", flat=True))


def newest_first(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks in the order in which they are told; of one moment the direct ones first."""
    return sorted(marks, key=lambda one: (one.created_at, one.direct, one.id), reverse=True)


def weightiest(marks: Iterable[Mark], asked: Sequence[str]) -> Mark | None:
    """
    Return the mark to be told first: on what was asked about, on the memory itself, the newest.

    :param marks: newest first
    :param asked: the subjects that the question is about; without them, all are meant
    """
    return min(
        marks, key=lambda mark: (not lies_where_asked(mark, asked), not mark.direct), default=None
    )


def lies_where_asked(mark: Mark, asked: Sequence[str]) -> bool:
    """Return whether a mark lies on one of the subjects asked about; without them, all do."""
    if not asked:
        return True
    if mark.component is not None:
        return meets(mark.component.subject, asked)
    if mark.change is not None:
        return meets(mark.change.subject, asked)
    # Of a change that is out of sight nobody can say where it lies.
    return mark.direct


def meets(subject: str, asked: Sequence[str]) -> bool:
    """Return whether a subject is one of those asked about, or lies above or below one."""
    return any(
        subject == one or subject.startswith(f"{one}.") or one.startswith(f"{subject}.")
        for one in asked
    )


def reason_of(mark: Mark, readable: Collection[UUID]) -> str:
    """
    Return why the mark is there, as a phrase without a full stop.

    :param readable: the memories that its reader may know of
    """
    if mark.cause != Cause.CHANGE:
        return _what_became_of(mark, readable)
    words = {"day": _day(mark.observed_at)}
    if mark.change is None:
        if mark.direct:
            return _("What it speaks of has changed (seen %(day)s)") % words
        return _("What it depends on may have changed (seen %(day)s)") % words
    words |= {
        "subject": mark.change.subject,
        "summary": visible(" ".join(mark.change.summary.split())).rstrip(" ."),
    }
    if mark.direct:
        return _("%(subject)s changed (seen %(day)s): %(summary)s") % words
    return _("It depends on what changed at %(subject)s (seen %(day)s): %(summary)s") % words


def _what_became_of(mark: Mark, readable: Collection[UUID]) -> str:
    words = {"happened": str(_HAPPENED[Cause(mark.cause)]), "day": _day(mark.created_at)}
    if mark.cause_memory_id is None or mark.cause_memory_id not in readable:
        return _("Something that it depends on %(happened)s (%(day)s)") % words
    words["id"] = wire_id(Prefix.MEMORY, mark.cause_memory_id)
    return _("%(id)s, on which it depends, %(happened)s (%(day)s)") % words


def _day(at: datetime) -> str:
    return at.date().isoformat()


def mark_wires(marks: Sequence[Mark]) -> list[Answer]:
    """Return marks as they are told outside, each with its change. Inside the door."""
    readable = readable_causes(marks)
    return [mark_wire(mark, readable) for mark in marks]


def mark_wire(mark: Mark, readable: Collection[UUID]) -> Answer:
    """
    Return a mark as it is told outside.

    :param readable: the memories that its reader may know of
    """
    component = None if mark.component is None else mark.component.subject
    change = mark.change
    cause = mark.cause_memory_id if mark.cause_memory_id in readable else None
    return {
        "id": wire_id(Prefix.MARK, mark.id),
        "memory_id": wire_id(Prefix.MEMORY, mark.memory_id),
        "cause": mark.cause,
        "change": None
        if change is None
        else {
            "id": wire_id(Prefix.CHANGE, change.id),
            "subject": change.subject,
            "summary": change.summary,
            "observed_at": moment(change.observed_at),
        },
        "cause_memory": wire_id_or_none(Prefix.MEMORY, cause),
        "subject": component or (None if change is None else change.subject),
        "component": component,
        "path": [wire_id(Prefix.MEMORY, one) for one in mark.path if one in readable],
        "direct": mark.direct,
        "reason": reason_of(mark, readable),
        "observed_at": moment(mark.observed_at),
        "created_at": moment(mark.created_at),
        "cleared_at": moment(mark.cleared_at),
    }
