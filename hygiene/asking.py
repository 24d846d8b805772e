"""
What to ask a judge about a memory's pairs: of each pair one job at a time, and nothing twice.

All of this is inside the door: it is found out what to ask, and the pairs are taken in hand. Asked
is outside of it, in hearing.py. If the judge cannot say everything now, what it did say waits for
the rest, so that all that concerns a memory is still decided together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from hygiene.budget import NOTHING_SPENT, Spent
from hygiene.judge import Exhibit, Judge, Opinion, Said, Statement
from hygiene.models import Judgement
from hygiene.unanswered import UNANSWERED
from memory.conflict.detect import Candidate, several_valued
from memory.models import Component, Memory
from memory.place import Place
from tenants.jobs import JobInHand

UNUSABLE = "unusable"
# What is done with a verdict so far, if others on the same memory are still to come.
WAITING = "waiting"
# What became of one that came when it could not matter: a side had gone, or somebody had decided.
LATE = "late"
# Neither says that the pair is done with: when both sides are live again, it is looked at again.
UNDONE = (WAITING, LATE)  # also in policies.sql

_TAKE = "SELECT low_id, high_id FROM take_pairs_in_hand(%s, %s, %s, %s, %s, %s)"
_CLOSED = "SELECT closed_with(%s, %s, %s, %s)"
_SAID = "SELECT * FROM judgements_between(%s, %s, %s, %s)"


@dataclass(frozen=True)
class Compared:
    """
    A candidate and what the judge said; no opinion if its answers could not be used.

    :param kept: it was said and noted before
    :param tries: how often the judge was asked in vain, if it is to be asked again
    """

    candidate: Candidate
    opinion: Opinion | None
    why: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    kept: bool = False
    tries: int = 0

    @property
    def spent(self) -> Spent:
        """What was spent on it now: not if it was kept, for then it is counted."""
        return NOTHING_SPENT if self.kept else Spent(self.tokens_in, self.tokens_out)


@dataclass
class Inquiry:
    """
    What a judge is to be asked about a memory.

    :param open: the candidates to ask about
    :param said: what is known already, and was not acted upon
    :param tries: how often it was asked in vain about which of them
    """

    memory: Memory
    open: list[Candidate]
    said: list[Compared] = field(default_factory=list)
    tries: dict[UUID, int] = field(default_factory=dict)
    exhibits: dict[UUID, Exhibit] = field(default_factory=dict)


def to_be_judged(memory: Memory, candidates: Sequence[Candidate], judge: Judge) -> list[Candidate]:
    """Return the candidates that nothing was decided or said about yet. Inside the door."""
    if not candidates:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_CLOSED, _about(memory, candidates, judge))
        closed = {one for (one,) in cursor.fetchall()}
    return [one for one in candidates if one.memory.id not in closed]


def inquiry_about(
    memory: Memory, candidates: Sequence[Candidate], judge: Judge, job: JobInHand
) -> Inquiry:
    """
    Return what is to be asked of the judge, its pairs taken in hand by the job. Inside the door.

    What another job has in hand is that job's, which is not over before it has concluded it.
    """
    if not candidates:
        return Inquiry(memory, [])
    ours = _taken(memory, candidates, judge, job)
    # Looked at once they are ours: whoever had them before has committed what was said.
    verdicts = {_other(one, memory): one for one in judgements_of(memory, candidates, judge)}
    inquiry = Inquiry(memory, [])
    for candidate in candidates:
        verdict = verdicts.get(candidate.memory.id)
        if verdict is not None and verdict.deed not in UNDONE:
            continue
        is_of_today = verdict is not None and _is_of_today(verdict, memory, candidate)
        if verdict is not None and is_of_today and verdict.relation != UNANSWERED:
            inquiry.said.append(_as_kept(candidate, verdict))
        elif candidate.memory.id in ours:
            inquiry.open.append(candidate)
            if verdict is not None and is_of_today:
                inquiry.tries[candidate.memory.id] = verdict.tries
    if inquiry.open:
        inquiry.exhibits = exhibits_of([memory, *(one.memory for one in inquiry.open)])
    return inquiry


def _taken(
    memory: Memory, candidates: Sequence[Candidate], judge: Judge, job: JobInHand
) -> set[UUID]:
    pairs = [sorted((memory.id, one.memory.id)) for one in candidates]
    wanted: list[Any] = [job.id, [low for low, _ in pairs], [high for _, high in pairs]]
    wanted.append([_newer_whose_job_comes_to_it(memory, one.memory) for one in candidates])
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [*wanted, judge.id, judge.prompt_version])
        return {one for pair in cursor.fetchall() for one in pair}


def _newer_whose_job_comes_to_it(memory: Memory, other: Memory) -> UUID | None:
    """Return the other one if it is newer, and its owner sees this one: then it is their pair."""
    sees = Place.of(memory).is_read_by_all_who_read(Place.of(other))
    return other.id if other.sequence > memory.sequence and sees else None


def let_go(job: JobInHand) -> None:
    """Let other jobs ask about the pairs that this one has taken in hand. Inside the door."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT let_pairs_go(%s)", [job.id])


def judgements_of(memory: Memory, candidates: Iterable[Candidate], judge: Judge) -> list[Judgement]:
    """Return what this judge has said of the memory and these. Inside the door."""
    return list(Judgement.objects.raw(_SAID, _about(memory, candidates, judge)))


def _about(memory: Memory, candidates: Iterable[Candidate], judge: Judge) -> list[Any]:
    others = [one.memory.id for one in candidates]
    return [memory.id, others, judge.id, judge.prompt_version]


def _other(judgement: Judgement, memory: Memory) -> UUID:
    is_older = judgement.older_id == memory.id
    return judgement.newer_id if is_older else judgement.older_id


def _is_of_today(verdict: Judgement, memory: Memory, candidate: Candidate) -> bool:
    """Return whether both are as they were when the judge saw them."""
    older, newer = sorted((memory, candidate.memory), key=lambda one: one.sequence)
    return (verdict.older_version, verdict.newer_version) == (older.version, newer.version)


def _as_kept(candidate: Candidate, verdict: Judgement) -> Compared:
    cost = verdict.tokens_in, verdict.tokens_out
    if verdict.relation == UNUSABLE:
        return Compared(candidate, None, verdict.reasoning, *cost, kept=True)
    opinion = Opinion(
        Said(verdict.relation),
        verdict.confidence,
        verdict.reasoning,
        verdict.shared_subject,
        tuple(verdict.missing_specifics),
        latency_ms=verdict.latency_ms,
    )
    return Compared(candidate, opinion, "", *cost, kept=True)


def exhibits_of(memories: Sequence[Memory]) -> dict[UUID, Exhibit]:
    """Return the memories as a judge sees them. Inside the door."""
    stated: dict[UUID, list[Statement]] = {memory.id: [] for memory in memories}
    declared = Component.objects.filter(memory__in=stated, suggested=False, dismissed_at=None)
    components = list(declared.order_by("created_at", "id"))
    several = several_valued({one.memory_id for one in components}) if components else {}
    for one in components:
        multi = one.multi or one.subject in several[one.memory_id]
        stated[one.memory_id].append(Statement(one.subject, one.value, multi))
    return {
        memory.id: Exhibit(
            content=memory.content,
            kind=memory.kind,
            rank=memory.rank,
            level=memory.author_level,
            written_at=memory.said_at,
            components=tuple(stated[memory.id]),
        )
        for memory in memories
    }
