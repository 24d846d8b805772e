"""The one way into superseded, whoever decides and why."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, F, Func, UUIDField, Value, When
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
from tenants.audit import Told, record, record_all
from tenants.context import whose_door
from tenants.ids import Prefix, moment, new_id, wire_id, wire_id_or_none

LET_IT_END = "let_it_end"  # the command of its event


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


@dataclass(frozen=True)
class Replacement:
    """
    A memory that goes, and what takes its place.

    :param loser: as it came from `locked`
    :param why: what was said about it, for the history
    """

    loser: Memory
    winner_id: UUID
    why: str = ""


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
    return supersede_each([Replacement(loser, winner.id, why) for loser in losers], reason)


def supersede_each(
    replacements: Sequence[Replacement],
    reason: SupersedeReason,
    *,
    at: Func | None = None,
    batch_id: UUID | None = None,
) -> list[UUID]:
    """
    Retire several memories, each with its own successor, in as many statements as one.

    :param at: the time that is kept, if not that of the statement
    :param batch_id: what draws the links, if it is to be undone as a whole
    :raises RuntimeError: if a loser is not as it was when it was locked
    """
    going = {
        one.loser.id: one
        for one in replacements
        if one.loser.id != one.winner_id and one.loser.invalidated_at is None
    }
    if not going:
        return []
    changed = Memory.objects.filter(id__in=going, invalidated_at__isnull=True).update(
        invalidated_at=at or Now(),
        invalidated_reason=Door.SUPERSEDED,
        superseded_by=_successors(going.values()),
        superseded_at=at or Now(),
        supersede_reason=reason,
        version=F("version") + 1,
    )
    if changed != len(going):
        raise RuntimeError("a memory changed that was to be locked")
    pairs = [(one.winner_id, one.loser.id) for one in going.values()]
    draw_all(pairs, LinkType.SUPERSEDES, batch_id=batch_id)
    settle_all(pairs, reason, at=at)
    record_all("supersede", "memory", [_told(one, reason) for one in going.values()])
    return list(going)


def let_it_end(
    memory: Memory, successor: Memory, *, why: str, batch_id: UUID | None = None
) -> None:
    """
    Have a memory hold no longer than until its successor begins, and say so. Inside the door.

    It stays live till then, and what it says of its own end stays: nobody is brought to an end
    twice. The database takes it back if the successor goes before it has begun.

    :param successor: it begins in time to come
    :param why: what was said about it, for the history
    :param batch_id: the sweep that has found it, so that undoing that takes the end back
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT let_it_end(%s, %s)", [memory.id, successor.id])
        (ends,) = cursor.fetchone()
    if ends:
        record(
            LET_IT_END,
            "memory",
            memory.id,
            memory_id=memory.id,
            reason=why,
            before={"valid_until": moment(memory.valid_until)},
            after={
                "valid_until": moment(successor.valid_from),
                "ends_with": wire_id(Prefix.MEMORY, successor.id),
                "batch": wire_id_or_none(Prefix.BATCH, batch_id),
            },
        )


def _successors(replacements: Collection[Replacement]) -> Any:
    """Return what the successor of each is, as a value for all or one for each."""
    winners = {one.winner_id for one in replacements}
    if len(winners) == 1:
        return winners.pop()
    return Case(
        *(When(id=one.loser.id, then=Value(one.winner_id)) for one in replacements),
        output_field=UUIDField(),
    )


def _told(one: Replacement, reason: SupersedeReason) -> Told:
    return Told(
        one.loser.id,
        one.loser.id,
        one.why,
        before={"lifecycle": Lifecycle.LIVE},
        after={
            "lifecycle": Lifecycle.SUPERSEDED,
            "superseded_by": wire_id(Prefix.MEMORY, one.winner_id),
            "supersede_reason": reason,
        },
    )


def draw_links(
    src: UUID, targets: Iterable[UUID], link_type: str, *, batch_id: UUID | None = None
) -> None:
    """Draw links of one type from a memory, where there are none yet."""
    draw_all([(src, dst) for dst in targets], link_type, batch_id=batch_id)


def draw_all(
    pairs: Iterable[tuple[UUID, UUID]], link_type: str, *, batch_id: UUID | None = None
) -> None:
    """
    Draw a link of one type from the first to the second of each pair, where there is none yet.

    :param batch_id: the sweep or resolution that draws them, so that undoing it takes them away
    """
    tenant_id = whose_door().tenant_id
    Link.objects.bulk_create(
        (
            Link(
                id=new_id(),
                tenant_id=tenant_id,
                src_id=src,
                dst_id=dst,
                type=link_type,
                batch_id=batch_id,
            )
            for src, dst in pairs
        ),
        ignore_conflicts=True,
    )


def settle(one: UUID, others: Iterable[UUID], why: str) -> None:
    """Note that it is decided between a memory and others: no automation touches them again."""
    settle_all([(one, other) for other in others], why)


def settle_all(pairs: Iterable[tuple[UUID, UUID]], why: str, *, at: Func | None = None) -> None:
    """Note of each pair that it is decided between the two."""
    tenant_id = whose_door().tenant_id
    SettledPair.objects.bulk_create(
        (
            SettledPair(
                id=new_id(),
                tenant_id=tenant_id,
                low_id=min(pair),
                high_id=max(pair),
                why=why,
                settled_at=at or Now(),
            )
            for pair in pairs
        ),
        ignore_conflicts=True,
    )
