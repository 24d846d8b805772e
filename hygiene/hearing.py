"""
Asking a judge about a memory's pairs, outside the door, as far as time and the day's budget go.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from math import inf
from typing import TypeVar
from uuid import UUID

from django.conf import settings

from hygiene.asking import Compared, Inquiry
from hygiene.budget import NOTHING_SPENT, Spent, count_as_spent, must_have_some_left
from hygiene.judge import Exhibit, Judge, JudgeDown, JudgeMisconfigured, Unusable
from hygiene.unanswered import MOST_TRIES, NO_ANSWER_YET, answers_others, gave_none
from memory.conflict.detect import Candidate
from memory.conflict.put_off import DOWN, MISCONFIGURED
from memory.models import Memory
from tenants.deadline import awaited, nobody_waits_any_more
from tenants.fault_points import reach_fault_point
from tenants.jobs import NotNow

JUDGE_RETRY = timedelta(seconds=30)
PATIENCE = 1.0
"""Seconds between two looks at the lease, while an answer is waited for."""
LEFT_TO_THE_WORKER = "whoever waited for it waits no more"

_Answer = TypeVar("_Answer")


@dataclass
class Heard:
    """
    What came of an inquiry.

    :param unanswered: pairs to be asked about again: others are answered meanwhile
    :param missing: why it is not everything, and when to ask for the rest
    :param in_vain: what was spent on a question to which no answer came
    """

    compared: list[Compared]
    unanswered: list[Compared] = field(default_factory=list)
    missing: NotNow | None = None
    in_vain: Spent = NOTHING_SPENT


def hear(judge: Judge, inquiry: Inquiry, keep: Callable[[], None]) -> Heard:
    """
    Ask the judge about every open pair, as long as whoever waits does, and the budget lasts.

    Outside the door. A process asks as many questions at a time as it has threads for jobs,
    whosever they are: while one job writes, the questions of another are asked.

    :param keep: keeps the lease; called in time, however long the answers take
    """
    heard = Heard(list(inquiry.said))
    reach_fault_point("before_judge")
    # The first alone: a judge that is down is not asked by every thread at once.
    for together in (inquiry.open[:1], inquiry.open[1:]):
        if heard.missing is None:
            _ask(judge, inquiry, together, heard, keep)
    if heard.unanswered and heard.missing is None:
        heard.missing = put_off(NO_ANSWER_YET, after=JUDGE_RETRY)
    return heard


def _ask(
    judge: Judge,
    inquiry: Inquiry,
    candidates: Sequence[Candidate],
    heard: Heard,
    keep: Callable[[], None],
) -> None:
    """Ask about all of these at once, and add what comes of it."""
    questions = [
        _questions().submit(copy_context().run, _answered, judge, inquiry, candidate)
        for candidate in candidates
    ]
    try:
        for candidate, question in zip(candidates, questions, strict=True):
            try:
                heard.compared.append(_outcome(question, keep))
            except NotNow as used_up:
                heard.missing = heard.missing or used_up
                _leave_unasked(questions)
            except JudgeDown as error:
                heard.in_vain += Spent(error.tokens_in, error.tokens_out)
                if heard.missing is None and _answers_others(judge, inquiry, error, heard, keep):
                    _note_unanswered(inquiry, candidate, error, heard)
                    continue
                heard.missing = heard.missing or not_now(error)
                _leave_unasked(questions)
            except CancelledError:
                heard.missing = heard.missing or put_off(LEFT_TO_THE_WORKER, after=timedelta())
    finally:
        _leave_unasked(questions)


def _answers_others(
    judge: Judge, inquiry: Inquiry, error: JudgeDown, heard: Heard, keep: Callable[[], None]
) -> bool:
    """Return whether it failed at this question alone; for whom somebody waits, that stays open."""
    if isinstance(error, JudgeMisconfigured) or awaited() < inf:
        return False
    # Not behind all the others that wait to be asked.
    with ThreadPoolExecutor(1) as beside:
        answers, spent = _outcome(beside.submit(answers_others, judge), keep)
    heard.in_vain += spent
    count_as_spent(inquiry.memory.tenant_id, judge, spent)
    return answers


def _note_unanswered(
    inquiry: Inquiry, candidate: Candidate, error: JudgeDown, heard: Heard
) -> None:
    tries = inquiry.tries.get(candidate.memory.id, 0) + 1
    if tries < MOST_TRIES:
        heard.unanswered.append(Compared(candidate, None, str(error), tries=tries))
    else:
        heard.compared.append(Compared(candidate, None, gave_none(str(error))))


@lru_cache(maxsize=1)
def _questions() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.WORKER_THREADS, thread_name_prefix="questions")


def _answered(judge: Judge, inquiry: Inquiry, candidate: Candidate) -> Compared:
    if nobody_waits_any_more():
        raise CancelledError
    tenant_id = inquiry.memory.tenant_id
    must_have_some_left(tenant_id, judge)
    try:
        compared = compare(judge, inquiry.memory, candidate, inquiry.exhibits)
    except JudgeDown as error:
        count_as_spent(tenant_id, judge, Spent(error.tokens_in, error.tokens_out))
        raise
    count_as_spent(tenant_id, judge, compared.spent)
    return compared


def _outcome(question: Future[_Answer], keep: Callable[[], None]) -> _Answer:
    """Return the answer once it is there; a question that nobody waits for is not asked."""
    while True:
        try:
            return question.result(timeout=min(PATIENCE, max(awaited() - time.monotonic(), 0.01)))
        except TimeoutError:
            if nobody_waits_any_more():
                question.cancel()
            keep()


def _leave_unasked(questions: Iterable[Future[Compared]]) -> None:
    for question in questions:
        question.cancel()


def put_off(reason: str, *, after: timedelta) -> NotNow:
    """Return why something is done later; at once, if it only took longer than somebody waits."""
    if nobody_waits_any_more():
        return NotNow(LEFT_TO_THE_WORKER, after=timedelta())
    return NotNow(reason, after=after)


def not_now(error: JudgeDown) -> NotNow:
    """Return why a judge that is down is left alone, and for how long."""
    if isinstance(error, JudgeMisconfigured):
        return NotNow(f"{MISCONFIGURED}: {error}", after=pause_after(error))
    return put_off(DOWN, after=pause_after(error))


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
