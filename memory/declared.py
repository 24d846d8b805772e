"""A declared supersede: what a writer says that the new memory replaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import connection

from memory.authority import may_replace
from memory.conflict.circles import those_above
from memory.models import Memory
from memory.place import Place
from memory.wire import with_authors
from tenants.caller import Caller, Rank
from tenants.ids import Prefix, wire_id
from tenants.refusals import NotAllowed


class ProvisionalWriter(NotAllowed):
    code = "provisional_writer"
    title = "A provisional writer overrules nothing"


class TargetNotVisible(NotAllowed):
    code = "supersede_target_not_visible"
    title = "You may not see what you want to replace"


class Why(StrEnum):
    """Why a declared target was left as it is."""

    MISSING = "missing"
    DEAD = "dead"
    SELF = "self"
    AUTHORITY = "insufficient_authority"
    AUDIENCE = "narrower_audience"
    CYCLE = "cycle"


@dataclass(frozen=True)
class Skipped:
    """A declared target that was left as it is."""

    id: UUID
    why: Why

    def wire(self) -> dict[str, str]:
        return {"id": wire_id(Prefix.MEMORY, self.id), "reason": self.why.value}


@dataclass(frozen=True)
class Declared:
    """The targets that may be retired, as they were before they were locked, and the others."""

    takes: tuple[Memory, ...]
    skipped: tuple[Skipped, ...]


def must_not_be_provisional(caller: Caller, targets: Sequence[UUID]) -> None:
    """
    Refuse a declaration by a writer whose writes are provisional.

    :raises ProvisionalWriter: if there are targets
    """
    if targets and caller.rank == Rank.PROVISIONAL:
        raise ProvisionalWriter(
            "What a watcher captures is provisional and replaces nothing; "
            "leave out the supersedes links."
        )


def would_overrule(caller: Caller, memory: Memory) -> bool:
    """Return whether a watcher is about to change what is no capture, or not any more."""
    is_capture = memory.provenance_rank == Rank.PROVISIONAL and memory.accepted_at is None
    return caller.rank == Rank.PROVISIONAL and not is_capture


def must_not_overrule(caller: Caller, memory: Memory) -> None:
    """
    Refuse a watcher to change what somebody stands for: it would be so on nobody's word.

    :raises ProvisionalWriter: if it would
    """
    if would_overrule(caller, memory):
        raise ProvisionalWriter(
            "A watcher changes, takes back and restores captures alone, until they are accepted. "
            "It may challenge the rest, and verify it with what it saw."
        )


def weigh_declared(caller: Caller, targets: Sequence[UUID], place: Place) -> Declared:
    """
    Return which targets a memory at this place may retire for the caller, and why not the others.

    :raises TargetNotVisible: if the tenant holds one that the caller may not see
    """
    if not targets:
        return Declared((), ())
    seen = {memory.id: memory for memory in with_authors(Memory.objects.filter(id__in=targets))}
    hidden = [target for target in targets if target not in seen]
    if hidden and _held_by_the_tenant(hidden):
        raise TargetNotVisible(
            "At least one target is not yours to see. Nothing was stored or changed."
        )
    takes, skipped = [], []
    for target in targets:
        why = _why_not(caller, seen.get(target), place)
        if why is None:
            takes.append(seen[target])
        else:
            skipped.append(Skipped(target, why))
    return Declared(tuple(takes), tuple(skipped))


def weigh_again(
    targets: Sequence[Memory], live: Mapping[UUID, Memory], place: Place, absorbing: Memory | None
) -> Declared:
    """
    Return which targets still may be retired, now that those that are live are locked.

    :param absorbing: the memory that says already what was to be written, and so succeeds them
    """
    above = those_above(absorbing.id) if absorbing is not None and targets else frozenset()
    takes, skipped = [], []
    for target in targets:
        now = live.get(target.id)
        if absorbing is not None and target.id == absorbing.id:
            skipped.append(Skipped(target.id, Why.SELF))
        elif now is None:
            skipped.append(Skipped(target.id, Why.DEAD))
        elif not place.is_read_by_all_who_read(Place.of(now)):
            skipped.append(Skipped(target.id, Why.AUDIENCE))
        elif target.id in above:
            skipped.append(Skipped(target.id, Why.CYCLE))
        else:
            takes.append(now)
    return Declared(tuple(takes), tuple(skipped))


def _why_not(caller: Caller, target: Memory | None, place: Place) -> Why | None:
    if target is None:
        return Why.MISSING
    if target.invalidated_at is not None:
        return Why.DEAD
    if not may_replace(caller, target):
        return Why.AUTHORITY
    if not place.is_read_by_all_who_read(Place.of(target)):
        return Why.AUDIENCE
    return None


def _held_by_the_tenant(ids: Sequence[UUID]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT held_by_the_tenant(%s)", [list(ids)])
        (held,) = cursor.fetchone()
    return bool(held)
