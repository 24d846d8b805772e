"""Sweeps: starting one, and telling how far it has come. What they do is in sweeping.py."""

from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now

from hygiene.judge import Judge
from hygiene.judging import current_judge
from hygiene.models import Sweep
from memory.models import Lifecycle, Memory
from memory.place import project_in_sight
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.jobs import leave_job, open_job
from tenants.models import Job
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound, Refusal

SWEEP = "sweep"


class JudgingIsOff(Refusal):
    status = HTTPStatus.CONFLICT
    code = "judging_off"
    title = "Judging is switched off"


def start_sweep(caller: Caller, *, project: str | None = None, limit: int | None = None) -> Answer:
    """
    Start comparing what the caller sees with its neighbours, as far as it is new since last time.

    One that is under way for the same is told instead of starting another.

    :param limit: look at so many memories at most, and go on from there next time
    :raises NotAllowed: for an agent
    :raises JudgingIsOff: if there is no judge
    """
    if caller.is_agent:
        raise NotAllowed("Only a person may start a sweep.")
    if settings.JUDGE == "off":
        raise JudgingIsOff("JUDGE is off, so there is nobody who could compare.")
    with writing_as(caller) as keep:
        where = project_in_sight(caller, project).id if project or caller.project_id else None
        return keep(sweep_wire(open_sweep(caller, where, limit, current_judge())))


def get_sweep(caller: Caller, *, sweep_id: UUID) -> Answer:
    """
    Tell how far a sweep has come.

    :raises NotFound: if there is none that is the caller's, or in the tenant of an administrator
    """
    with acting_as(caller):
        sweep = Sweep.objects.filter(id=sweep_id).first()
        if sweep is None:
            raise NotFound
        return sweep_wire(sweep)


def open_sweep(caller: Caller, project_id: UUID | None, limit: int | None, judge: Judge) -> Sweep:
    """Return a new sweep with its job, or the one that is under way. Inside the door."""
    sweep = _planned(caller, project_id, limit, judge)
    name = f"{caller.member_id}:{project_id or 'all'}"
    if leave_job(SWEEP, dedup_key=name, subject_id=sweep.id) is None:
        under_way = Job.objects.filter(id__in=[open_job(SWEEP, name)]).values("subject_id")
        return Sweep.objects.get(id__in=under_way)
    sweep.save(force_insert=True)
    record("start_sweep", "sweep", sweep.id, after={"of_memories": sweep.of_memories})
    sweep.refresh_from_db()
    return sweep


def _planned(caller: Caller, project_id: UUID | None, limit: int | None, judge: Judge) -> Sweep:
    earlier = Sweep.objects.filter(
        Q(project=project_id) | Q(project__isnull=True),
        member=caller.member_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
    )
    since = earlier.aggregate(reached=Max("reached"))["reached"] or 0
    ahead = worth_comparing(project_id).filter(sequence__gt=since)
    until = ahead.aggregate(last=Max("sequence"))["last"] or since
    number = ahead.count()
    return Sweep(
        tenant_id=caller.tenant_id,
        member_id=caller.member_id,
        project_id=project_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        since=since,
        reached=since,
        until=until,
        most=limit,
        of_memories=number if limit is None else min(limit, number),
    )


def worth_comparing(project_id: UUID | None) -> "QuerySet[Memory]":
    """Return the current knowledge in sight: nothing retired, expired or merely proposed."""
    live = Memory.objects.filter(
        Q(valid_until__isnull=True) | Q(valid_until__gt=Now()),
        Q(provenance_rank__gt=0) | Q(accepted_at__isnull=False),
        lifecycle=Lifecycle.LIVE,
    )
    return live if project_id is None else live.filter(project=project_id)


def sweep_wire(sweep: Sweep) -> Answer:
    """Return a sweep as it is told outside. Inside the door."""
    job = Job.objects.filter(kind=SWEEP, subject_id=sweep.id).order_by("-created_at").first()
    state = sweep.state if job is None or sweep.state == Sweep.State.DONE else job.state
    return {
        "id": wire_id(Prefix.BATCH, sweep.id),
        "state": state,
        "project": wire_id_or_none(Prefix.PROJECT, sweep.project_id),
        "judge": sweep.judge,
        "prompt_version": sweep.prompt_version,
        "memories": sweep.memories,
        "of_memories": sweep.of_memories,
        "pairs": sweep.pairs,
        "skipped": sweep.skipped,
        "actions": sweep.actions,
        "disputes": sweep.disputes,
        "started_at": moment(sweep.started_at),
        "finished_at": moment(sweep.finished_at),
    }
