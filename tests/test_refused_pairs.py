"""One pair that a server refuses is unjudged, and all others are judged as ever."""

import pytest
from django.db.models.functions import Now

from hygiene.models import SpentInVain
from hygiene.stub import Rule
from tenants.models import Job
from tests.judging import certified, conflicts, judgements, live, records, says, work
from tests.memories import done, kept, remember
from tests.test_judging import NEW, OLD, due, model, server
from tests.test_misled import misled

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("JU-04", "JU-05", "JU-09")

TOO_LONG = "The staging database listens on port 5434."


def three(office):
    """Return the ids of two memories and of a third that is near to both and yet to be judged."""
    written = [kept(office.colleague, one, project="apollo") for one in (OLD, TOO_LONG)]
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    return [*written, kept(office.senior, NEW, project="apollo")]


def health(office):
    return done(office.senior.get("/hygiene/health"))


def alarms(office):
    return [one["code"] for one in health(office)["alarms"]]


def told(office):
    return {
        (one["kind"], one["state"]): frozenset((one["memory_a"], one["memory_b"]))
        for one in conflicts(office.viewer)
    }


@pytest.mark.parametrize("status", ["400", "413", "422"])
def test_a_question_that_is_refused_stands_in_nobodys_way(office, certified, status):
    certified.script = [
        Rule(if_contains=["port 5434"], fault=status),
        Rule(answer={"relation": "contradiction", "confidence": 0.8}),
    ]
    near, refused, new = three(office)

    work(office)

    assert told(office) == {
        ("contradiction", "pending"): {near, new},
        ("unjudged", "pending"): {refused, new},
    }
    assert len(live(office.viewer, [near, refused, new])) == 3
    (unjudged,) = (one for one in conflicts(office.viewer) if one["kind"] == "unjudged")
    assert status in unjudged["verdict"]["reasoning"]
    assert {one.deed for one in judgements(office)} == {"dispute"}
    asked = len(certified.requests)
    due(office)
    assert work(office) == 0
    assert len(certified.requests) == asked


@pytest.mark.rule("JU-08")
def test_a_sweep_passes_what_is_refused(office, certified):
    certified.script = [
        Rule(if_contains=["port 5434"], fault="400"),
        Rule(answer={"relation": "contradiction", "confidence": 0.8}),
    ]
    three(office)
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    sweep = office.senior.post("/hygiene/sweeps", {}).json()

    work(office)

    ended = done(office.senior.get(f"/hygiene/sweeps/{sweep['id']}"))
    assert (ended["state"], ended["memories"], ended["pairs"]) == ("done", 3, 3)
    kinds = sorted(one["kind"] for one in conflicts(office.viewer))
    assert kinds == ["contradiction", "unjudged", "unjudged"]


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_a_server_that_refuses_everything_is_down_and_an_alarm(office, certified, status):
    certified.script = [Rule(fault=status)]
    three(office)
    assert "judge_misconfigured" not in alarms(office)

    work(office)

    assert (judgements(office), records(office)) == ([], 0)
    assert len(certified.requests) == 1
    (job,) = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    assert (job.attempts, job.last_error) == (
        0,
        f"the judge is misconfigured: the judge's server answered {status}",
    )
    assert "judge_misconfigured" in alarms(office)
    says(certified, "contradiction", 0.8)
    due(office)
    work(office)
    assert len(judgements(office)) == records(office) == 2
    assert "judge_misconfigured" not in alarms(office)


def test_a_server_that_fails_for_a_while_is_not_told_as_misconfigured(office, certified):
    certified.script = [Rule(fault="503", retry_after=60)]
    three(office)

    work(office)

    assert health(office)["deferred"] == 1
    assert "judge_misconfigured" not in alarms(office)


def test_answers_of_which_none_is_of_use_are_an_alarm(office, certified):
    certified.script = [Rule(fault="400")]
    for number in range(4):
        kept(office.senior, f"The staging database listens on port {5440 + number}.")
    assert "nothing_usable" not in alarms(office)

    work(office)

    assert "nothing_usable" in alarms(office)
    assert {one["kind"] for one in conflicts(office.senior)} == {"unjudged"}


def in_vain(office):
    found = SpentInVain.objects.using("owner").filter(tenant=office.tenant)
    return sum(one.tokens_in + one.tokens_out for one in found)


@pytest.mark.parametrize("by", ["a write", "a sweep", "a report"])
def test_what_an_attempt_has_cost_counts_also_if_no_answer_came(office, certified, settings, by):
    if by == "a report":
        done(misled(office.agent, kept(office.senior, OLD, project="apollo")))
    else:
        three(office)
    if by == "a sweep":
        Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
        office.senior.post("/hygiene/sweeps", {})
    certified.script = [
        Rule(fault="out of range", times=1),
        Rule(fault="503", retry_after=60),
    ]

    work(office)

    assert judgements(office) == []
    assert health(office)["tokens_today"] == in_vain(office) > 0
    settings.JUDGE_TOKENS_PER_DAY = in_vain(office)
    says(certified, "unrelated")
    asked = len(certified.requests)
    due(office)
    work(office)
    assert len(certified.requests) == asked
    waiting = Job.objects.using("owner").get(tenant=office.tenant, state="queued")
    assert waiting.last_error == "the day's tokens for judging are used up"
    assert "budget_used_up" in alarms(office)


def test_what_was_answered_anew_before_it_went_down_is_kept(office, certified):
    """A verdict on what has changed meanwhile takes the place of the one that waited."""
    one_answer = [
        Rule(answer={"relation": "unrelated"}, times=1),
        Rule(fault="503", retry_after=60),
    ]
    certified.script = list(one_answer)
    *others, _new = three(office)
    work(office)
    (before,) = judgements(office)
    for one in others:
        done(office.colleague.patch(f"/memories/{one}", {"tags": ["port"]}))

    one_answer[0].times = 1
    due(office)
    work(office)

    (after,) = judgements(office)
    assert (after.id, after.deed, after.older_version) == (before.id, "waiting", 2)
    assert after.tokens_in > before.tokens_in


@pytest.mark.rule("WR-13", "DE-05")
@pytest.mark.parametrize(
    ("fault", "told"), [("503", "deferred"), ("401", "deferred"), ("", "done")]
)
def test_who_waits_is_told_that_the_judge_is_down(office, certified, fault, told):
    three(office)
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    certified.script = [Rule(fault=fault, retry_after=60 if fault == "503" else None)]

    answer = remember(office.senior, f"{NEW} Always.", project="apollo", wait=5)

    assert answer["judging"] == told
    found = done(office.colleague.post("/recall", {"query": "Always"}))["results"]
    assert answer["memory"]["content"] in [one["content"] for one in found]
    says(certified, "contradiction", 0.8)
    Job.objects.using("owner").filter(tenant=office.tenant, state="queued").update(run_after=Now())
    work(office)
    assert records(office) >= 1
