"""What goes because its own author has said it again: told like every automatic loss."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from memory.conflict.decided import Judged
from memory.conflict.detect import Candidate
from memory.conflict.on_write import RULES, RULES_VERSION
from memory.conflict.policy import (
    Action,
    Age,
    ConflictKind,
    Deed,
    Relation,
    Resolution,
    Verdict,
)
from memory.conflict.record import note_conflict
from memory.conflict.supersede import supersede
from memory.models import Component, Dependency, Memory, SupersedeReason
from memory.parts import MOST_TAGS, Parts, Statement, add_labels, state_parts
from tenants.caller import Rank, Role
from tenants.context import stepping_to

# The row of these in the records, by which the brake leaves them out: the rule acts always.
SAID_AGAIN = "said again"  # also in policies.sql
_ACTION = Action(
    Deed.SUPERSEDE, SAID_AGAIN, ConflictKind.DUPLICATE, Age.NEWER, Resolution.DUPLICATE
)


def supersede_what_is_said_again(
    memory: Memory, outdone: Sequence[Memory], likeness: Mapping[UUID, float]
) -> None:
    """
    Retire what the memory says again with more authority, or a little better. Inside the door.

    :param outdone: as they came from `locked`
    :param likeness: the similarity of what lies near the memory, by id
    """
    if not outdone:
        return
    with stepping_to(Role.JUDGE):
        for one in outdone:
            is_same = bytes(one.text_key) == bytes(memory.text_key)
            score = 1.0 if is_same else likeness.get(one.id)
            note_conflict(memory, one, _ACTION, _judged(one, score), winner=memory)
    supersede(outdone, memory, SupersedeReason.DUPLICATE)


def give_way(memory: Memory, later: Memory, likeness: Mapping[UUID, float]) -> bool:
    """
    Retire a memory that was brought in for what its author has said since. Inside the door.

    :param later: as it came from `locked`
    :param likeness: the similarity of what lies near the memory, by id
    :returns: whether the later one states anything of a subject by that
    """
    stated = taken_over(later, [memory])
    gives_way = replace(_ACTION, winner=Age.OLDER)
    with stepping_to(Role.JUDGE):
        note_conflict(
            memory, later, gives_way, _judged(later, likeness.get(later.id)), winner=later
        )
    supersede([memory], later, SupersedeReason.DUPLICATE)
    return stated


def taken_over(memory: Memory, outdone: Sequence[Memory]) -> bool:
    """
    State beside the memory what was declared beside those that it says again, and it is silent on.

    A watcher's word is not enough to declare anything, so that waits for somebody to accept it.

    :returns: whether the memory states anything of a subject by that
    """
    rank = {one.id: one.provenance_rank for one in outdone}
    if not rank:
        return False
    own = set(_declared_by([memory.id]).values_list("subject", flat=True))
    declared = [one for one in _declared_by(list(rank)) if one.subject not in own]
    needed = Dependency.objects.filter(memory__in=rank)
    depends_on = tuple(one.on_memory_id or one.on_subject or "" for one in needed)
    for is_captured in (False, True):
        components = tuple(
            Statement(one.subject, one.value, one.multi)
            for one in declared
            if (rank[one.memory_id] == Rank.PROVISIONAL) is is_captured
        )
        parts = Parts(components=components, depends_on=() if is_captured else depends_on)
        state_parts(memory, parts, is_new=False, as_suggestions=is_captured)
    subjects = tuple(subject for one in outdone for subject in one.subjects)
    tags = tuple(tag for one in outdone for tag in one.tags)[: MOST_TAGS - len(memory.tags)]
    add_labels(memory, Parts(subjects=subjects, tags=tags))
    return bool(declared)


def _declared_by(ids: Sequence[UUID]) -> QuerySet[Component]:
    return Component.objects.filter(memory__in=ids, suggested=False, dismissed_at=None)


def _judged(one: Memory, score: float | None) -> Judged:
    return Judged(
        Candidate(one, score),
        Verdict(Relation.DUPLICATE, 1.0),
        {
            "relation": "duplicate",
            "confidence": 1.0,
            "reasoning": "Its own author has said it again, and nothing of it is missing.",
            "shared_subject": "",
            "missing_specifics": [],
            "judge": RULES,
            "prompt_version": RULES_VERSION,
        },
        is_proven=True,
    )
