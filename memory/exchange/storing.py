"""
Storing what was read, so that it can be interrupted anywhere and done again.

What was brought in before, from the same place with the same text, is not stored again, whatever
became of it since; nor is what a file holds of the very project it comes to.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memory.conflict.policy import ConflictKind
from memory.conflict.signals import open_question
from memory.conflict.supersede import locked
from memory.exchange.drafts import Draft
from memory.exchange.out_of_use import KNOWN, NEW, bring_to_its_successor, store_out_of_use
from memory.link import link
from memory.models import Conflict, Link, Memory
from memory.parts import Parts, state_parts
from memory.remember import remember
from memory.requests import RememberBody
from memory.text import normalised, same_text_key
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import MalformedId, Prefix, read_id
from tenants.once import writing_as

SAME = "absorbed"
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
    """
    Return what is there already, by the place of the draft.

    What the caller brought in before, and what the file holds of this very project.
    """
    wanted = {(one.source["uri"], one.source["hash"]): one.place for one in drafts}
    with acting_as(caller):
        there = Memory.objects.filter(
            project=None if goal.project is None else read_id(Prefix.PROJECT, goal.project)
        )
        brought_in = there.filter(
            owner=caller.member_id, source__hash__in=[digest for _, digest in wanted]
        )
        known = {
            wanted[key]: memory_id
            for memory_id, source in brought_in.values_list("id", "source")
            if source and (key := (source.get("uri"), source.get("hash"))) in wanted
        }
        return known | _themselves(drafts, there)


def _themselves(drafts: Sequence[Draft], there: "QuerySet[Memory]") -> dict[str, UUID]:
    """Return those that are told of in the file, by their own ids and with their own texts."""
    told = {memory_id: draft for draft in drafts if (memory_id := _own_id(draft)) is not None}
    texts = there.filter(id__in=told).values_list("id", "text_key")
    return {
        told[memory_id].place: memory_id
        for memory_id, text_key in texts
        if bytes(text_key) == same_text_key(normalised(told[memory_id].fields["content"]))
    }


def _own_id(draft: Draft) -> UUID | None:
    with suppress(MalformedId):
        return read_id(Prefix.MEMORY, draft.ref or "")
    return None


def store(
    caller: Caller,
    draft: Draft,
    goal: Goal,
    known: Mapping[str, UUID],
    beside: Sequence[UUID],
) -> tuple[UUID, str]:
    """
    Store one memory, and return its id and what became of it. Outside the door.

    :param beside: what it stands beside by somebody's decision, as far as it is stored
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
    until = said.get("valid_until")
    if not draft.was_in_use or (until is not None and until <= timezone.now()):
        return store_out_of_use(caller, draft, said)
    answer = remember(caller, **said, asserted_at=draft.asserted_at, settled_with=beside)
    memory_id = read_id(Prefix.MEMORY, answer["memory_id"])
    return memory_id, SAME if answer["absorbed"] else NEW


def tie(caller: Caller, drafts: Sequence[Draft], stored: Mapping[str, UUID]) -> None:
    """
    Draw what hangs between memories that were stored, and give the superseded their successors.

    Outside the door. What is tied already stays as it is, and so does what is the very memory that
    the file tells of.
    """
    by_ref = {draft.ref: draft for draft in drafts if draft.ref is not None}
    for draft in drafts:
        memory_id = stored[draft.place]
        if memory_id == _own_id(draft):
            continue
        _depend(caller, memory_id, [stored[by_ref[one].place] for one in draft.depends_on])
        for kind, ref in draft.links:
            _link(caller, memory_id, stored[by_ref[ref].place], kind)
        if draft.successor is not None:
            successor = stored[by_ref[draft.successor].place]
            bring_to_its_successor(caller, memory_id, successor, draft)
        elif draft.in_doubt and draft.retired is None:
            _doubt(caller, memory_id, draft)


def _depend(caller: Caller, memory_id: UUID, others: Sequence[UUID]) -> None:
    if others:
        with writing_as(caller):
            memory = Memory.objects.get(id=memory_id)
            state_parts(memory, Parts(depends_on=tuple(others)), is_new=False)


def _link(caller: Caller, src: UUID, dst: UUID, kind: str) -> None:
    if src == dst:
        # Two said the same there, and are one memory here.
        return
    with writing_as(caller):
        # One that was taken away since stays away.
        if not Link.objects.filter(src=src, dst=dst, type=kind).exists():
            link(caller, src=src, dst=dst, type=kind)


def _doubt(caller: Caller, memory_id: UUID, draft: Draft) -> None:
    """Suspect a memory that came in by this file as it was suspected where it comes from, once."""
    with writing_as(caller):
        memory = locked([memory_id]).get(memory_id)
        if memory is None or memory.invalidated_at is not None:
            return
        asked = Conflict.objects.filter(memory_a=memory.id, memory_b=None)
        if draft.is_told_in(memory.source) and not asked.exists():
            open_question(memory, ConflictKind.STALE_SUSPECT, WAS_IN_DOUBT)
