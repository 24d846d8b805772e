"""A new text that takes the place of both sides of a dispute."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.postgres.functions import TransactionNow

from memory.absorb import ABSORB, wait_for_the_same_text, what_repeats
from memory.conflict.on_write import face
from memory.conflict.supersede import locked
from memory.draft import Draft, write_down
from memory.finding.embedding import Vector
from memory.finding.similar import Around, around
from memory.models import PROTECTED_KINDS, Dependency, Memory, SupersedeReason
from memory.parts import MOST_TAGS, Parts, state_parts
from memory.place import PERSONAL, Place, writing_place
from memory.store import store_embedding, vector_or_none
from memory.text import is_blank, normalised, same_text_key
from memory.trust.suggestions import suggest_components
from tenants.audit import record
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id, wire_id_or_none
from tenants.models import Event
from tenants.refusals import Invalid

FIELD = "merge.content"


@dataclass(frozen=True)
class MergedText:
    """A text that a reviewer wrote, ready to be stored."""

    content: str
    text_key: bytes
    vector: Vector | None

    @classmethod
    def of(cls, content: str) -> "MergedText":
        """
        Return the text with its vector. Outside the door: it may be slow.

        :raises Invalid: if there is nothing to read in it
        """
        content = normalised(content)
        if is_blank(content):
            raise Invalid.field(FIELD, "has nothing to read in it", "blank")
        return cls(content, same_text_key(content), vector_or_none(content))


@contextmanager
def merge_into(caller: Caller, text: MergedText, sides: Sequence[Memory]) -> Iterator[UUID]:
    """
    Write the text down as the caller's, give its id, and then look what it is in conflict with.

    What is done inside lets it take the place of the sides. It stands where all who read them may
    read it, and keeps their labels, and what they depend on. If the caller has said the same there
    before, that memory takes their place.

    :raises Invalid: if it only repeats a side, or nobody could be shown it who reads both
    :raises NotAllowed: if the caller may not write there
    """
    place, kind = _place(caller, sides), _kind(sides)
    if any(bytes(side.text_key) == text.text_key for side in sides):
        raise Invalid.field(FIELD, "says word for word what one side says; let that one win")
    wait_for_the_same_text(caller, place, kind, text.text_key)
    until = _latest([side.valid_until for side in sides])
    repeated = what_repeats(place, kind, text.text_key, until=until)
    if repeated is not None and repeated.id in locked([repeated.id]):
        yield repeated.id
        return
    parts = _parts(sides)
    draft = Draft(
        content=text.content,
        kind=kind,
        parts=parts,
        valid_from=None,
        valid_until=until,
        review_after=min((one.review_after for one in sides if one.review_after), default=None),
        importance=max(side.importance for side in sides),
        session=None,
        source=None,
    )
    # At the very moment at which the sides go: at no time was there neither.
    memory = write_down(caller, draft, place, text.text_key, at=TransactionNow())
    store_embedding(memory, text.vector)
    record(
        "remember",
        "memory",
        memory.id,
        memory_id=memory.id,
        after={
            "kind": memory.kind,
            "merges": [wire_id(Prefix.MEMORY, side.id) for side in sides],
        },
    )
    state_parts(memory, parts, is_new=True)
    suggests = suggest_components(memory) > 0
    yield memory.id
    found = _around(text.vector, place)
    face(
        memory,
        found.in_reach if found else None,
        gone=[side.id for side in sides],
        with_components=suggests,
        among_writers=found is not None and found.among_writers,
    )


def not_taken_up(merged: Sequence[Memory]) -> list[Memory]:
    """
    Return those of such texts that nobody has said again since, or declared to replace something.

    Somebody else's write, or a later one, rests on the others. Belongs inside a door.
    """
    ids = [memory.id for memory in merged]
    if not ids:
        return []
    said_again = Event.objects.filter(memory_id__in=ids, command=ABSORB)
    replacing = Memory.objects.filter(
        superseded_by__in=ids, supersede_reason=SupersedeReason.DECLARED
    )
    taken_up = {
        *said_again.values_list("memory_id", flat=True),
        *replacing.values_list("superseded_by", flat=True),
    }
    return [memory for memory in merged if memory.id not in taken_up]


def _around(vector: Vector | None, place: Place) -> Around | None:
    if vector is None:
        return None
    return around(vector, project_id=place.project_id, own_wanted=0)


def _place(caller: Caller, sides: Sequence[Memory]) -> Place:
    for side in sides:
        place = Place(caller.member_id, side.project_id, side.visibility)
        if all(place.is_read_by_all_who_read(Place.of(one)) for one in sides):
            return writing_place(
                caller,
                project=wire_id_or_none(Prefix.PROJECT, place.project_id),
                scope=PERSONAL if place.project_id is None else None,
                visibility=place.visibility,
            )
    raise Invalid.field(
        "merge",
        "there is no place where all who read the one or the other could read it; keep both",
        "narrower_audience",
    )


def _kind(sides: Sequence[Memory]) -> str:
    """Return a protected kind if a side has one, or else the newer one's."""
    newest_first = sorted(sides, key=lambda side: -side.sequence)
    protected = [side.kind for side in newest_first if side.kind in PROTECTED_KINDS]
    return [*protected, newest_first[0].kind][0]


def _parts(sides: Sequence[Memory]) -> Parts:
    """Return the labels of the sides, and what they rely on. What they state the text may not."""
    subjects = [subject for side in sides for subject in side.subjects]
    tags = dict.fromkeys(tag for side in sides for tag in side.tags)
    relied_on = Dependency.objects.filter(memory__in=[side.id for side in sides])
    depends_on = dict.fromkeys(
        one.on_memory_id or str(one.on_subject) for one in relied_on.order_by("created_at", "id")
    )
    return Parts(
        subjects=tuple(dict.fromkeys(subjects)),
        depends_on=tuple(one for one in depends_on if one not in {side.id for side in sides}),
        tags=tuple(tags)[:MOST_TAGS],
    )


def _latest(ends: Sequence[datetime | None]) -> datetime | None:
    """Return the later end, if both have one."""
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None
