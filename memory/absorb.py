"""Writes that say what is known already: exact repeats, captures of it, restatements."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from memory.conflict.detect import several_valued
from memory.declared import would_overrule
from memory.finding.embedding import current
from memory.finding.similar import Near
from memory.models import PROTECTED_KINDS, Component, Memory
from memory.parts import Statement
from memory.place import Place
from memory.specifics import differ, missing
from memory.values import same_value
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


def what_repeats(
    place: Place,
    kind: str,
    text_key: bytes,
    *,
    said: Sequence[Statement] = (),
    by: Caller | None = None,
) -> Memory | None:
    """
    Return the live memory of the same text, owner, place and kind; of the highest rank.

    What states another value of a subject that has one is not repeated by it, whatever the text.
    A watcher only suggests values to what is no capture, and contradicts nothing by that.

    :param said: what is stated beside the text
    :param by: whoever says it
    """
    same = Memory.objects.filter(
        Q(valid_until__isnull=True) | Q(valid_until__gt=Now()),
        owner=place.owner_id,
        text_key=text_key,
        kind=kind,
        visibility=place.visibility,
        project=place.project_id,
        invalidated_at=None,
    )
    ranked = with_authors(same).order_by("-provenance_rank", "sequence")
    if not said:
        return ranked.first()
    found = list(ranked)
    counted = [one.id for one in found if by is None or not would_overrule(by, one)]
    gainsaid = _gainsaid(counted, said)
    return next((one for one in found if one.id not in gainsaid), None)


def _gainsaid(ids: Sequence[UUID], said: Sequence[Statement]) -> set[UUID]:
    """Return the memories that state another value than this of a subject that has one."""
    values: dict[str, list[str]] = {}
    for one in said:
        if one.value is not None and not one.multi:
            values.setdefault(one.subject, []).append(one.value)
    if not ids or not values:
        return set()
    stated = Component.objects.filter(
        memory__in=ids, subject__in=values, suggested=False, dismissed_at=None, multi=False
    ).exclude(value=None)
    others = [
        one
        for one in stated
        if not any(same_value(one.value or "", value) for value in values[one.subject])
    ]
    several = several_valued({one.memory_id for one in others}) if others else {}
    return {one.memory_id for one in others if one.subject not in several[one.memory_id]}


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
