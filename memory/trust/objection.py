"""What somebody saw who looked may speak against a memory, and then people decide."""

from django.contrib.postgres.functions import TransactionNow
from django.db import connection

from memory.conflict.policy import ConflictKind
from memory.conflict.signals import (
    note_signal,
    open_dispute_about,
    open_question,
    was_decided_since,
)
from memory.models import Conflict, Door, Memory, Method, Outcome, Signal, Verification
from memory.place import Place
from memory.trust.looked import Look
from tenants.ids import Prefix, wire_id

# Why nobody is asked about what was found.
TOO_OLD = (
    "You looked before it was written. That is noted, and says nothing for or against what was "
    "written since."
)
DECIDED_SINCE = (
    "Somebody has decided about it since you looked. That is noted, and nobody is asked again; "
    "look anew if you think that it is wrong."
)
NOTHING_IN_ITS_PLACE = (
    "Nothing that you may see stands in its place any more, so there is nothing to dispute. It "
    "stays superseded, and people are shown that you confirmed it; if it holds, restore it."
)


def objection(memory: Memory, look: Look, verification: Verification) -> Conflict | str:
    """
    Return the dispute in which what was found is to be decided, if it speaks against something.

    Or why there is none all the same; nothing if there was nothing to decide.
    """
    if look.is_too_old:
        return TOO_OLD
    if memory.invalidated_at is None:
        return _dispute_of_refuted(memory, look) if look.outcome == Outcome.REFUTED else ""
    if memory.invalidated_reason == Door.SUPERSEDED and look.outcome == Outcome.CONFIRMED:
        return _dispute_of_successor(memory, look, verification)
    return ""


def _dispute_of_refuted(memory: Memory, look: Look) -> Conflict | str:
    """
    Return the dispute about a live memory that does not hold any more, as somebody found.

    No machine retires it for that. Whoever knows what is right remembers it, with the component,
    and the policy decides between the two. What was seen before somebody decided about it is not
    asked again.
    """
    pending = open_dispute_about(memory.id)
    if pending is None and was_decided_since(memory.id, look.seen_at or TransactionNow()):
        return DECIDED_SINCE
    reason = _what_was_found(look)
    if look.method == Method.EXTERNAL_RECHECK:
        _, opened = note_signal(memory, Signal.Kind.RECHECK, reason, evidence=look.evidence)
        pending = opened or pending
    if pending is not None:
        return pending
    return open_question(memory, ConflictKind.CHALLENGED, reason, evidence=look.evidence)


def _dispute_of_successor(memory: Memory, look: Look, verification: Verification) -> Conflict | str:
    """
    Return the dispute about what took the place of a memory that holds all the same.

    The successor stays live and in its place until a person has decided; it is called into question
    also where the caller does not write.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT hold_what_replaced(%s)", [verification.id])
        (head_id,) = cursor.fetchone()
    head = Memory.objects.filter(id=head_id).first()
    if head is None:
        return NOTHING_IN_ITS_PLACE
    if look.seen_at is not None and look.seen_at < head.created_at:
        return TOO_OLD
    pending = open_dispute_about(head.id)
    if pending is not None:
        return pending
    reason = f"{wire_id(Prefix.MEMORY, memory.id)}, which it replaced, was confirmed"
    # Whoever reads the successor learns no more of the memory than they may read of it.
    if not Place.of(memory).is_read_by_all_who_read(Place.of(head)):
        return open_question(head, ConflictKind.CHALLENGED, f"{reason}.")
    return open_question(
        head,
        ConflictKind.CHALLENGED,
        f"{reason}: {_what_was_found(look)}",
        evidence=look.evidence,
    )


def _what_was_found(look: Look) -> str:
    what = f"{', '.join(look.subjects)}: " if look.subjects else ""
    value = "" if look.observed_value is None else f", observed {look.observed_value}"
    return f"{what}{look.outcome} by {look.method}{value}"
