"""What a job that has failed for good leaves undone: it is told, and the next sweep does it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from hygiene.judging import current_judge
from hygiene.models import Sweep
from hygiene.sweep import SWEEP, open_sweep
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from tenants.context import acting_as
from tenants.models import Job
from tests.judging import judgements, records, work
from tests.memories import done, kept
from tests.test_health import alarming, health
from tests.test_unanswered import asked_for

pytestmark = pytest.mark.rule("JU-08", "JU-09", "WR-13")

A_DAY = timedelta(days=1)


def jobs(office, **which):
    return Job.objects.using("owner").filter(tenant=office.tenant, **which)


def fail(office, *, days=0, **which):
    """Have such jobs fail for good, so many days ago."""
    when = datetime.now(UTC) - days * A_DAY
    failed = {"state": "failed", "attempts": 3, "last_error": "ValueError at x.py:1"}
    assert jobs(office, **which).update(**failed, created_at=when, finished_at=when) > 0


@pytest.fixture
def pair(office):
    """Return the ids of two memories between which nobody has judged: the job has failed."""
    ids = [
        kept(office.senior, f"The indexer of apollo listens on port {port}.", project="apollo")
        for port in (8080, 9090)
    ]
    fail(office, kind=JUDGE_MEMORY, days=3)
    return ids


def swept(office):
    asked_for(office.senior)
    work(office)


def test_it_is_an_alarm_for_as_long_as_its_work_is_not_done(office, pair):
    assert health(office.senior)["jobs_failed"] == 1
    assert "next sweep" in alarming(office.senior)["judge_jobs_failed"]["message"]

    swept(office)

    assert health(office.senior)["jobs_failed"] == 0
    assert "judge_jobs_failed" not in alarming(office.senior)
    assert records(office) == 1


def test_what_no_sweep_would_come_to_again_is_judged_with_the_next(office, pair):
    older, _newer = pair
    jobs(office).update(state="obsolete")
    done(office.senior.post(f"/memories/{older}/forget", {"reason": "It was a mistake."}))
    swept(office)
    # The sweeps have passed it by now.
    done(office.senior.post(f"/memories/{older}/restore", {}))
    fail(office, kind=JUDGE_MEMORY, state="queued")
    assert judgements(office) == []

    swept(office)

    assert len(judgements(office)) == records(office) == 1


def test_the_schedule_comes_to_whom_it_belongs_to_although_nothing_is_new(office, pair):
    def are_due():
        with connection.cursor() as cursor:
            judge = current_judge()
            cursor.execute(
                "SELECT member_id FROM sweeps_due('1 day', 100000, %s, %s)",
                [judge.id, judge.prompt_version],
            )
            return office.senior.member.id in {one for (one,) in cursor.fetchall()}

    swept(office)
    assert not are_due()
    Sweep.objects.using("owner").filter(tenant=office.tenant).update(
        started_at=datetime.now(UTC) - 2 * A_DAY
    )
    assert not are_due()
    fail(office, kind=JUDGE_MEMORY, days=2)
    assert are_due()

    with acting_as(office.senior.caller):
        open_sweep(office.senior.caller, None, None, current_judge())
    assert jobs(office, state="failed").count() == 0
    assert not are_due()


def test_a_sweep_that_has_failed_is_gone_on_with_by_the_next(office, pair):
    asked_for(office.senior)
    fail(office, kind=SWEEP)
    assert health(office.senior)["jobs_failed"] == 1

    swept(office)

    assert set(jobs(office, kind=SWEEP).values_list("state", flat=True)) == {"obsolete", "done"}
    assert health(office.senior)["jobs_failed"] == 0
    assert len(judgements(office)) == 1


def test_what_another_of_its_name_does_is_not_done_twice(office, pair):
    (failed,) = jobs(office, kind=JUDGE_MEMORY)
    values = {
        "tenant": office.tenant,
        "kind": JUDGE_MEMORY,
        "dedup_key": failed.dedup_key,
        "member": failed.member,
        "subject_id": failed.subject_id,
    }
    long_ago = datetime.now(UTC) - 9 * A_DAY
    older = Job.objects.using("owner").create(**values, state="failed", created_at=long_ago)
    queued = Job.objects.using("owner").create(**values, state="queued")

    asked_for(office.senior)

    states = dict(jobs(office, kind=JUDGE_MEMORY).values_list("id", "state"))
    assert states == {failed.id: "obsolete", older.id: "obsolete", queued.id: "queued"}


def test_nobody_elses_are_touched(office, pair):
    asked_for(office.colleague)

    assert jobs(office, state="failed").count() == 1
    assert health(office.colleague)["jobs_failed"] == 1
