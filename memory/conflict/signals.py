"""What speaks against a memory, one occasion at a time, and when that is enough for a question."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Func, QuerySet
from django.utils import timezone

from memory.conflict.left_to_the_judge import OFF
from memory.conflict.on_write import RULES
from memory.conflict.policy import ConflictKind
from memory.conflict.supersede import locked
from memory.models import Conflict, ConflictState, Memory, Signal
from tenants.audit import record
from tenants.caller import Role
from tenants.context import whose_door
from tenants.ids import Prefix, new_id, wire_id
from tenants.jobs import leave_job

# What became moot nobody has decided.
_DECIDED = (ConflictState.RESOLVED, ConflictState.DISMISSED)

ENOUGH = 2
COUNTED_FOR = timedelta(days=90)
SAID = "said"
ATTRIBUTE_MISLED = "attribute_misled"
REPORT = "report"  # what its job is told: the signal that somebody left


def note_signal(
    memory: Memory,
    kind: Signal.Kind,
    reason: str,
    *,
    query: str = "",
    evidence: str = "",
) -> tuple[Signal, Conflict | None]:
    """
    Note that something speaks against a memory, and return the dispute that is open about it.

    Belongs inside the door of who says it. Two signals within 90 days that no decision has weighed
    open a suspicion; a re-check that found another value is enough by itself. It is a question, and
    takes nothing away. While a dispute about the memory alone is open, none is added.

    :param memory: a live one, around which whoever's door it is may write
    """
    # One after the other, so that of two at once the second sees the first.
    locked([memory.id])
    signal = leave_signal(memory, kind, reason, query=query)
    open_one = open_dispute_about(memory.id)
    if open_one is not None:
        return signal, open_one
    counted = list(unweighed(memory.id))
    if kind != Signal.Kind.RECHECK and len(counted) < ENOUGH:
        return signal, None
    told = "; ".join(dict.fromkeys(one.reason for one in counted)) or reason
    return signal, open_question(
        memory, ConflictKind.STALE_SUSPECT, told[:LONGEST_TOLD], evidence=evidence
    )


LONGEST_TOLD = 2000  # characters


def ask_the_judge_about(report: Signal) -> None:
    """
    Have the judge say whether the memory is to blame, if it is a model; rules cannot tell.

    Belongs inside the door in which the report was left.
    """
    if settings.JUDGE not in (OFF, RULES):
        told = str(report.id)
        leave_job(
            ATTRIBUTE_MISLED,
            dedup_key=told,
            subject_id=report.memory_id,
            arguments={REPORT: told},
        )


def leave_signal(memory: Memory, kind: Signal.Kind, reason: str, *, query: str = "") -> Signal:
    """Note that something speaks against a memory, and nothing more."""
    caller = whose_door()
    member_id, agent_id = _in_whose_name()
    signal = Signal.objects.create(
        id=new_id(),
        tenant_id=caller.tenant_id,
        memory_id=memory.id,
        kind=kind,
        reason=reason,
        query=query,
        by_member_id=member_id,
        by_agent_id=agent_id,
    )
    signal.refresh_from_db(fields=["created_at"])
    return signal


def open_dispute_about(memory_id: UUID) -> Conflict | None:
    """Return the dispute that waits about the memory alone, if there is one."""
    return Conflict.objects.filter(
        memory_a=memory_id, memory_b=None, state=ConflictState.PENDING
    ).first()


def was_decided_since(memory_id: UUID, seen_at: datetime | Func) -> bool:
    """Return whether somebody has decided about the memory alone after something was seen."""
    return Conflict.objects.filter(
        memory_a=memory_id, memory_b=None, state__in=_DECIDED, resolved_at__gte=seen_at
    ).exists()


def open_question(
    memory: Memory, kind: ConflictKind, reason: str, *, evidence: str = ""
) -> Conflict:
    """Open a dispute about a memory alone, which the caller has locked and nobody disputes yet."""
    caller = whose_door()
    member_id, agent_id = _in_whose_name()
    conflict = Conflict.objects.create(
        id=new_id(),
        tenant_id=caller.tenant_id,
        memory_a_id=memory.id,
        low_id=memory.id,
        high_id=memory.id,
        kind=kind,
        level_a=memory.author_level,
        via=SAID,
        row="",
        verdict=_verdict(kind, reason),
        reason=reason,
        evidence=evidence,
        raised_by_member_id=member_id,
        raised_by_agent_id=agent_id,
    )
    conflict.refresh_from_db(fields=["created_at"])
    record(
        "challenge" if kind == ConflictKind.CHALLENGED else "open_dispute",
        "conflict",
        conflict.id,
        memory_id=memory.id,
        reason=reason,
        after={"conflict": wire_id(Prefix.CONFLICT, conflict.id), "kind": kind},
    )
    return conflict


def _in_whose_name() -> tuple[UUID | None, UUID | None]:
    """Return the member and the agent who say it. A machine says what it says in nobody's name."""
    caller = whose_door()
    return (None, None) if caller.role == Role.JUDGE else (caller.member_id, caller.agent_id)


def _verdict(kind: ConflictKind, reason: str) -> dict[str, object]:
    """Return what was said, in the form of a judge's verdict: nobody has judged."""
    missing: Sequence[str] = []
    return {
        "relation": kind.value,
        "confidence": None,
        "reasoning": reason,
        "shared_subject": "",
        "missing_specifics": missing,
        "judge": "",
        "prompt_version": "",
    }


def unweighed(memory_id: UUID) -> "QuerySet[Signal]":
    """Return what no decision has weighed yet, and is not too old to count."""
    since = timezone.now() - COUNTED_FOR
    return Signal.objects.filter(memory=memory_id, weighed_by=None, created_at__gte=since).order_by(
        "created_at", "id"
    )
