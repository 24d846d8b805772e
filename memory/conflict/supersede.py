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
from tenants.audit import record_of_each
from tenants.context import whose_door
from tenants.ids import Prefix, new_id, wire_id


def locked(ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """
    Lock the memories for a change and return them as they are now.

    Always in the order of their ids, so that two writes never wait for each other. What the caller
    may not change is left out.
    """
    # Not the key: whoever draws a link to a locked memory need not wait, or could wait in a circle.
    found = (
        Memory.objects.filter(id__in=set(ids))
        .order_by("id")
        .select_for_update(of=("self",), no_key=True)
    )
    return {memory.id: memory for memory in found}


def supersede(
    losers: Sequence[Memory], winner: Memory, reason: SupersedeReason, *, why: str = ""
) -> list[UUID]:
    """
    Retire the losers with the winner as their successor, and return the ids of those retired.

    The losers come from `locked`, and the winner is live. Nothing of a loser is lost: its text, its
    links and its history stay, and restoring undoes it.

    :param why: what the caller said about it, for the history
    :raises RuntimeError: if a loser is not as it was when it was locked
    """
    retired = [
        loser.id for loser in losers if loser.id != winner.id and loser.invalidated_at is None
    ]
    if not retired:
        return []
    changed = Memory.objects.filter(id__in=retired, invalidated_at__isnull=True).update(
        invalidated_at=Now(),
        invalidated_reason=Door.SUPERSEDED,
        superseded_by=winner.id,
        superseded_at=Now(),
        supersede_reason=reason,
        version=F("version") + 1,
    )
    if changed != len(retired):
        raise RuntimeError("a memory changed that was to be locked")
    draw_links(winner.id, retired, LinkType.SUPERSEDES)
    settle(winner.id, retired, reason)
    record_of_each(
        "supersede",
        retired,
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
    Link.objects.bulk_create(
        (
            Link(id=new_id(), tenant_id=tenant_id, src_id=src, dst_id=dst, type=link_type)
            for dst in targets
        ),
        ignore_conflicts=True,
    )


def settle(one: UUID, others: Iterable[UUID], why: str) -> None:
    """Note that it is decided between a memory and others: no automation touches them again."""
    tenant_id = whose_door().tenant_id
    SettledPair.objects.bulk_create(
        (
            SettledPair(
                id=new_id(),
                tenant_id=tenant_id,
                low_id=min(one, other),
                high_id=max(one, other),
                why=why,
            )
            for other in others
        ),
        ignore_conflicts=True,
    )
