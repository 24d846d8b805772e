"""Doing what was decided about disputes: all of it in one transaction, as one batch."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.postgres.functions import TransactionNow
from django.db.models import Case, F, Field, TextField, UUIDField, Value, When

from memory.conflict.detect import have_the_same_readers
from memory.conflict.supersede import Replacement, settle_all, supersede_each
from memory.models import (
    Conflict,
    ConflictState,
    Door,
    Lifecycle,
    Memory,
    Signal,
    SupersedeReason,
)
from reviews.deciding import Decision
from tenants.audit import Told, record_all
from tenants.context import whose_door
from tenants.ids import Prefix, wire_id, wire_id_or_none

RESOLVE = "resolve_conflict"


def carry_out(decisions: Sequence[Decision], batch_id: UUID, *, is_bulk: bool = False) -> None:
    """
    Close the disputes and retire what lost, in as many statements for many as for one.

    The disputes are closed first: those of a memory that is retired become moot by themselves. All
    of it gets the time of the transaction, by which undoing it knows what belongs to it.

    :param is_bulk: the batch has an event of its own, and is not told by that of its one dispute
    """
    if not decisions:
        return
    _close(decisions, batch_id)
    _retire(decisions, batch_id)
    settle_all(
        [(one.sides[0].id, one.sides[1].id) for one in decisions if len(one.sides) == 2],
        "resolved",
        at=TransactionNow(),
    )
    _weigh_signals(decisions)
    record_all(
        RESOLVE, "conflict", [_told(one, None if is_bulk else batch_id) for one in decisions]
    )


def _close(decisions: Sequence[Decision], batch_id: UUID) -> None:
    caller = whose_door()
    of_each = {one.conflict.id: one for one in decisions}
    changed = Conflict.objects.filter(id__in=of_each, state=ConflictState.PENDING).update(
        state=ConflictState.RESOLVED,
        resolved_at=TransactionNow(),
        resolved_by_member=caller.member_id,
        resolved_by_agent=caller.agent_id,
        batch_id=batch_id,
        resolution=by_id({one: it.resolution.value for one, it in of_each.items()}, TextField()),
        winner=by_id({one: it.winner_id for one, it in of_each.items()}, UUIDField()),
        note=by_id({one: it.note for one, it in of_each.items()}, TextField()),
    )
    if changed != len(of_each):
        raise RuntimeError("a dispute changed that was to be locked")


def by_id(values: Mapping[UUID, Any], field: "Field[Any, Any]", *, key: str = "id") -> Any:
    """Return one value for all, or what gives each row its own."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return Case(
        *(When(**{key: one}, then=Value(value, field)) for one, value in values.items()),
        output_field=field,
    )


def _retire(decisions: Sequence[Decision], batch_id: UUID) -> None:
    replaced, retired = [], []
    for one in decisions:
        for memory in one.gone:
            if one.successor_id is None:
                retired.append(Told(memory.id, memory.id, _why(one), *_RETIRED))
            else:
                replaced.append(Replacement(memory, one.successor_id, _why(one)))
    supersede_each(replaced, SupersedeReason.MANUAL, at=TransactionNow(), batch_id=batch_id)
    if not retired:
        return
    changed = Memory.objects.filter(
        id__in=[one.object_id for one in retired], invalidated_at__isnull=True
    ).update(
        invalidated_at=TransactionNow(), invalidated_reason=Door.RETIRED, version=F("version") + 1
    )
    if changed != len(retired):
        raise RuntimeError("a memory changed that was to be locked")
    record_all("retire", "memory", retired)


def _why(one: Decision) -> str:
    """Return the note as far as all who read a side may read it: it may speak of the other."""
    shared = len(one.sides) == 1 or have_the_same_readers(*one.sides)
    return one.note if shared else ""


_RETIRED = (
    {"lifecycle": Lifecycle.LIVE.value},
    {"lifecycle": Lifecycle.RETIRED.value, "invalidated_reason": Door.RETIRED.value},
)


def _weigh_signals(decisions: Sequence[Decision]) -> None:
    """Let what spoke against a memory be weighed by this decision, and by no other."""
    weighed = {one.sides[0].id: one.conflict.id for one in decisions if len(one.sides) == 1}
    if weighed:
        Signal.objects.filter(memory__in=weighed, weighed_by=None).update(
            weighed_by=by_id(weighed, UUIDField(), key="memory")
        )


def _told(one: Decision, event_id: UUID | None) -> Told:
    return Told(
        one.conflict.id,
        one.conflict.memory_a_id,
        one.note,
        before={
            "state": ConflictState.PENDING,
            # Where it belonged before; undoing this gives it back.
            "batch": wire_id_or_none(Prefix.BATCH, one.conflict.batch_id),
        },
        after={
            "state": ConflictState.RESOLVED,
            "resolution": one.resolution,
            "winner": wire_id_or_none(Prefix.MEMORY, one.winner_id),
            "retired": [wire_id(Prefix.MEMORY, memory.id) for memory in one.gone],
            "successor": wire_id_or_none(Prefix.MEMORY, one.successor_id),
        },
        event_id=event_id,
    )
