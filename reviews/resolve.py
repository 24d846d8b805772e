"""Deciding one dispute."""

from dataclasses import replace
from uuid import UUID

from memory.conflict.record import conflict_with_sides
from memory.models import Conflict
from memory.parts import must_have_no_secret
from reviews.carrying_out import carry_out
from reviews.deciding import Choice, Desk, decided, reviewing
from reviews.merging import MergedText, merge_into
from reviews.taking_up import take_up_one
from tenants.caller import Caller
from tenants.ids import new_id
from tenants.once import Answer, writing_as


def resolve_conflict(
    caller: Caller,
    *,
    dispute_id: UUID,
    winner: UUID | None = None,
    keep_both: bool = False,
    retire: bool = False,
    merge: dict[str, str] | None = None,
    note: str = "",
) -> Answer:
    """
    Decide a dispute: exactly one of winner, keep_both, retire and merge.

    Of a pair one side may win, both may stay, or a new text may take the place of both. A memory
    that is disputed alone is upheld (winner with its id, or keep_both) or retired. Whatever is
    decided can be undone: its batch is in the answer.

    :raises Invalid: if the choice does not fit the dispute
    :raises NotAllowed: if the caller may see it and not decide it
    :raises AlreadyResolved: if it was decided already, with the first outcome
    """
    text = None if merge is None else merge["content"]
    choice = Choice(winner, keep_both, retire, text, note)
    choice.must_be_one()
    must_have_no_secret([("merge.content", text), ("note", note)])
    merged = None if text is None else MergedText.of(text)
    caller = reviewing(caller)
    with writing_as(caller) as keep:
        desk = Desk.of(caller)
        taken = take_up_one(desk, dispute_id)
        decision = decided(desk, taken.conflict, taken.sides, choice)
        batch_id = new_id()
        if merged is None:
            carry_out([decision], batch_id)
        else:
            with merge_into(caller, merged, taken.sides) as successor_id:
                carry_out([replace(decision, successor_id=successor_id)], batch_id)
        return keep(conflict_with_sides(Conflict.objects.get(id=dispute_id)))
