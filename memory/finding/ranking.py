"""
In which order candidates are told.

Two lists, by meaning and by words, are fused by reciprocal rank (Cormack, Clarke and Büttcher,
2009, with their k of 60), so that scores of different sorts need not be compared. What a memory
is, how old it is and who wrote it then weigh in. The weights change the order and nothing else.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from memory.models import Kind

FUSION_K = 60
# How much of the score age can take: what is old is told later, and never lost.
AGE_SHARE = 0.3
# What is challenged is told later until somebody has decided.
CHALLENGED_WEIGHT = 0.6
# What says something of a subject that was asked about is told sooner.
ON_SUBJECT_WEIGHT = 1.25
DAY = 86_400.0
YEAR = 365.25

KIND_WEIGHTS: Mapping[str, float] = {
    Kind.DECISION: 1.10,
    Kind.CONVENTION: 1.10,
    Kind.GOTCHA: 1.10,
    Kind.PREFERENCE: 1.05,
    Kind.EPISODE: 0.95,
}
HALF_LIVES_IN_DAYS: Mapping[str, float] = {
    Kind.DECISION: 10 * YEAR,
    Kind.CONVENTION: 10 * YEAR,
    Kind.PREFERENCE: 5 * YEAR,
    Kind.GOTCHA: 3 * YEAR,
    Kind.REFERENCE: 5 * YEAR,
    Kind.PROCEDURE: 3 * YEAR,
    Kind.FACT: 1 * YEAR,
    Kind.EPISODE: 30.0,
    Kind.TASK: 14.0,
    Kind.OPEN_QUESTION: 14.0,
}
RANK_WEIGHTS = {0: 0.85, 1: 0.97, 2: 1.0}


@dataclass
class Candidate:
    """A memory that was found, and by what."""

    id: UUID
    kind: str
    created_at: datetime
    provenance_rank: int
    importance: float
    superseded_by: UUID | None
    similarity: float | None
    likeness: float | None
    on_subject: bool = False
    in_dispute: bool = False
    score: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)


def rank(
    candidates: Sequence[Candidate],
    now: datetime,
    challenged: Set[UUID] = frozenset(),
    instead: Mapping[UUID, UUID] = MappingProxyType({}),
) -> list[Candidate]:
    """
    Return the candidates, best first, with their scores in (0, 1.6] and what made them.

    :param challenged: those that stand in an open dispute of their own
    :param instead: for a side of a disputed pair, the one that is recommended to win
    """
    by_meaning = _places(candidates, "similarity")
    by_words = _places(candidates, "likeness")
    for one in candidates:
        fused = (_reciprocal(by_meaning, one) + _reciprocal(by_words, one)) * (FUSION_K + 1) / 2
        weights = {
            "kind": KIND_WEIGHTS.get(one.kind, 1.0),
            "age": 1 - AGE_SHARE * (1 - freshness(one.kind, one.created_at, now)),
            "rank": RANK_WEIGHTS[one.provenance_rank],
            "importance": 0.9 + 0.2 * one.importance,
        }
        if one.on_subject:
            weights["subject"] = ON_SUBJECT_WEIGHT
        if one.id in challenged:
            weights["dispute"] = CHALLENGED_WEIGHT
        one.score = fused
        for weight in weights.values():
            one.score *= weight
        one.parts = {
            "vector": one.similarity or 0.0,
            "text": one.likeness or 0.0,
            "fusion": fused,
            **weights,
        }
    _keep_below(candidates, instead)
    return sorted(candidates, key=lambda one: (-one.score, -one.created_at.timestamp(), one.id.int))


def freshness(kind: str, created_at: datetime, now: datetime) -> float:
    """Return what age has left of it, in (0, 1]: a half after each half-life of its kind."""
    days = max(0.0, (now - created_at).total_seconds() / DAY)
    return float(0.5 ** (days / HALF_LIVES_IN_DAYS[kind]))


def _places(candidates: Sequence[Candidate], by: str) -> dict[UUID, int]:
    found = [one for one in candidates if getattr(one, by) is not None]
    found.sort(key=lambda one: (-getattr(one, by), -one.created_at.timestamp(), one.id.int))
    return {one.id: place for place, one in enumerate(found, start=1)}


def _reciprocal(places: dict[UUID, int], candidate: Candidate) -> float:
    place = places.get(candidate.id)
    return 0.0 if place is None else 1.0 / (FUSION_K + place)


def _keep_below(candidates: Sequence[Candidate], instead: Mapping[UUID, UUID]) -> None:
    """Tell nothing before what replaced it, or before the one that is recommended instead."""
    by_id = {one.id: one for one in candidates}
    settled: set[UUID] = set()

    def settle(one: Candidate) -> float:
        if one.id not in settled:
            settled.add(one.id)
            for better in (one.superseded_by, instead.get(one.id)):
                if better is not None and better in by_id:
                    one.score = min(one.score, settle(by_id[better]) * 0.999)
        return one.score

    for one in candidates:
        settle(one)
