"""A judge that cannot be asked: the writer is told so, the health as well, and nothing is lost."""

from datetime import timedelta

import pytest

from hygiene.schedule import sweep_those_due
from hygiene.stub import Rule
from tenants.models import Job
from tests.judging import certified, jobs_of, judgements, records, says, work
from tests.memories import kept, remember
from tests.test_judging import NEW, OLD, due, model, server
from tests.test_refused_pairs import alarms, health

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("WR-13", "JU-05", "JU-09")

LATER = "The staging database listens on port 5435."


def write(person, text, **more):
    return remember(person, text, project="apollo", **more)


@pytest.fixture(params=["503", "reset", "401", "the day's tokens"])
def out_of_reach(office, certified, settings, request):
    """A judge that has been found to be out of reach, whatever it is."""
    says(certified, "contradiction", 0.8)
    kept(office.colleague, OLD, project="apollo")
    if request.param.startswith("the day"):
        write(office.senior, f"{OLD} Always.")
        work(office)
        settings.JUDGE_TOKENS_PER_DAY = 1
    else:
        certified.script = [Rule(fault=request.param)]
    # Nobody has found that out before somebody asks.
    assert write(office.senior, NEW)["judging"] == "queued"
    assert health(office)["deferred"] == 0
    work(office)
    return certified


def test_who_writes_then_is_told_that_it_is_deferred_as_the_health_says(
    office, out_of_reach, settings
):
    answer = write(office.agent, LATER)

    assert answer["judging"] == "deferred"
    assert health(office)["deferred"] >= 1
    assert answer["conflict_candidates"] != []
    # A later pass comes to the same.
    settings.JUDGE_TOKENS_PER_DAY = 0
    says(out_of_reach, "contradiction", 0.8)
    before = records(office)
    due(office)
    work(office)
    assert records(office) > before
    assert {state for _, state in jobs_of(office)} == {"done"}
    assert health(office)["deferred"] == 0
    again = write(office.senior, "The staging database listens on port 5436.")
    assert again["judging"] == "queued"


def test_whoever_is_tried_again_is_put_off_until_it_is_done(office, out_of_reach):
    Job.objects.using("owner").filter(tenant=office.tenant, state="queued").update(state="running")

    assert write(office.agent, LATER)["judging"] == "deferred"
    assert health(office)["deferred"] >= 1


def test_it_is_told_to_everybody_of_the_tenant_and_to_nobody_else(
    office, other_office, out_of_reach
):
    assert write(office.colleague, LATER)["judging"] == "deferred"
    for text, told in ((OLD, "done"), (NEW, "queued")):
        assert remember(other_office.senior, text)["judging"] == told


def test_what_is_put_off_for_other_reasons_is_the_judges_soon(office, certified):
    kept(office.colleague, OLD, project="apollo")
    kept(office.senior, NEW, project="apollo")
    Job.objects.using("owner").filter(tenant=office.tenant).update(
        last_error="the embedder is down"
    )

    assert write(office.agent, LATER)["judging"] == "queued"


def test_nothing_near_is_done_also_while_the_judge_is_out_of_reach(office, out_of_reach):
    assert write(office.agent, "Backups run at three in the night.")["judging"] == "done"


@pytest.mark.rule("WR-05")
def test_who_waits_is_told_what_came_of_it_and_told_so_again(office, out_of_reach, settings):
    settings.JUDGE_TOKENS_PER_DAY = 0
    says(out_of_reach, "contradiction", 0.8)
    body = {"content": LATER, "project": "apollo", "wait": 5}

    first = office.agent.post("/memories", body, **{"Idempotency-Key": "k1"}).json()
    again = office.agent.post("/memories", body, **{"Idempotency-Key": "k1"}).json()

    assert first["judging"] == "done"
    assert again == first


@pytest.mark.parametrize("judge", ["openai:", "nonsense", "anthropic:some-model"])
def test_a_judge_that_cannot_be_as_it_is_set_up_is_waited_for(office, certified, settings, judge):
    kept(office.colleague, OLD, project="apollo")
    configured, settings.JUDGE, settings.JUDGE_API_KEY = settings.JUDGE, judge, ""
    kept(office.senior, NEW, project="apollo")
    for _ in range(4):
        due(office)
        work(office)

    (job,) = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    assert job.attempts == 0
    assert job.last_error.startswith("the judge is misconfigured: JUDGE is")
    assert write(office.agent, LATER)["judging"] == "deferred"
    told = health(office)
    assert (told["judge"], told["prompt_version"], told["jobs_failed"]) == (judge, None, 0)
    assert "judge_misconfigured" in alarms(office)
    refused = office.senior.post("/hygiene/sweeps", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "judging_off")
    assert sweep_those_due(timedelta(0)) == 0
    settings.JUDGE = configured
    says(certified, "contradiction", 0.8)
    due(office)
    work(office)
    assert len(judgements(office)) == 3
    assert "judge_misconfigured" not in alarms(office)
