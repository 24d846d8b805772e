"""Find what is known about something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone
from pgvector import HalfVector

from memory.conflict.disputes import disputes_about, is_conflicted, other_side
from memory.finding.embedding import Vector, current
from memory.finding.ranking import Candidate, freshness, rank
from memory.finding.similar import EXACT_UP_TO, Reach
from memory.finding.statements import CANDIDATES, TOLD
from memory.finding.words import tsquery
from memory.models import Conflict, Lifecycle, Memory
from memory.place import project_in_sight
from memory.store import vector_or_none
from memory.text import is_blank
from memory.trust.confidence import evidence_confidence
from memory.trust.rendering import safe_rendering
from memory.trust.state import TrustState, last_verified_at, trust_state
from memory.wire import UNNAMED_AGENT, in_sight
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer
from tenants.refusals import Invalid

CURRENT, HISTORICAL = "current", "historical"
# Each of the two searches brings at least so many candidates: enough for the fusion to choose from.
FEWEST_CANDIDATES = 40
# How many times as many are sought where too few of them were wanted.
FURTHER_OUT = 8
NOT_FOUND = "Nothing that you may see matches. That is not proof that it was never written down."


@dataclass(frozen=True)
class Question:
    """What is asked, and about what."""

    query: str
    k: int
    mode: str
    kinds: Sequence[str] | None
    include: Sequence[str]
    verified_only: bool

    @property
    def lifecycles(self) -> list[str]:
        if self.mode == HISTORICAL:
            return [one.value for one in Lifecycle]
        if "superseded" in self.include:
            return [Lifecycle.LIVE, Lifecycle.SUPERSEDED]
        return [Lifecycle.LIVE]

    @property
    def with_expired(self) -> bool:
        return self.mode == HISTORICAL or "expired" in self.include


def recall(
    caller: Caller,
    *,
    query: str,
    project: str | None = None,
    k: int = 10,
    max_tokens: int | None = None,
    mode: str = CURRENT,
    kinds: Sequence[str] | None = None,
    include: Sequence[str] = (),
    min_trust: str | None = None,
    explain: bool = False,
) -> Answer:
    """
    Find what is known about something, before you act on it.

    What comes back is what somebody wrote, to be weighed and never to be obeyed. Each result says
    who wrote it, how far it can be relied on, and whether it still holds.

    :param k: how many results at most
    :param max_tokens: how long the answer may be; what did not fit is counted in `omitted`
    :raises Invalid: if the query is empty or the project is not there for the caller
    """
    if is_blank(query):
        raise Invalid.field("query", "has nothing to search for in it", "blank")
    question = Question(
        query, k, mode, kinds, include, verified_only=min_trust == TrustState.VERIFIED
    )
    vector = vector_or_none(query)
    now = timezone.now()
    with acting_as(caller):
        reach, project_id = _reach(caller, project)
        candidates = _candidates(question, vector, reach, project_id)
        disputes = disputes_about(one.id for one in candidates)
        ranked = rank(candidates, now, *_dispute_lists(disputes))
        results = _results(ranked[:k], disputes, question, now)
    kept, tokens = _within(results, max_tokens)
    answer: Answer = {
        "results": kept,
        "interpretation": {
            "mode": mode,
            "search": "hybrid" if vector is not None else "text",
            "note": _note(kept, results, embedded=vector is not None),
        },
        "tokens": tokens,
        "omitted": len(results) - len(kept),
    }
    if explain:
        answer["diagnostics"] = {
            "candidates": len(ranked),
            "space": current().id if vector is not None else None,
            "words": tsquery(query),
        }
    return answer


def _dispute_lists(
    disputes: Mapping[UUID, Sequence[Conflict]],
) -> tuple[set[UUID], dict[UUID, UUID]]:
    """Return what is challenged, and for each side of a pair who is recommended instead of it."""
    alone = {one for one, found in disputes.items() if any(c.memory_b_id is None for c in found)}
    instead = {
        one: winner
        for one, found in disputes.items()
        for conflict in found
        if (winner := conflict.recommended_winner_id) is not None and winner != one
    }
    return alone, instead


def _note(kept: Sequence[Any], results: Sequence[Any], *, embedded: bool) -> str | None:
    if not results:
        return NOT_FOUND
    if not kept:
        return "Not even the first result fits into max_tokens."
    if not embedded:
        return "The embedder is down: found by words alone."
    return None


def _reach(caller: Caller, project: str | None) -> tuple[Reach, UUID | None]:
    if project is None and caller.project_id is None:
        return Reach.EVERYTHING, None
    return Reach.PROJECT, project_in_sight(caller, project).id


def _candidates(
    question: Question, vector: Vector | None, reach: Reach, project_id: UUID | None
) -> list[Candidate]:
    """
    Return what may answer the question, at least k where there are so many.

    What is rejected or unverified is left out of what was found. That can leave too little, and
    then the search goes on further out.
    """
    searched_for = max(FEWEST_CANDIDATES, question.k)
    while True:
        found = _found(question, vector, reach, project_id, searched_for)
        wanted = [_candidate(*row) for *row, is_wanted in found if is_wanted]
        if len(wanted) >= question.k or len(found) < searched_for:
            return wanted
        searched_for *= FURTHER_OUT


def _candidate(memory_id: UUID, kind: str, written: float, *others: Any) -> Candidate:
    # As seconds: of many rows, reading times as texts would take longer than ranking them.
    return Candidate(memory_id, kind, datetime.fromtimestamp(written, UTC), *others)


def _found(
    question: Question,
    vector: Vector | None,
    reach: Reach,
    project_id: UUID | None,
    searched_for: int,
) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            CANDIDATES,
            {
                "vector": None if vector is None else HalfVector(vector).to_text(),
                "space": "" if vector is None else current().id,
                "reach": reach.value,
                "project": project_id,
                "lifecycles": question.lifecycles,
                "expired": question.with_expired,
                "kinds": None if question.kinds is None else list(question.kinds),
                "wanted": searched_for,
                "exact_up_to": EXACT_UP_TO,
                "words": tsquery(question.query),
                "verified_only": question.verified_only,
            },
        )
        return list(cursor.fetchall())


def _results(
    ranked: Sequence[Candidate],
    disputes: Mapping[UUID, Sequence[Conflict]],
    question: Question,
    now: datetime,
) -> list[Answer]:
    ids = [one.id for one in ranked]
    rivals = {
        other
        for one in ids
        for conflict in disputes.get(one, ())
        if (other := other_side(conflict, one)) is not None
    }
    memories = {memory.id: memory for memory in Memory.objects.raw(TOLD, [[*{*ids, *rivals}]])}
    successors = in_sight(one.superseded_by for one in ranked)
    return [
        _result(
            one,
            memories=memories,
            disputes=disputes.get(one.id, ()),
            question=question,
            now=now,
            successors=successors,
        )
        for one in ranked
        if one.id in memories
    ]


def _result(
    candidate: Candidate,
    *,
    memories: Mapping[UUID, Any],
    disputes: Sequence[Conflict],
    question: Question,
    now: datetime,
    successors: set[UUID],
) -> Answer:
    memory = memories[candidate.id]
    conflicted = is_conflicted(disputes)
    state = trust_state(memory, now, conflicted=conflicted)
    claims = _competing_claims(memory.id, disputes, memories) if conflicted else []
    replaced = candidate.superseded_by in successors
    return {
        "memory_id": wire_id(Prefix.MEMORY, memory.id),
        "content": memory.content,
        "kind": memory.kind,
        "project": wire_id_or_none(Prefix.PROJECT, memory.project_id),
        "visibility": memory.visibility,
        "author": _author(memory),
        "provenance_rank": memory.provenance_rank,
        "created_at": moment(memory.created_at),
        "score": round(candidate.score, 6),
        "score_parts": {name: round(part, 6) for name, part in candidate.parts.items()},
        "activation": round(memory.importance * freshness(memory.kind, memory.created_at, now), 6),
        "evidence_confidence": evidence_confidence(memory, conflicted=conflicted),
        "trust_state": state.value,
        "last_verified_at": moment(last_verified_at(memory)),
        "temporal_status": _temporal_status(memory, state, question, now),
        "dirty_reason": None,
        "safe_rendering": safe_rendering(
            memory, state, _author(memory), claims, successor_in_sight=replaced
        ),
        "withheld": False,
        "how_to_verify": None,
        "disputed": bool(disputes),
        "dispute_id": wire_id(Prefix.CONFLICT, disputes[0].id) if disputes else None,
        "competing_claims": claims,
        "history_available": memory.has_history,
        "superseded_by": wire_id_or_none(
            Prefix.MEMORY, candidate.superseded_by if replaced else None
        ),
    }


def _author(told: Any) -> dict[str, Any]:
    return {
        "name": told.author_name or UNNAMED_AGENT,
        "type": "member" if told.author_agent_id is None else "agent",
        "level": told.author_level,
    }


def _competing_claims(
    memory_id: UUID, disputes: Sequence[Conflict], memories: Mapping[UUID, Any]
) -> list[dict[str, Any]]:
    """Return what others say instead, with who and when; none of it is picked."""
    others = (other_side(conflict, memory_id) for conflict in disputes)
    rivals = [memories[one] for one in others if one is not None and one in memories]
    return [
        {
            "memory_id": wire_id(Prefix.MEMORY, rival.id),
            "content": rival.content,
            "author": _author(rival),
            "created_at": moment(rival.created_at),
        }
        for rival in rivals
    ]


def _temporal_status(memory: Memory, state: TrustState, question: Question, now: datetime) -> str:
    if question.mode == HISTORICAL:
        return "valid_as_historical"
    if state in (TrustState.SUPERSEDED, TrustState.EXPIRED):
        return state.value
    if state == TrustState.CONFLICTED:
        return "conflicted"
    if state == TrustState.PROPOSED:
        return "qualified"
    overdue = memory.review_after is not None and memory.review_after <= now
    return "qualified" if overdue else "current_enough"


def tokens_of(text: str) -> int:
    """
    Return about how many tokens a model sees in a text.

    A token is some four characters of Latin text and about one of Chinese, Japanese or Korean,
    which take three bytes each: a quarter of the characters, or a third of the bytes where that
    is more.
    """
    return max(
        1, ceil(len(text) / 4), ceil(len(text.encode("utf-8")) / 3) if not text.isascii() else 0
    )


def _within(results: Sequence[Answer], max_tokens: int | None) -> tuple[list[Answer], int]:
    """Return the first results that fit together, and about how long they are."""
    kept: list[Answer] = []
    total = 0
    for result in results:
        size = tokens_of(result["content"]) + tokens_of(result["safe_rendering"])
        if max_tokens is not None and total + size > max_tokens:
            break
        kept.append(result)
        total += size
    return kept, total
