"""
Asking a model whether a memory is to blame for what somebody reports.

A report that a memory misled is one signal; a model that is sure of it leaves one more, and that is
all that it can bring about. Enough signals are a question to people, and retire nothing.
"""

from typing import TypeGuard
from uuid import UUID

from django.utils import timezone

from hygiene.asking import LATE, UNUSABLE, exhibits_of
from hygiene.budget import (
    Spent,
    count_as_recorded,
    count_as_spent,
    count_in_vain,
    must_be_within_budget,
)
from hygiene.hearing import not_now
from hygiene.judge import (
    Attributed,
    Attributor,
    Blame,
    Exhibit,
    JudgeDown,
    JudgeMisconfigured,
    Report,
    Unusable,
)
from hygiene.judging import judge_at_work
from hygiene.models import Attribution
from hygiene.unanswered import MOST_TRIES, answers_others, gave_none
from memory.conflict.signals import (
    ATTRIBUTE_MISLED,
    REPORT,
    note_signal,
    open_dispute_about,
    unweighed,
)
from memory.conflict.supersede import locked
from memory.models import Conflict, Memory, Signal
from memory.trust.state import has_expired
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as, whose_door
from tenants.ids import Prefix, new_id, wire_id, wire_id_or_none
from tenants.jobs import JobInHand, Obsolete, Result, finishing, job_kind

BAR = 0.80
"""How sure a model has to be. Below the policy's bars: it takes nothing away, and only asks."""

LONGEST_SAID = 600  # characters of its reasoning that a signal tells


class NoAnswer(Exception):
    """The judge fails at this report, though it answers others: the attempt counts."""


@job_kind(ATTRIBUTE_MISLED)
def attribute_misled(caller: Caller, job: JobInHand) -> None:
    """
    Ask the model whether the memory misled whoever reported it, and count a yes as one signal.

    The job's member is who reported, or the sponsor of the agent that did: the model is shown what
    they see, the memory and the report, and nothing else.

    :raises Obsolete: if no model judges any more, or a yes would change nothing
    :raises NotNow: if the judge is down, or the day's budget is used up
    :raises NoAnswer: if it fails at this report alone, and is to be asked about it once more
    """
    judge = judge_at_work()
    if not isinstance(judge, Attributor):
        raise Obsolete("no model judges any more")
    with acting_as(caller):
        memory, report = _in_question(job)
        must_be_within_budget(judge)
        exhibit = exhibits_of([memory])[memory.id]
    said = _asked(job, judge, exhibit, report)
    count_as_spent(caller.tenant_id, judge, _spent_on(said))
    with finishing(caller, job) as done:
        done(_concluded(memory, report, said, judge))


def _in_question(job: JobInHand) -> tuple[Memory, Signal]:
    """
    Return the memory and the report, as long as they are in sight and somebody's word matters.

    :raises Obsolete: if not
    """
    memory = Memory.objects.filter(id__in=[job.subject_id], invalidated_at=None).first()
    if memory is None or has_expired(memory, timezone.now()):
        raise Obsolete("the memory is not live any more")
    report = unweighed(memory.id).filter(id=UUID(job.arguments[REPORT])).first()
    if report is None or _is_attributed(report):
        raise Obsolete("the report does not count any more, or was judged already")
    if open_dispute_about(memory.id) is not None:
        raise Obsolete("people are asked about the memory already")
    return memory, report


def _is_attributed(report: Signal) -> bool:
    return Attribution.objects.filter(report=report.id).exists()


def _asked(
    job: JobInHand, judge: Attributor, exhibit: Exhibit, report: Signal
) -> Attributed | Unusable:
    """
    Return what the model says, or why nothing that it said is of use. Outside the door.

    :raises NotNow: if it is down
    :raises NoAnswer: if it is not, but has not answered this, and may yet
    """
    try:
        return judge.attribute(exhibit, Report(report.reason, report.query, report.created_at))
    except Unusable as error:
        return error
    except JudgeDown as error:
        spent = Spent(error.tokens_in, error.tokens_out)
        answers = False
        if not isinstance(error, JudgeMisconfigured):
            answers, on_the_other = answers_others(judge)
            spent += on_the_other
        count_as_spent(job.tenant_id, judge, spent)
        with acting_as(job.caller):
            count_in_vain(judge, spent)
        if not answers:
            raise not_now(error) from None
        if job.attempts < MOST_TRIES:
            raise NoAnswer from None
        return Unusable(gave_none(str(error)))


def _spent_on(said: Attributed | Unusable) -> Spent:
    return Spent(said.tokens_in, said.tokens_out)


def _concluded(
    memory: Memory, report: Signal, said: Attributed | Unusable, judge: Attributor
) -> Result:
    """Keep what was said, and count it if it is a yes. In the door, as the judge."""
    # Whoever decides about the memory at this moment has committed once the row is ours.
    now = locked([memory.id]).get(memory.id)
    if now is None or _is_attributed(report):
        count_in_vain(judge, _spent_on(said))
        return {"blame": LATE}
    signal, dispute = None, None
    if _is_sure(said) and now.invalidated_at is None and _counts_still(report):
        signal, dispute = note_signal(
            now, Signal.Kind.JUDGED_MISLED, _told(said, judge), query=report.query
        )
    kept = _attribution(memory, report, said, judge, counted=signal is not None)
    kept.save(force_insert=True)
    count_as_recorded(judge, _spent_on(said))
    return _recorded(kept, memory, signal, dispute)


def _is_sure(said: Attributed | Unusable) -> TypeGuard[Attributed]:
    return isinstance(said, Attributed) and said.blame == Blame.MISLED and said.confidence >= BAR


def _counts_still(report: Signal) -> bool:
    """Return whether no decision has weighed the report meanwhile."""
    return unweighed(report.memory_id).filter(id=report.id).exists()


def _told(said: Attributed, judge: Attributor) -> str:
    """Return the model's reason, and whose it is: it stands among those of people."""
    why = said.reasoning.strip()[:LONGEST_SAID] or "no reason given"
    return f"{judge.id} ({judge.attribution_version}, {said.confidence:.2f}): {why}"


def _attribution(
    memory: Memory,
    report: Signal,
    said: Attributed | Unusable,
    judge: Attributor,
    *,
    counted: bool,
) -> Attribution:
    usable = said if isinstance(said, Attributed) else None
    return Attribution(
        id=new_id(),
        tenant_id=whose_door().tenant_id,
        report_id=report.id,
        memory_version=memory.version,
        judge=judge.id,
        prompt_version=judge.attribution_version,
        blame=UNUSABLE if usable is None else usable.blame,
        confidence=0.0 if usable is None else usable.confidence,
        reasoning=str(said) if usable is None else usable.reasoning,
        counted=counted,
        tokens_in=said.tokens_in,
        tokens_out=said.tokens_out,
        latency_ms=0 if usable is None else usable.latency_ms,
    )


def _recorded(
    kept: Attribution, memory: Memory, signal: Signal | None, dispute: Conflict | None
) -> Result:
    """Tell the memory's history what the judge said, and return it as the job's result."""
    told = {
        "blame": kept.blame,
        "confidence": kept.confidence,
        "signal": wire_id_or_none(Prefix.SIGNAL, signal.id if signal else None),
        "dispute": wire_id_or_none(Prefix.CONFLICT, dispute.id if dispute else None),
    }
    record(
        ATTRIBUTE_MISLED,
        "memory",
        memory.id,
        memory_id=memory.id,
        reason=kept.reasoning,
        after={
            **told,
            "report": wire_id(Prefix.SIGNAL, kept.report_id),
            "judge": kept.judge,
            "prompt_version": kept.prompt_version,
        },
    )
    return told
