"""Conflicts on a line each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from memory.authority import owns
from memory.conflict.orphans import orphaned
from memory.conflict.policy import Resolution
from memory.conflict.record import JUDGED_SINCE
from memory.feed import Line, in_brief, lines
from memory.models import Conflict, ConflictState, Door, Memory, Visibility
from memory.page import decided_by
from memory.place import writable_projects
from memory.text import visible
from reviews.deciding import Desk
from reviews.wish import AUTOMATICALLY, RELATION_NAMES, confidence_of
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id, wire_id_or_none

PER_PAGE = 25
LATELY = timedelta(days=7)
# Among so many losses of late the orphaned ones are looked for.
MOST_LOSSES = 200


@dataclass(frozen=True)
class Said:
    """What the judge said of two memories."""

    relation: str
    confidence: float | None
    reasoning: str
    shared_subject: str
    missing: Sequence[str]
    judge: str
    prompt_version: str


def said_of(conflict: Conflict) -> Said:
    """Return the verdict of a conflict with nothing deceptive in it; where there is none, empty."""
    verdict = conflict.verdict or {}
    relation = str(verdict.get("relation", ""))
    return Said(
        relation=RELATION_NAMES.get(relation, visible(relation.replace("_", " "))),
        confidence=confidence_of(verdict),
        reasoning=visible(str(verdict.get("reasoning") or "")),
        shared_subject=visible(str(verdict.get("shared_subject") or "")),
        missing=[visible(str(one)) for one in verdict.get("missing_specifics") or ()],
        judge=visible(str(verdict.get("judge") or "")),
        prompt_version=visible(str(verdict.get("prompt_version") or "")),
    )


@dataclass(frozen=True)
class Row:
    """
    A conflict on a line.

    :param letter: which side won, or is recommended: A, B or none
    :param loser: the side that the policy retired, if it did
    :param is_back: it was restored since
    :param winner_lives: and so does what won over it
    :param decided: how it ended, in a few words
    :param batch: by which all that was done with it can be undone
    :param together: how many disputes people decided in that batch
    """

    id: str
    kind: str
    kind_name: str
    state: str
    row: str
    said: Said
    a: Line | None
    b: Line | None
    letter: str
    loser: Line | None
    is_back: bool
    winner_lives: bool
    may_restore: bool
    at: datetime
    decided: str
    by: str
    assigned_to: str
    deferred_until: datetime | None
    batch: str | None
    together: int
    is_pair: bool
    may_decide: bool


def rows(caller: Caller, conflicts: Iterable[Conflict]) -> list[Row]:
    """Return a line for each, in a fixed number of statements. Belongs inside a door."""
    conflicts = list(conflicts)
    if not conflicts:
        return []
    ids = {each.memory_a_id for each in conflicts}
    ids |= {each.memory_b_id for each in conflicts if each.memory_b_id is not None}
    memories = list(in_brief(Memory.objects.filter(id__in=ids)))
    shown = dict(zip((one.id for one in memories), lines(memories, timezone.now()), strict=True))
    kept = {one.id: one for one in memories}
    desk = Desk.of(caller)
    restorable = _restorable(desk, memories)
    settled = {one.id for one in memories if desk.settles(one)}
    together = _together(conflicts)
    return [_row(one, shown, kept, restorable, settled, together=together) for one in conflicts]


def _together(conflicts: Iterable[Conflict]) -> dict[UUID | None, int]:
    """Return of each batch in which people decided how many disputes they decided in it."""
    batches = {one.batch_id for one in conflicts if one.resolved_by_member_id is not None}
    if not batches - {None}:
        return {}
    found = Conflict.objects.filter(
        batch_id__in=batches, state=ConflictState.RESOLVED, resolved_by_member__isnull=False
    )
    return dict(found.values_list("batch_id").annotate(Count("id")))


def _row(
    conflict: Conflict,
    shown: Mapping[UUID, Line],
    kept: Mapping[UUID, Memory],
    restorable: set[UUID],
    settled: set[UUID],
    *,
    together: Mapping[UUID | None, int],
) -> Row:
    lost = loser_of(conflict)
    loser = kept.get(lost) if lost is not None else None
    winner = kept.get(conflict.winner_id) if conflict.winner_id is not None else None
    return Row(
        id=wire_id(Prefix.CONFLICT, conflict.id),
        kind=conflict.kind,
        kind_name=conflict.kind.replace("_", " "),
        state=conflict.state,
        row=conflict.row,
        said=said_of(conflict),
        a=shown.get(conflict.memory_a_id),
        b=None if conflict.memory_b_id is None else shown.get(conflict.memory_b_id),
        letter=letter_of(conflict, conflict.winner_id or conflict.recommended_winner_id),
        loser=None if loser is None else shown[loser.id],
        is_back=loser is not None and loser.invalidated_at is None,
        winner_lives=winner is not None and winner.invalidated_at is None,
        may_restore=loser is not None and loser.id in restorable,
        at=conflict.resolved_at or conflict.created_at,
        decided=decided(conflict),
        by=decided_by(conflict),
        assigned_to="" if conflict.assigned_to is None else conflict.assigned_to.name,
        deferred_until=conflict.deferred_until,
        batch=wire_id_or_none(Prefix.BATCH, conflict.batch_id),
        together=together.get(conflict.batch_id, 1),
        is_pair=conflict.memory_b_id is not None,
        may_decide=not settled.isdisjoint((conflict.memory_a_id, conflict.memory_b_id)),
    )


def with_people(conflicts: QuerySet[Conflict]) -> QuerySet[Conflict]:
    """Return the conflicts with who decides and who decided, in the same statement."""
    return conflicts.select_related("resolved_by_member", "resolved_by_agent", "assigned_to")


def decided(conflict: Conflict) -> str:
    """Return how a conflict ended, in a few words; of one that waits, nothing."""
    if conflict.state == ConflictState.PENDING:
        return ""
    if conflict.state == ConflictState.MOOT and conflict.row == JUDGED_SINCE:
        return "moot: it was judged since"
    if conflict.state == ConflictState.MOOT:
        return "moot: a side went another way"
    if conflict.resolution == Resolution.MERGED:
        return "merged"
    if conflict.resolution == Resolution.RETIRED:
        return "retired"
    if conflict.memory_b_id is None:
        return "upheld"
    if conflict.winner_id is not None:
        return f"{letter_of(conflict, conflict.winner_id)} won"
    return "kept both" if conflict.resolution == Resolution.KEEP_BOTH else conflict.state


def letter_of(conflict: Conflict, memory_id: UUID | None) -> str:
    """Return which side of the conflict it is."""
    if memory_id is None:
        return ""
    return "A" if memory_id == conflict.memory_a_id else "B"


def loser_of(conflict: Conflict) -> UUID | None:
    """Return the side that lost to the other, if one did."""
    if conflict.winner_id is None or conflict.memory_b_id is None:
        return None
    won_by_a = conflict.winner_id == conflict.memory_a_id
    return conflict.memory_b_id if won_by_a else conflict.memory_a_id


def _restorable(desk: Desk, memories: Sequence[Memory]) -> set[UUID]:
    """Return those that get a button. The operation decides again when it is pressed."""
    gone = [one for one in memories if one.invalidated_at is not None]
    if not gone:
        return set()
    writable = writable_projects()
    return {one.id for one in gone if _may_restore(desk, one, writable)}


def _may_restore(desk: Desk, memory: Memory, writable: frozenset[UUID]) -> bool:
    if owns(desk.caller, memory):
        return True
    if memory.visibility == Visibility.PRIVATE or memory.project_id is None:
        return False
    by_review = memory.invalidated_reason in (Door.RETIRED, Door.REJECTED)
    writes = memory.project_id in writable and desk.caller.level >= memory.author_level
    return desk.reviews(memory) or (writes and not by_review)


def lost_automatically(since: datetime) -> QuerySet[Conflict]:
    """Return what the policy resolved by itself since then. Belongs inside a door."""
    return Conflict.objects.filter(AUTOMATICALLY, resolved_at__gte=since)


def orphans(wanted: QuerySet[Conflict]) -> list[Conflict]:
    """
    Return those of the automatic losses whose winner has gone since, newest first.

    Belongs inside a door. Whether what lost should come back is for a person to say.
    """
    retired = Memory.objects.filter(invalidated_at__isnull=False)
    lost = wanted.filter(AUTOMATICALLY, winner__in=retired.values("id")).filter(
        Q(memory_a__superseded_by=F("winner")) | Q(memory_b__superseded_by=F("winner"))
    )
    found = list(with_people(lost).order_by("-resolved_at", "-id")[:MOST_LOSSES])
    alone = orphaned(found)
    return [one for one in found if one.id in alone]
