"""What a watcher captured: taken over as knowledge, or turned down, by somebody else."""

from typing import Any
from uuid import UUID

from django.contrib.postgres.functions import TransactionNow
from django.db.models import F
from django.db.models.functions import Now

from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.conflict.supersede import locked
from memory.lifecycle import AlreadyRetired
from memory.models import Door, Lifecycle, Memory
from memory.parts import must_have_no_secret
from memory.reading import existing, must_be_as_seen, told
from memory.trust.state import TrustState
from reviews.deciding import Desk, reviewing
from reviews.taking_up import AlreadyResolved
from tenants.audit import Told, record_all
from tenants.caller import Caller, Rank
from tenants.ids import Prefix, moment, new_id, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, Refusal

ACCEPT, REJECT = "accept", "reject"


class NoProposal(Refusal):
    """What people and agents write deliberately needs no acceptance."""

    title = "Not a proposal"


def accept(caller: Caller, *, memory_id: UUID, reason: str, if_match: int | None = None) -> Answer:
    """
    Take a proposal over as knowledge: from now on it counts as vouched for.

    :raises NotAllowed: if the caller does not review it, or it is their own side's
    :raises NoProposal: if it never was one
    :raises AlreadyResolved: if somebody has accepted or rejected it
    :raises AlreadyRetired: if it went another way; restore it first
    :raises StaleVersion: if it is not at the version `if_match`
    """
    changed = {"accepted_at": Now()}
    after = {"trust_state": TrustState.VERIFIED}
    return _judged(
        caller, memory_id, reason, if_match, command=ACCEPT, changed=changed, after=after
    )


def reject(caller: Caller, *, memory_id: UUID, reason: str, if_match: int | None = None) -> Answer:
    """
    Turn a proposal down: no recall shows it again, and it is kept for the audit.

    Also one that was superseded: what took its place stays live.

    :raises NotAllowed: if the caller does not review it, or it is their own side's
    :raises NoProposal: if it never was one
    :raises AlreadyResolved: if somebody has accepted or rejected it
    :raises AlreadyRetired: if it went another way; restore it first
    :raises StaleVersion: if it is not at the version `if_match`
    """
    # The time of the transaction: what becomes moot with it has it, too, and is found by it.
    changed = {
        "invalidated_at": TransactionNow(),
        "invalidated_reason": Door.REJECTED,
        "superseded_by": None,
        "superseded_at": None,
        "supersede_reason": None,
    }
    after = {"lifecycle": Lifecycle.RETIRED, "invalidated_reason": Door.REJECTED}
    return _judged(
        caller, memory_id, reason, if_match, command=REJECT, changed=changed, after=after
    )


def _judged(
    caller: Caller,
    memory_id: UUID,
    reason: str,
    if_match: int | None,
    *,
    command: str,
    changed: dict[str, Any],
    after: dict[str, Any],
) -> Answer:
    must_have_no_secret([("reason", reason)])
    caller = reviewing(caller)
    with writing_as(caller) as keep:
        memory = _proposal(caller, memory_id, command)
        must_be_as_seen(memory, if_match)
        Memory.objects.filter(id=memory.id).update(**changed, version=F("version") + 1)
        if command == ACCEPT:
            # The sweep has come past it, and left out what was merely proposed.
            leave_to_the_judge(memory, again="accepted")
        # The event is the batch by which it can be undone.
        batch_id = new_id()
        record_all(
            command,
            "memory",
            [
                Told(
                    memory.id,
                    memory.id,
                    reason,
                    before=_stood(memory),
                    after=after,
                    event_id=batch_id,
                )
            ],
        )
        return keep(told(memory.id) | {"batch": wire_id(Prefix.BATCH, batch_id)})


def _stood(memory: Memory) -> dict[str, Any]:
    if memory.superseded_by_id is None:
        return {"lifecycle": Lifecycle.LIVE, "trust_state": TrustState.PROPOSED}
    return {
        "lifecycle": Lifecycle.SUPERSEDED,
        "trust_state": TrustState.SUPERSEDED,
        "superseded_by": wire_id(Prefix.MEMORY, memory.superseded_by_id),
    }


def _proposal(caller: Caller, memory_id: UUID, command: str) -> Memory:
    """Return the memory, locked, if it is a proposal that the caller may decide about."""
    memory = existing(memory_id)
    if not Desk.of(caller).reviews(memory):
        raise NotAllowed("Only who reviews its project may accept or reject it.")
    wrote_it = caller.is_agent and memory.author_agent_id == caller.agent_id
    if memory.owner_id == caller.member_id or wrote_it:
        raise NotAllowed(
            "Your own side proposed it; somebody else who reviews the project decides about it."
        )
    now = locked([memory.id]).get(memory.id)
    if now is None:
        raise NotAllowed("You may not change it any more.")
    if now.provenance_rank > Rank.PROVISIONAL:
        raise NoProposal("It was written deliberately, and is no proposal. Challenge it instead.")
    if now.accepted_at is not None or now.invalidated_reason == Door.REJECTED:
        raise _already(now)
    is_superseded = now.invalidated_reason == Door.SUPERSEDED
    if now.invalidated_at is not None and not (is_superseded and command == REJECT):
        raise AlreadyRetired(
            f"It is not live any more: {now.invalidated_reason}. No recall shows it as current; to "
            f"{command} it all the same, restore it first."
        )
    return now


def _already(memory: Memory) -> AlreadyResolved:
    what, command = (
        ("rejected", REJECT) if memory.invalidated_reason == Door.REJECTED else ("accepted", ACCEPT)
    )
    events = Event.objects.filter(memory_id=memory.id, command=command)
    event = events.order_by("-sequence").first()
    if event is None:
        return AlreadyResolved(f"It was {what} already.")
    who = wire_id_or_none(Prefix.AGENT, event.agent_id) or wire_id_or_none(
        Prefix.MEMBER, event.member_id
    )
    return AlreadyResolved(f"It was {what} already, by {who} at {moment(event.at)}.")
