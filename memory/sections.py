"""What a briefing could tell, by section, before it is cut to its length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.answering import TO_BE_VERIFIED, told
from memory.conflict.disputes import DISAGREEING, disputes_about
from memory.finding.candidates import ranked
from memory.finding.embedding import Vector
from memory.finding.question import Question
from memory.finding.similar import Reach
from memory.models import (
    LOOP_KINDS,
    PROTECTED_KINDS,
    Conflict,
    ConflictState,
    Memory,
    Outcome,
    Verification,
    Visibility,
)
from memory.trust.needed import those_to_verify
from memory.trust.rendering import in_dispute, replaced_by_policy
from memory.trust.state import TrustState
from tenants.caller import Caller
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer

MOST_RULES = 100
MOST_LOOPS = 10
MOST_OF_OTHERS = 10
# Of what is in doubt so many are looked at closely.
MOST_IN_DOUBT = 50
LOOPS_ARE_TOLD_FOR = timedelta(days=14)
LOSSES_ARE_TOLD_FOR = timedelta(days=14)
_COMPACT = (
    *("memory_id", "kind", "safe_rendering", "temporal_status", "trust_state", "author"),
    *("created_at", "dirty_reason", "disputed", "dispute_id"),
)


@dataclass(frozen=True)
class Gathered:
    """
    All that a briefing could tell.

    :param loops: how many loops are open that were opened lately
    :param loops_left_alone: how many older ones stay open, and are not told of any more
    :param to_verify_besides: how many more are to be verified, as far as they were looked for
    """

    sections: dict[str, list[Answer]]
    loops: int
    loops_left_alone: int
    to_verify_besides: int


def gathered(
    caller: Caller, project_id: UUID, task: str, vector: Vector | None, now: datetime
) -> Gathered:
    """Return what the caller could be told of the project. Belongs inside the door."""
    question = Question(task)
    current = _current(project_id, now)
    loops = current.filter(kind__in=LOOP_KINDS)
    lately = Q(created_at__gt=now - LOOPS_ARE_TOLD_FOR)
    news = current.exclude(kind__in=PROTECTED_KINDS | LOOP_KINDS)
    by_section: dict[str, list[UUID]] = {
        "rules": _ids(
            current.filter(kind__in=PROTECTED_KINDS).order_by("-importance", "-sequence"),
            MOST_RULES,
        ),
        "open_loops": _ids(loops.filter(lately).order_by("sequence"), MOST_LOOPS),
        "recent": _ids(news.order_by("-sequence"), 2 * MOST_OF_OTHERS),
        "relevant": _relevant(question, vector, now, project_id),
        "to_verify": _in_doubt(project_id, now),
    }
    conflicts = _open_disputes(project_id)
    every = {one for ids in by_section.values() for one in ids}
    every |= {side for conflict in conflicts for side in _sides(conflict)}
    answers = told([*every], disputes_about(every), question, now)
    sections = {
        name: [
            _compact(answers[one])
            for one in ids
            if one in answers and answers[one]["trust_state"] != TrustState.PROPOSED
        ]
        for name, ids in by_section.items()
    }
    to_verify = [
        _compact(answers[one]) | {"how_to_verify": answers[one]["how_to_verify"]}
        for one in by_section["to_verify"]
        if one in answers and answers[one]["temporal_status"] in TO_BE_VERIFIED
    ]
    sections["to_verify"] = to_verify[:MOST_OF_OTHERS]
    there = {item["memory_id"] for item in sections["relevant"]}
    sections["recent"] = [item for item in sections["recent"] if item["memory_id"] not in there]
    sections["recent"] = sections["recent"][:MOST_OF_OTHERS]
    sections["disputes"] = [_dispute(one, answers) for one in conflicts]
    sections["lost"] = _lost(caller, now)
    counted = loops.filter(lately).count(), loops.exclude(lately).count()
    return Gathered(sections, *counted, to_verify_besides=len(to_verify[MOST_OF_OTHERS:]))


def _current(project_id: UUID, now: datetime) -> QuerySet[Memory]:
    """Return what is live in the project and vouched for by somebody."""
    confirmed = Verification.objects.filter(
        memory=OuterRef("id"), outcome=Outcome.CONFIRMED, weighs=True
    )
    return Memory.objects.filter(
        Q(project=project_id) | Q(project=None) | Q(visibility=Visibility.TENANT),
        Q(valid_until=None) | Q(valid_until__gt=now),
        Q(provenance_rank__gt=0) | Q(accepted_at__isnull=False) | Exists(confirmed),
        invalidated_at=None,
    )


def _ids(memories: QuerySet[Memory], most: int) -> list[UUID]:
    return list(memories.values_list("id", flat=True)[:most])


def _relevant(
    question: Question, vector: Vector | None, now: datetime, project_id: UUID
) -> list[UUID]:
    if not question.query:
        return []
    found, _ = ranked(question, vector, now, reach=Reach.PROJECT, project_id=project_id)
    return [one.id for one in found][:MOST_OF_OTHERS]


def _in_doubt(project_id: UUID, now: datetime) -> list[UUID]:
    """Return what has to be verified, most recalled first."""
    return _ids(those_to_verify(now, project_id=project_id), MOST_IN_DOUBT)


def _open_disputes(project_id: UUID) -> Sequence[Conflict]:
    about = Q(memory_a__project=project_id) | Q(memory_b__project=project_id)
    pending = Conflict.objects.filter(about, state=ConflictState.PENDING).annotate(
        a_from=F("memory_a__valid_from"), b_from=F("memory_b__valid_from")
    )
    return list(pending.order_by("-created_at", "-id")[:MOST_OF_OTHERS])


def _sides(conflict: Conflict) -> Iterable[UUID]:
    return (one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None)


def _dispute(conflict: Any, answers: dict[UUID, Answer]) -> dict[str, Any]:
    starts = {conflict.memory_a_id: conflict.a_from, conflict.memory_b_id: conflict.b_from}
    sides = [
        answers[one] | {"valid_from": moment(starts[one])}
        for one in _sides(conflict)
        if one in answers
    ]
    return {
        "dispute_id": wire_id(Prefix.CONFLICT, conflict.id),
        "kind": conflict.kind,
        "memory_ids": [wire_id(Prefix.MEMORY, one) for one in _sides(conflict)],
        "recommended_winner": wire_id_or_none(Prefix.MEMORY, conflict.recommended_winner_id),
        "created_at": moment(conflict.created_at),
        "safe_rendering": in_dispute(sides, disagreeing=conflict.kind in DISAGREEING),
    }


def _lost(caller: Caller, now: datetime) -> list[dict[str, Any]]:
    """Return what of the caller's own the policy retired lately, without its text."""
    own_a = Q(memory_a__owner=caller.member_id) & ~Q(winner=F("memory_a"))
    own_b = Q(memory_b__owner=caller.member_id) & ~Q(winner=F("memory_b"))
    losses = Conflict.objects.filter(
        own_a | own_b,
        state=ConflictState.RESOLVED,
        resolved_by_member=None,
        winner__isnull=False,
        resolved_at__gt=now - LOSSES_ARE_TOLD_FOR,
    )
    found = losses.order_by("-resolved_at", "-id").select_related("memory_a", "memory_b")
    return [
        _loss(conflict, loser)
        for conflict in found[:MOST_OF_OTHERS]
        for loser in (conflict.memory_a, conflict.memory_b)
        if loser is not None and loser.superseded_by_id == conflict.winner_id
    ]


def _loss(conflict: Conflict, loser: Memory) -> dict[str, Any]:
    memory_id, successor = (
        wire_id(Prefix.MEMORY, one) for one in (loser.id, conflict.winner_id) if one is not None
    )
    return {
        "memory_id": memory_id,
        "kind": loser.kind,
        "superseded_by": successor,
        "dispute_id": wire_id(Prefix.CONFLICT, conflict.id),
        "resolution": conflict.resolution,
        "resolved_at": moment(conflict.resolved_at),
        "safe_rendering": replaced_by_policy(memory_id, successor),
    }


def _compact(answer: Answer) -> Answer:
    return {name: answer[name] for name in _COMPACT}
