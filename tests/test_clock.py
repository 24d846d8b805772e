"""Clocks that jump, schedulers at once, ends that come in the middle: time is the database's."""

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import connections
from django.db.models.functions import Now

from hygiene.schedule import sweep_those_due
from hygiene.stub import Rule
from memory.models import Mark
from memory.trust.expiry import mark_what_expired
from tenants.job_desk import sweep_jobs
from tenants.jobs import LeaseLost, claim, finishing, keep_lease, run_job
from tenants.models import Job
from tests.judging import branch, certify, judgements, records, says, work
from tests.memories import done, kept, remember, seen, together
from tests.test_jobs import effects, leave, let_the_lease_run_out, noting, row, taken
from tests.test_judging import NEW, OLD, model, server
from tests.test_sweep import PORTS, age, judge, sweeps_of, swept_when_due, written

__all__ = ["judge", "model", "server"]

AN_HOUR = timedelta(hours=1)


@pytest.fixture
def kind():
    return f"test_{uuid4().hex}"


@pytest.fixture(params=[AN_HOUR, -AN_HOUR], ids=["ahead", "behind"])
def jumped(request):
    """Set the clock of this process wrong by an hour; the database's is right."""
    with time_machine.travel(datetime.now(UTC) + request.param, tick=True):
        yield request.param


@pytest.mark.rule("JU-03", "T101")
def test_a_clock_that_is_wrong_leases_no_job_twice(office, kind, jumped):
    noting(kind)
    job_id = leave(office.senior.caller, kind)

    job = taken(job_id)

    assert claim(job_id) is None
    sweep_jobs()
    assert row(job_id).state == "running"
    assert row(job_id).lease == job.lease
    keep_lease(job)
    run_job(job)
    assert (row(job_id).state, effects(job_id)) == ("done", 1)


@pytest.mark.rule("JU-03", "T101")
def test_a_clock_that_jumps_under_the_lease_leaves_one_effect(office, kind):
    """If the database's own clock jumps ahead, every lease has run out: another takes over."""
    noting(kind)
    job_id = leave(office.senior.caller, kind)
    first = taken(job_id)
    let_the_lease_run_out(job_id)

    sweep_jobs()
    run_job(taken(job_id))
    with pytest.raises(LeaseLost), finishing(first.caller, first):
        pytest.fail("two have the job")

    assert (row(job_id).state, effects(job_id)) == ("done", 1)


@pytest.mark.rule("JU-03", "T101")
def test_a_job_that_was_put_off_comes_when_the_database_says(office, kind, jumped):
    noting(kind)
    job_id = leave(office.senior.caller, kind)
    Job.objects.using("owner").filter(id=job_id).update(run_after=Now() + timedelta(minutes=30))

    assert claim(job_id) is None
    Job.objects.using("owner").filter(id=job_id).update(run_after=Now())

    run_job(taken(job_id))
    assert effects(job_id) == 1


@pytest.mark.rule("JU-08", "T101")
def test_no_schedule_is_lost_or_kept_twice_where_the_clock_jumps(office, judge, jumped):
    assert swept_when_due(office).member_id == office.senior.member.id


@pytest.mark.rule("JU-08", "T102")
def test_three_schedulers_at_once_start_one_sweep(office, judge):
    for person in (office.senior, office.colleague):
        written(person, *PORTS[:2])
    age(office, 2)

    together(*[lambda: sweep_those_due(timedelta(hours=24))] * 3)

    members = [one.member_id for one in sweeps_of(office)]
    assert sorted(members) == sorted([office.senior.member.id, office.colleague.member.id])
    jobs = Job.objects.using("owner").filter(tenant=office.tenant, kind="sweep")
    assert jobs.filter(state="queued").count() == 2


def in_a_moment(seconds=1.0):
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@pytest.mark.rule("SB-05", "T102")
def test_three_that_look_for_ends_at_once_mark_each_once(office):
    ends = kept(office.senior, OLD, project="apollo", valid_until=in_a_moment())
    rests = kept(office.senior, "Staging restarts nightly.", project="apollo", depends_on=[ends])
    time.sleep(1.2)

    together(*[mark_what_expired] * 3)

    marks = Mark.objects.using("owner").filter(tenant=office.tenant)
    assert marks.count() == 1
    assert seen(office.senior, rests)["lifecycle"] == "live"


@pytest.mark.rule("RC-03", "T161")
def test_an_end_that_comes_while_it_is_recalled_comes_once(office):
    kept(office.senior, OLD, project="apollo", valid_until=in_a_moment(1.5))
    stop, found = time.monotonic() + 3, []

    while time.monotonic() < stop:
        answer = done(office.colleague.post("/recall", {"query": "staging database port"}))
        found.append([one["trust_state"] for one in answer["results"]])

    assert found[0], "it was never there"
    assert found[-1] == []
    assert "expired" not in {state for states in found for state in states}
    # Once it is gone it does not come back.
    first_gone = found.index([])
    assert not any(found[first_gone:])


@pytest.mark.rule("PO-15", "T161")
@pytest.mark.parametrize("relation", ["contradiction", "unrelated"])
def test_an_end_that_comes_while_the_judge_is_asked_leaves_one_story(office, model, relation):
    certify(office)
    says(model, relation)
    ending = kept(office.senior, OLD, project="apollo", valid_until=in_a_moment(2))
    answer = remember(office.senior, NEW, project="apollo")
    assert answer["judging"] == "queued"
    model.meddle = lambda: time.sleep(2.2)

    work(office)

    (verdict,) = judgements(office)
    old = seen(office.senior, ending)
    assert seen(office.senior, answer["memory_id"])["lifecycle"] == "live"
    assert (old["superseded_by"] == answer["memory_id"]) == (verdict.deed == "supersede")
    assert records(office) == (1 if verdict.deed == "supersede" else 0)


@pytest.mark.rule("SU-16", "T161")
def test_what_ends_while_it_is_replaced_is_replaced_or_reported(office):
    for seconds in (0.15, 0.3, 0.45):
        text = f"Deploys go out from branch {seconds}."
        ending = kept(office.senior, text, project="apollo", valid_until=in_a_moment(seconds))
        links = [{"type": "supersedes", "dst": ending}]

        answer = remember(office.senior, f"{text} No more.", project="apollo", links=links)

        told = answer["superseded"] + [one["id"] for one in answer["skipped"]]
        assert told == [ending]
        is_replaced = seen(office.senior, ending)["superseded_by"] == answer["memory_id"]
        assert is_replaced == (answer["superseded"] == [ending])


@pytest.mark.rule("PO-10", "PO-08")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2021-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("2001-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
        (None, "2001-01-01T00:00:00Z"),
    ],
)
def test_no_date_that_a_client_claims_wins_anything(office, older, newer):
    first = branch(office.senior, "main", valid_from=older)
    second = branch(office.colleague, "release", valid_from=newer)

    assert second["superseded"] == [first["memory_id"]]
    assert second["conflicts"][0]["resolution"] == "recency"


@pytest.mark.rule("PO-10", "PO-08")
@pytest.mark.parametrize("shift", [0, 3600])
def test_of_two_written_at_one_moment_the_servers_order_tells(office, model, shift):
    """Also where the clock was set back between the two."""
    certify(office)
    model.script = [Rule(answer={"relation": "contradiction", "confidence": 1.0})]
    first = kept(office.senior, OLD, project="apollo")
    second = kept(office.colleague, NEW, project="apollo")
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE memories SET created_at = least_.at + CASE WHEN id = %s THEN"
            " make_interval(secs => %s) ELSE interval '0' END"
            " FROM (SELECT min(created_at) AS at FROM memories WHERE tenant_id = %s) least_"
            " WHERE tenant_id = %s",
            [_uuid(first), shift, office.tenant.id, office.tenant.id],
        )

    work(office)

    assert seen(office.viewer, first)["superseded_by"] == second
    assert seen(office.viewer, second)["lifecycle"] == "live"


def _uuid(memory_id):
    from tests.memories import row as stored

    return stored(memory_id).id
