"""Which memories may answer a question, and in which order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from memory.conflict.disputes import disputes_about
from memory.finding.embedding import Vector, current
from memory.finding.question import Question
from memory.finding.ranking import Candidate, rank
from memory.finding.similar import EXACT_UP_TO, Reach
from memory.finding.words import tsquery
from memory.models import Conflict
from memory.trust.standing import disputes_at

# Each of the two searches brings at least so many candidates: enough for the fusion to choose from.
FEWEST_CANDIDATES = 40
# How many times as many are sought where too few of them were wanted.
FURTHER_OUT = 8

_CANDIDATES = """
SELECT * FROM candidates_for(
    %(vector)s::halfvec, %(space)s, %(worded)s::uuid[], %(likenesses)s::float8[], %(reach)s,
    %(project)s, %(lifecycles)s, %(any_end)s, %(kinds)s, %(wanted)s, %(exact_up_to)s, %(about)s,
    %(above)s, %(vouched_for)s, %(as_of)s, %(superseded)s, %(expired)s)
"""
_WORDED = """
SELECT memory_id, likeness FROM worded_memories(
    %(words)s::tsquery, %(reach)s, %(project)s, %(lifecycles)s, %(any_end)s, %(kinds)s, %(wanted)s)
"""

Disputes = Mapping[UUID, Sequence[Conflict]]
# What waits for a vector; there is none while the embedder is down.
Awaited = Callable[[], Vector | None]


def ranked(
    question: Question,
    vector: Awaited,
    now: datetime,
    *,
    reach: Reach,
    project_id: UUID | None,
) -> tuple[list[Candidate], Disputes]:
    """Return what may answer the question, best first, and the disputes open about it then."""
    candidates = _candidates(question, vector, reach, project_id)
    disputes: Disputes
    if question.as_of is None:
        disputes = disputes_about(one.id for one in candidates if one.in_dispute)
    else:
        disputes = disputes_at([one.id for one in candidates], question.as_of)
    return rank(candidates, question.as_of or now, *_dispute_lists(disputes)), disputes


def _dispute_lists(disputes: Disputes) -> tuple[set[UUID], dict[UUID, UUID]]:
    """Return what is challenged, and for each side of a pair who is recommended instead of it."""
    alone = {one for one, found in disputes.items() if any(c.memory_b_id is None for c in found)}
    instead = {
        one: winner
        for one, found in disputes.items()
        for conflict in found
        if (winner := conflict.recommended_winner_id) is not None and winner != one
    }
    return alone, instead


def _candidates(
    question: Question, vector: Awaited, reach: Reach, project_id: UUID | None
) -> list[Candidate]:
    """
    Return what may answer the question, at least k where there are so many.

    What is rejected, unverified or of another time is left out of what was found. That can leave
    too little, and then the search goes on further out.
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
    vector: Awaited,
    reach: Reach,
    project_id: UUID | None,
    searched_for: int,
) -> list[tuple[Any, ...]]:
    """Return what was found, by words first: meanwhile the vector is computed."""
    asked: dict[str, Any] = {
        "words": tsquery(question.query),
        "reach": reach.value,
        "project": project_id,
        "lifecycles": question.lifecycles,
        "any_end": question.historical or question.with_expired,
        "kinds": None if question.kinds is None else list(question.kinds),
        "wanted": searched_for,
        "exact_up_to": EXACT_UP_TO,
        "about": list(question.subjects),
        "above": list(_with_those_above(question.subjects)),
        "vouched_for": question.verified_only,
        "as_of": question.as_of,
        "superseded": question.with_superseded,
        "expired": question.with_expired,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WORDED, asked)
        worded = dict(cursor.fetchall())
        asked |= {"worded": list(worded), "likenesses": list(worded.values())}
        meant = vector()
        if meant is None:
            asked |= {"vector": None, "space": ""}
        else:
            asked |= {"vector": HalfVector(meant).to_text(), "space": current().id}
        cursor.execute(_CANDIDATES, asked)
        return list(cursor.fetchall())


def _with_those_above(subjects: Sequence[str]) -> Iterator[str]:
    """Yield each subject and all that it lies under."""
    for subject in subjects:
        labels = subject.split(".")
        yield from (".".join(labels[:length]) for length in range(len(labels), 0, -1))
