"""Doing what the policy says of verdicts."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from hygiene.asking import UNUSABLE, Compared
from hygiene.certified import is_certified
from hygiene.hearing import JUDGE_RETRY
from hygiene.judge import OFF, Judge, Said, judge_from, swapped
from hygiene.noting import note_what_came_of_it, noted_before, undecided
from memory.conflict.act import Acted, act
from memory.conflict.decided import Judged
from memory.conflict.detect import Candidate
from memory.conflict.on_write import clashes_with
from memory.conflict.policy import Bars, Relation, Verdict
from memory.conflict.put_off import MISCONFIGURED
from memory.conflict.record import note_judged_since, take_back_unjudged
from memory.conflict.supersede import locked
from memory.models import Conflict, Memory
from tenants.fault_points import reach_fault_point
from tenants.jobs import NotNow


def current_judge() -> Judge:
    """Return the judge that the settings name; one for each setting, its connections are shared."""
    return _judge_named(settings.JUDGE, settings.JUDGE_BASE_URL, settings.JUDGE_API_KEY)


def configured_judge() -> Judge | None:
    """Return the configured judge; none if judging is off, or cannot be as it is configured."""
    try:
        return current_judge()
    except ImproperlyConfigured:
        return None


def there_can_be_no_judge() -> bool:
    """Return whether the settings name one that cannot be; no process starts with them."""
    return settings.JUDGE != OFF and configured_judge() is None


def judge_at_work() -> Judge:
    """
    Return the configured judge, for a job that needs one.

    :raises NotNow: if it cannot be as it is configured
    """
    try:
        return current_judge()
    except ImproperlyConfigured as error:
        raise NotNow(f"{MISCONFIGURED}: {error}", after=JUDGE_RETRY) from None


@lru_cache(maxsize=8)
def _judge_named(setting: str, base_url: str, api_key: str) -> Judge:
    return judge_from(setting, base_url, api_key)


def conclude(
    memory: Memory,
    compared: Sequence[Compared],
    judge: Judge,
    clashing: Sequence[Candidate] = (),
    *,
    batch_id: UUID | None = None,
) -> Acted:
    """
    Do what the policy says of the verdicts, and keep them. In the door, as the judge.

    :param clashing: candidates that need no judge: what both declare contradicts itself
    :param batch_id: the sweep that did it, if one did
    """
    ids = [one.candidate.memory.id for one in compared]
    # Whoever judged one of these pairs at the same time has committed once the rows are ours.
    rows = locked([memory.id, *ids, *(one.memory.id for one in clashing)])
    noted = noted_before(memory, compared, judge)
    fresh = undecided(compared, noted)
    # What waited for a verdict has one now, and becomes what the policy says of that. Where
    # something has changed since, it is asked about again, and waits till then.
    answered = [
        one.candidate.memory.id
        for one in fresh
        if _is_as_seen(memory, rows) and _is_as_seen(one.candidate.memory, rows)
    ]
    taken_back = take_back_unjudged(memory.id, answered)
    judged = [*clashes_with(memory, clashing), *(_as_judged(memory, one, judge) for one in fresh)]
    acted = act(
        memory,
        judged,
        # Asked only where it matters: what is unrelated is left alone by any judge.
        Bars(certified=any(one.is_related for one in judged) and is_certified(judge)),
        batch_id=batch_id,
        rows=rows,
    )
    note_judged_since(memory.id, taken_back)
    reach_fault_point("after_act")
    if batch_id is not None:
        made = [conflict.id for conflict in acted.conflicts]
        Conflict.objects.filter(id__in=made).update(batch_id=batch_id)
    note_what_came_of_it(memory, compared, judge, acted, noted=noted, rows=rows, batch_id=batch_id)
    return acted


def _is_as_seen(memory: Memory, rows: Mapping[UUID, Memory]) -> bool:
    now = rows.get(memory.id)
    return now is not None and now.version == memory.version


def _as_judged(memory: Memory, compared: Compared, judge: Judge) -> Judged:
    opinion = compared.opinion
    is_newer = memory.sequence > compared.candidate.memory.sequence
    if opinion is None:
        return Judged(
            compared.candidate,
            Verdict(Relation.UNUSABLE, 0.0),
            _evidence(UNUSABLE, 0.0, compared.why, "", (), judge=judge)
            | _circumstances(memory, compared),
        )
    # To the judge A is the older one; in a conflict a is the one that was looked at.
    told = swapped(opinion.relation) if is_newer else opinion.relation
    return Judged(
        compared.candidate,
        Verdict(_RELATIONS[opinion.relation], opinion.confidence),
        _evidence(
            told.value,
            opinion.confidence,
            opinion.reasoning,
            opinion.shared_subject,
            opinion.missing_specifics,
            judge=judge,
        )
        | _circumstances(memory, compared),
    )


_RELATIONS = {
    Said.DUPLICATE: Relation.DUPLICATE,
    Said.A_SUPERSEDES_B: Relation.OLDER_SUPERSEDES,
    Said.B_SUPERSEDES_A: Relation.NEWER_SUPERSEDES,
    Said.CONTRADICTION: Relation.CONTRADICTION,
    Said.COMPLEMENTARY: Relation.COMPLEMENTARY,
    Said.UNRELATED: Relation.UNRELATED,
    Said.UNSURE: Relation.UNSURE,
}


def _circumstances(memory: Memory, compared: Compared) -> dict[str, object]:
    """Return what the verdict cost, and which versions of the two it was about."""
    opinion = compared.opinion
    return {
        "tokens_in": compared.tokens_in,
        "tokens_out": compared.tokens_out,
        "latency_ms": None if opinion is None else opinion.latency_ms,
        "version_a": memory.version,
        "version_b": compared.candidate.memory.version,
    }


def _evidence(
    relation: str,
    confidence: float,
    reasoning: str,
    shared_subject: str,
    missing: Sequence[str],
    *,
    judge: Judge,
) -> dict[str, object]:
    return {
        "relation": relation,
        "confidence": confidence,
        "reasoning": reasoning,
        "shared_subject": shared_subject,
        "missing_specifics": list(missing),
        "judge": judge.id,
        "prompt_version": judge.prompt_version,
    }
