"""Doing what the policy says of verdicts, and keeping them."""

from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from hygiene.asking import LATE, UNDONE, UNUSABLE, WAITING, Compared, judgements_of
from hygiene.certified import is_certified
from hygiene.judge import Judge, Said, judge_from, swapped
from hygiene.models import Judgement
from memory.conflict.act import Acted, Judged, act
from memory.conflict.detect import Candidate
from memory.conflict.on_write import clashes_with
from memory.conflict.policy import Bars, Relation, Verdict
from memory.conflict.supersede import locked
from memory.models import Conflict, Memory
from tenants.context import whose_door
from tenants.fault_points import reach_fault_point
from tenants.ids import new_id


def current_judge() -> Judge:
    """Return the judge that the settings name; one for each setting, its connections are shared."""
    return _judge_named(settings.JUDGE, settings.JUDGE_BASE_URL, settings.JUDGE_API_KEY)


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
    noted = _noted(memory, compared, judge)
    fresh = [one for one in compared if noted.get(one.candidate.memory.id, WAITING) in UNDONE]
    judged = [*clashes_with(memory, clashing), *(_as_judged(memory, one, judge) for one in fresh)]
    acted = act(
        memory,
        judged,
        # Asked only where it matters: what is unrelated is left alone by any judge.
        Bars(certified=any(one.is_related for one in judged) and is_certified(judge)),
        batch_id=batch_id,
        rows=rows,
    )
    reach_fault_point("after_act")
    if batch_id is not None:
        made = [conflict.id for conflict in acted.conflicts]
        Conflict.objects.filter(id__in=made).update(batch_id=batch_id)
    added = []
    for one in fresh:
        other = one.candidate.memory.id
        verdict = _judgement(memory, one, judge, acted.deeds.get(other, LATE), batch_id)
        if other in noted and other not in acted.changed:
            _note_anew(verdict, kept=one.kept)
        elif other not in acted.changed:
            added.append(verdict)
    Judgement.objects.bulk_create(added)
    return acted


def keep_for_later(memory: Memory, compared: Sequence[Compared], judge: Judge) -> None:
    """Note what was said so far, to be acted upon with the rest. In the door, as the judge."""
    asked = [one for one in compared if not one.kept]
    noted = _noted(memory, asked, judge)
    verdicts = [_judgement(memory, one, judge, WAITING, None) for one in asked]
    added = []
    for one, verdict in zip(asked, verdicts, strict=True):
        if one.candidate.memory.id in noted:
            _note_anew(verdict, kept=False)
        else:
            added.append(verdict)
    Judgement.objects.bulk_create(added, ignore_conflicts=True)


def _noted(memory: Memory, compared: Sequence[Compared], judge: Judge) -> dict[UUID, str]:
    """Return what was done about verdicts on these pairs that were kept before."""
    if not compared:
        return {}
    verdicts = judgements_of(memory, [one.candidate for one in compared], judge)
    return {
        one.newer_id if one.older_id == memory.id else one.older_id: one.deed for one in verdicts
    }


def _note_anew(verdict: Judgement, *, kept: bool) -> None:
    """
    Say what was done about a pair of which a verdict was kept, and nothing was done yet.

    :param kept: it is that verdict; else the judge was asked anew, and this is what counts
    """
    undone = Judgement.objects.filter(
        older=verdict.older_id,
        newer=verdict.newer_id,
        judge=verdict.judge,
        prompt_version=verdict.prompt_version,
        deed__in=UNDONE,
    )
    done = {"deed": verdict.deed, "batch_id": verdict.batch_id, "judged_at": Now()}
    if kept:
        undone.update(**done)
        return
    said = {name: getattr(verdict, name) for name in _SAID_ANEW}
    undone.update(
        **done,
        **said,
        tokens_in=F("tokens_in") + verdict.tokens_in,
        tokens_out=F("tokens_out") + verdict.tokens_out,
    )


_SAID_ANEW = (
    "older_version",
    "newer_version",
    "relation",
    "confidence",
    "reasoning",
    "shared_subject",
    "missing_specifics",
    "latency_ms",
)


def _as_judged(memory: Memory, compared: Compared, judge: Judge) -> Judged:
    opinion = compared.opinion
    is_newer = memory.sequence > compared.candidate.memory.sequence
    if opinion is None:
        return Judged(
            compared.candidate,
            Verdict(Relation.UNUSABLE, 0.0),
            _evidence(UNUSABLE, 0.0, compared.why, "", (), judge=judge),
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
        ),
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


def _judgement(
    memory: Memory, compared: Compared, judge: Judge, deed: str, batch_id: UUID | None
) -> Judgement:
    older, newer = sorted((memory, compared.candidate.memory), key=lambda one: one.sequence)
    opinion = compared.opinion
    return Judgement(
        id=new_id(),
        tenant_id=whose_door().tenant_id,
        older_id=older.id,
        newer_id=newer.id,
        older_version=older.version,
        newer_version=newer.version,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        relation=UNUSABLE if opinion is None else opinion.relation,
        confidence=0.0 if opinion is None else opinion.confidence,
        reasoning=compared.why if opinion is None else opinion.reasoning,
        shared_subject="" if opinion is None else opinion.shared_subject,
        missing_specifics=[] if opinion is None else list(opinion.missing_specifics),
        deed=deed,
        tokens_in=compared.tokens_in,
        tokens_out=compared.tokens_out,
        latency_ms=0 if opinion is None else opinion.latency_ms,
        batch_id=batch_id,
    )
