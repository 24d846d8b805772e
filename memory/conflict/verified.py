"""What somebody independent has confirmed of two memories that contradict each other, and when."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet

from memory.conflict.detect import Candidate
from memory.independence import independent_in_database
from memory.models import Memory, Outcome, Verification


def verified_since(older: Memory, newer: Memory, subjects: Sequence[str]) -> bool:
    """
    Return whether somebody independent looked at the older one after the newer was asserted.

    Before the newer began to hold, what they saw says nothing against it.

    :param subjects: on which they contradict each other, where that was declared: who looked at
        another component has not looked at this
    """
    since = max(newer.said_at, newer.valid_from or newer.said_at)
    found = _independent([older.id]).filter(observed_at__gt=since)
    if subjects:
        found = found.filter(Q(subjects=[]) | Q(subjects__overlap=list(subjects)))
    return found.exists()


def those_out_of_date(memory: Memory, clashing: Iterable[Candidate]) -> set[UUID]:
    """
    Return the candidates with which it is a matter of time, going by what was looked at.

    Somebody independent observed the newer side's value, and later than the older side's was.
    """
    candidates = list(clashing)
    if not candidates:
        return set()
    last: dict[UUID, list[tuple[list[str], datetime]]] = {}
    seen = _independent([memory.id, *(one.memory.id for one in candidates)])
    for memory_id, subjects, at in seen.filter(observed_value__isnull=False).values_list(
        "memory_id", "subjects", "observed_at"
    ):
        last.setdefault(memory_id, []).append((subjects, at))
    return {one.memory.id for one in candidates if _is_later(memory, one, last)}


def _is_later(
    memory: Memory, candidate: Candidate, last: dict[UUID, list[tuple[list[str], datetime]]]
) -> bool:
    older, newer = sorted((memory, candidate.memory), key=lambda one: one.sequence)
    for subject in candidate.clashes:
        then = _last_of(last.get(older.id, []), subject)
        now = _last_of(last.get(newer.id, []), subject)
        if now is None or (then is not None and then >= now):
            return False
    return True


def _last_of(looked: Iterable[tuple[list[str], datetime]], subject: str) -> datetime | None:
    return max((at for subjects, at in looked if not subjects or subject in subjects), default=None)


def _independent(ids: Sequence[UUID]) -> QuerySet[Verification]:
    # What was seen before a memory was there says nothing of it.
    return Verification.objects.filter(
        independent_in_database(),
        memory__in=ids,
        outcome=Outcome.CONFIRMED,
        observed_at__gte=F("memory__created_at"),
    )
