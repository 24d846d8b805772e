"""Writes that say what is known already: exact repeats, captures of it, restatements."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
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

ABSORB = "absorb"  # the command of its event
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
    since: datetime | None = None,
    until: datetime | None = None,
) -> Memory | None:
    """
    Return the live memory of the same text, owner, place and kind; of the highest rank.

    What states another value of a subject that has one is not repeated by it, whatever the text,
    nor is what says that it holds earlier or longer: that would be lost. A watcher only suggests
    values to what is no capture, and contradicts nothing by that.

    :param said: what is stated beside the text
    :param by: whoever says it
    :param since: from when on it is said to hold, if not from now on
    :param until: till when, if it is said to end
    """
    same = Memory.objects.filter(
        Q(valid_from__isnull=True) | Q(valid_from__lte=since or Now()),
        Q(valid_until__isnull=True) | Q(valid_until__gt=Now()) & _lasts(until),
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


def _lasts(until: datetime | None) -> Q:
    """Return whether what has an end does not end before then; one set by a plan counts not."""
    planned = Q(ends_with__isnull=False)
    return planned if until is None else planned | Q(valid_until__gte=until)


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


class Restated(NamedTuple):
    """
    The other versions of nearly the same words.

    :param earlier: those that were said before; nothing specific of them is lost
    :param later: the last that was said since, if there is one that loses nothing specific
    """

    earlier: list[Memory]
    later: Memory | None


def what_is_restated(
    neighbours: Sequence[Near],
    caller: Caller,
    *,
    content: str,
    kind: str,
    place: Place,
    session: str | None,
    asserted_at: datetime | None = None,
) -> Restated:
    """
    Return the caller's own versions of nearly the same words, from the same session.

    No session is no session, equal to none. What is protected, or was restored by a person, stays.

    :param asserted_at: when it was said, if it was brought in; else it is said now
    """
    if session is None or caller.rank < Rank.DELIBERATE or kind in PROTECTED_KINDS:
        return Restated([], None)
    bar = current().bars.collapse
    versions = [
        near.memory
        for near in neighbours
        if near.similarity >= bar
        and near.memory.session == session
        and _has_the_same_author(near.memory, caller.agent_id)
        and near.memory.provenance_rank >= Rank.DELIBERATE
        and Place.of(near.memory) == place
        and not near.memory.is_protected
        and not differ(content, near.memory.content)
    ]
    # Of one moment, that counts as said later which is written later.
    later = [one for one in versions if asserted_at is not None and one.said_at > asserted_at]
    return Restated(
        [
            one
            for one in versions
            if one not in later
            and one.restored_by_person_at is None
            and not missing(of=one.content, within=content)
        ],
        max(
            (one for one in later if not missing(of=content, within=one.content)),
            key=lambda one: (one.said_at, one.sequence),
            default=None,
        ),
    )


def _has_the_same_author(memory: Memory, agent_id: UUID | None) -> bool:
    # The neighbours are the member's own already; a session is its principal's.
    return memory.author_agent_id == agent_id
