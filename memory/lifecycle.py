"""Taking a memory out of use, and bringing it back."""

from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from memory.authority import must_be_replaceable, must_be_restorable
from memory.conflict.left_to_the_judge import leave_to_the_judge
from memory.conflict.supersede import locked, settle
from memory.declared import must_not_overrule
from memory.models import Door, Lifecycle, Link, LinkType, Memory
from memory.parts import must_have_no_secret
from memory.reading import existing, must_be_as_seen, told
from memory.wire import in_sight
from tenants.audit import record
from tenants.caller import Caller, Rank, Role, Scope
from tenants.ids import Prefix, wire_id_or_none
from tenants.once import Answer, writing_as
from tenants.refusals import Invalid, NotAllowed, Refusal


class AlreadyRetired(Refusal):
    code = "already_retired"
    title = "Retired already"


class AlreadyLive(Refusal):
    code = "already_live"
    title = "Live already"


def forget(caller: Caller, *, memory_id: UUID, reason: str, if_match: int | None = None) -> Answer:
    """
    Take a memory out of use, with the reason; it can be restored.

    :raises NotAllowed: if the caller may see it and not retire it
    :raises ProvisionalWriter: for a watcher, unless it is a capture
    :raises AlreadyRetired: if it is not live any more
    :raises StaleVersion: if it is not at the version `if_match`
    """
    return _retire(caller, memory_id, Door.FORGOTTEN, "forget", reason, if_match=if_match)


def close_loop(
    caller: Caller, *, memory_id: UUID, note: str = "", if_match: int | None = None
) -> Answer:
    """
    Close a task or an open question that is done; restoring reopens it.

    :raises Invalid: if it is neither
    :raises NotAllowed: if the caller may see it and not retire it
    :raises ProvisionalWriter: for a watcher, unless it is a capture
    :raises AlreadyRetired: if it is closed already
    :raises StaleVersion: if it is not at the version `if_match`
    """
    return _retire(caller, memory_id, Door.CLOSED, "close_loop", note, if_match=if_match)


def _retire(
    caller: Caller,
    memory_id: UUID,
    door: Door,
    command: str,
    reason: str,
    *,
    if_match: int | None,
) -> Answer:
    must_have_no_secret([("note" if door == Door.CLOSED else "reason", reason)])
    caller = _as_far_as_possible(caller)
    with writing_as(caller) as keep:
        memory = existing(memory_id)
        if door == Door.CLOSED and not memory.is_loop:
            raise Invalid.field(
                "memory_id", f"a {memory.kind} is no loop; only a task or open_question is"
            )
        must_be_replaceable(caller, memory)
        must_not_overrule(caller, memory)
        memory = _locked(memory)
        if memory.invalidated_at is not None:
            raise AlreadyRetired(f"It is not live any more: {memory.invalidated_reason}.")
        must_be_as_seen(memory, if_match)
        Memory.objects.filter(id=memory.id).update(
            invalidated_at=Now(), invalidated_reason=door, version=F("version") + 1
        )
        record(
            command,
            "memory",
            memory.id,
            memory_id=memory.id,
            reason=reason,
            before={"lifecycle": Lifecycle.LIVE},
            after={"lifecycle": Lifecycle.RETIRED, "invalidated_reason": door},
        )
        return keep(told(memory.id))


def restore_memory(
    caller: Caller, *, memory_id: UUID, reason: str = "", if_match: int | None = None
) -> Answer:
    """
    Bring a retired memory back, by whichever door it went.

    The answer names the successor that is live beside it. The pair is settled from then on.

    :raises NotAllowed: if the caller may see it and not restore it
    :raises ProvisionalWriter: for a watcher, unless it is a capture
    :raises AlreadyLive: if it is live
    :raises StaleVersion: if it is not at the version `if_match`
    """
    must_have_no_secret([("reason", reason)])
    caller = _as_far_as_possible(caller)
    with writing_as(caller) as keep:
        memory = existing(memory_id)
        if memory.invalidated_at is None:
            raise AlreadyLive("It was not retired; there is nothing to restore.")
        must_be_restorable(caller, memory)
        must_not_overrule(caller, memory)
        door, memory = memory.invalidated_reason, _locked(memory)
        if memory.invalidated_at is None:
            raise AlreadyLive("Somebody restored it meanwhile.")
        if memory.invalidated_reason != door:
            # Restored meanwhile, and taken away by another door, which others may open.
            must_be_restorable(caller, memory)
        must_be_as_seen(memory, if_match)
        successor = _bring_back(caller, memory, reason)
        return keep(
            {"memory": told(memory.id), "successor": wire_id_or_none(Prefix.MEMORY, successor)}
        )


def _bring_back(caller: Caller, memory: Memory, reason: str) -> UUID | None:
    successors = _successors(memory)
    seen = in_sight(one.id for one in successors)
    # Before it is back: what waited about it waits again then, apart from what is settled.
    settle(memory.id, seen, "restored")
    by_person = {"restored_by_person_at": Now()} if caller.rank == Rank.HUMAN else {}
    Memory.objects.filter(id=memory.id).update(
        invalidated_at=None,
        invalidated_reason=None,
        superseded_by=None,
        superseded_at=None,
        supersede_reason=None,
        version=F("version") + 1,
        **by_person,
    )
    Link.objects.filter(dst=memory.id, type=LinkType.SUPERSEDES, removed_at=None).update(
        removed_at=Now()
    )
    # What was written while it was away was not compared with it.
    leave_to_the_judge(memory, again="restored")
    record(
        "restore_memory",
        "memory",
        memory.id,
        memory_id=memory.id,
        reason=reason,
        before={
            "lifecycle": memory.lifecycle,
            "invalidated_reason": memory.invalidated_reason,
            "supersede_reason": memory.supersede_reason,
            "superseded_by": wire_id_or_none(Prefix.MEMORY, memory.superseded_by_id),
        },
        after={"lifecycle": Lifecycle.LIVE},
    )
    return next(
        (one.id for one in successors if one.invalidated_at is None and one.id in seen), None
    )


def _successors(memory: Memory) -> list[Memory]:
    """Return those who came after, as far as they are in sight: the next one first."""
    chain: list[Memory] = []
    following = memory.superseded_by_id
    while following is not None and all(one.id != following for one in chain):
        successor = Memory.objects.filter(id=following).first()
        if successor is None:
            break
        chain.append(successor)
        following = successor.superseded_by_id
    return chain


def _locked(memory: Memory) -> Memory:
    found = locked([memory.id]).get(memory.id)
    if found is None:
        # Visible, judged changeable, and yet not to be locked: the permission has just gone.
        raise NotAllowed("You may not change it any more.")
    return found


def _as_far_as_possible(caller: Caller) -> Caller:
    """Return the caller with a reviewer's reach, if their token is for reviewing."""
    if Scope.REVIEW in caller.scopes and not caller.is_agent:
        return caller.as_role(Role.REVIEWER)
    return caller
