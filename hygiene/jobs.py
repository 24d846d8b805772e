"""
What the judge does later: one job is one new memory with all its candidates.

Verdicts are collected first, outside any transaction; then everything is done in one. However often
a job is delivered, and wherever it is interrupted, a pair gets one verdict and one action.
"""

from datetime import timedelta

from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from hygiene.asking import Inquiry, inquiry_about, let_go, to_be_judged
from hygiene.attributing import attribute_misled
from hygiene.budget import count_in_vain, must_be_within_budget
from hygiene.hearing import Heard, hear, put_off
from hygiene.judge import Judge
from hygiene.judging import conclude, judge_at_work
from hygiene.noting import keep_for_later
from hygiene.sweeping import sweep_on
from memory.conflict.detect import Candidate, candidates_of
from memory.conflict.left_to_the_judge import JUDGE_MEMORY, OFF, batch_of, of_batch
from memory.conflict.on_write import AMONG_WRITERS, NEAREST_JUDGED
from memory.finding.embedding import EmbedderDown, Vector, embed
from memory.finding.similar import compared_by_its_vector, compared_with, wait_for_the_writer
from memory.models import Memory
from memory.trust.state import has_expired
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.fault_points import reach_fault_point
from tenants.jobs import (
    JobInHand,
    Obsolete,
    finishing,
    job_kind,
    keep_lease_in_time,
    leave_job,
)

# The worker looks for kinds of jobs here.
__all__ = ["attribute_misled", "judge_memory", "sweep_on"]

EMBEDDER_RETRY = timedelta(seconds=30)
WRITER_RETRY = timedelta(seconds=1)


@job_kind(JUDGE_MEMORY)
def judge_memory(caller: Caller, job: JobInHand) -> None:
    """
    Compare a memory with its candidates, and do what the policy says.

    :raises Obsolete: if it is not live any more, or judging is off
    :raises NotNow: if the embedder or the judge is down, or the day's budget is used up
    """
    if settings.JUDGE == OFF:
        raise Obsolete("judging is off")
    judge = judge_at_work()
    if job.arguments.get(AMONG_WRITERS):
        _wait_for_other_writers(caller)
    found = _looked_up(caller, job, judge) or _looked_up(
        caller, job, judge, vector=_embedded(caller, job)
    )
    assert found is not None
    inquiry, clashing = found
    heard = hear(judge, inquiry, lambda: keep_lease_in_time(job))
    reach_fault_point("after_verdicts")
    if heard.missing is not None:
        _put_off(caller, job, judge, inquiry, heard)
        raise heard.missing
    with finishing(caller, job) as done:
        batch_id = batch_of(job)
        acted = conclude(inquiry.memory, heard.compared, judge, clashing, batch_id=batch_id)
        let_go(job)
        done({"pairs": len(heard.compared), "conflicts": len(acted.conflicts)})
        if acted.changed:
            # Somebody changed something meanwhile: look again. This job is not over yet, and would
            # absorb another of its own name.
            again = f"{inquiry.memory.id}:{job.id}"
            leave_job(
                JUDGE_MEMORY,
                dedup_key=again,
                subject_id=inquiry.memory.id,
                arguments=of_batch(batch_id),
            )


def _wait_for_other_writers(caller: Caller) -> None:
    try:
        with acting_as(caller):
            wait_for_the_writer()
    except OperationalError:
        raise put_off("somebody writes for long", after=WRITER_RETRY) from None


def _live(job: JobInHand) -> Memory:
    live = Memory.objects.filter(id__in=[job.subject_id], invalidated_at=None)
    memory = live.defer("words", "text_key").first()
    if memory is None or has_expired(memory, timezone.now()):
        raise Obsolete("the memory is not live any more")
    return memory


def _looked_up(
    caller: Caller, job: JobInHand, judge: Judge, *, vector: Vector | None = None
) -> tuple[Inquiry, list[Candidate]] | None:
    """
    Return what to ask about the job's memory, and the candidates about which nobody need be asked.

    :param vector: the memory's, where none is stored; without either there is nothing to go by
    """
    with acting_as(caller):
        memory = _live(job)
        in_reach = (
            compared_by_its_vector(memory.id)
            if vector is None
            else compared_with(vector, project_id=memory.project_id)
        )
        if in_reach is None:
            return None
        candidates = candidates_of(memory, in_reach)
        open_ones = to_be_judged(memory, [one for one in candidates if not one.clashes], judge)
        wanted = _worth_asking(open_ones)
        if wanted:
            must_be_within_budget(judge)
        clashing = [one for one in candidates if one.clashes]
        return inquiry_about(memory, wanted, judge, job), clashing


def _worth_asking(candidates: list[Candidate]) -> list[Candidate]:
    """Return the nearest, and all that a subject leads to; the sweep comes to the rest."""
    near = sorted((one for one in candidates if one.score is not None), key=_farness)
    nearest = {one.memory.id for one in near[:NEAREST_JUDGED]}
    return [one for one in candidates if one.memory.id in nearest or one.is_by_subject]


def _farness(candidate: Candidate) -> float:
    return -(candidate.score or 0.0)


def _embedded(caller: Caller, job: JobInHand) -> Vector:
    with acting_as(caller):
        content = _live(job).content
    try:
        return embed(content)
    except EmbedderDown:
        raise put_off("the embedder is down", after=EMBEDDER_RETRY) from None


def _put_off(caller: Caller, job: JobInHand, judge: Judge, inquiry: Inquiry, heard: Heard) -> None:
    """Keep what was said already, for when the rest is, and let others ask about the pairs."""
    with acting_as(caller):
        keep_for_later(inquiry.memory, heard.compared + heard.unanswered, judge)
        count_in_vain(judge, heard.in_vain)
        let_go(job)
