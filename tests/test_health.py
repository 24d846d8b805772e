"""The health of hygiene: the numbers of a day, and alarms for what a person should look after."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from hygiene.health import ALARMS, Facts, alarm_counts, alarms_of, facts_at
from hygiene.models import Judgement
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from tenants.context import acting_as
from tenants.ids import Prefix, new_id, read_id
from tenants.job_desk import beat
from tenants.jobs import run_job
from tenants.models import Job
from tests.judging import branch, work
from tests.memories import done, kept, refused, remember
from tests.test_sweep import taken

pytestmark = pytest.mark.rule("JU-09")

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
QUIET = Facts(
    written=3,
    left_to_judge=2,
    first_left=NOW - timedelta(hours=2),
    examined=5,
    unusable=1,
    waiting=0,
    oldest_waiting=None,
    deferred=0,
    first_deferred=None,
    misconfigured=None,
    failed=0,
    first_failed=None,
    tokens_in=0,
    tokens_out=0,
    last_spent=None,
    automatic=0,
    disputes=0,
    pending=0,
    unjudged=0,
    first_unjudged=None,
    retired=0,
    last_retired=None,
    live=10,
)


def codes(workers=1, **facts):
    return [one.code for one in alarms_of(Facts(**{**vars(QUIET), **facts}), workers, NOW)]


def test_nothing_is_alarming_about_a_quiet_day():
    assert codes() == []
    assert codes(written=0, examined=0) == []


def test_a_few_memories_with_nothing_near_them_leave_nothing_to_examine():
    assert codes(examined=0, left_to_judge=0) == []
    assert codes(written=49, examined=0, left_to_judge=0) == []


def test_what_was_put_off_a_moment_ago_is_no_alarm_yet():
    just_now = {"deferred": 3, "first_deferred": NOW - timedelta(seconds=30)}

    assert codes(examined=0, left_to_judge=0, **just_now) == []


LONG_AGO = NOW - timedelta(minutes=2)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"examined": 0}, "nothing_examined"),
        (
            {"examined": 0, "left_to_judge": 0, "deferred": 3, "first_deferred": LONG_AGO},
            "nothing_examined",
        ),
        ({"examined": 0, "left_to_judge": 0, "written": 50}, "nothing_examined"),
        ({"unusable": 5}, "nothing_usable"),
        ({"misconfigured": LONG_AGO}, "judge_misconfigured"),
        ({"unjudged": 1}, "pairs_unjudged"),
        ({"retired": 50}, "brake_on"),
        ({"failed": 1}, "judge_jobs_failed"),
        ({"oldest_waiting": NOW - timedelta(minutes=16)}, "jobs_waiting_too_long"),
        ({"workers": 0}, "no_worker"),
        ({"tokens_in": 1_500_000, "tokens_out": 500_000}, "budget_used_up"),
    ],
)
def test_what_is_alarming(facts, code):
    assert codes(**facts) == [code]
    assert code in ALARMS


def test_the_brake_grows_with_the_store():
    assert codes(retired=50, live=2000) == []
    assert codes(retired=100, live=2000) == ["brake_on"]


def test_that_judging_is_off_is_alarming_where_something_is_written(settings):
    settings.JUDGE = "off"

    assert codes() == ["judging_off"]
    assert codes(written=0) == []


@pytest.fixture
def embedder_down(settings):
    settings.EMBEDDER, settings.EMBEDDER_BASE_URL = "openai:nobody-there", "http://127.0.0.1:9/v1"


def health(person):
    return done(person.get("/hygiene/health"))


def alarming(person):
    return {alarm["code"]: alarm for alarm in health(person)["alarms"]}


def facts_of(office):
    with acting_as(office.senior.caller):
        return facts_at(datetime.now(UTC), None)


def let_pass(office, *, minutes):
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE jobs SET created_at = created_at - make_interval(mins => %s)"
            " WHERE tenant_id = %s",
            [minutes, office.tenant.id],
        )


def jobs_of(office):
    return Job.objects.using("owner").filter(tenant=office.tenant, kind=JUDGE_MEMORY)


def test_the_numbers_of_a_day(office):
    beat("the tests")
    senior = office.senior
    kept(senior, "The indexer of apollo listens on port 8080.", project="apollo")
    kept(senior, "The indexer of apollo listens on port 9090.", project="apollo")
    before = health(senior)
    assert (before["pairs_examined"], before["jobs_waiting"]) == (0, 1)
    assert (before["judge"], before["certified"], before["brake_on"]) == ("rules", True, False)
    assert before["workers_alive"] >= 1

    run_job(taken(jobs_of(office).get().id))

    after = health(senior)
    assert (after["pairs_examined"], after["jobs_waiting"]) == (1, 0)
    assert sum(after["verdicts"].values()) == 1
    assert after["disputes"] == after["disputes_pending"] == 1
    assert after["automatic_actions"] == 0
    assert after["alarms"] == []


def test_candidates_of_which_nobody_looks_at_one_are_an_alarm(office):
    kept(office.senior, "The indexer of apollo listens on port 8080.", project="apollo")
    kept(office.senior, "The indexer of apollo listens on port 9090.", project="apollo")
    assert "nothing_examined" not in alarming(office.senior)

    let_pass(office, minutes=20)

    found = alarming(office.senior)
    assert {"nothing_examined", "jobs_waiting_too_long"} <= set(found)
    assert found["nothing_examined"]["since"] < health(office.senior)["alarms"][0]["since"] + "Z"
    assert alarm_counts()["nothing_examined"] >= 1


@pytest.mark.rule("WR-13")
def test_what_could_not_be_embedded_waits_and_is_an_alarm(office, embedder_down):
    for floor in range(6):
        answer = remember(office.senior, f"The kitchen is on floor {floor}.", project="apollo")
        assert answer["judging"] == "deferred"
    work(office)

    told = health(office.senior)
    assert (told["jobs_waiting"], told["deferred"], told["pairs_examined"]) == (6, 6, 0)
    assert "nothing_examined" not in alarming(office.senior)
    let_pass(office, minutes=2)
    assert "nothing_examined" in alarming(office.senior)
    assert alarm_counts()["nothing_examined"] >= 1
    let_pass(office, minutes=20)
    assert "jobs_waiting_too_long" in alarming(office.senior)


def test_a_memory_whose_embedding_failed_for_good_is_an_alarm(office, embedder_down):
    remember(office.senior, "The kitchen is on the second floor.", project="apollo")
    failed = {"state": "failed", "finished_at": datetime.now(UTC)}
    Job.objects.using("owner").filter(tenant=office.tenant).update(**failed)

    assert "judge_jobs_failed" in alarming(office.senior)


def test_jobs_that_failed_are_an_alarm(office):
    kept(office.senior, "The indexer of apollo listens on port 8080.", project="apollo")
    kept(office.senior, "The indexer of apollo listens on port 9090.", project="apollo")
    jobs_of(office).update(state="failed", finished_at=datetime.now(UTC))

    assert "judge_jobs_failed" in alarming(office.senior)
    assert health(office.senior)["jobs_failed"] == 1


def spend(office, tokens_in, tokens_out):
    a = kept(office.senior, "The kitchen is on the second floor.", project="apollo")
    b = kept(office.senior, "Backups run at three in the night.", project="apollo")
    older, newer = (read_id(Prefix.MEMORY, one) for one in (a, b))
    Judgement.objects.using("owner").create(
        id=new_id(), tenant=office.tenant, older_id=older, newer_id=newer, older_version=1,
        newer_version=1, judge="rules", prompt_version="x", relation="unrelated", confidence=1,
        reasoning="", shared_subject="", deed="nothing", tokens_in=tokens_in,
        tokens_out=tokens_out,
    )  # fmt: skip


@pytest.mark.rule("JU-05")
def test_the_days_tokens_are_told_and_when_they_are_used_up(office, settings):
    settings.JUDGE_TOKENS_PER_DAY = 100
    spend(office, 90, 10)

    told = health(office.senior)

    assert (told["tokens_today"], told["tokens_a_day"]) == (100, 100)
    assert "budget_used_up" in alarming(office.senior)


@pytest.mark.rule("JU-05")
def test_the_days_money_is_told_and_when_it_is_used_up(office, settings):
    settings.JUDGE_PRICE_IN, settings.JUDGE_PRICE_OUT = 3.0, 15.0  # of a million
    settings.JUDGE_MONEY_PER_DAY = 1.05
    spend(office, 100_000, 50_000)

    told = health(office.senior)

    assert (told["money_today"], told["money_a_day"]) == (1.05, 1.05)
    message = alarming(office.senior)["budget_used_up"]["message"]
    assert message.startswith("The day's money for judging is used up")
    settings.JUDGE_MONEY_PER_DAY = 1.06
    assert "budget_used_up" not in alarming(office.senior)


@pytest.mark.rule("PO-16")
def test_whose_memories_were_retired_is_told_how_many(office):
    branch(office.colleague, "main")
    branch(office.senior, "release")

    assert health(office.colleague)["lost_of_yours"] == 1
    assert health(office.senior)["lost_of_yours"] == 0


@pytest.mark.rule("PO-17")
def test_who_lost_to_several_was_retired_once(office):
    for content in ("It is main.", "Main it is.", "Always main."):
        branch(office.senior, "main", content=content)
    branch(office.contractor, "release")

    facts = facts_of(office)
    assert (facts.retired, facts.automatic) == (1, 3)


def test_the_numbers_are_the_tenants_own(office, other_office):
    kept(office.senior, "The indexer of apollo listens on port 8080.", project="apollo")
    kept(office.senior, "The indexer of apollo listens on port 9090.", project="apollo")

    assert health(other_office.senior)["jobs_waiting"] == 0
    # Numbers of the whole tenant, whoever asks in it.
    assert health(office.outsider)["jobs_waiting"] == 1


def test_who_may_ask(office):
    refused(office.viewer.get("/hygiene/health"), 403, "insufficient_scope")


def test_alarms_are_metrics_without_tenants(office, client):
    text = client.get("/metrics").content.decode()

    for code in ALARMS:
        assert f'palimpsest_alarms{{code="{code}"}}' in text
    assert str(office.tenant.id) not in text


def test_health_is_quick(office):
    kept(office.senior, "The indexer of apollo listens on port 8080.", project="apollo")
    health(office.senior)
    started = time.perf_counter()
    health(office.senior)

    assert time.perf_counter() - started < 1
