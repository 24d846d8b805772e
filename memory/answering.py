"""Memories as they answer somebody: what they say, how far that holds, and what to do about it."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from memory.conflict.disputes import disagreeing, other_side
from memory.conflict.objections import objections_in
from memory.finding.question import Question
from memory.finding.statements import TOLD
from memory.models import Conflict, ConflictState, Memory
from memory.trust.activation import activation
from memory.trust.rendering import Telling, safe_rendering
from memory.trust.standing import FOREVER, Standing, standings
from memory.trust.state import TrustState
from memory.trust.temporal import TemporalStatus, footing_of, marked_subjects, use_of
from memory.trust.verifications import UNNAMED_AGENT
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer

# For these it is said how to find out, whether or not the claim itself is told.
TO_BE_VERIFIED = (TemporalStatus.VERIFY_BEFORE_USE, TemporalStatus.UNVERIFIABLE)
OUTCOMES = "confirmed | refuted | inconclusive"
METHODS = "command | file | api | document | person | external_recheck | other | self"


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
    rows = Memory.objects.raw(TOLD, [[*{*ids, *rivals}], question.as_of or FOREVER])
    memories: dict[UUID, Any] = {memory.id: memory for memory in rows}
    asked_for = [memories[one] for one in ids if one in memories]
    stand = standings(asked_for, now, disputes, as_of=question.as_of)
    objections = objections_in(one for found in disputes.values() for one in found)
    answers = {
        memory.id: _answer(
            memory,
            stand[memory.id],
            question,
            disputes=disputes.get(memory.id, ()),
            memories=memories,
            objections=objections,
            now=now,
        )
        for memory in asked_for
    }
    return {one: answer for one, answer in answers.items() if answer is not None}


def _answer(
    memory: Any,
    standing: Standing,
    question: Question,
    *,
    disputes: Sequence[Conflict],
    memories: Mapping[UUID, Any],
    objections: Mapping[UUID, Answer],
    now: datetime,
) -> Answer | None:
    standing = standing.asked_about(question.subjects)
    footing = footing_of(standing, memory, question.subjects, question.as_of or now)
    use = use_of(footing, historical=question.historical, high=question.high)
    if use.status is None or not _is_wanted(standing, question):
        return None
    claims: list[Answer] = []
    to_decide = None
    if standing.state == TrustState.CONFLICTED:
        at_issue = disagreeing(disputes)
        # Of another time, it may have been decided since.
        to_decide = next((one for one in at_issue if one.state == ConflictState.PENDING), None)
        claims = _competing_claims(memory.id, at_issue, memories, objections)
        if use.withheld:
            claims = [one | {"content": None} for one in claims]
    successor = wire_id_or_none(Prefix.MEMORY, memory.successor_in_sight)
    telling = Telling(
        author=_author(memory),
        competing=claims,
        to_decide=None if to_decide is None else wire_id(Prefix.CONFLICT, to_decide.id),
        successor=successor,
        historical=question.historical,
        as_of=question.as_of,
        subjects=question.subjects,
        withheld=use.withheld,
        still_to_come=footing.still_to_come,
    )
    next_step = None
    if use.withheld or use.status in TO_BE_VERIFIED:
        next_step = (
            _how_to_verify(memory, standing, question)
            if to_decide is None
            else _how_to_decide(memory, standing, to_decide)
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
        "how_to_verify": next_step,
        "disputed": bool(disputes),
        "dispute_id": wire_id(Prefix.CONFLICT, disputes[0].id) if disputes else None,
        "competing_claims": claims,
        "history_available": memory.has_history,
        "superseded_by": successor,
    }


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
    memory_id: UUID,
    disputes: Sequence[Conflict],
    memories: Mapping[UUID, Any],
    objections: Mapping[UUID, Answer],
) -> list[Answer]:
    """Return what others say instead, with who and when; none of it is picked."""
    others = dict.fromkeys(other_side(conflict, memory_id) for conflict in disputes)
    rivals = [memories[one] for one in others if one is not None and one in memories]
    return [
        {
            "memory_id": wire_id(Prefix.MEMORY, rival.id),
            "content": rival.content,
            "author": _author(rival),
            "created_at": moment(rival.created_at),
            "valid_from": moment(rival.valid_from),
        }
        for rival in rivals
    ] + [objections[one.id] for one in disputes if one.id in objections]


def _how_to_verify(memory: Memory, standing: Standing, question: Question) -> dict[str, Any]:
    """Return the call that tells what somebody found: as a tool, and as a request."""
    components = marked_subjects(standing, question.subjects)
    memory_id = wire_id(Prefix.MEMORY, memory.id)
    arguments: dict[str, Any] = {"outcome": OUTCOMES, "method": METHODS, "evidence": "what you saw"}
    if components:
        arguments["components"] = components
    if len(components) == 1:
        arguments["observed_value"] = "what it is now"
    return {
        "tool": "verify",
        "method": "POST",
        "path": f"/api/v1/memories/{memory_id}/verify",
        "memory_id": memory_id,
        "arguments": arguments,
        "what_changed": standing.dirty_reason,
    }


def _how_to_decide(memory: Memory, standing: Standing, dispute: Conflict) -> dict[str, Any]:
    """Return the call that decides what holds: looking alone ends no dispute."""
    memory_id, dispute_id = wire_id(Prefix.MEMORY, memory.id), wire_id(Prefix.CONFLICT, dispute.id)
    other = other_side(dispute, memory.id)
    return {
        "tool": "resolve_conflict",
        "method": "POST",
        "path": f"/api/v1/conflicts/{dispute_id}/resolve",
        "memory_id": memory_id,
        "dispute_id": dispute_id,
        "arguments": {
            "winner": f"{memory_id} if it holds; otherwise retire: true instead of winner"
            if other is None
            else f"{memory_id} | {wire_id(Prefix.MEMORY, other)}",
            "note": "what you saw",
        },
        "what_changed": standing.dirty_reason,
    }


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
