"""What a briefing could tell, by section, before it is cut to its length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Window

from memory.answering import TO_BE_VERIFIED, told
from memory.conflict.disputes import DISAGREEING, disputes_about
from memory.finding.candidates import Awaited, ranked
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
    :param besides: how many more there are than were looked at, by section
    """

    sections: dict[str, list[Answer]]
    loops: int
    loops_left_alone: int
    besides: dict[str, int]


def gathered(
    caller: Caller, project_id: UUID, task: str, vector: Awaited | None, now: datetime
) -> Gathered:
    """Return what the caller could be told of the project. Belongs inside the door."""
    question = Question(task)
    current = _current(project_id, now)
    loops = current.filter(kind__in=LOOP_KINDS)
    lately = Q(created_at__gt=now - LOOPS_ARE_TOLD_FOR)
    news = current.exclude(kind__in=PROTECTED_KINDS | LOOP_KINDS)
    by_section, besides = _first_of_many(current, project_id, now)
    by_section |= {
        "open_loops": _ids(loops.filter(lately).order_by("sequence"), MOST_LOOPS),
        "recent": _ids(news.order_by("-sequence"), 2 * MOST_OF_OTHERS),
        "relevant": _relevant(question, vector, now, project_id),
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
    sections |= {"to_verify": to_verify[:MOST_OF_OTHERS], "lost": _lost(caller, now)}
    there = {item["memory_id"] for item in sections["relevant"]}
    sections["recent"] = [item for item in sections["recent"] if item["memory_id"] not in there]
    sections["recent"] = sections["recent"][:MOST_OF_OTHERS]
    sections["disputes"] = [_dispute(one, answers) for one in conflicts]
    counted = loops.filter(lately).count(), loops.exclude(lately).count()
    besides["to_verify"] += len(to_verify[MOST_OF_OTHERS:])
    return Gathered(sections, *counted, besides=besides)


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


def _first_of_many(
    current: QuerySet[Memory], project_id: UUID, now: datetime
) -> tuple[dict[str, list[UUID]], dict[str, int]]:
    """Return the rules and what is to be verified as far as it is told, and how many more."""
    rules = current.filter(kind__in=PROTECTED_KINDS).order_by("-importance", "-sequence")
    # Most recalled first.
    in_doubt = those_to_verify(now, project_id=project_id)
    found = {"rules": _counted(rules, MOST_RULES), "to_verify": _counted(in_doubt, MOST_IN_DOUBT)}
    ids = {name: first for name, (first, _) in found.items()}
    return ids, {name: more for name, (_, more) in found.items()}


def _counted(memories: QuerySet[Memory], most: int) -> tuple[list[UUID], int]:
    """Return the first of them, and how many more there are."""
    counted = memories.annotate(in_all=Window(Count("id"))).values_list("id", "in_all")
    found = list(counted[:most])
    return [one for one, _ in found], found[0][1] - len(found) if found else 0


def _relevant(
    question: Question, vector: Awaited | None, now: datetime, project_id: UUID
) -> list[UUID]:
    if vector is None:
        return []
    found, _ = ranked(question, vector, now, reach=Reach.PROJECT, project_id=project_id)
    return [one.id for one in found][:MOST_OF_OTHERS]


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
