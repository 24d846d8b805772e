"""
What the judge does later: one job is one new memory with all its candidates.

Verdicts are collected first, outside any transaction; then everything is done in one. However often
a job is delivered, and wherever it is interrupted, a pair gets one verdict and one action.
"""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hygiene.budget import must_be_within_budget
from hygiene.judge import JudgeDown
from hygiene.judging import compare, conclude, current_judge, exhibits_of, to_be_judged
from hygiene.sweeping import sweep_on
from memory.conflict.detect import candidates_of
from memory.conflict.on_write import JUDGE_MEMORY, NEAREST_JUDGED, OFF
from memory.finding.embedding import EmbedderDown, embed
from memory.finding.similar import compared_with
from memory.models import Memory
from memory.trust.state import has_expired
from memory.wire import with_authors
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.fault_points import reach_fault_point
from tenants.jobs import (
    JobInHand,
    NotNow,
    Obsolete,
    finishing,
    job_kind,
    keep_lease_in_time,
    leave_job,
)

# The worker looks for kinds of jobs here.
__all__ = ["judge_memory", "sweep_on"]

JUDGE_RETRY = timedelta(seconds=30)


@job_kind(JUDGE_MEMORY)
def judge_memory(caller: Caller, job: JobInHand) -> None:
    """
    Compare a memory with its candidates, and do what the policy says.

    :raises Obsolete: if it is not live any more, or judging is off
    :raises NotNow: if the embedder or the judge is down, or the day's budget is used up
    """
    if settings.JUDGE == OFF:
        raise Obsolete("judging is off")
    judge = current_judge()
    with acting_as(caller):
        memory = with_authors(
            Memory.objects.filter(id__in=[job.subject_id], invalidated_at=None)
        ).first()
    if memory is None or has_expired(memory, timezone.now()):
        raise Obsolete("the memory is not live any more")
    try:
        vector = embed(memory.content)
    except EmbedderDown:
        raise NotNow("the embedder is down", after=JUDGE_RETRY) from None
    with acting_as(caller):
        in_reach = compared_with(vector, project_id=memory.project_id)
        candidates = candidates_of(memory, in_reach)
        clashing = [one for one in candidates if one.clashes]
        near = [one for one in candidates if not one.clashes]
        nearest = to_be_judged(memory, near, judge)[:NEAREST_JUDGED]
        if nearest:
            must_be_within_budget(judge)
        exhibits = exhibits_of([memory, *(one.memory for one in nearest)])
    compared = []
    reach_fault_point("before_judge")
    for candidate in nearest:
        try:
            compared.append(compare(judge, memory, candidate, exhibits))
        except JudgeDown as error:
            raise NotNow("the judge is down", after=_pause(error)) from None
        keep_lease_in_time(job)
    reach_fault_point("after_verdicts")
    with finishing(caller, job) as done:
        acted = conclude(memory, compared, judge, clashing)
        done({"pairs": len(compared), "conflicts": len(acted.conflicts)})
        if acted.changed:
            # Somebody changed something meanwhile: look again. This job is not over yet, and would
            # absorb another of its own name.
            again = f"{memory.id}:{job.id}"
            leave_job(JUDGE_MEMORY, dedup_key=again, subject_id=memory.id)


def _pause(error: JudgeDown) -> timedelta:
    return JUDGE_RETRY if error.after is None else timedelta(seconds=max(1.0, error.after))
