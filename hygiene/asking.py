"""
Asking a judge about a memory's pairs: of each pair one job at a time, and what was said is kept.

Inside the door it is found out what to ask, and the pairs are taken in hand. Outside it the judge
is asked. If it cannot say everything now, what it did say waits for the rest, so that nothing is
asked twice and all that concerns a memory is still decided together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from hygiene.budget import NOTHING_SPENT, Spent
from hygiene.judge import (
    Exhibit,
    Judge,
    JudgeDown,
    JudgeMisconfigured,
    Opinion,
    Said,
    Statement,
    Unusable,
)
from hygiene.models import Judgement
from memory.conflict.detect import Candidate, several_valued
from memory.models import Component, Memory
from memory.place import Place
from tenants.deadline import nobody_waits_any_more
from tenants.fault_points import reach_fault_point
from tenants.jobs import JobInHand, NotNow

UNUSABLE = "unusable"
# What is done with a verdict so far, if others on the same memory are still to come.
WAITING = "waiting"
# What became of one that came when it could not matter: a side had gone, or somebody had decided.
LATE = "late"
# Neither says that the pair is done with: when both sides are live again, it is looked at again.
UNDONE = (WAITING, LATE)  # also in policies.sql
MISCONFIGURED = "the judge is misconfigured"  # also in policies.sql

JUDGE_RETRY = timedelta(seconds=30)
LEFT_TO_THE_WORKER = "whoever waited for it waits no more"

_TAKE = "SELECT low_id, high_id FROM take_pairs_in_hand(%s, %s, %s, %s, %s, %s)"
_CLOSED = "SELECT closed_with(%s, %s, %s, %s)"
_SAID = "SELECT * FROM judgements_between(%s, %s, %s, %s)"


@dataclass(frozen=True)
class Compared:
    """
    A candidate and what the judge said; no opinion if its answers could not be used.

    :param kept: it was said and noted before
    """

    candidate: Candidate
    opinion: Opinion | None
    why: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    kept: bool = False


@dataclass
class Inquiry:
    """
    What a judge is to be asked about a memory.

    :param open: the candidates to ask about
    :param said: what is known already, and was not acted upon
    """

    memory: Memory
    open: list[Candidate]
    said: list[Compared] = field(default_factory=list)
    exhibits: dict[UUID, Exhibit] = field(default_factory=dict)


@dataclass
class Heard:
    """
    What came of an inquiry.

    :param missing: why it is not everything, and when to ask for the rest
    :param in_vain: what was spent on a question to which no answer came
    """

    compared: list[Compared]
    missing: NotNow | None = None
    in_vain: Spent = NOTHING_SPENT


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
        if verdict is not None and _is_of_today(verdict, memory, candidate):
            inquiry.said.append(_as_kept(candidate, verdict))
        elif candidate.memory.id in ours:
            inquiry.open.append(candidate)
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
    if verdict.relation == UNUSABLE:
        return Compared(candidate, None, verdict.reasoning, kept=True)
    opinion = Opinion(
        Said(verdict.relation),
        verdict.confidence,
        verdict.reasoning,
        verdict.shared_subject,
        tuple(verdict.missing_specifics),
    )
    return Compared(candidate, opinion, kept=True)


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
            rank=memory.provenance_rank,
            level=memory.author_level,
            written_at=memory.created_at,
            components=tuple(stated[memory.id]),
        )
        for memory in memories
    }


def hear(judge: Judge, inquiry: Inquiry, keep: Callable[[], None]) -> Heard:
    """
    Ask the judge about every open pair, as long as whoever waits does. Outside the door.

    :param keep: keeps the lease; called after each pair
    """
    heard = Heard(list(inquiry.said))
    reach_fault_point("before_judge")
    for candidate in inquiry.open:
        if nobody_waits_any_more():
            heard.missing = put_off(LEFT_TO_THE_WORKER, after=timedelta())
            break
        try:
            heard.compared.append(compare(judge, inquiry.memory, candidate, inquiry.exhibits))
        except JudgeDown as error:
            heard.missing = not_now(error)
            heard.in_vain = Spent(error.tokens_in, error.tokens_out)
            break
        keep()
    return heard


def put_off(reason: str, *, after: timedelta) -> NotNow:
    """Return why something is done later; at once, if it only took longer than somebody waits."""
    if nobody_waits_any_more():
        return NotNow(LEFT_TO_THE_WORKER, after=timedelta())
    return NotNow(reason, after=after)


def not_now(error: JudgeDown) -> NotNow:
    """Return why a judge that is down is left alone, and for how long."""
    if isinstance(error, JudgeMisconfigured):
        return NotNow(f"{MISCONFIGURED}: {error}", after=pause_after(error))
    return put_off("the judge is down", after=pause_after(error))


def pause_after(error: JudgeDown) -> timedelta:
    """Return for how long a judge that is down is left alone."""
    return JUDGE_RETRY if error.after is None else timedelta(seconds=max(1.0, error.after))


def compare(
    judge: Judge, memory: Memory, candidate: Candidate, exhibits: dict[UUID, Exhibit]
) -> Compared:
    """
    Ask the judge about one pair. Outside the door.

    :raises JudgeDown: if it cannot be asked right now
    """
    older, newer = sorted((memory, candidate.memory), key=lambda one: one.sequence)
    try:
        opinion = judge.compare(exhibits[older.id], exhibits[newer.id])
    except Unusable as error:
        return Compared(candidate, None, str(error), error.tokens_in, error.tokens_out)
    return Compared(candidate, opinion, "", opinion.tokens_in, opinion.tokens_out)
