"""Take in something worth knowing later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Func
from django.db.models.functions import Now
from django.utils import timezone

from memory.absorb import (
    wait_for_the_same_text,
    what_covers,
    what_is_restated,
    what_repeats,
)
from memory.conflict.on_write import Faced, face, wait_for_the_same_subjects
from memory.conflict.record import challenged, conflict_wire
from memory.conflict.supersede import locked, supersede
from memory.conflict.waiting import as_it_was_told, judged_within
from memory.declared import (
    Skipped,
    must_not_be_provisional,
    weigh_again,
    weigh_declared,
    would_overrule,
)
from memory.finding.embedding import Vector
from memory.finding.similar import Around, Near, around
from memory.finding.words import tsvector
from memory.models import Kind, Memory, SupersedeReason
from memory.parts import (
    LinkTo,
    Parts,
    Statement,
    add_labels,
    must_be_linkable,
    must_have_no_secret,
    state_parts,
)
from memory.place import Place, writing_place
from memory.store import store_embedding, vector_or_none
from memory.text import is_blank, normalised, same_text_key
from memory.trust.changes import Seen, take_in_changes
from memory.trust.corroboration import corroborate, repeats_among
from memory.trust.suggestions import suggest_components
from memory.wire import Surroundings, memory_wire, surroundings, with_authors
from tenants.audit import record
from tenants.caller import Caller, Rank
from tenants.ids import Prefix, new_id, wire_id
from tenants.once import Answer, AnsweredBefore, writing_as
from tenants.refusals import Invalid

NEIGHBOURS = 25  # looked at
SHOWN = 10  # of them, at most
LONGEST_PREVIEW = 200  # characters
HINT = (
    "If this replaces one of these, remember it again with links: "
    '[{"type": "supersedes", "dst": "<its id>"}]. The link operation alone retires nothing.'
)


@dataclass(frozen=True)
class Draft:
    """What a writer wants kept."""

    content: str
    kind: str
    parts: Parts
    valid_from: datetime | None
    valid_until: datetime | None
    review_after: datetime | None
    importance: float
    session: str | None
    source: dict[str, Any] | None
    changes: tuple[Seen, ...] = ()


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


def remember(
    caller: Caller,
    *,
    content: str,
    kind: str = Kind.FACT,
    project: str | None = None,
    scope: str | None = None,
    visibility: str | None = None,
    links: Sequence[LinkTo] = (),
    subjects: Sequence[str] = (),
    components: Sequence[Statement] = (),
    depends_on: Sequence[UUID | str] = (),
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    review_after: datetime | None = None,
    importance: float = 0.5,
    tags: Sequence[str] = (),
    session: str | None = None,
    source: dict[str, Any] | None = None,
    changes: Sequence[Seen] = (),
    wait: int = 0,
) -> Answer:
    """
    Keep something worth knowing later, word for word.

    Recall first. If this replaces something, declare it: links with type supersedes and the id of
    what it replaces. What the text repeats exactly is absorbed into the memory that says it.

    :param changes: what has changed in the world, to be marked with the write
    :param wait: seconds that the answer may wait for the judge
    :raises Invalid: if a field is wrong, or names what is not there for the caller
    :raises SecretContent: if a key, token or password stands in it
    :raises ProvisionalWriter: if a watcher declares a supersede
    :raises TargetNotVisible: if a declared target is hidden from the caller
    """
    draft = Draft(
        content=normalised(content),
        kind=kind,
        parts=Parts(
            tuple(links), tuple(subjects), tuple(components), tuple(depends_on), tuple(tags)
        ),
        valid_from=valid_from,
        valid_until=valid_until,
        review_after=review_after,
        importance=importance,
        session=session,
        source=source,
        changes=tuple(changes),
    )
    _refuse_unfit(draft)
    must_not_be_provisional(caller, draft.parts.declared)
    vector = vector_or_none(draft.content)
    try:
        answer, outcome = _kept(
            caller, draft, vector, project=project, scope=scope, visibility=visibility
        )
    except AnsweredBefore as before:
        raise as_it_was_told(caller, before, wait) from None
    if wait and outcome.faced.job_id is not None:
        return judged_within(caller, answer, outcome.memory.id, outcome.faced.job_id, wait)
    return answer


def _kept(
    caller: Caller,
    draft: Draft,
    vector: Vector | None,
    *,
    project: str | None,
    scope: str | None,
    visibility: str | None,
) -> tuple[Answer, Outcome]:
    with writing_as(caller) as keep:
        place = writing_place(caller, project=project, scope=scope, visibility=visibility)
        if draft.changes and place.project_id is None:
            raise Invalid.field("changes", "belong to a project, and this write goes to none")
        found = (
            None
            if vector is None
            else around(
                vector,
                member_id=place.owner_id,
                project_id=place.project_id,
                own_wanted=NEIGHBOURS,
            )
        )
        outcome = _take_in(caller, draft, place, vector, found)
        return keep(_answer(outcome, draft, found.own if found else [])), outcome


def _refuse_unfit(draft: Draft) -> None:
    if is_blank(draft.content):
        raise Invalid.field("content", "has nothing to read in it", "blank")
    if draft.valid_from and draft.valid_until and draft.valid_until <= draft.valid_from:
        raise Invalid.field("valid_until", "must be later than valid_from")
    source = draft.source or {}
    must_have_no_secret(
        [
            ("content", draft.content),
            *((f"tags[{index}]", tag) for index, tag in enumerate(draft.parts.tags)),
            *((f"subjects[{index}]", path) for index, path in enumerate(draft.parts.subjects)),
            *(
                (f"components[{index}].{name}", text)
                for index, said in enumerate(draft.parts.components)
                for name, text in (("subject", said.subject), ("value", said.value))
            ),
            *(
                (f"depends_on[{index}]", one)
                for index, one in enumerate(draft.parts.depends_on)
                if isinstance(one, str)
            ),
            ("session", draft.session),
            *((f"source.{name}", source[name]) for name in source),
            *(
                (f"changes[{index}].{name}", text)
                for index, seen in enumerate(draft.changes)
                for name, text in (("subject", seen.subject), ("summary", seen.summary))
            ),
        ]
    )


def _take_in(
    caller: Caller, draft: Draft, place: Place, vector: Vector | None, found: Around | None
) -> Outcome:
    text_key = same_text_key(draft.content)
    neighbours = found.own if found else []
    must_be_linkable(draft.parts)
    declared = weigh_declared(caller, draft.parts.declared, place)
    wait_for_the_same_text(caller, place, draft.kind, text_key)
    repeated = what_repeats(place, draft.kind, text_key)
    covering = (
        what_covers(neighbours, draft.content, place) if caller.rank == Rank.PROVISIONAL else None
    )
    restated = what_is_restated(
        neighbours,
        caller,
        content=draft.content,
        kind=draft.kind,
        place=place,
        session=draft.session,
    )
    wait_for_the_same_subjects(place.project_id, (one.subject for one in draft.parts.components))
    concerned = (*declared.takes, *restated, repeated, covering)
    rows = locked(memory.id for memory in concerned if memory is not None)
    live = {one: row for one, row in rows.items() if row.invalidated_at is None}
    absorbing = _absorbing(caller, live, repeated, covering)
    still = weigh_again(declared.takes, live, place, absorbing)
    skipped = [*declared.skipped, *still.skipped]
    if absorbing is None:
        memory = write_down(caller, draft, place, text_key)
        store_embedding(memory, vector)
        _record("remember", memory, {"kind": memory.kind}, skipped)
    else:
        memory = absorbing
        _absorb(memory, draft, skipped, by_coverage=repeated is None)
    # A declared component is judged with certainty: a watcher's word is not enough for that.
    as_suggestions = would_overrule(caller, memory)
    state_parts(memory, draft.parts, is_new=absorbing is None, as_suggestions=as_suggestions)
    suggests = absorbing is None and not draft.parts.components and suggest_components(memory) > 0
    superseded = supersede(still.takes, memory, SupersedeReason.DECLARED)
    if absorbing is None:
        outdone = _outdone(live, repeated, restated, superseded)
        superseded += supersede(outdone, memory, SupersedeReason.DUPLICATE)
    stated = draft.parts.components
    in_reach = found.in_reach if found else None
    faced = face(
        memory,
        in_reach,
        gone=superseded,
        with_components=bool(stated) or suggests,
        among_writers=found is not None and found.among_writers,
    )
    superseded += [
        one.memory_b_id
        for one in faced.conflicts
        if one.winner_id == memory.id and one.memory_b_id is not None
    ]
    if absorbing is None:
        corroborate(memory, repeats_among(faced.candidates, text_key, place.owner_id))
    marked = take_in_changes(memory, draft.changes)
    return Outcome(memory, absorbing is not None, superseded, skipped, faced, suggests, marked)


def _absorbing(
    caller: Caller, live: dict[UUID, Memory], repeated: Memory | None, covering: Memory | None
) -> Memory | None:
    """Return the memory that takes the write in: a repeat of higher rank stands alone."""
    if repeated is not None and repeated.id in live:
        return live[repeated.id] if repeated.provenance_rank >= caller.rank else None
    return None if covering is None else live.get(covering.id)


def _outdone(
    live: dict[UUID, Memory],
    repeated: Memory | None,
    restated: Sequence[Memory],
    gone: Sequence[UUID],
) -> list[Memory]:
    """Return what the new memory says again with more authority, or a little better."""
    outdone = [live[memory.id] for memory in restated if memory.id in live]
    if repeated is not None and repeated.id in live and repeated.restored_by_person_at is None:
        outdone.append(live[repeated.id])
    distinct = {memory.id: memory for memory in outdone if memory.id not in gone}
    # What somebody challenges waits for a person, and nothing else takes it away.
    left = challenged(distinct) if distinct else frozenset()
    return [memory for memory in distinct.values() if memory.id not in left]


def write_down(
    caller: Caller, draft: Draft, place: Place, text_key: bytes, *, at: Func | None = None
) -> Memory:
    """
    Return a new memory of the caller's, stamped with who they are. Belongs inside a door.

    :param at: the time at which it comes into use, if not that of the statement
    """
    memory = Memory(
        id=new_id(),
        tenant_id=caller.tenant_id,
        owner_id=place.owner_id,
        author_agent_id=caller.agent_id,
        author_level=caller.level,
        provenance_rank=caller.rank,
        project_id=place.project_id,
        visibility=place.visibility,
        kind=draft.kind,
        content=draft.content,
        text_key=text_key,
        words=tsvector(draft.content),
        subjects=list(dict.fromkeys(draft.parts.subjects)),
        tags=list(dict.fromkeys(draft.parts.tags)),
        importance=draft.importance,
        session=draft.session,
        source=draft.source,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        review_after=draft.review_after,
        created_at=at or Now(),
    )
    memory.save(force_insert=True)
    return memory


def _absorb(memory: Memory, draft: Draft, skipped: Sequence[Skipped], *, by_coverage: bool) -> None:
    add_labels(memory, draft.parts)
    memory.refresh_from_db(fields=["version"])
    _record(
        "absorb",
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


def _answer(outcome: Outcome, draft: Draft, neighbours: Sequence[Near]) -> Answer:
    similar = []
    if not outcome.absorbed and not draft.parts.declared:
        similar = _similar(neighbours, outcome.superseded)
    (kept,) = with_authors(Memory.objects.filter(id=outcome.memory.id))
    around = Surroundings() if _stands_alone(outcome, draft) else surroundings([kept])
    memory = memory_wire(kept, around, timezone.now())
    return {
        "memory_id": memory["id"],
        "absorbed": outcome.absorbed,
        "memory": memory,
        "superseded": [wire_id(Prefix.MEMORY, one) for one in outcome.superseded],
        "skipped": [skipped.wire() for skipped in outcome.skipped],
        "similar_existing": similar,
        "hint": HINT if similar else None,
        "conflict_candidates": [one.wire() for one in outcome.faced.told],
        "candidates_omitted": outcome.faced.omitted,
        "conflicts": [conflict_wire(one) for one in outcome.faced.conflicts],
        "judging": outcome.faced.judging,
        "marked": [wire_id(Prefix.MEMORY, one) for one in outcome.marked],
    }


def _stands_alone(outcome: Outcome, draft: Draft) -> bool:
    """Return whether nothing hangs on the memory yet, so that nothing need be looked up."""
    parts = draft.parts
    hanging = parts.links or parts.components or parts.depends_on or outcome.superseded
    return not (outcome.absorbed or hanging or outcome.faced.conflicts or outcome.suggests)


def _similar(neighbours: Sequence[Near], superseded: Sequence[UUID]) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "id": wire_id(Prefix.MEMORY, near.memory.id),
            "kind": near.memory.kind,
            "age_days": max(0, (now - near.memory.created_at).days),
            "similarity": round(near.similarity, 4),
            "preview": near.memory.content[:LONGEST_PREVIEW],
        }
        for near in neighbours
        if near.memory.id not in superseded
    ][:SHOWN]
