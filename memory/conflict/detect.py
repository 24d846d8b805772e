"""What a memory may be in conflict with: what lies near, and what speaks of its subjects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from memory.finding.embedding import current
from memory.models import Component, Lifecycle, Memory, SettledPair
from memory.place import Place
from memory.values import same_value
from memory.wire import with_authors
from tenants.ids import Prefix, wire_id
from tenants.once import Answer

MOST_TOLD = 50


@dataclass(frozen=True)
class Candidate:
    """
    A memory that is merely similar, or speaks of the same subject.

    :param score: cosine similarity; none if the subject alone led to it
    :param clashes: the subjects on which both declare a single value, and another one
    :param suggests: those on which it only looks so: a value was read out of a text by a machine
    """

    memory: Memory
    score: float | None
    clashes: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()

    @property
    def via(self) -> str:
        return "subject" if self.score is None else "vector"

    def wire(self) -> Answer:
        return {
            "memory_id": wire_id(Prefix.MEMORY, self.memory.id),
            "score": None if self.score is None else round(self.score, 4),
            "via": self.via,
        }


@dataclass
class _Rival:
    """On which subjects a memory states another value, and on which it only seems to."""

    clashes: set[str] = field(default_factory=set)
    suggests: set[str] = field(default_factory=set)


def candidates_of(
    memory: Memory, in_reach: Mapping[UUID, float], *, by_subject: bool = True
) -> list[Candidate]:
    """
    Return what the memory may be in conflict with, in the sight of whoever's door is open.

    First those that declare another value of the same subject, then by likeness.

    :param in_reach: the similarities of what lies near it
    :param by_subject: whether the memory states anything about a subject
    """
    bar = current().bars.candidate
    near = {one: score for one, score in in_reach.items() if score > bar and one != memory.id}
    rivals = _rivals(memory) if by_subject else {}
    if not near and not rivals:
        return []
    found = {
        one.id: one
        for one in with_authors(Memory.objects.filter(id__in=[*near, *rivals], invalidated_at=None))
        if one.id != memory.id
    }
    candidates = []
    for one in dict.fromkeys([*rivals, *near]):
        if one in found:
            rival = rivals.get(one, _Rival())
            subjects = (tuple(sorted(of)) for of in (rival.clashes, rival.suggests))
            candidates.append(Candidate(found[one], near.get(one), *subjects))
    return sorted(
        candidates, key=lambda one: (not one.clashes, -(one.score or 0), -one.memory.sequence)
    )


def _rivals(memory: Memory) -> dict[UUID, _Rival]:
    """Return the live memories of the same scope that state another single value, by subject."""
    own: dict[str, list[Component]] = {}
    stated = Component.objects.filter(memory=memory.id, dismissed_at=None)
    for component in stated.filter(value__isnull=False, multi=False):
        own.setdefault(component.subject, []).append(component)
    if not own:
        return {}
    rivals = _rivals_by_value(memory, own)
    # A subject that anybody has said to have several values never clashes.
    several = several_valued([memory.id])[memory.id] if rivals else frozenset()
    for one, rival in list(rivals.items()):
        rival.clashes -= several
        rival.suggests -= several
        if not (rival.clashes or rival.suggests):
            del rivals[one]
    return rivals


def several_valued(memory_ids: Iterable[UUID]) -> dict[UUID, frozenset[str]]:
    """
    Return the subjects of each memory that are said to have several values. Inside the door.

    That belongs to a project and a subject: it stays said when the memory that says it is retired,
    and it counts for those, too, who may not read that memory.
    """
    found: dict[UUID, set[str]] = {one: set() for one in memory_ids}
    with connection.cursor() as cursor:
        cursor.execute("SELECT memory_id, subject FROM several_valued(%s)", [list(found)])
        for one, subject in cursor.fetchall():
            found[one].add(subject)
    return {one: frozenset(subjects) for one, subjects in found.items()}


def _rivals_by_value(memory: Memory, own: Mapping[str, Sequence[Component]]) -> dict[UUID, _Rival]:
    """
    Return those who state another value, as far as they say themselves.

    :param own: what the memory states, by subject
    """
    others = Component.objects.filter(
        Q(memory__valid_until__isnull=True) | Q(memory__valid_until__gt=Now()),
        subject__in=own,
        value__isnull=False,
        dismissed_at=None,
        memory__lifecycle=Lifecycle.LIVE,
        memory__project=memory.project_id,
        multi=False,
    ).exclude(memory=memory.id)
    rivals: dict[UUID, _Rival] = {}
    for other in others:
        said = own[other.subject]
        declared = [one for one in said if not (one.suggested or other.suggested)]
        if _differs(other, declared):
            rivals.setdefault(other.memory_id, _Rival()).clashes.add(other.subject)
        elif not declared and _differs(other, said):
            rivals.setdefault(other.memory_id, _Rival()).suggests.add(other.subject)
    return rivals


def _differs(other: Component, own: Sequence[Component]) -> bool:
    """Return whether none of the values, if there are any, is the other's."""
    return bool(own) and not any(same_value(one.value or "", other.value or "") for one in own)


def settled_with(memory: Memory, others: Sequence[UUID]) -> set[UUID]:
    """Return those between which and the memory it was decided already."""
    pairs = SettledPair.objects.filter(
        Q(low=memory.id, high__in=others) | Q(high=memory.id, low__in=others), reopened_at=None
    ).values_list("low_id", "high_id")
    return {high if low == memory.id else low for low, high in pairs}


def have_the_same_readers(one: Memory, other: Memory) -> bool:
    """Return whether nobody who reads one of them may not read the other."""
    here, there = Place.of(one), Place.of(other)
    if "private" in (here.visibility, there.visibility):
        return here == there
    return here.is_read_by_all_who_read(there) and there.is_read_by_all_who_read(here)
