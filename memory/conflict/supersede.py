"""The one way into superseded, whoever decides and why."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from memory.models import (
    Door,
    Lifecycle,
    Link,
    LinkType,
    Memory,
    SettledPair,
    SupersedeReason,
)
from tenants.audit import record
from tenants.context import whose_door
from tenants.ids import Prefix, new_id, wire_id


def locked(ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """
    Lock the memories for a change and return them as they are now.

    Always in the order of their ids, so that two writes never wait for each other. What the caller
    may not change is left out.
    """
    found = Memory.objects.filter(id__in=set(ids)).order_by("id").select_for_update(of=("self",))
    return {memory.id: memory for memory in found}


def supersede(
    losers: Sequence[Memory], winner: Memory, reason: SupersedeReason, *, why: str = ""
) -> list[UUID]:
    """
    Retire the losers with the winner as their successor, and return the ids of those retired.

    The losers are locked, and the winner is live. Nothing of a loser is lost: its text, its links
    and its history stay, and restoring undoes it.

    :param why: what the caller said about it, for the history
    """
    wanted = [loser.id for loser in losers if loser.id != winner.id]
    if not wanted:
        return []
    # Compare and set: whoever was retired since is left alone.
    retired = list(
        Memory.objects.filter(id__in=wanted, invalidated_at__isnull=True).values_list("id", flat=True)
    )
    Memory.objects.filter(id__in=retired, invalidated_at__isnull=True).update(
        invalidated_at=Now(),
        invalidated_reason=Door.SUPERSEDED,
        superseded_by=winner.id,
        superseded_at=Now(),
        supersede_reason=reason,
        version=F("version") + 1,
    )
    draw_links(winner.id, retired, LinkType.SUPERSEDES)
    settle(winner.id, retired, reason)
    for loser_id in retired:
        record(
            "supersede",
            "memory",
            loser_id,
            memory_id=loser_id,
            reason=why,
            before={"lifecycle": Lifecycle.LIVE},
            after={
                "lifecycle": Lifecycle.SUPERSEDED,
                "superseded_by": wire_id(Prefix.MEMORY, winner.id),
                "supersede_reason": reason,
            },
        )
    return retired


def draw_links(src: UUID, targets: Iterable[UUID], link_type: str) -> None:
    """Draw links of one type from a memory, where there are none yet."""
    tenant_id = whose_door().tenant_id
    targets = list(targets)
    drawn = set(
        Link.objects.filter(src=src, dst__in=targets, type=link_type, removed_at=None).values_list(
            "dst_id", flat=True
        )
    )
    Link.objects.bulk_create(
        Link(id=new_id(), tenant_id=tenant_id, src_id=src, dst_id=dst, type=link_type)
        for dst in targets
        if dst not in drawn
    )


def settle(one: UUID, others: Iterable[UUID], why: str) -> None:
    """Note that it is decided between a memory and others: no automation touches the pairs again."""
    tenant_id = whose_door().tenant_id
    pairs = [(min(one, other), max(one, other)) for other in others]
    known = set(
        SettledPair.objects.filter(
            low__in=[low for low, _ in pairs], high__in=[high for _, high in pairs]
        ).values_list("low_id", "high_id")
    )
    SettledPair.objects.bulk_create(
        SettledPair(id=new_id(), tenant_id=tenant_id, low_id=low, high_id=high, why=why)
        for low, high in pairs
        if (low, high) not in known
    )
