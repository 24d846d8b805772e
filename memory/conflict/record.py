"""The records of conflicts: one for a pair, and one at a time for a memory that is disputed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Now

from memory.conflict.policy import Action, ConflictKind, Resolution
from memory.models import Conflict, ConflictState, Lifecycle, Memory
from memory.wire import memory_wires, with_authors
from tenants.audit import record
from tenants.context import whose_door
from tenants.ids import Prefix, moment, new_id, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer

if TYPE_CHECKING:
    from memory.conflict.decided import Judged

POLICY = "policy"
# What is kept with a verdict beside what was said: what it cost, and what it was about.
CIRCUMSTANCES = frozenset({"tokens_in", "tokens_out", "latency_ms", "version_a", "version_b"})
# The row of a dispute that was for want of a verdict, once there is one.
JUDGED_SINCE = "judged since"  # also in policies.sql
# The command by which people take back what was done in a batch.
UNDO = "undo_batch"


def note_conflict(
    memory: Memory,
    other: Memory,
    action: Action,
    judged: "Judged",
    *,
    winner: Memory | None = None,
    recommended: Memory | None = None,
) -> Conflict:
    """
    Note what was found between two memories, and what was done about it.

    :param winner: who won, if the policy decided; else it waits for a person
    :raises RuntimeError: if a person has decided it: then it is over for good (`decided_with`)
    """
    caller = whose_door()
    low, high = sorted((memory.id, other.id))
    conflict = Conflict.objects.filter(low_id=low, high_id=high, memory_b__isnull=False).first()
    if conflict is not None and _is_closed_by_people(conflict):
        raise RuntimeError("a person has decided this conflict")
    if conflict is None:
        conflict = Conflict(id=new_id(), tenant_id=caller.tenant_id, low_id=low, high_id=high)
    is_new = conflict._state.adding  # noqa: SLF001  Django's own word for it
    said: dict[str, Any] = {
        "memory_a_id": memory.id,
        "memory_b_id": other.id,
        "kind": action.kind,
        "state": ConflictState.PENDING if winner is None else ConflictState.RESOLVED,
        "resolution": action.resolution if winner is not None else None,
        "winner_id": None if winner is None else winner.id,
        "recommended_winner_id": None if recommended is None else recommended.id,
        "level_a": memory.author_level,
        "level_b": other.author_level,
        "via": judged.candidate.via,
        "row": action.row,
        "missing_specifics": list(action.missing),
        "verdict": judged.evidence,
        "resolved_at": None if winner is None else Now(),
        # Found again after it was over: what was said of it then says nothing of it now.
        "resolved_by_member_id": None,
        "batch_id": None,
        "note": "",
        "deferred_until": None,
        "assigned_to_id": None,
    }
    for name, value in said.items():
        setattr(conflict, name, value)
    conflict.save(force_insert=is_new, update_fields=None if is_new else list(said))
    record(
        "open_dispute" if winner is None else "resolve_by_policy",
        "conflict",
        conflict.id,
        memory_id=other.id if winner is not None and winner.id == memory.id else memory.id,
        reason=action.row,
        after={"conflict": wire_id(Prefix.CONFLICT, conflict.id), "kind": action.kind},
    )
    conflict.refresh_from_db()
    return conflict


def take_back_unjudged(memory_id: UUID, others: Sequence[UUID]) -> list[Conflict]:
    """
    Close the disputes with these that there are only for want of a verdict, and return them.

    In the door, as the judge, before what the verdict says is done: then it may be one again. Those
    that somebody has put off or was given are left to people.
    """
    if not others:
        return []
    pairs = Q(memory_a=memory_id, memory_b__in=others) | Q(memory_b=memory_id, memory_a__in=others)
    waiting = Conflict.objects.filter(
        pairs,
        kind=ConflictKind.UNJUDGED,
        state=ConflictState.PENDING,
        assigned_to=None,
        deferred_until=None,
    )
    found = list(waiting.select_for_update(of=("self",)))
    if found:
        waiting.filter(id__in=[one.id for one in found]).update(
            state=ConflictState.MOOT, resolved_at=Now(), row=JUDGED_SINCE
        )
    return found


def note_judged_since(memory_id: UUID, taken_back: Sequence[Conflict]) -> None:
    """Tell the history of those that have come to nothing, now that there is a verdict."""
    ids = [one.id for one in taken_back]
    if not ids:
        return
    for one in Conflict.objects.filter(id__in=ids, state=ConflictState.MOOT, row=JUDGED_SINCE):
        record(
            "withdraw_dispute",
            "conflict",
            one.id,
            memory_id=memory_id,
            reason=JUDGED_SINCE,
            after={"conflict": wire_id(Prefix.CONFLICT, one.id), "kind": one.kind},
        )


# What waits for a person, and what a person has decided: both are nothing to any machine.
FOR_PEOPLE = (
    Q(state__in=(ConflictState.PENDING, ConflictState.DISMISSED))
    | Q(resolved_by_member__isnull=False)
)  # fmt: skip


def _is_closed_by_people(conflict: Conflict) -> bool:
    return conflict.state == ConflictState.DISMISSED or conflict.resolved_by_member_id is not None


def decided_with(memory_id: UUID, others: Sequence[UUID]) -> set[UUID]:
    """Return those with whom the memory is in an open dispute, or was till a person decided it."""
    pairs = Conflict.objects.filter(
        FOR_PEOPLE,
        Q(memory_a=memory_id, memory_b__in=others) | Q(memory_b=memory_id, memory_a__in=others),
    ).values_list("memory_a_id", "memory_b_id")
    return {one for pair in pairs for one in pair if one != memory_id and one is not None}


def challenged(ids: Iterable[UUID]) -> set[UUID]:
    """Return those that stand in an open dispute of their own."""
    return set(
        Conflict.objects.filter(
            memory_a__in=set(ids), memory_b=None, state=ConflictState.PENDING
        ).values_list("memory_a_id", flat=True)
    )


def brought_back_by_undoing(ids: Iterable[UUID]) -> set[UUID]:
    """Return those that a person brought back by taking back what had been decided of them."""
    undone = Event.objects.filter(
        memory_id__in=set(ids), object_type="memory", command=UNDO, after__lifecycle=Lifecycle.LIVE
    )
    return {one for one in undone.values_list("memory_id", flat=True) if one is not None}


def outranked_by(owner_id: UUID, memory_id: UUID) -> bool:
    """
    Return whether something of this owner's has lost a contradiction to the memory by level before.

    What a watcher captured and lost for being provisional does not count against its sponsor.
    """
    lost = Conflict.objects.filter(
        winner=memory_id, resolution=Resolution.AUTHORITY, kind=ConflictKind.CONTRADICTION
    )
    return lost.filter(
        Q(memory_a__owner=owner_id, memory_a__provenance_rank__gt=0) & ~Q(memory_a=F("winner"))
        | Q(memory_b__owner=owner_id, memory_b__provenance_rank__gt=0) & ~Q(memory_b=F("winner"))
    ).exists()


def conflict_wire(conflict: Conflict) -> Answer:
    """Return a conflict as it is told outside, without the texts of its sides."""
    return {
        "id": wire_id(Prefix.CONFLICT, conflict.id),
        "memory_a": wire_id(Prefix.MEMORY, conflict.memory_a_id),
        "memory_b": wire_id_or_none(Prefix.MEMORY, conflict.memory_b_id),
        "kind": conflict.kind,
        "state": conflict.state,
        "resolution": conflict.resolution,
        "winner": wire_id_or_none(Prefix.MEMORY, conflict.winner_id),
        "recommended_winner": wire_id_or_none(Prefix.MEMORY, conflict.recommended_winner_id),
        "dissent_retained": True,
        "resolved_by": _resolved_by(conflict),
        "created_at": moment(conflict.created_at),
        "resolved_at": moment(conflict.resolved_at),
        "verdict": _verdict_wire(conflict.verdict),
        "missing_specifics": list(conflict.missing_specifics),
        "level_a": conflict.level_a,
        "level_b": conflict.level_b,
        "via": conflict.via,
        "note": conflict.note,
        "batch": wire_id_or_none(Prefix.BATCH, conflict.batch_id),
        "raised_by": _principal(conflict.raised_by_member_id, conflict.raised_by_agent_id),
        "reason": conflict.reason,
        "evidence": conflict.evidence,
        "deferred_until": moment(conflict.deferred_until),
        "assigned_to": wire_id_or_none(Prefix.MEMBER, conflict.assigned_to_id),
    }


def _verdict_wire(verdict: Mapping[str, Any] | None) -> Answer | None:
    """Return the verdict without its circumstances, which the review desk shows."""
    if verdict is None:
        return None
    return {name: said for name, said in verdict.items() if name not in CIRCUMSTANCES}


def _resolved_by(conflict: Conflict) -> str | None:
    principal = _principal(conflict.resolved_by_member_id, conflict.resolved_by_agent_id)
    if principal is None and conflict.state == ConflictState.RESOLVED:
        return POLICY
    return principal


def _principal(member_id: UUID | None, agent_id: UUID | None) -> str | None:
    """Return who did it: the agent, or else the member."""
    if agent_id is not None:
        return wire_id(Prefix.AGENT, agent_id)
    return wire_id_or_none(Prefix.MEMBER, member_id)


def conflict_with_sides(conflict: Conflict) -> Answer:
    """Return a conflict with both of its memories in full."""
    ids = [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]
    sides = {
        side["id"]: side
        for side in memory_wires(list(with_authors(Memory.objects.filter(id__in=ids))))
    }
    told = conflict_wire(conflict)
    return told | {
        "side_a": sides[told["memory_a"]],
        "side_b": sides.get(told["memory_b"]) if told["memory_b"] else None,
    }
