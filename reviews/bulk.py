"""Deciding many disputes at once: by a policy, or each as it was said."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memory.conflict.policy import Resolution
from memory.models import Memory
from memory.parts import must_have_no_secret
from memory.winning import leaves_nothing
from reviews.carrying_out import carry_out
from reviews.deciding import Choice, Decision, Desk, decided, reviewing
from reviews.merging import MergedText, merge_into
from reviews.sought import sought
from reviews.taking_up import Open, take_up
from tenants.audit import Told, record_all
from tenants.caller import Caller
from tenants.ids import Prefix, new_id, wire_id, wire_id_or_none
from tenants.once import Answer, writing_as
from tenants.refusals import FieldError, Invalid, Refusal

NEWEST, OLDEST, KEEP_BOTH = "newest_wins", "oldest_wins", "keep_both"
POLICIES = (NEWEST, OLDEST, KEEP_BOTH)
MOST_LISTED = 100
MOST_AT_ONCE = 1000  # by a policy; the rest is told as left
RESOLVED, UNTOUCHED, FAILED = "resolved", "untouched", "failed"
OUTCOMES = (RESOLVED, UNTOUCHED, FAILED)
ABOUT_ONE = (
    "One memory alone is in dispute, so there is no newer or older one; decide it by itself."
)
GONE = "One of its sides is retired by another of these, so it becomes moot."


@dataclass
class _Item:
    """What is to become of one dispute, or why nothing does."""

    dispute_id: UUID
    outcome: str = RESOLVED
    decision: Decision | None = None
    refusal: Refusal | None = None

    def wire(self) -> Answer:
        decision, refusal = self.decision, self.refusal
        return {
            "dispute_id": wire_id(Prefix.CONFLICT, self.dispute_id),
            "outcome": self.outcome,
            "resolution": decision.resolution.value if decision else None,
            "winner": wire_id_or_none(Prefix.MEMORY, decision.winner_id if decision else None),
            "retired": [wire_id(Prefix.MEMORY, one.id) for one in decision.gone]
            if decision
            else [],
            "code": refusal.code if refusal else None,
            "detail": refusal.detail if refusal else None,
        }


@dataclass
class _Plan:
    """What was decided so far, and who is gone by it."""

    items: list[_Item] = field(default_factory=list)
    gone: set[UUID] = field(default_factory=set)

    def add(self, dispute_id: UUID, found: "Open | Refusal", desk: Desk, choice: Choice) -> None:
        """Decide one more, as far as what was decided before leaves its sides live."""
        if isinstance(found, Refusal):
            self.items.append(_Item(dispute_id, FAILED, refusal=found))
            return
        try:
            if self.gone & {side.id for side in found.sides}:
                raise Moot(GONE)
            choice.must_be_one()
            decision = decided(desk, found.conflict, found.sides, choice)
        except Refusal as refusal:
            self.items.append(_Item(dispute_id, FAILED, refusal=refusal))
            return
        self.gone |= {side.id for side in decision.gone}
        self.items.append(_Item(dispute_id, decision=decision))


class Moot(Refusal):
    code = "already_resolved"
    title = "Moot by now"


def resolve_conflicts(
    caller: Caller,
    *,
    policy: str | None = None,
    filter: dict[str, Any] | None = None,  # noqa: A002  the contract's word
    resolutions: Sequence[dict[str, Any]] | None = None,
    note: str = "",
    dry_run: bool = False,
) -> Answer:
    """
    Decide many disputes at once: by a policy for all that a filter finds, or a list of decisions.

    A policy decides pairs; where a person has brought a side back, both stay. What is put off to a
    time to come is left to that time, unless the filter says deferred or names the dispute. What
    fails is told and stops nothing else. With dry_run nothing is changed. All of it is one batch,
    to be undone in one call.

    :raises Invalid: if neither or both of policy and resolutions are said
    """
    _must_be_one_of(policy, resolutions, filter)
    listed = list(resolutions or ())
    must_have_no_secret([("note", note), *_texts(listed)])
    merged = {} if dry_run else _merged(listed)
    caller = reviewing(caller)
    with writing_as(caller) as keep:
        desk = Desk.of(caller)
        left = deferred = 0
        if policy is None:
            plan = _planned(desk, listed, note, to_change=not dry_run)
        else:
            ids, left, deferred = sought(caller, filter or {}, most=MOST_AT_ONCE)
            plan = _by_policy(desk, ids, policy, note, to_change=not dry_run)
        batch_id = None if dry_run else _carry_out(caller, plan, merged, policy)
        return keep(
            {
                "dry_run": dry_run,
                "batch": wire_id_or_none(Prefix.BATCH, batch_id),
                "counts": dict.fromkeys(OUTCOMES, 0) | Counter(item.outcome for item in plan.items),
                "left": left,
                "deferred": deferred,
                "items": [item.wire() for item in plan.items],
            }
        )


def _must_be_one_of(
    policy: str | None, resolutions: Sequence[Any] | None, wanted: dict[str, Any] | None
) -> None:
    if (policy is None) == (resolutions is None):
        what = "say policy or resolutions, and not both"
        errors = [FieldError(name, "invalid", what) for name in ("policy", "resolutions")]
        raise Invalid(f"policy, resolutions: {what}", errors)
    if wanted is not None and policy is None:
        raise Invalid.field("filter", "goes with a policy; a list names its disputes itself")


def _texts(listed: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str | None]]:
    for index, one in enumerate(listed):
        yield f"resolutions[{index}].note", one.get("note")
        yield f"resolutions[{index}].merge.content", one.get("merge", {}).get("content")


def _merged(listed: Sequence[dict[str, Any]]) -> dict[UUID, "MergedText | Refusal"]:
    """Return the texts that are to take the place of others. Outside the door: it may be slow."""
    texts: dict[UUID, MergedText | Refusal] = {}
    for one in listed:
        if "merge" in one:
            try:
                texts[one["dispute_id"]] = MergedText.of(one["merge"]["content"])
            except Invalid as refusal:
                texts[one["dispute_id"]] = refusal
    return texts


def _planned(desk: Desk, listed: Sequence[dict[str, Any]], note: str, *, to_change: bool) -> _Plan:
    plan, told = _Plan(), set()
    found = take_up(desk, [one["dispute_id"] for one in listed], to_change=to_change)
    for one in listed:
        dispute_id = one["dispute_id"]
        if dispute_id in told:
            twice = Invalid.field("dispute_id", "stands in the list before", "repeated")
            plan.items.append(_Item(dispute_id, FAILED, refusal=twice))
            continue
        told.add(dispute_id)
        choice = Choice(
            one.get("winner"),
            one.get("keep_both", False),
            one.get("retire", False),
            one["merge"]["content"] if "merge" in one else None,
            one.get("note", note),
        )
        plan.add(dispute_id, found[dispute_id], desk, choice)
    return plan


def _by_policy(
    desk: Desk, ids: Sequence[UUID], policy: str, note: str, *, to_change: bool
) -> _Plan:
    plan = _Plan()
    found = take_up(desk, ids, to_change=to_change)
    for dispute_id in sorted(ids, key=lambda one: _turn(found[one], policy)):
        one = found[dispute_id]
        if isinstance(one, Open) and len(one.sides) == 1 and policy != KEEP_BOTH:
            plan.items.append(_Item(dispute_id, UNTOUCHED, refusal=Invalid(ABOUT_ONE)))
            continue
        plan.add(dispute_id, one, desk, _choice(one, policy, note))
    return plan


def _turn(found: "Open | Refusal", policy: str) -> int:
    """
    Return a number by which disputes come in such an order that who loses one has won the others.

    So each loser has a successor that is live, and the versions of one thing become one chain.
    """
    if isinstance(found, Refusal) or policy == KEEP_BOTH:
        return 0
    winner = _winner(found.sides, policy)
    return winner.sequence if policy == NEWEST else -winner.sequence


def _winner(sides: Sequence[Memory], policy: str) -> Memory:
    pick = max if policy == NEWEST else min
    return pick(sides, key=lambda side: side.sequence)


def _choice(found: "Open | Refusal", policy: str, note: str) -> Choice:
    if isinstance(found, Refusal) or policy == KEEP_BOTH:
        return Choice(keep_both=True, note=note)
    if any(side.restored_by_person_at is not None for side in found.sides):
        # Somebody has brought it back on purpose: no rule for all takes it away again.
        return Choice(keep_both=True, note=note)
    winner = _winner(found.sides, policy)
    now = timezone.now()
    if any(leaves_nothing(winner, side, now) for side in found.sides):
        # What has ended contradicts nothing, and takes nothing with it.
        return Choice(keep_both=True, note=note)
    return Choice(winner=winner.id, note=note)


def _carry_out(
    caller: Caller, plan: _Plan, merged: dict[UUID, "MergedText | Refusal"], policy: str | None
) -> UUID | None:
    """Do what was planned, and return the batch; nothing if there was nothing to do."""
    batch_id = new_id()
    _each_in_turn(caller, plan, merged, batch_id)
    done = [item.decision for item in plan.items if item.decision is not None]
    if not done:
        return None
    after = {"items": len(done), "policy": policy}
    told = Told(batch_id, done[0].conflict.memory_a_id, after=after, event_id=batch_id)
    record_all("resolve_conflicts", "batch", [told])
    return batch_id


def _each_in_turn(
    caller: Caller, plan: _Plan, merged: dict[UUID, "MergedText | Refusal"], batch_id: UUID
) -> None:
    """
    Do everything in the order in which it was planned.

    What a merge retires was still there for what stands before it; what lies between two merges
    is done at once.
    """
    together: list[Decision] = []
    for item in plan.items:
        if item.decision is None:
            continue
        if item.decision.resolution != Resolution.MERGED:
            together.append(item.decision)
            continue
        carry_out(together, batch_id, is_bulk=True)
        together = []
        _merge(caller, item, merged[item.dispute_id], batch_id)
    carry_out(together, batch_id, is_bulk=True)


def _merge(caller: Caller, item: _Item, text: "MergedText | Refusal", batch_id: UUID) -> None:
    """Do one merge; one that is refused is told as failed, and stops nothing else."""
    assert item.decision is not None
    try:
        if isinstance(text, Refusal):
            raise text
        with (
            transaction.atomic(),
            merge_into(caller, text, item.decision.sides) as successor_id,
        ):
            decision = replace(item.decision, successor_id=successor_id)
            carry_out([decision], batch_id, is_bulk=True)
    except Refusal as refusal:
        item.outcome, item.decision, item.refusal = FAILED, None, refusal
