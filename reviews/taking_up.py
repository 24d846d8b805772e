"""Disputes as they are when somebody takes them up to decide: read, allowed, locked, still open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.conflict.record import conflict_wire
from memory.conflict.supersede import locked
from memory.models import Conflict, ConflictState, Memory
from reviews.deciding import Desk
from tenants.ids import moment
from tenants.refusals import FieldError, NotAllowed, NotFound, Refusal


class AlreadyResolved(Refusal):
    code = "already_resolved"
    title = "Decided already"


@dataclass(frozen=True)
class Open:
    """A dispute that waits, with its sides: the one that came in first."""

    conflict: Conflict
    sides: tuple[Memory, ...]


def take_up(
    desk: Desk, ids: Sequence[UUID], *, to_change: bool = True
) -> dict[UUID, "Open | Refusal"]:
    """
    Return each of the disputes if the caller may decide it and it waits, and why not otherwise.

    The memories are locked first, in the order of their ids, then the disputes: whoever retires a
    memory, and the judge, go the same way, so nobody waits in a circle.
    """
    seen = {one.id: one for one in Conflict.objects.filter(id__in=ids)}
    memories = _sides_of(seen.values())
    # Between the two a side may have gone out of sight, and the dispute with it.
    seen = {one: it for one, it in seen.items() if set(_ids(it)) <= set(memories)}
    found: dict[UUID, Open | Refusal] = {one: NotFound() for one in ids if one not in seen}
    allowed = []
    for conflict in seen.values():
        try:
            desk.must_decide(conflict, _in_order(conflict, memories))
            allowed.append(conflict.id)
        except NotAllowed as refusal:
            found[conflict.id] = refusal
    if to_change and allowed:
        memories |= locked(memories)
        seen = _locked(allowed)
    for one in allowed:
        now = seen.get(one)
        if now is None:
            # Judged to be the caller's to decide, and yet not to be locked: the right is just gone.
            found[one] = NotAllowed("You may not decide it any more.")
        elif now.state != ConflictState.PENDING:
            found[one] = already(now)
        else:
            found[one] = Open(now, _in_order(now, memories))
    return found


def take_up_one(desk: Desk, dispute_id: UUID) -> Open:
    """
    Return the dispute, locked, if it waits and the caller may decide it.

    :raises NotFound: if there is none for the caller
    :raises NotAllowed: if the caller may only see it
    :raises AlreadyResolved: if somebody, or something, has closed it
    """
    found = take_up(desk, [dispute_id])[dispute_id]
    if isinstance(found, Refusal):
        raise found
    return found


def already(conflict: Conflict) -> AlreadyResolved:
    """Return the refusal that tells how it was closed."""
    told = conflict_wire(conflict)
    how = told["resolution"] or told["state"]
    who = f" by {told['resolved_by']}" if told["resolved_by"] else ""
    won = f", and {told['winner']} won" if told["winner"] else ""
    errors = [
        FieldError(name, "already_resolved", str(told[name]))
        for name in ("state", "resolution", "winner", "resolved_by", "resolved_at")
        if told[name] is not None
    ]
    return AlreadyResolved(
        f"It was closed as {how}{who} at {moment(conflict.resolved_at)}{won}. Nothing was changed.",
        errors,
    )


def _ids(conflict: Conflict) -> list[UUID]:
    return [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]


def _sides_of(conflicts: Iterable[Conflict]) -> dict[UUID, Memory]:
    ids = {side for conflict in conflicts for side in _ids(conflict)}
    return {one.id: one for one in Memory.objects.filter(id__in=ids).defer("words")}


def _in_order(conflict: Conflict, memories: Mapping[UUID, Memory]) -> tuple[Memory, ...]:
    return tuple(memories[one] for one in _ids(conflict))


def _locked(ids: Sequence[UUID]) -> dict[UUID, Conflict]:
    found = Conflict.objects.filter(id__in=ids).order_by("id").select_for_update(no_key=True)
    return {one.id: one for one in found}
