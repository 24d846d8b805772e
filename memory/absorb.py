"""Writes that say what is known already: exact repeats, captures of it, restatements."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from memory.finding.embedding import current
from memory.finding.similar import Near
from memory.models import PROTECTED_KINDS, Memory
from memory.place import Place
from memory.specifics import differ, missing
from memory.wire import with_authors
from tenants.caller import Caller, Rank

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def wait_for_the_same_text(caller: Caller, place: Place, kind: str, text_key: bytes) -> None:
    """Let writes of the same text by the same owner in the same place come one after the other."""
    name = ":".join(
        map(
            str,
            (
                caller.tenant_id,
                place.owner_id,
                place.project_id,
                place.visibility,
                kind,
                text_key.hex(),
            ),
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [name])


def what_repeats(place: Place, kind: str, text_key: bytes) -> Memory | None:
    """Return the live memory of the same text, owner, place and kind; of the highest rank."""
    same = Memory.objects.filter(
        Q(valid_until__isnull=True) | Q(valid_until__gt=Now()),
        owner=place.owner_id,
        text_key=text_key,
        kind=kind,
        visibility=place.visibility,
        project=place.project_id,
        invalidated_at=None,
    )
    return with_authors(same).order_by("-provenance_rank", "sequence").first()


def what_covers(neighbours: Sequence[Near], content: str, place: Place) -> Memory | None:
    """
    Return the authoritative memory that says all that a provisional text says, if there is one.

    Likeness alone is not enough: nothing specific may be lost.
    """
    bar = current().bars.coverage
    for near in neighbours:
        memory = near.memory
        if (
            near.similarity >= bar
            and memory.provenance_rank >= Rank.DELIBERATE
            and Place.of(memory) == place
            and not differ(content, memory.content)
            and not missing(of=content, within=memory.content)
        ):
            return memory
    return None


def what_is_restated(
    neighbours: Sequence[Near],
    caller: Caller,
    *,
    content: str,
    kind: str,
    place: Place,
    session: str | None,
) -> list[Memory]:
    """
    Return the caller's own earlier versions of nearly the same words, from the same session.

    No session is no session, equal to none. What is protected, or was restored by a person, stays.
    """
    if session is None or caller.rank < Rank.DELIBERATE or kind in PROTECTED_KINDS:
        return []
    bar = current().bars.collapse
    return [
        near.memory
        for near in neighbours
        if near.similarity >= bar
        and near.memory.session == session
        and _has_the_same_author(near.memory, caller.agent_id)
        and near.memory.provenance_rank >= Rank.DELIBERATE
        and Place.of(near.memory) == place
        and not near.memory.is_protected
        and near.memory.restored_by_person_at is None
        and not differ(content, near.memory.content)
        and not missing(of=near.memory.content, within=content)
    ]


def _has_the_same_author(memory: Memory, agent_id: UUID | None) -> bool:
    # The neighbours are the member's own already; a session is its principal's.
    return memory.author_agent_id == agent_id
