"""Sweeps: starting one, and telling how far it has come. What they do is in sweeping.py."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now

from hygiene.judge import Judge
from hygiene.judging import configured_judge
from hygiene.models import Sweep
from memory.conflict.left_to_the_judge import JUDGE_MEMORY, OFF, of_batch
from memory.models import Lifecycle, Memory
from memory.place import project_in_sight
from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.jobs import leave_job, leave_job_for_each, open_job
from tenants.models import Job
from tenants.once import Answer, writing_as
from tenants.refusals import NotAllowed, NotFound, Refusal

SWEEP = "sweep"
MOST_PAIRS = 3
"""So many of a memory's pairs a sweep has judged; the next one comes to those that are left."""


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
    if settings.JUDGE == OFF:
        raise JudgingIsOff("JUDGE is off, so there is nobody who could compare.")
    judge = configured_judge()
    if judge is None:
        raise JudgingIsOff("There can be no judge as JUDGE is configured; the health says more.")
    with writing_as(caller) as keep:
        where = project_in_sight(caller, project).id if project or caller.project_id else None
        return keep(sweep_wire(open_sweep(caller, where, limit, judge, once_more=True)))


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


def open_sweep(
    caller: Caller,
    project_id: UUID | None,
    limit: int | None,
    judge: Judge,
    *,
    once_more: bool = False,
) -> Sweep:
    """
    Return a new sweep with its job, or the one that is under way. Inside the door.

    With it goes what no sweep would come to again: jobs of the member's that have failed, memories
    of which a pair is unjudged, and what others have shown or brought back since the last one.

    :param once_more: also pairs that this judge has been asked about already
    """
    name = f"{caller.member_id}:{project_id or 'all'}"
    under_way = _under_way(name)
    sweep = under_way or _planned(caller, project_id, limit, judge)
    # Before the sweep's own job: it comes to these pairs only if there is anything left to ask.
    _take_up(caller, judge, sweep, once_more=once_more)
    if under_way is not None:
        return under_way
    if leave_job(SWEEP, dedup_key=name, subject_id=sweep.id) is None:
        under_way = _under_way(name)  # Somebody has started it at this very moment.
        assert under_way is not None
        return under_way
    sweep.save(force_insert=True)
    record("start_sweep", "sweep", sweep.id, after={"of_memories": sweep.of_memories})
    sweep.refresh_from_db()
    return sweep


def _under_way(name: str) -> Sweep | None:
    """Return the sweep whose job of this name is open."""
    jobs = Job.objects.filter(id__in=[open_job(SWEEP, name)]).values("subject_id")
    return Sweep.objects.filter(id__in=jobs).first()


def _take_up(caller: Caller, judge: Judge, sweep: Sweep, *, once_more: bool) -> None:
    earlier = Sweep.objects.filter(member=caller.member_id)
    since = earlier.aggregate(last=Max("started_at"))["last"] or datetime.min.replace(tzinfo=UTC)
    asked: list[Any] = [judge.id, judge.prompt_version, once_more, since]
    with connection.cursor() as cursor:
        cursor.execute("SELECT try_failed_jobs_again()")
        cursor.execute(
            "SELECT to_be_judged_again(%s, %s, %s) UNION SELECT came_into_sight(%s)", asked
        )
        # Whoever has a job of their own for one of these does not see what this member sees.
        memories = {f"{one}:by:{caller.member_id}": one for (one,) in cursor.fetchall()}
    if memories:
        leave_job_for_each(JUDGE_MEMORY, memories, arguments=of_batch(sweep.id))


def _planned(caller: Caller, project_id: UUID | None, limit: int | None, judge: Judge) -> Sweep:
    earlier = Sweep.objects.filter(
        Q(project=project_id) | Q(project__isnull=True),
        member=caller.member_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
    )
    since = earlier.aggregate(reached=Max("reached"))["reached"] or 0
    before = _not_exhausted(earlier.order_by("-started_at", "-id").first(), project_id, since)
    ahead = worth_comparing(project_id).filter(sequence__gt=since)
    until = ahead.aggregate(last=Max("sequence"))["last"] or since
    number = ahead.count() + len(before)
    return Sweep(
        tenant_id=caller.tenant_id,
        member_id=caller.member_id,
        project_id=project_id,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        since=since,
        again=before,
        reached=min(since, before[0] - 1) if before else since,
        until=until,
        most=limit,
        of_memories=number if limit is None else min(limit, number),
    )


def _not_exhausted(last: Sweep | None, project_id: UUID | None, since: int) -> list[int]:
    """
    Return the memories of the last sweep that may have more neighbours than it has compared.

    Those of which it had so many pairs judged as it may; and those that it was to look at again,
    and did not come to. By their sequences, in order.
    """
    if last is None:
        return []
    live = worth_comparing(project_id).filter(sequence__lte=since)
    left = [one for one in last.again if one > last.reached]
    with connection.cursor() as cursor:
        cursor.execute("SELECT with_many_pairs_in(%s, %s)", [last.id, MOST_PAIRS])
        many = [one for (one,) in cursor.fetchall()]
    wanted = live.filter(Q(id__in=many) | Q(sequence__in=left)) if many or left else live.none()
    return list(wanted.order_by("sequence").values_list("sequence", flat=True))


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
    job = Job.objects.filter(kind=SWEEP, subject_id=sweep.id).order_by("-created_at", "-id").first()
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
