"""What a memory may be in conflict with: what lies near, and what speaks of its subjects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from memory.finding.embedding import current
from memory.models import Component, Lifecycle, Memory
from memory.place import Place
from memory.rival_values import rules_out
from memory.values import same_value
from memory.wire import with_authors
from tenants.ids import Prefix, wire_id
from tenants.once import Answer

MOST_TOLD = 50
# Between what is compared, and between one of the two and what has the other's text.
_SETTLED = """
WITH compared AS (
    SELECT id, owner_id, project_id, text_key, id = %(memory)s AS is_it FROM memories
    WHERE id = %(memory)s OR id = ANY (%(others)s)),
pairs AS (
    SELECT o.id AS other, m.id AS stands, t.id AS said, o.id AS says_again
    FROM compared m CROSS JOIN compared o JOIN memories t
         ON t.owner_id = o.owner_id AND t.text_key = o.text_key
            AND t.project_id IS NOT DISTINCT FROM o.project_id
    WHERE m.is_it AND NOT o.is_it
    UNION ALL
    SELECT o.id, o.id, t.id, m.id
    FROM compared m CROSS JOIN compared o JOIN memories t
         ON t.owner_id = m.owner_id AND t.text_key = m.text_key
            AND t.project_id IS NOT DISTINCT FROM m.project_id
    WHERE m.is_it AND NOT o.is_it)
SELECT DISTINCT p.other
FROM pairs p JOIN settled_pairs s
     ON s.low_id = least(p.stands, p.said) AND s.high_id = greatest(p.stands, p.said)
        AND s.reopened_at IS NULL
WHERE p.said IN (%(memory)s, p.other)
   OR NOT EXISTS (SELECT FROM memories t WHERE t.id = p.said AND t.superseded_by_id = p.stands)
      AND NOT EXISTS (SELECT FROM conflicts c
                      WHERE c.low_id = s.low_id AND c.high_id = s.high_id
                        AND c.memory_b_id IS NOT NULL AND c.winner_id = p.stands)
      AND NOT EXISTS (SELECT FROM components a JOIN components b ON b.subject = a.subject
                      WHERE a.memory_id = p.says_again AND b.memory_id = p.said
                        AND NOT (a.suggested OR b.suggested OR a.multi OR b.multi)
                        AND a.dismissed_at IS NULL AND b.dismissed_at IS NULL
                        AND lower(a.value) <> lower(b.value))"""


@dataclass(frozen=True)
class Candidate:
    """
    A memory that is merely similar, or speaks of the same subject.

    :param score: cosine similarity; none if the subject alone led to it
    :param clashes: the subjects on which both declare a single value, and another one
    :param suggests: those on which it only looks so: a value was read out of a text by a machine,
        or the two are written otherwise and may both be true
    """

    memory: Memory
    score: float | None
    clashes: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()

    @property
    def is_by_subject(self) -> bool:
        """Whether the two speak of the same subject, however near they lie to each other."""
        return self.score is None or bool(self.clashes or self.suggests)

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
        if declared and all(rules_out(one.value or "", other.value or "") for one in declared):
            rivals.setdefault(other.memory_id, _Rival()).clashes.add(other.subject)
        elif _differs(other, declared or said):
            rivals.setdefault(other.memory_id, _Rival()).suggests.add(other.subject)
    return rivals


def _differs(other: Component, own: Sequence[Component]) -> bool:
    """Return whether none of the values, if there are any, is the other's."""
    return bool(own) and not any(same_value(one.value or "", other.value or "") for one in own)


def settled_with(memory: Memory, others: Sequence[UUID]) -> set[UUID]:
    """
    Return those between which and the memory it was decided already.

    Nobody comes back to it by sending the text again that one of the two had, in the same place:
    unless that text had lost, for then it may lose again, or states another value by now.
    """
    if not others:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, {"memory": memory.id, "others": list(others)})
        return {one for (one,) in cursor.fetchall()}


def have_the_same_readers(one: Memory, other: Memory) -> bool:
    """Return whether nobody who reads one of them may not read the other."""
    here, there = Place.of(one), Place.of(other)
    if "private" in (here.visibility, there.visibility):
        return here == there
    return here.is_read_by_all_who_read(there) and there.is_read_by_all_who_read(here)
