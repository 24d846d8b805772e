"""
What was not in use any more where a file comes from, stored as just that.

It is judged against nothing, and takes nothing into itself: at no time is it current knowledge.
"""

from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Cast, Now

from memory.absorb import wait_for_the_same_text
from memory.conflict.supersede import Replacement, locked, supersede_each
from memory.declared import would_overrule
from memory.draft import Draft as Note
from memory.draft import must_be_fit, write_down
from memory.exchange.drafts import Draft
from memory.models import Door, Kind, Lifecycle, Memory, SupersedeReason
from memory.parts import Parts, state_parts
from memory.place import Place, writing_place
from memory.quota import must_have_room_today
from memory.store import store_embedding, vector_or_none
from memory.text import normalised, same_text_key
from memory.trust.suggestions import suggest_components
from tenants.audit import record
from tenants.caller import Caller
from tenants.once import writing_as

NEW, KNOWN = "stored", "known"


def store_out_of_use(caller: Caller, draft: Draft, said: dict[str, Any]) -> tuple[UUID, str]:
    """
    Store a memory as retired or over, and return its id and what became of it. Outside the door.

    :param said: what `remember` would be told of it, and where it goes
    :raises Refusal: if the caller may not write there, or there is no more room today
    """
    note = _note(draft, said)
    must_be_fit(note)
    vector = vector_or_none(note.content)
    text_key = same_text_key(note.content)
    with writing_as(caller):
        place = writing_place(
            caller,
            project=said.get("project"),
            scope=said.get("scope"),
            visibility=said.get("visibility"),
        )
        # The same file may be coming in a second time beside this one.
        wait_for_the_same_text(caller, place, note.kind, text_key)
        known = _brought_in(place, text_key, draft)
        if known is not None:
            return known, KNOWN
        memory = write_down(caller, note, place, text_key)
        store_embedding(memory, vector)
        record("remember", "memory", memory.id, memory_id=memory.id, after={"kind": memory.kind})
        as_suggestions = would_overrule(caller, memory)
        state_parts(memory, note.parts, is_new=True, as_suggestions=as_suggestions)
        if not note.parts.components:
            suggest_components(memory)
        if draft.successor is not None:
            # Until its successor is there: without one, it has only gone.
            _take_out(memory, Door.SUPERSEDED, Door.SUPERSEDED)
        elif draft.retired is not None:
            _take_out(memory, Door.FORGOTTEN, draft.retired)
        must_have_room_today()
    return memory.id, NEW


def _note(draft: Draft, said: dict[str, Any]) -> Note:
    return Note(
        content=normalised(said["content"]),
        kind=said.get("kind", Kind.FACT),
        parts=Parts(
            subjects=tuple(said.get("subjects") or ()),
            components=tuple(said.get("components") or ()),
            depends_on=tuple(said.get("depends_on") or ()),
            tags=tuple(said.get("tags") or ()),
        ),
        valid_from=said.get("valid_from"),
        valid_until=said.get("valid_until"),
        review_after=said.get("review_after"),
        importance=said.get("importance", 0.5),
        session=said.get("session"),
        source=said.get("source"),
        asserted_at=draft.asserted_at,
    )


def _brought_in(place: Place, text_key: bytes, draft: Draft) -> UUID | None:
    same = Memory.objects.filter(
        owner=place.owner_id, project=place.project_id, text_key=text_key
    ).values_list("id", "source")
    return next((one for one, source in same if draft.is_told_in(source)), None)


def _take_out(memory: Memory, door: Door, why: str) -> None:
    Memory.objects.filter(id=memory.id).update(
        invalidated_at=Now(), invalidated_reason=door, version=F("version") + 1
    )
    record(
        "forget",
        "memory",
        memory.id,
        memory_id=memory.id,
        reason=f"imported as {why}",
        before={"lifecycle": Lifecycle.LIVE},
        after={"lifecycle": Lifecycle.RETIRED, "invalidated_reason": door},
    )


def bring_to_its_successor(caller: Caller, memory_id: UUID, winner: UUID, draft: Draft) -> None:
    """
    Say what took the place of a memory that came in by this draft; once. Outside the door.

    One that is in use by now, or went by another door, stays as it is.
    """
    with writing_as(caller):
        rows = locked([memory_id, winner])
        if len(rows) < 2 or not _waits_for_its_successor(rows[memory_id], draft):
            return
        gone_at = Cast(Value(rows[memory_id].invalidated_at), DateTimeField())
        # In use and out of it again at once, and for nobody: for what it is superseded by, and why.
        Memory.objects.filter(id=memory_id).update(
            invalidated_at=None, invalidated_reason=None, version=F("version") + 1
        )
        again = locked([memory_id])[memory_id]
        # Since it came in, and not since now: what came after it knew that it was out of use.
        supersede_each(
            [Replacement(again, winner, "so it was imported")],
            SupersedeReason.DECLARED,
            at=gone_at,
        )


def _waits_for_its_successor(memory: Memory, draft: Draft) -> bool:
    return (
        memory.invalidated_reason == Door.SUPERSEDED
        and memory.superseded_by_id is None
        and draft.is_told_in(memory.source)
    )
