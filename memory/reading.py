"""One memory in full, and the feed of all that are in sight."""

from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from memory.chain import chain_wire
from memory.conflict.disputes import disputed_in_database
from memory.finding.words import tsquery
from memory.models import Lifecycle, Memory
from memory.place import project_in_sight
from memory.trust.state import in_state
from memory.wire import memory_wires, with_authors
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.once import Answer
from tenants.paging import PAGE, page
from tenants.refusals import NotFound, StaleVersion

EVERY_LIFECYCLE = ("current", "live", "superseded", "retired", "expired", "all")


def existing(memory_id: UUID) -> Memory:
    """
    Return the memory, as far as it exists for whoever's door is open.

    :raises NotFound: if it is missing or hidden, which cannot be told apart
    """
    found = with_authors(Memory.objects.filter(id=memory_id)).first()
    if found is None:
        raise NotFound
    return found


def must_be_as_seen(memory: Memory, version: int | None) -> None:
    """
    Refuse a change by who has seen another version of the memory than this one, which is locked.

    :param version: that the caller saw, if they say
    :raises StaleVersion: if it has changed since
    """
    if version is not None and version != memory.version:
        raise StaleVersion(
            f"It is at version {memory.version}, and you saw {version}. Read it again first."
        )


def told(memory_id: UUID) -> Answer:
    """Return the memory as it is told outside."""
    (wire,) = memory_wires([existing(memory_id)])
    return wire


def get_memory(caller: Caller, *, memory_id: UUID) -> Answer:
    """
    Tell a memory with all that belongs to it: provenance, components, links, its chain.

    :raises NotFound: if there is none for the caller
    """
    with acting_as(caller):
        return told(memory_id) | {"chain": chain_wire(memory_id)}


def list_memories(
    caller: Caller,
    *,
    lifecycle: str = "current",
    project: str | None = None,
    kind: str | None = None,
    visibility: str | None = None,
    trust_state: str | None = None,
    tag: str | None = None,
    q: str | None = None,
    disputed: bool | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> Answer:
    """
    List what is in sight, newest first, with the number in each lifecycle.

    `current` hides superseded versions and still shows what was retired without a successor.
    """
    with acting_as(caller):
        wanted = Memory.objects.all()
        if project is not None:
            wanted = wanted.filter(project=project_in_sight(caller, project).id)
        if kind is not None:
            wanted = wanted.filter(kind=kind)
        if visibility is not None:
            wanted = wanted.filter(visibility=visibility)
        if trust_state is not None:
            wanted = wanted.filter(in_state(trust_state, timezone.now()))
        if tag is not None:
            wanted = wanted.filter(tags__contains=[tag])
        if q is not None:
            wanted = _worded(wanted, q)
        if disputed is not None:
            open_dispute = Q(disputed_in_database())
            wanted = wanted.filter(open_dispute if disputed else ~open_dispute)
        counts = lifecycle_counts(wanted)
        shown = page(
            with_authors(wanted.filter(in_lifecycle(lifecycle))),
            of="memories",
            cursor=cursor,
            limit=limit,
            by=("-sequence",),
        )
        return shown.wire(memory_wires(shown.rows)) | {"counts": counts}


def _worded(wanted: QuerySet[Memory], q: str) -> QuerySet[Memory]:
    query = tsquery(q)
    if not query:
        return wanted.none()
    return wanted.extra(where=["words @@ %s::tsquery"], params=[query])


def in_lifecycle(lifecycle: str) -> Q:
    """Return the condition of a choice of the feed."""
    now = timezone.now()
    expired = Q(lifecycle=Lifecycle.LIVE, valid_until__isnull=False, valid_until__lte=now)
    unexpired = Q(valid_until__isnull=True) | Q(valid_until__gt=now)
    conditions: dict[str, Q] = {
        "current": ~Q(lifecycle=Lifecycle.SUPERSEDED),
        "live": Q(lifecycle=Lifecycle.LIVE) & unexpired,
        "superseded": Q(lifecycle=Lifecycle.SUPERSEDED),
        "retired": Q(lifecycle=Lifecycle.RETIRED),
        "expired": expired,
        "all": Q(),
    }
    return conditions[lifecycle]


def lifecycle_counts(wanted: QuerySet[Memory]) -> dict[str, int]:
    """Return how many of the memories each choice of the feed would show."""
    counts: dict[str, Any] = wanted.aggregate(
        **{
            name: Count("id", filter=in_lifecycle(name))
            for name in EVERY_LIFECYCLE
            if name != "all"
        },
        all=Count("id"),
    )
    return counts
