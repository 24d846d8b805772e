"""
What becomes of a draft: a memory of its own, or part of one that says it already.

And of what it meets: what it replaces is retired with it, what it may contradict is faced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory.absorb import (
    ABSORB,
    Restated,
    wait_for_the_same_text,
    what_covers,
    what_is_restated,
    what_repeats,
)
from memory.conflict.on_write import Faced, face, wait_for_the_same_subjects
from memory.conflict.record import challenged
from memory.conflict.said_again import give_way, supersede_what_is_said_again, taken_over
from memory.conflict.supersede import locked, settle, supersede
from memory.declared import Skipped, weigh_again, weigh_declared, would_overrule
from memory.draft import Draft, write_down
from memory.finding.embedding import Vector
from memory.finding.similar import Around, Near
from memory.models import Memory, SupersedeReason
from memory.parts import add_labels, must_be_linkable, must_say_one_value, state_parts
from memory.place import Place
from memory.store import store_embedding
from memory.text import same_text_key
from memory.trust.changes import take_in_changes
from memory.trust.corroboration import corroborate, repeats_among
from memory.trust.suggestions import suggest_components
from tenants.audit import record
from tenants.caller import Caller, Rank


@dataclass
class Outcome:
    """What became of a draft."""

    memory: Memory
    absorbed: bool
    superseded: list[UUID]
    skipped: list[Skipped]
    faced: Faced
    suggests: bool
    marked: list[UUID]


@dataclass(frozen=True)
class _Weighed:
    """
    What a draft says again or declares replaced, all of it locked.

    :param live: what of it is in use
    :param absorbing: the memory that says already what was to be written
    """

    live: Mapping[UUID, Memory]
    takes: tuple[Memory, ...]
    skipped: tuple[Skipped, ...]
    repeated: Memory | None
    restated: Restated
    absorbing: Memory | None


def take_in(
    caller: Caller, draft: Draft, place: Place, vector: Vector | None, found: Around | None
) -> Outcome:
    """
    Keep a draft, and do all that follows from it. Belongs inside a door.

    :param found: what lies near it; nothing while there is no vector
    :raises Invalid: if its parts contradict each other, or name what is not there
    :raises TargetNotVisible: if a declared target is hidden from the caller
    """
    text_key = same_text_key(draft.content)
    must_be_linkable(draft.parts)
    weighed = _weighed(caller, draft, place, text_key, found.own if found else [])
    is_new = weighed.absorbing is None
    if weighed.absorbing is None:
        memory = write_down(caller, draft, place, text_key)
        store_embedding(memory, vector)
        settle(memory.id, draft.settled_with, "settled where it comes from")
        _record("remember", memory, {"kind": memory.kind}, weighed.skipped)
    else:
        memory = weighed.absorbing
        _absorb(memory, draft, weighed.skipped, by_coverage=weighed.repeated is None)
    is_stated = _state(caller, memory, draft, is_new=is_new)
    suggests = is_new and not is_stated and suggest_components(memory) > 0
    superseded = supersede(weighed.takes, memory, SupersedeReason.DECLARED)
    in_reach = found.in_reach if found else None
    last, takes_over = memory, False
    if is_new:
        last, takes_over = _last_version(memory, weighed, superseded, in_reach or {})
    faced = face(
        last,
        in_reach if last is memory else {},
        gone=superseded,
        with_components=takes_over or (last is memory and (is_stated or suggests)),
        among_writers=found is not None and found.among_writers,
    )
    superseded += _beaten(last, faced)
    if is_new and last is memory:
        corroborate(memory, repeats_among(faced.candidates, text_key, place.owner_id))
    marked = take_in_changes(memory, draft.changes)
    skipped = list(weighed.skipped)
    return Outcome(memory, not is_new, superseded, skipped, faced, suggests, marked)


def _weighed(
    caller: Caller, draft: Draft, place: Place, text_key: bytes, neighbours: Sequence[Near]
) -> _Weighed:
    declared = weigh_declared(caller, draft.parts.declared, place)
    wait_for_the_same_text(caller, place, draft.kind, text_key)
    repeated = what_repeats(
        place,
        draft.kind,
        text_key,
        said=draft.parts.components,
        by=caller,
        since=draft.valid_from,
        until=draft.valid_until,
    )
    covering = (
        what_covers(neighbours, draft.content, place) if caller.rank == Rank.PROVISIONAL else None
    )
    restated = what_is_restated(
        [near for near in neighbours if near.memory.id not in draft.settled_with],
        caller,
        content=draft.content,
        kind=draft.kind,
        place=place,
        session=draft.session,
        asserted_at=draft.asserted_at,
    )
    wait_for_the_same_subjects(place.project_id, (one.subject for one in draft.parts.components))
    concerned = (*declared.takes, *restated.earlier, restated.later, repeated, covering)
    rows = locked(memory.id for memory in concerned if memory is not None)
    live = {one: row for one, row in rows.items() if row.invalidated_at is None}
    absorbing = _absorbing(caller, live, repeated, covering)
    still = weigh_again(declared.takes, live, place, absorbing)
    skipped = (*declared.skipped, *still.skipped)
    return _Weighed(live, still.takes, skipped, repeated, restated, absorbing)


def _absorbing(
    caller: Caller, live: Mapping[UUID, Memory], repeated: Memory | None, covering: Memory | None
) -> Memory | None:
    """Return the memory that takes the write in: a repeat of higher rank stands alone."""
    if repeated is not None and repeated.id in live:
        return live[repeated.id] if repeated.provenance_rank >= caller.rank else None
    return None if covering is None else live.get(covering.id)


def _state(caller: Caller, memory: Memory, draft: Draft, *, is_new: bool) -> bool:
    """Write down what the draft states, and return whether it states a component."""
    # A declared component is judged with certainty: a watcher's word is not enough for that.
    as_suggestions = would_overrule(caller, memory)
    state_parts(memory, draft.parts, is_new=is_new, as_suggestions=as_suggestions)
    must_say_one_value(memory, draft.parts)
    return bool(draft.parts.components)


def _last_version(
    memory: Memory, weighed: _Weighed, superseded: list[UUID], likeness: Mapping[UUID, float]
) -> tuple[Memory, bool]:
    """
    Retire what a new memory says again, or the memory itself for what was said since.

    :param superseded: what the write has superseded already; what goes now is added
    :returns: the version that is in use, and whether it states anything of a subject by that
    """
    outdone = _outdone(weighed, superseded)
    takes_over = taken_over(memory, outdone)
    supersede_what_is_said_again(memory, outdone, likeness)
    superseded += [one.id for one in outdone]
    later = _said_since(weighed, superseded)
    if later is None:
        return memory, takes_over
    # It is over, and has nothing to face; what it stated is stated by the later version now.
    return later, give_way(memory, later, likeness)


def _outdone(weighed: _Weighed, gone: Sequence[UUID]) -> list[Memory]:
    """Return what the new memory says again with more authority, or a little better."""
    live, repeated = weighed.live, weighed.repeated
    outdone = [live[memory.id] for memory in weighed.restated.earlier if memory.id in live]
    if repeated is not None and repeated.id in live and repeated.restored_by_person_at is None:
        outdone.append(live[repeated.id])
    distinct = {memory.id: memory for memory in outdone if memory.id not in gone}
    # What somebody challenges waits for a person, and nothing else takes it away.
    left = challenged(distinct) if distinct else frozenset()
    return [memory for memory in distinct.values() if memory.id not in left]


def _said_since(weighed: _Weighed, gone: Sequence[UUID]) -> Memory | None:
    """Return what the memory's own author has said since in nearly the same words."""
    later = weighed.restated.later
    is_live = later is not None and later.id in weighed.live and later.id not in gone
    if later is None or not is_live or challenged([later.id]):
        return None
    return weighed.live[later.id]


def _beaten(memory: Memory, faced: Faced) -> list[UUID]:
    """Return what a clash of values retired at once in the memory's favour."""
    return [
        one.memory_b_id
        for one in faced.conflicts
        if one.winner_id == memory.id and one.memory_b_id is not None
    ]


def _absorb(memory: Memory, draft: Draft, skipped: Sequence[Skipped], *, by_coverage: bool) -> None:
    add_labels(memory, draft.parts)
    memory.refresh_from_db(fields=["version"])
    _record(
        ABSORB,
        memory,
        {"absorbed_text": draft.content, "session": draft.session},
        skipped,
        reason="covered already" if by_coverage else "said already",
    )


def _record(
    command: str,
    memory: Memory,
    after: dict[str, Any],
    skipped: Sequence[Skipped],
    *,
    reason: str = "",
) -> None:
    if skipped:
        after = after | {"skipped": [one.wire() for one in skipped]}
    record(command, "memory", memory.id, memory_id=memory.id, reason=reason, after=after)
