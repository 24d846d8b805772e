"""Asking the judge about pairs, and doing what the policy says of its verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from hygiene.certified import is_certified
from hygiene.judge import Exhibit, Judge, Opinion, Said, Statement, Unusable, judge_from, swapped
from hygiene.models import Judgement
from memory.conflict.act import Acted, Judged, act
from memory.conflict.detect import Candidate, settled_with
from memory.conflict.on_write import clash
from memory.conflict.policy import Bars, Relation, Verdict
from memory.conflict.record import in_dispute_with
from memory.conflict.supersede import locked
from memory.models import Component, Conflict, Memory
from tenants.context import whose_door
from tenants.fault_points import reach_fault_point
from tenants.ids import new_id

UNUSABLE = "unusable"
# What became of a verdict that came when it was decided already, by a person or another write.
LATE = "late"


@dataclass(frozen=True)
class Compared:
    """A candidate and what the judge said; no opinion if its answers could not be used."""

    candidate: Candidate
    opinion: Opinion | None
    why: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


def current_judge() -> Judge:
    """Return the judge that the settings name; one for each setting, its connections are shared."""
    return _judge_named(settings.JUDGE, settings.JUDGE_BASE_URL, settings.JUDGE_API_KEY)


@lru_cache(maxsize=8)
def _judge_named(setting: str, base_url: str, api_key: str) -> Judge:
    return judge_from(setting, base_url, api_key)


def to_be_judged(memory: Memory, candidates: Sequence[Candidate], judge: Judge) -> list[Candidate]:
    """Return the candidates that nothing was decided or said about yet. Inside the door."""
    ids = [one.memory.id for one in candidates]
    known = (
        settled_with(memory, ids) | in_dispute_with(memory.id, ids) | _judged(memory, ids, judge)
    )
    return [one for one in candidates if one.memory.id not in known]


def _judged(memory: Memory, others: Sequence[UUID], judge: Judge) -> set[UUID]:
    pairs = Judgement.objects.filter(
        Q(older=memory.id, newer__in=others) | Q(newer=memory.id, older__in=others),
        judge=judge.id,
        prompt_version=judge.prompt_version,
    ).values_list("older_id", "newer_id")
    return {newer if older == memory.id else older for older, newer in pairs}


def exhibits_of(memories: Sequence[Memory]) -> dict[UUID, Exhibit]:
    """Return the memories as a judge sees them. Inside the door."""
    stated: dict[UUID, list[Statement]] = {memory.id: [] for memory in memories}
    for one in Component.objects.filter(memory__in=stated).order_by("created_at", "id"):
        stated[one.memory_id].append(Statement(one.subject, one.value, one.multi))
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
    locked([memory.id, *ids, *(one.memory.id for one in clashing)])
    already = _judged(memory, ids, judge)
    fresh = [one for one in compared if one.candidate.memory.id not in already]
    proven = [clash(memory, one) for one in clashing]
    acted = act(
        memory,
        [*proven, *(_as_judged(memory, one, judge) for one in fresh)],
        Bars(certified=is_certified(judge)),
    )
    reach_fault_point("after_act")
    if batch_id is not None:
        made = [conflict.id for conflict in acted.conflicts]
        Conflict.objects.filter(id__in=made).update(batch_id=batch_id)
    changed = set(acted.changed)
    Judgement.objects.bulk_create(
        _judgement(memory, one, judge, acted.deeds.get(one.candidate.memory.id, LATE), batch_id)
        for one in fresh
        if one.candidate.memory.id not in changed
    )
    return acted


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
