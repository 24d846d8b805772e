"""
What holds only from a day on: what ends as it begins, and what it contradicts from then on.

Until then neither contradicts the other. What the newer one will replace has its beginning for an
end, so that it is over at that very moment, whether or not anybody is there to see it. A job that
comes then settles that, and judges what is left.
"""

from uuid import UUID

from django.db import connection

from memory.conflict.act import act
from memory.conflict.decided import Judged
from memory.conflict.detect import Candidate, candidates_of, settled_with
from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.conflict.on_write import RULES, RULES_VERSION, clashes_with
from memory.conflict.policy import (
    Action,
    Age,
    Bars,
    ConflictKind,
    Deed,
    Relation,
    Resolution,
    Verdict,
)
from memory.conflict.record import decided_with, note_conflict
from memory.conflict.supersede import locked, supersede
from memory.models import Conflict, Memory, SupersedeReason

_BEGUN = "what takes its place has begun to hold"
_HAS_BEGUN = "SELECT coalesce(valid_from <= now(), true) FROM memories WHERE id = %s"


def begin(memory: Memory, *, batch_id: UUID | None = None) -> list[Conflict]:
    """
    Put a memory in the place of what ended as it began, and judge what it contradicts by now.

    In the door, as the judge. Return the conflicts that it came to.

    :param batch_id: the sweep that has found what there is to do, if one has
    """
    conflicts = _take_their_place(memory)
    clashing = [one for one in candidates_of(memory, {}) if one.clashes]
    if clashing:
        judged = clashes_with(memory, clashing)
        conflicts += act(memory, judged, Bars(), batch_id=batch_id).conflicts
    if batch_id is not None:
        made = [conflict.id for conflict in conflicts]
        Conflict.objects.filter(id__in=made).update(batch_id=batch_id)
    leave_to_the_judge(memory, again="begun", batch_id=batch_id)
    return conflicts


def has_begun(memory: Memory) -> bool:
    """Return whether it holds by now, as the database tells the time. Inside the door."""
    with connection.cursor() as cursor:
        cursor.execute(_HAS_BEGUN, [memory.id])
        found = cursor.fetchone()
    return found is not None and bool(found[0])


def _take_their_place(memory: Memory) -> list[Conflict]:
    """Supersede what ended as the memory began, unless somebody has decided between them since."""
    ids = list(
        Memory.objects.filter(ends_with=memory.id, invalidated_at=None).values_list("id", flat=True)
    )
    if not ids:
        return []
    closed = settled_with(memory, ids) | decided_with(memory.id, ids)
    rows = locked([memory.id, *ids])
    if memory.id not in rows or rows[memory.id].invalidated_at is not None:
        return []
    ended = [
        rows[one]
        for one in ids
        if one in rows
        and one not in closed
        and rows[one].invalidated_at is None
        and rows[one].ends_with_id == memory.id
    ]
    conflicts = [
        note_conflict(memory, one, _SETTLED, _succession(one), winner=memory) for one in ended
    ]
    supersede(ended, memory, SupersedeReason.RECENCY, why=_BEGUN)
    return conflicts


_SETTLED = Action(Deed.SUPERSEDE, _BEGUN, ConflictKind.STALE, Age.NEWER, Resolution.RECENCY)


def _succession(ended: Memory) -> Judged:
    return Judged(
        Candidate(ended, None),
        Verdict(Relation.STALE, 1.0),
        {
            "relation": "a_supersedes_b",
            "confidence": 1.0,
            "reasoning": "It was to hold until the newer one begins, and that has begun.",
            "shared_subject": "",
            "missing_specifics": [],
            "judge": RULES,
            "prompt_version": RULES_VERSION,
        },
        is_proven=True,
    )
