"""Take in something worth knowing later."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.conflict.put_off import judging_is_put_off
from memory.conflict.record import conflict_wire
from memory.conflict.waiting import DEFERRED, QUEUED, as_it_was_told, judged_within
from memory.declared import must_not_be_provisional
from memory.draft import Draft, must_be_fit
from memory.finding.embedding import Vector
from memory.finding.similar import Near, around
from memory.models import Kind, Memory
from memory.parts import LinkTo, Parts, Statement
from memory.place import writing_place
from memory.quota import must_have_room_today
from memory.store import vector_or_none
from memory.taking_in import Outcome, take_in
from memory.text import normalised
from memory.trust.changes import Seen
from memory.wire import Surroundings, memory_wire, surroundings, with_authors
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id
from tenants.once import Answer, AnsweredBefore, writing_as
from tenants.refusals import Invalid

NEIGHBOURS = 25  # looked at
SHOWN = 10  # of them, at most
LONGEST_PREVIEW = 200  # characters
HINT = (
    "If this replaces one of these, remember it again with links: "
    '[{"type": "supersedes", "dst": "<its id>"}]. The link operation alone retires nothing.'
)


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
    asserted_at: datetime | None = None,
    settled_with: Sequence[UUID] = (),
) -> Answer:
    """
    Keep something worth knowing later, word for word.

    Recall first. If this replaces something, declare it: links with type supersedes and the id of
    what it replaces. What the text repeats exactly is absorbed into the memory that says it.

    :param changes: what has changed in the world, to be marked with the write
    :param wait: seconds that the answer may wait for the judge
    :param asserted_at: when it was asserted where it is brought in from; no request can say that
    :param settled_with: what it stands beside there by somebody's decision; nor this
    :raises Invalid: if a field is wrong, or names what is not there for the caller
    :raises SecretContent: if a key, token or password stands in it
    :raises ProvisionalWriter: if a watcher declares a supersede
    :raises TargetNotVisible: if a declared target is hidden from the caller
    :raises QuotaExceeded: if the tenant has as many new memories today as it may
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
        asserted_at=asserted_at,
        settled_with=tuple(settled_with),
    )
    must_be_fit(draft)
    must_not_be_provisional(caller, draft.parts.declared)
    vector = vector_or_none(draft.content)
    try:
        answer, outcome = _kept(
            caller, draft, vector, project=project, scope=scope, visibility=visibility, wait=wait
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
    wait: int,
) -> tuple[Answer, Outcome]:
    with writing_as(caller) as keep:
        place = writing_place(caller, project=project, scope=scope, visibility=visibility)
        if draft.changes and place.project_id is None:
            raise Invalid.field("changes", "belong to a project, and this write goes to none")
        found = (
            None
            if vector is None
            else around(vector, project_id=place.project_id, own_wanted=NEIGHBOURS)
        )
        outcome = take_in(caller, draft, place, vector, found)
        if not outcome.absorbed:
            must_have_room_today()
        # Who waits is told what came of it in the end.
        if wait == 0 and outcome.faced.judging == QUEUED and judging_is_put_off():
            outcome.faced.judging = DEFERRED
        return keep(_answer(outcome, draft, found.own if found else [])), outcome


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
