"""Taking everything back that one author wrote in some time, and what it did to others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.lifecycle import forget, restore_memory
from memory.models import Memory
from tenants.caller import Caller, Scope
from tenants.founding import OWNER
from tenants.ids import new_id
from tenants.models import Agent, Event, Member, Tenant
from tenants.once import Answer
from tenants.refusals import Refusal
from tenants.terminal import caller_of


@dataclass(frozen=True)
class Quarantined:
    """
    What came of it.

    :param retired: what the author wrote and is out of use now
    :param restored: what had been superseded by any of that and is live again
    :param left: what could be neither: whose it is has left, or may not, or it was done already
    """

    retired: list[UUID]
    restored: list[UUID]
    left: list[UUID]


def written_by(
    author: Member | Agent, since: datetime, until: datetime | None = None
) -> list[Memory]:
    """Return what somebody wrote in a time, in its order. Needs the owner's login."""
    found = Memory.objects.using(OWNER).filter(created_at__gte=since)
    if until is not None:
        found = found.filter(created_at__lte=until)
    if isinstance(author, Agent):
        found = found.filter(author_agent=author.id)
    else:
        found = found.filter(owner=author.id, author_agent=None)
    return list(found.filter(tenant=author.tenant_id).order_by("sequence"))


def quarantine(tenant: Tenant, memories: Sequence[Memory], reason: str) -> Quarantined:
    """
    Take the memories out of use, and bring back what any of them had superseded.

    Each in the name of the member whose it is, so it is told in its history like any other
    retirement, and can be undone like one. Needs the owner's login.
    """
    ids = [memory.id for memory in memories]
    live = [memory for memory in memories if memory.invalidated_at is None]
    lost = Memory.objects.using(OWNER).filter(tenant=tenant.id, superseded_by__in=ids)
    losers = list(lost.exclude(id__in=ids).order_by("sequence"))
    found = Quarantined([], [], [])
    for memory in live:
        caller = _owner_of(memory)
        done = caller is not None and _is_done(forget, caller, memory, reason)
        (found.retired if done else found.left).append(memory.id)
    for memory in losers:
        caller = _owner_of(memory)
        done = caller is not None and _is_done(restore_memory, caller, memory, reason)
        (found.restored if done else found.left).append(memory.id)
    Event.objects.using(OWNER).create(
        id=new_id(),
        tenant_id=tenant.id,
        command="quarantine",
        object_type="tenant",
        object_id=tenant.id,
        request_id="",
        reason=reason,
        after={
            "retired": len(found.retired),
            "restored": len(found.restored),
            "left": len(found.left),
        },
    )
    return found


def _owner_of(memory: Memory) -> Caller | None:
    """Return the member whose memory it is, as a caller; nobody if they have left."""
    member = Member.objects.using(OWNER).filter(id=memory.owner_id, active=True).first()
    if member is None:
        return None
    scopes = frozenset({Scope.READ, Scope.WRITE})
    return caller_of(member, scopes=scopes, request_id="quarantine")


def _is_done(operation: Callable[..., Answer], caller: Caller, memory: Memory, reason: str) -> bool:
    """Do it, and return whether it was still to be done and the owner may."""
    try:
        operation(caller, memory_id=memory.id, reason=reason)
    except Refusal:
        return False
    return True
