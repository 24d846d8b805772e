"""A pair that the judge never answers about, though it answers others: asked thrice, then told."""

import pytest

from hygiene.judging import current_judge
from hygiene.model_judge import Patience
from hygiene.stub import Rule
from hygiene.sweep import open_sweep
from hygiene.unanswered import MOST_TRIES, NO_ANSWER_YET, UNANSWERED
from memory.models import Conflict
from tenants.context import acting_as
from tenants.models import Job
from tests.judging import certified, conflicts, judgements, live, records, says, work
from tests.memories import done, row, seen
from tests.test_judging import NEW, OLD, due, model, server
from tests.test_refused_pairs import TOO_LONG, alarms, health, three, told

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("JU-04", "JU-05", "WR-13")

DISPUTED = {"relation": "contradiction", "confidence": 0.8}


@pytest.fixture(autouse=True)
def _hasty(certified, monkeypatch):
    patience = Patience(within=1.8, one_try=0.5, first_pause=0.01)
    monkeypatch.setattr(current_judge(), "_patience", patience)


def failing_at(model, *texts, fault="500", **more):
    """Have the model's server fail at whatever holds one of these, and answer all the rest."""
    at = [Rule(if_contains=[text], fault=fault, **more) for text in texts]
    model.script = [*at, Rule(answer=DISPUTED)]


def questions(model, text):
    """Return how often the model was asked about a pair with this text."""
    asked = (str(one["body"]["messages"][-1]["content"]) for one in model.requests)
    return sum(text in question for question in asked)


def try_again(office):
    due(office)
    return work(office)


def asked_for(person):
    """Return a sweep that somebody starts."""
    answer = person.post("/hygiene/sweeps", {})
    assert answer.status_code == 202, answer.content
    return answer.json()


def scheduled(person):
    """Start a sweep as the schedule does."""
    with acting_as(person.caller):
        return open_sweep(person.caller, None, None, current_judge())


def job_of(office, memory_id):
    jobs = Job.objects.using("owner").filter(tenant=office.tenant, subject_id=row(memory_id).id)
    return jobs.exclude(state="obsolete").latest("created_at")


def unjudged(office, model):
    """Return the ids of three memories, of which the second and third form an unjudged pair."""
    failing_at(model, "port 5434")
    ids = three(office)
    for _ in range(MOST_TRIES):
        try_again(office)
    assert ("unjudged", "pending") in told(office)
    return ids


@pytest.mark.parametrize("fault", ["500", "429", "reset", "timeout"])
def test_it_is_asked_about_thrice_and_then_unjudged_and_the_others_are_concluded(
    office, certified, fault
):
    failing_at(certified, "port 5434", fault=fault, seconds=2.0)
    near, never, new = three(office)

    for attempt in range(1, MOST_TRIES):
        assert try_again(office) == 1
        job = job_of(office, new)
        assert (job.state, job.attempts, job.last_error) == ("queued", 0, NO_ANSWER_YET)
        notes = {(one.relation, one.deed, one.tries) for one in judgements(office)}
        assert notes == {("contradiction", "waiting", 0), (UNANSWERED, "waiting", attempt)}
        assert records(office) == 0
    assert try_again(office) == 1

    assert told(office) == {
        ("contradiction", "pending"): {near, new},
        ("unjudged", "pending"): {never, new},
    }
    assert job_of(office, new).state == "done"
    assert len(live(office.viewer, [near, never, new])) == 3
    assert questions(certified, "port 5432") == 1
    asked = len(certified.requests)
    try_again(office)
    assert len(certified.requests) == asked


def test_several_such_pairs_do_not_make_a_judge_that_is_down(office, certified):
    failing_at(certified, "port 5434", "port 5432")
    three(office)

    for _ in range(MOST_TRIES):
        try_again(office)

    assert [one["kind"] for one in conflicts(office.viewer)] == ["unjudged", "unjudged"]


@pytest.mark.parametrize("fault", ["503", "reset"])
def test_no_pair_is_unjudged_because_the_judge_is_down(office, certified, fault):
    certified.script = [Rule(fault=fault)]
    *_, new = three(office)

    for _ in range(MOST_TRIES + 1):
        try_again(office)

    assert (judgements(office), records(office)) == ([], 0)
    assert job_of(office, new).last_error == "the judge is down"
    says(certified, "contradiction", 0.8)
    try_again(office)
    assert {one["kind"] for one in conflicts(office.viewer)} == {"contradiction"}


def test_what_changed_meanwhile_is_tried_as_often_anew(office, certified):
    failing_at(certified, "port 5434")
    _, never, _ = three(office)
    try_again(office)
    try_again(office)
    done(office.colleague.patch(f"/memories/{never}", {"tags": ["port"]}))

    try_again(office)

    (one,) = (one for one in judgements(office) if one.relation == UNANSWERED)
    assert (one.tries, one.older_version) == (1, 2)


@pytest.mark.rule("JU-08")
def test_a_sweep_gets_past_it(office, certified):
    failing_at(certified, "port 5434")
    three(office)
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    sweep = asked_for(office.senior)

    for _ in range(2 * MOST_TRIES):
        try_again(office)

    ended = done(office.senior.get(f"/hygiene/sweeps/{sweep['id']}"))
    assert (ended["state"], ended["memories"], ended["pairs"]) == ("done", 3, 3)
    kinds = sorted(one["kind"] for one in conflicts(office.viewer))
    assert kinds == ["contradiction", "unjudged", "unjudged"]


@pytest.mark.rule("JU-09")
def test_health_counts_it_and_tells_how_to_ask_again(office, certified):
    failing_at(certified, "port 5434")
    three(office)
    try_again(office)
    before = health(office)
    # What was not answered was not examined.
    assert (before["pairs_examined"], before["verdicts"]) == (1, {"contradiction": 1})
    assert (before["deferred"], before["unjudged"]) == (1, 0)
    assert "pairs_unjudged" not in alarms(office)
    for _ in range(MOST_TRIES):
        try_again(office)

    after = health(office)

    assert (after["unjudged"], after["deferred"]) == (1, 0)
    assert after["verdicts"] == {"contradiction": 1, "unusable": 1}
    (alarm,) = (one for one in after["alarms"] if one["code"] == "pairs_unjudged")
    assert "POST /hygiene/sweeps" in alarm["message"]
    assert alarm["since"] is not None


@pytest.mark.rule("JU-05")
def test_what_finding_out_costs_is_counted(office, certified):
    failing_at(certified, "port 5434")
    three(office)
    try_again(office)
    (answered,) = (one for one in judgements(office) if one.relation != UNANSWERED)

    # The question whether it is there at all has cost tokens, too.
    assert health(office)["tokens_today"] > answered.tokens_in + answered.tokens_out


@pytest.mark.rule("JU-08", "JU-09", "PO-14")
def test_whoever_owns_the_newer_one_has_it_asked_about_once_more(office, certified):
    near, never, new = unjudged(office, certified)
    says(certified, "contradiction", 0.8)
    asked = len(certified.requests)
    assert try_again(office) == 0
    asked_for(office.colleague)
    work(office)
    assert questions(certified, "port 5434") >= len(certified.requests) - asked
    assert ("unjudged", "pending") in told(office)

    asked_for(office.senior)
    work(office)

    found = [(one["kind"], one["state"]) for one in conflicts(office.viewer, memory=new)]
    assert found == [("contradiction", "pending")] * 2
    assert health(office)["unjudged"] == 0
    assert "pairs_unjudged" not in alarms(office)
    asked = len(certified.requests)
    asked_for(office.senior)
    work(office)
    assert len(certified.requests) == asked
    assert seen(office.viewer, never)["disputed"]
    assert seen(office.viewer, near)["disputed"]


@pytest.mark.rule("JU-08")
def test_it_stays_unjudged_if_the_judge_has_nothing_to_say_once_more(office, certified):
    _, never, new = unjudged(office, certified)
    asked_for(office.senior)
    asked = questions(certified, "port 5434")
    for _ in range(MOST_TRIES + 1):
        try_again(office)

    assert questions(certified, "port 5434") > asked
    assert told(office)["unjudged", "pending"] == {never, new}
    assert records(office) == len(conflicts(office.viewer))


@pytest.mark.rule("JU-08", "PO-14")
def test_a_dispute_for_want_of_a_verdict_is_moot_once_there_is_one(office, certified):
    _, never, new = unjudged(office, certified)
    says(certified, "unrelated")
    asked_for(office.senior)

    work(office)

    assert told(office)["unjudged", "moot"] == {never, new}
    assert not seen(office.viewer, never)["disputed"]
    history = done(office.viewer.get(f"/memories/{new}/history"))["events"]
    assert "withdraw_dispute" in [one["command"] for one in history]
    # It does not come back with its memory: it was judged.
    done(office.colleague.post(f"/memories/{never}/forget", {"reason": "A test."}))
    done(office.colleague.post(f"/memories/{never}/restore", {}))
    try_again(office)
    assert told(office)["unjudged", "moot"] == {never, new}
    assert not seen(office.viewer, never)["disputed"]


@pytest.mark.rule("JU-08", "PO-05")
def test_a_verdict_that_comes_after_all_is_acted_upon(office, certified):
    near, never, new = unjudged(office, certified)
    says(certified, "b_supersedes_a")
    asked_for(office.senior)

    work(office)

    assert live(office.viewer, [near, never, new]) == [near, new]
    assert seen(office.viewer, never)["superseded_by"] == new


@pytest.mark.rule("JU-08", "PO-14")
@pytest.mark.parametrize("taken", ["assigned", "deferred", ""])
def test_a_new_prompt_is_asked_by_the_next_sweep_unless_somebody_has_it(
    office, certified, monkeypatch, taken
):
    _, never, new = unjudged(office, certified)
    conflict = Conflict.objects.using("owner").filter(tenant=office.tenant, kind="unjudged")
    if taken == "assigned":
        conflict.update(assigned_to=office.senior.member)
    elif taken == "deferred":
        conflict.update(deferred_until="2099-01-01T00:00:00Z")
    says(certified, "contradiction", 0.8)
    asked = questions(certified, "port 5434")
    scheduled(office.senior)
    work(office)
    # The same judge, the same question: it has had its tries.
    assert told(office)["unjudged", "pending"] == {never, new}

    monkeypatch.setattr(current_judge(), "prompt_version", "compare-2")
    scheduled(office.senior)
    work(office)

    assert (("unjudged", "pending") in told(office)) == bool(taken)
    assert questions(certified, "port 5434") - asked >= (0 if taken else 1)


def test_the_pairs_are_those_that_this_module_speaks_of():
    assert ("5432" in OLD, "5433" in NEW, "5434" in TOO_LONG) == (True, True, True)
