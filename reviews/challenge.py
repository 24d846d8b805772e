"""Saying that a memory is wrong, or that it misled: a question to people, and no more than that."""

from uuid import UUID

from memory.authority import owns
from memory.conflict.policy import ConflictKind
from memory.conflict.signals import (
    ask_the_judge_about,
    leave_signal,
    note_signal,
    open_dispute_about,
    open_question,
)
from memory.conflict.supersede import locked
from memory.lifecycle import AlreadyRetired
from memory.models import Memory, Signal, Visibility
from memory.parts import must_have_no_secret
from memory.place import writable_projects
from memory.reading import existing
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed


def challenge(caller: Caller, *, memory_id: UUID, reason: str, evidence: str = "") -> Answer:
    """
    Call a memory into question when it is wrong and you cannot say what is right instead.

    It stays live and ranks lower until a person has decided. Who knows better remembers that, and
    declares what it supersedes. While it is in question already, the same dispute comes back.

    :raises NotAllowed: if it is neither the caller's own nor of a project in which they write
    :raises AlreadyRetired: if it is not live
    """
    must_have_no_secret([("reason", reason), ("evidence", evidence)])
    with writing_as(caller) as keep:
        memory = _questionable(caller, memory_id)
        dispute = open_dispute_about(memory.id)
        already_pending = dispute is not None
        if dispute is None:
            leave_signal(memory, Signal.Kind.CHALLENGE, reason)
            dispute = open_question(memory, ConflictKind.CHALLENGED, reason, evidence=evidence)
        elif dispute.kind == ConflictKind.STALE_SUSPECT:
            # Somebody says now what was only suspected: that is new to whoever decides.
            leave_signal(memory, Signal.Kind.CHALLENGE, reason)
        return keep(
            {
                "memory_id": wire_id(Prefix.MEMORY, memory.id),
                "dispute_id": wire_id(Prefix.CONFLICT, dispute.id),
                "already_pending": already_pending,
            }
        )


def report_misled(caller: Caller, *, memory_id: UUID, reason: str, query: str = "") -> Answer:
    """
    Say that a recalled memory led you astray, and what you had asked.

    One report changes nothing; when reports gather, people are asked whether it is out of date. A
    judge that is a model is asked meanwhile, and its agreement counts as another.

    :raises NotAllowed: if it is neither the caller's own nor of a project in which they write
    :raises AlreadyRetired: if it is not live
    """
    must_have_no_secret([("reason", reason), ("query", query)])
    with writing_as(caller) as keep:
        memory = _questionable(caller, memory_id)
        before = open_dispute_about(memory.id)
        signal, dispute = note_signal(memory, Signal.Kind.MISLED, reason, query=query)
        if dispute is None:
            ask_the_judge_about(signal)
        told = wire_id(Prefix.SIGNAL, signal.id)
        record(
            "report_misled",
            "memory",
            memory.id,
            memory_id=memory.id,
            reason=reason,
            after={"signal": told},
        )
        return keep(
            {
                "memory_id": wire_id(Prefix.MEMORY, memory.id),
                "signal": _signal_wire(signal),
                "dispute_id": wire_id_or_none(Prefix.CONFLICT, dispute.id if dispute else None),
                "opened": before is None and dispute is not None,
            }
        )


def _questionable(caller: Caller, memory_id: UUID) -> Memory:
    """Return the memory, locked, if the caller may call it into question."""
    memory = existing(memory_id)
    writes = memory.visibility != Visibility.PRIVATE and memory.project_id in writable_projects()
    if not (owns(caller, memory) or writes):
        raise NotAllowed("Only its owner, or who writes in its project, may say that it is wrong.")
    now = locked([memory.id]).get(memory.id)
    if now is None:
        raise NotAllowed("You may not change it any more.")
    if now.invalidated_at is not None:
        raise AlreadyRetired(f"It is not live any more: {now.invalidated_reason}.")
    return now


def _signal_wire(signal: Signal) -> Answer:
    return {
        "id": wire_id(Prefix.SIGNAL, signal.id),
        "memory_id": wire_id(Prefix.MEMORY, signal.memory_id),
        "kind": signal.kind,
        "reason": signal.reason,
        "query": signal.query,
        "created_at": moment(signal.created_at),
    }
