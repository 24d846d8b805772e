"""Memories as they answer somebody: what they say, how far that holds, and what to do about it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from memory.conflict.disputes import disagreeing, disputes_about, other_side
from memory.conflict.objections import objections_in
from memory.conflict.policy import ConflictKind
from memory.finding.question import Question
from memory.models import Conflict, ConflictState, Door, Memory
from memory.next_step import Asker, Step, deciding, looking, roots_of, without_a_call
from memory.trust.activation import activation
from memory.trust.rendering import Telling, safe_rendering
from memory.trust.standing import FOREVER, Standing, standings
from memory.trust.state import TrustState
from memory.trust.temporal import Footing, TemporalStatus, Use, footing_of, use_of
from memory.trust.verifications import UNNAMED_AGENT
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer

# A field that is missing there is fetched memory by memory, and the test of the query budget fails.
_TOLD = "SELECT * FROM memories_told(%s, %s)"
# For these it is said how to find out, whether or not the claim itself is told.
TO_BE_VERIFIED = (
    TemporalStatus.QUALIFIED,
    TemporalStatus.VERIFY_BEFORE_USE,
    TemporalStatus.UNVERIFIABLE,
)


def told(
    ids: Sequence[UUID],
    disputes: Mapping[UUID, Sequence[Conflict]],
    question: Question,
    now: datetime,
) -> dict[UUID, Answer]:
    """
    Return how each of the memories is told in answer to the question. Belongs inside the door.

    Those are left out that are no answer to it.
    """
    rivals = {
        other
        for one in ids
        for conflict in disagreeing(disputes.get(one, ()))
        if (other := other_side(conflict, one)) is not None
    }
    memories = _rows({*ids, *rivals}, question)
    asked_for = [memories[one] for one in ids if one in memories]
    stand = standings(asked_for, now, disputes, as_of=question.as_of)
    around = _Around(
        memories,
        objections_in(one for found in disputes.values() for one in found),
        {} if question.historical else _roots(stand.values(), question, now),
        Asker(),
    )
    answers = {
        memory.id: _answer(
            memory,
            stand[memory.id],
            question,
            disputes=disputes.get(memory.id, ()),
            around=around,
            now=now,
        )
        for memory in asked_for
    }
    return {one: answer for one, answer in answers.items() if answer is not None}


@dataclass(frozen=True)
class _Around:
    """
    What else is told of, or looked up, for the memories that are told.

    :param memories: they themselves, and their rivals
    :param objections: what was said against a memory alone, by dispute
    :param roots: what some rest on, and the world has overtaken, with how it stands
    """

    memories: Mapping[UUID | None, Any]
    objections: Mapping[UUID, Answer]
    roots: Mapping[UUID, tuple[Memory, Standing]]
    asker: Asker


def _rows(ids: Collection[UUID], question: Question) -> dict[UUID | None, Any]:
    rows = Memory.objects.raw(_TOLD, [[*ids], question.as_of or FOREVER])
    return {memory.id: memory for memory in rows}


def _roots(
    stand: Iterable[Standing], question: Question, now: datetime
) -> dict[UUID, tuple[Memory, Standing]]:
    """Return those of the memories on which others rest that are dirty, and how they stand."""
    wanted = {root for standing in stand for root in roots_of(standing)}
    if not wanted:
        return {}
    found = _rows(wanted, question)
    stands = standings([*found.values()], now, disputes_about(wanted))
    return {
        memory.id: (memory, stands[memory.id])
        for memory in found.values()
        if stands[memory.id].state == TrustState.DIRTY and memory.invalidated_at is None
    }


def _answer(
    memory: Any,
    standing: Standing,
    question: Question,
    *,
    disputes: Sequence[Conflict],
    around: _Around,
    now: datetime,
) -> Answer | None:
    standing = standing.asked_about(question.subjects)
    footing = footing_of(standing, memory, question.subjects, question.as_of or now)
    use = use_of(footing, historical=question.historical, high=question.high)
    if use.status is None or not _is_wanted(standing, question):
        return None
    claims: list[Answer] = []
    if standing.state == TrustState.CONFLICTED:
        claims = _competing_claims(memory.id, disagreeing(disputes), around)
        if use.withheld:
            claims = [one | {"content": None} for one in claims]
    successor = wire_id_or_none(Prefix.MEMORY, memory.successor_in_sight)
    step = _next_step(
        memory,
        standing,
        question,
        use,
        disputes=disputes,
        around=around,
        still_to_come=footing.still_to_come,
    )
    telling = Telling(
        author=_author(memory),
        competing=claims,
        to_decide=None
        if step is None or step.decides is None
        else wire_id(Prefix.CONFLICT, step.decides),
        looks_at=() if step is None else step.looks_at,
        is_beside_the_point=_is_beside_the_point(standing, footing, question),
        successor=successor,
        historical=question.historical,
        as_of=question.as_of,
        subjects=question.subjects,
        withheld=use.withheld,
        still_to_come=footing.still_to_come,
    )
    return {
        "memory_id": wire_id(Prefix.MEMORY, memory.id),
        "content": None if use.withheld else memory.content,
        "kind": memory.kind,
        "project": wire_id_or_none(Prefix.PROJECT, memory.project_id),
        "visibility": memory.visibility,
        "author": telling.author,
        "provenance_rank": memory.provenance_rank,
        "created_at": moment(memory.created_at),
        "activation": activation(memory, memory.recalls or 0, memory.last_recalled_at, now),
        "evidence_confidence": standing.confidence,
        "trust_state": standing.state.value,
        "last_verified_at": moment(standing.last_verified_at),
        "temporal_status": use.status.value,
        "dirty_reason": standing.dirty_reason,
        "safe_rendering": safe_rendering(memory, standing, telling),
        "withheld": use.withheld,
        "how_to_verify": None if step is None else step.wire(standing),
        "disputed": bool(disputes),
        "dispute_id": wire_id(Prefix.CONFLICT, disputes[0].id) if disputes else None,
        "competing_claims": claims,
        "history_available": memory.has_history,
        "superseded_by": successor,
    }


def _next_step(
    memory: Any,
    standing: Standing,
    question: Question,
    use: Use,
    *,
    disputes: Sequence[Conflict],
    around: _Around,
    still_to_come: bool,
) -> Step | None:
    """Return what is to be done before it is used; nothing if it may be, or is past."""
    if not use.withheld and (question.historical or use.status not in TO_BE_VERIFIED):
        return None
    if standing.state == TrustState.CONFLICTED:
        # Of another time, it may have been decided since.
        at_issue = disagreeing(disputes)
    else:
        at_issue = [one for one in disputes if one.kind == ConflictKind.STALE_SUSPECT]
    for dispute in at_issue:
        if dispute.state == ConflictState.PENDING:
            other = other_side(dispute, memory.id)
            return deciding(memory, dispute, around.memories.get(other), around.asker)
    doubtful = standing.state in (TrustState.DIRTY, TrustState.PROPOSED) or standing.overdue
    if question.historical or not doubtful:
        return without_a_call(memory, still_to_come=still_to_come) if use.withheld else None
    own = looking(memory, standing, question.subjects, around.asker, high=use.withheld)
    for one in roots_of(standing):
        if one in around.roots:
            root = looking(*around.roots[one], (), around.asker, high=True)
            if root.yours or not own.yours:
                return replace(root, looks_at=(wire_id(Prefix.MEMORY, one),))
    return own


def _is_beside_the_point(standing: Standing, footing: Footing, question: Question) -> bool:
    """Return whether it says something that is in doubt, and was not asked about."""
    is_marked = standing.state == TrustState.DIRTY and any(one.direct for one in standing.marks)
    return bool(question.subjects) and is_marked and not footing.marked_where_asked


def _is_wanted(standing: Standing, question: Question) -> bool:
    """Return whether it is what was asked for; the statement that found it sees less closely."""
    if question.verified_only and standing.state == TrustState.PROPOSED:
        return False
    if standing.state == TrustState.EXPIRED and not question.with_expired:
        return question.historical and question.as_of is None
    return True


def _author(memory: Any) -> dict[str, Any]:
    return {
        "name": memory.author_name or UNNAMED_AGENT,
        "type": "member" if memory.author_agent_id is None else "agent",
        "level": memory.author_level,
    }


def _competing_claims(
    memory_id: UUID, disputes: Sequence[Conflict], around: _Around
) -> list[Answer]:
    """
    Return what others say instead, with who and when; none of it is picked.

    What was rejected since is told no more, not even of when nobody had decided.
    """
    others = dict.fromkeys(other_side(conflict, memory_id) for conflict in disputes)
    rivals = [around.memories[one] for one in others if one in around.memories]
    return [
        {
            "memory_id": wire_id(Prefix.MEMORY, rival.id),
            "content": rival.content,
            "author": _author(rival),
            "created_at": moment(rival.created_at),
            "valid_from": moment(rival.valid_from),
        }
        for rival in rivals
        if rival.invalidated_reason != Door.REJECTED
    ] + [around.objections[one.id] for one in disputes if one.id in around.objections]


def tokens_of(text: str) -> int:
    """
    Return about how many tokens a model sees in a text.

    A token is some four characters of plain Latin text; of everything else it is three bytes,
    which one character of Chinese, Japanese or Korean takes.
    """
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "surrogatepass")) - plain
    return ceil(plain / 4 + other / 3)


def size_of(answer: Answer) -> int:
    """
    Return about how many tokens an answer is, or a part of one, as the JSON that is sent.

    With the comma after it, so that the parts together are never smaller than the whole.
    """
    sent = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    # As they are sent: spelled out, because JavaScript would take them for ends of lines.
    sent = sent.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return tokens_of(f"{sent},")
