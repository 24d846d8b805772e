"""Keeping verdicts: with what was done about them, or for later. In the door, as the judge."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from hygiene.asking import LATE, UNDONE, UNUSABLE, WAITING, Compared, judgements_of
from hygiene.budget import NOTHING_SPENT, count_as_recorded, count_in_vain
from hygiene.judge import Judge
from hygiene.models import Judgement
from hygiene.unanswered import UNANSWERED
from memory.conflict.act import Acted
from memory.conflict.supersede import locked
from memory.models import Memory
from tenants.context import whose_door
from tenants.ids import new_id


def keep_for_later(memory: Memory, compared: Sequence[Compared], judge: Judge) -> None:
    """Note what was said so far, to be acted upon with the rest. In the door, as the judge."""
    asked = [one for one in compared if not one.kept]
    rows = locked([memory.id, *(one.candidate.memory.id for one in asked)]) if asked else {}
    noted = noted_before(memory, asked, judge)
    fresh = undecided(asked, noted)
    seen = _in_sight(memory, fresh, rows)
    said = [one for one in fresh if one.candidate.memory.id in seen]
    deeds = dict.fromkeys(seen, WAITING)
    _note(memory, said, judge, noted, deeds=deeds, batch_id=None, may_be_there=True)
    _count_what_was_not_noted(asked, said, judge)


def note_what_came_of_it(
    memory: Memory,
    compared: Sequence[Compared],
    judge: Judge,
    acted: Acted,
    *,
    noted: Mapping[UUID, str],
    rows: Mapping[UUID, Memory],
    batch_id: UUID | None,
) -> None:
    """
    Keep verdicts that were acted upon, or came too late for that.

    :param noted: what was done before, as `noted_before` returned it
    :param rows: those that are locked
    """
    fresh = undecided(compared, noted)
    # What has changed is asked about again, and of what is hidden by now nothing may be noted.
    seen = _in_sight(memory, fresh, rows) - set(acted.changed)
    said = [one for one in fresh if one.candidate.memory.id in seen]
    deeds = {one: acted.deeds.get(one, LATE) for one in seen}
    _note(memory, said, judge, noted, deeds=deeds, batch_id=batch_id)
    _count_what_was_not_noted(compared, said, judge)


def undecided(compared: Sequence[Compared], noted: Mapping[UUID, str]) -> list[Compared]:
    """Return those about which nothing was done yet."""
    return [one for one in compared if noted.get(one.candidate.memory.id, WAITING) in UNDONE]


def _in_sight(
    memory: Memory, compared: Sequence[Compared], rows: Mapping[UUID, Memory]
) -> set[UUID]:
    """
    Return the candidates of which may be noted what was said, now as before.

    Somebody may have kept one to themselves meanwhile, or the memory.

    :param rows: those that are locked; the others are not live any more, or not in sight
    """
    others = {one.candidate.memory.id for one in compared}
    away = {memory.id, *others} - rows.keys()
    back = set(Memory.objects.filter(id__in=away).values_list("id", flat=True)) if away else set()
    hidden = away - back
    return set() if memory.id in hidden else others - hidden


def _note(
    memory: Memory,
    said: Sequence[Compared],
    judge: Judge,
    noted: Mapping[UUID, str],
    *,
    deeds: Mapping[UUID, str],
    batch_id: UUID | None,
    may_be_there: bool = False,
) -> None:
    """
    Keep verdicts, and what was done about them.

    :param noted: of which there is one already, about which nothing was done yet
    :param deeds: what was done, by the candidate's id
    :param may_be_there: whoever overtook us may have noted one at this moment; that one counts
    """
    added = []
    for one in said:
        other = one.candidate.memory.id
        verdict = _judgement(memory, one, judge, deeds[other], batch_id)
        if other in noted:
            _note_anew(verdict, kept=one.kept)
        else:
            added.append(verdict)
    Judgement.objects.bulk_create(added, ignore_conflicts=may_be_there)


def _count_what_was_not_noted(
    compared: Sequence[Compared], said: Sequence[Compared], judge: Judge
) -> None:
    """Count for the budget also what was spent on answers that nobody can use any more."""
    noted = {one.candidate.memory.id for one in said}
    kept, in_vain = NOTHING_SPENT, NOTHING_SPENT
    for one in compared:
        if one.candidate.memory.id in noted:
            kept += one.spent
        else:
            in_vain += one.spent
    count_as_recorded(judge, kept)
    count_in_vain(judge, in_vain)


def noted_before(memory: Memory, compared: Sequence[Compared], judge: Judge) -> dict[UUID, str]:
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
    "tries",
)


def _judgement(
    memory: Memory, compared: Compared, judge: Judge, deed: str, batch_id: UUID | None
) -> Judgement:
    older, newer = sorted((memory, compared.candidate.memory), key=lambda one: one.sequence)
    opinion = compared.opinion
    without = UNANSWERED if compared.tries else UNUSABLE
    return Judgement(
        id=new_id(),
        tenant_id=whose_door().tenant_id,
        older_id=older.id,
        newer_id=newer.id,
        older_version=older.version,
        newer_version=newer.version,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        relation=without if opinion is None else opinion.relation,
        confidence=0.0 if opinion is None else opinion.confidence,
        reasoning=compared.why if opinion is None else opinion.reasoning,
        shared_subject="" if opinion is None else opinion.shared_subject,
        missing_specifics=[] if opinion is None else list(opinion.missing_specifics),
        deed=deed,
        tries=compared.tries,
        tokens_in=compared.tokens_in,
        tokens_out=compared.tokens_out,
        latency_ms=0 if opinion is None else opinion.latency_ms,
        batch_id=batch_id,
    )
