"""Looking whether something still holds, and writing down what was found."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.contrib.postgres.functions import TransactionNow
from django.db import connection

from memory.authority import word_counts
from memory.conflict.detect import several_valued
from memory.conflict.record import conflict_wire
from memory.conflict.supersede import locked
from memory.models import (
    Component,
    Conflict,
    Mark,
    Memory,
    Outcome,
    Verification,
)
from memory.parts import must_have_no_secret
from memory.reading import existing, told
from memory.trust.changes import seen_by_now
from memory.trust.looked import Look
from memory.trust.marks import mark_wires
from memory.trust.objection import objection
from memory.values import same_value
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import Prefix, new_id, wire_id
from tenants.once import Answer, writing_as
from tenants.refusals import FieldError, Invalid, NotAllowed


def verify(
    caller: Caller,
    *,
    memory_id: UUID,
    outcome: str,
    method: str,
    components: Sequence[str] | None = None,
    observed_value: str | None = None,
    observed_at: datetime | None = None,
    evidence: str = "",
) -> Answer:
    """
    Write down that you looked whether a memory still holds, how, and what you found.

    Confirmed clears the marks of what you looked at, as far as the world did not move since.
    Refuted clears nothing and opens a dispute; inconclusive changes nothing. What was seen before
    the memory was written is noted, and changes nothing either.

    :param components: the subjects that were looked at; all, if not said
    :param observed_value: what was seen, of the one component that was looked at
    :param observed_at: when you looked; now, if not said
    :raises Invalid: if a component is not there, or value and outcome contradict each other
    :raises NotAllowed: if the caller may see the memory and not write around it
    """
    must_have_no_secret([("observed_value", observed_value), ("evidence", evidence)])
    seen_at = seen_by_now(observed_at)
    with writing_as(caller) as keep:
        memory = _lock(memory_id)
        stated = list(Component.objects.filter(memory=memory.id, suggested=False))
        subjects = _looked_at(stated, components)
        looked_at = [one for one in stated if one.subject in subjects]
        value = _value_seen(outcome, observed_value, looked_at)
        look = Look(
            outcome,
            method,
            subjects,
            value,
            observed_value,
            evidence,
            seen_at,
            is_too_old=seen_at is not None and seen_at < _stated_since(memory, looked_at),
        )
        verification = _write_down(caller, memory, look)
        cleared = _clear(verification)
        found = objection(memory, look, verification)
        record(
            "verify",
            "memory",
            memory.id,
            memory_id=memory.id,
            reason=evidence,
            after={
                "verification": wire_id(Prefix.VERIFICATION, verification.id),
                "outcome": outcome,
                "method": method,
                "components": list(subjects),
                "cleared": len(cleared),
            },
        )
        answer: Answer = {"memory": told(memory.id), "cleared": cleared}
        if isinstance(found, Conflict):
            answer["conflict"] = conflict_wire(found)
        elif found:
            answer["note"] = found
        return keep(answer)


def _lock(memory_id: UUID) -> Memory:
    existing(memory_id)
    memory = locked([memory_id]).get(memory_id)
    if memory is None:
        raise NotAllowed("Only its owner, or who writes in its project, may say how it stands.")
    return memory


def _looked_at(stated: Sequence[Component], named: Sequence[str] | None) -> tuple[str, ...]:
    """
    Return the subjects that were looked at: those that are named, or else all that are stated.

    :raises Invalid: if one of them is not the memory's
    """
    known = list(dict.fromkeys(one.subject for one in stated))
    errors = [
        FieldError(
            f"components[{index}]",
            "unknown_reference",
            f"it states nothing of {subject}; it does of: {', '.join(known) or 'nothing'}",
        )
        for index, subject in enumerate(named or ())
        if subject not in known
    ]
    if errors:
        raise Invalid("; ".join(f"{one.field}: {one.message}" for one in errors), errors)
    return tuple(dict.fromkeys(named or known))


def _value_seen(outcome: str, observed: str | None, looked_at: Sequence[Component]) -> str | None:
    """
    Return which of several stated values was seen; none where all were, or there is but one.

    :raises Invalid: of a value that is nobody's, or says the contrary of the outcome
    """
    if observed is None:
        return None
    subjects = {one.subject for one in looked_at}
    if len(subjects) != 1:
        raise Invalid.field(
            "observed_value",
            f"belongs to exactly one component, and {len(subjects)} were looked at; name one in "
            "components",
        )
    values = [one.value for one in looked_at if one.value is not None]
    if not values:
        return None
    seen = next((value for value in values if same_value(value, observed)), None)
    if outcome == Outcome.CONFIRMED and seen is None:
        one = looked_at[0]
        has_several = one.subject in several_valued([one.memory_id])[one.memory_id]
        raise Invalid.field("observed_value", _is_another_than(values, has_several))
    if outcome == Outcome.REFUTED and seen is not None:
        raise Invalid.field(
            "observed_value", "is the value that the memory states; then the outcome is confirmed"
        )
    # What is written in two ways is one value.
    has_others = not all(same_value(value, observed) for value in values)
    return seen if outcome == Outcome.CONFIRMED and has_others else None


def _is_another_than(values: Sequence[str], is_one_of_many: bool) -> str:
    if len(values) == 1 and not is_one_of_many:
        return (
            f"is another value than {values[0]!r}, which the memory states; then the outcome is "
            "refuted"
        )
    stated = ", ".join(repr(value) for value in values)
    return (
        f"is none of the values that the memory states ({stated}); what is there beside them is "
        "remembered by itself, and if they are gone the outcome is refuted"
    )


def _stated_since(memory: Memory, looked_at: Sequence[Component]) -> datetime:
    return min((one.created_at for one in looked_at), default=memory.created_at)


def _write_down(caller: Caller, memory: Memory, look: Look) -> Verification:
    verification = Verification(
        id=new_id(),
        tenant_id=caller.tenant_id,
        memory_id=memory.id,
        subjects=list(look.subjects),
        stated_value=look.stated_value,
        outcome=look.outcome,
        method=look.method,
        observed_value=look.observed_value,
        evidence=look.evidence,
        by_member_id=caller.member_id,
        by_agent_id=caller.agent_id,
        level=caller.level,
        weighs=not look.is_too_old and (look.shows_evidence or word_counts(caller, memory)),
        # When the request came: what moves while it waits for others was not seen.
        observed_at=look.seen_at or TransactionNow(),
    )
    verification.save(force_insert=True)
    return verification


def _clear(verification: Verification) -> list[Answer]:
    """Clear the marks that the verification outdates, and return those in sight."""
    if verification.outcome != Outcome.CONFIRMED or not verification.weighs:
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT clear_marks_by(%s)", [verification.id])
        ids = [mark_id for (mark_id,) in cursor.fetchall()]
    if not ids:
        return []
    cleared = Mark.objects.filter(id__in=ids).select_related("change", "component")
    return mark_wires(list(cleared.order_by("-direct", "created_at", "id")))
