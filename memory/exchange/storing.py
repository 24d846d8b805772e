"""
Storing what was read, so that it can be interrupted anywhere and done again.

What was brought in before, from the same place with the same text, is not stored again, whatever
became of it since.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory.authority import may_replace
from memory.conflict.policy import ConflictKind
from memory.conflict.signals import open_question
from memory.conflict.supersede import locked, supersede
from memory.exchange.drafts import Draft
from memory.lifecycle import AlreadyRetired, forget
from memory.link import link
from memory.models import Conflict, Lifecycle, Link, Memory, SupersedeReason
from memory.parts import Parts, state_parts
from memory.remember import remember
from memory.requests import RememberBody
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, read_id
from tenants.once import writing_as

NEW, SAME, KNOWN = "stored", "absorbed", "known"
WAS_IN_DOUBT = "It was in doubt when it was exported."


@dataclass(frozen=True)
class Goal:
    """Where an import goes."""

    project: str | None

    @property
    def place(self) -> dict[str, str]:
        """What `remember` is told of it."""
        return {"scope": "personal"} if self.project is None else {"project": self.project}


def known_already(caller: Caller, drafts: Sequence[Draft], goal: Goal) -> dict[str, UUID]:
    """Return what was brought in before by the caller, by the place of the draft."""
    wanted = {(one.source["uri"], one.source["hash"]): one.place for one in drafts}
    with acting_as(caller):
        rows = Memory.objects.filter(
            owner=caller.member_id,
            project=None if goal.project is None else read_id(Prefix.PROJECT, goal.project),
            source__hash__in=[digest for _, digest in wanted],
        ).values_list("id", "source")
        return {
            wanted[key]: memory_id
            for memory_id, source in rows
            if source and (key := (source.get("uri"), source.get("hash"))) in wanted
        }


def store(caller: Caller, draft: Draft, goal: Goal, known: Mapping[str, UUID]) -> tuple[UUID, str]:
    """
    Store one memory, and return its id and what became of it. Outside the door.

    :raises Refusal: if it is refused all the same: the file was checked, but the world moves on
    """
    if draft.place in known:
        return known[draft.place], KNOWN
    body = RememberBody(data={**draft.fields, "source": draft.source})
    body.is_valid(raise_exception=True)
    said: dict[str, Any] = dict(body.validated_data)
    if goal.project is None and said.get("visibility") == "project":
        said["visibility"] = "private"
    said |= goal.place
    answer = remember(caller, **said)
    memory_id = read_id(Prefix.MEMORY, answer["memory_id"])
    return memory_id, SAME if answer["absorbed"] else NEW


def tie(caller: Caller, drafts: Sequence[Draft], stored: Mapping[str, UUID]) -> None:
    """
    Draw what hangs between memories that were stored, and retire what was not in use any more.

    Outside the door. What is tied already stays as it is.
    """
    by_ref = {draft.ref: draft for draft in drafts if draft.ref is not None}
    for draft in drafts:
        memory_id = stored[draft.place]
        _depend(caller, memory_id, [stored[by_ref[one].place] for one in draft.depends_on])
        for kind, ref in draft.links:
            _link(caller, memory_id, stored[by_ref[ref].place], kind)
    for draft in _oldest_first(drafts, by_ref):
        if draft.successor is not None:
            _supersede(caller, stored[draft.place], stored[by_ref[draft.successor].place])
    for draft in drafts:
        if draft.retired is not None:
            _retire(caller, stored[draft.place], draft.retired)
        elif draft.in_doubt and draft.successor is None:
            _doubt(caller, stored[draft.place], draft)


def _oldest_first(drafts: Sequence[Draft], by_ref: Mapping[str, Draft]) -> list[Draft]:
    """Return the superseded ones so that each comes while its successor is still in use."""
    steps = {}
    for draft in drafts:
        length, after = 0, draft.successor
        while after is not None:
            length, after = length + 1, by_ref[after].successor
        steps[draft.place] = length
    return sorted(drafts, key=lambda draft: -steps[draft.place])


def _depend(caller: Caller, memory_id: UUID, others: Sequence[UUID]) -> None:
    if others:
        with writing_as(caller):
            memory = Memory.objects.get(id=memory_id)
            state_parts(memory, Parts(depends_on=tuple(others)), is_new=False)


def _link(caller: Caller, src: UUID, dst: UUID, kind: str) -> None:
    with writing_as(caller):
        if not Link.objects.filter(src=src, dst=dst, type=kind, removed_at=None).exists():
            link(caller, src=src, dst=dst, type=kind)


def _supersede(caller: Caller, loser: UUID, winner: UUID) -> None:
    with writing_as(caller):
        rows = locked([loser, winner])
        both = [rows[one] for one in (loser, winner) if one in rows]
        if len(both) < 2 or any(one.invalidated_at is not None for one in both):
            return
        if may_replace(caller, rows[loser]):
            supersede(
                [rows[loser]], rows[winner], SupersedeReason.DECLARED, why="so it was imported"
            )


def _doubt(caller: Caller, memory_id: UUID, draft: Draft) -> None:
    """Suspect a memory that came in by this file as it was suspected where it comes from, once."""
    with writing_as(caller):
        memory = locked([memory_id]).get(memory_id)
        if memory is None or memory.invalidated_at is not None:
            return
        source = memory.source or {}
        is_of_this_file = all(source.get(one) == draft.source.get(one) for one in ("uri", "hash"))
        asked = Conflict.objects.filter(memory_a=memory.id, memory_b=None)
        if is_of_this_file and not asked.exists():
            open_question(memory, ConflictKind.STALE_SUSPECT, WAS_IN_DOUBT)


def _retire(caller: Caller, memory_id: UUID, why: str) -> None:
    with acting_as(caller):
        live = Memory.objects.filter(id=memory_id, lifecycle=Lifecycle.LIVE).exists()
    if live:
        # The same file may be coming in a second time beside this one.
        with suppress(AlreadyRetired):
            forget(caller, memory_id=memory_id, reason=f"imported as {why}")
