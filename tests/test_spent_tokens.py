"""The day's budget: it ends a job in the middle, and whatever was spent counts, used or not."""

import pytest
from django.conf import settings as django_settings

from hygiene.judging import current_judge
from hygiene.model_judge import Patience, estimated_tokens
from hygiene.model_providers import Malformed, Reply
from hygiene.stub import Rule
from hygiene.unanswered import MOST_TRIES
from memory.conflict.put_off import TOKENS_USED_UP
from memory.conflict.signals import ATTRIBUTE_MISLED
from tenants.models import Job
from tests.judging import certified, judgements, live, records, says, work
from tests.memories import done, kept, remember
from tests.test_attributing import attributions
from tests.test_failed_jobs import jobs
from tests.test_gone_while_judging import meanwhile
from tests.test_judging import NEW, OLD, due, model, pair, server
from tests.test_misled import misled

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("JU-05")


def spent(office):
    """Return what is counted for the day's budget."""
    return done(office.senior.get("/hygiene/health"))["tokens_today"]


def many(office, settings, number=12):
    """Return the answer to a write that has so many neighbours, none compared with each other."""
    setting = settings.JUDGE
    settings.JUDGE = "off"
    for port in range(5400, 5400 + number):
        kept(office.colleague, f"The staging database listens on port {port}.", project="apollo")
    settings.JUDGE = setting
    return remember(office.senior, "The staging database listens somewhere.", project="apollo")


def waiting(office):
    return jobs(office, state="queued").values_list("last_error", flat=True)


@pytest.mark.parametrize(("budget", "most"), [(1, 1), (1500, 3 + django_settings.WORKER_THREADS)])
def test_a_job_stops_asking_when_the_budget_is_used_up(office, certified, settings, budget, most):
    says(certified, "unrelated")
    settings.JUDGE_TOKENS_PER_DAY = budget
    many(office, settings)
    work(office)

    asked = len(certified.requests)
    assert 1 <= asked <= most < 10
    assert list(waiting(office)) == [TOKENS_USED_UP]
    # What was said is kept, and counted once.
    assert {one.deed for one in judgements(office)} == {"waiting"}
    assert len(judgements(office)) == asked
    due(office)
    work(office)
    assert len(certified.requests) == asked
    settings.JUDGE_TOKENS_PER_DAY = 0
    due(office)
    work(office)
    assert len(certified.requests) == len(judgements(office)) == 10


def test_what_is_within_the_budget_is_done(office, certified, settings):
    says(certified, "unrelated")
    settings.JUDGE_TOKENS_PER_DAY = 1_000_000
    many(office, settings)
    work(office)
    assert len(certified.requests) == len(judgements(office)) == 10
    assert spent(office) == sum(one.tokens_in + one.tokens_out for one in judgements(office))


@pytest.mark.rule("JU-06", "PO-15")
@pytest.mark.parametrize("whose", ["memory", "candidate"])
def test_an_answer_about_what_has_changed_meanwhile_counts(office, certified, whose):
    says(certified, "contradiction")
    old, new = pair(office)
    changed = (office.senior, new) if whose == "memory" else (office.colleague, old)
    meanwhile(
        certified, lambda: done(changed[0].patch(f"/memories/{changed[1]}", {"importance": 0.9}))
    )
    work(office)

    (verdict,) = judgements(office)
    assert len(certified.requests) == 2
    assert spent(office) == 2 * (verdict.tokens_in + verdict.tokens_out)


def test_whoever_keeps_changing_something_is_stopped_by_the_budget(office, certified, settings):
    says(certified, "contradiction")
    old, _ = pair(office)
    settings.JUDGE_TOKENS_PER_DAY = 2500
    tags = iter(range(100))
    certified.meddle = lambda: done(
        office.colleague.patch(f"/memories/{old}", {"tags": [f"t{next(tags)}"]})
    )
    work(office)

    assert 1 < len(certified.requests) < 10
    assert list(waiting(office)) == [TOKENS_USED_UP]


@pytest.mark.rule("JU-03", "DE-08", "PO-15")
@pytest.mark.parametrize("down", [False, True])
def test_what_somebody_keeps_to_themselves_meanwhile_costs_the_others_nothing(
    office, certified, down
):
    others = [kept(office.colleague, OLD, project="apollo")]
    others.append(
        kept(office.colleague, "The staging database listens on port 5434.", project="apollo")
    )
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    new = remember(office.senior, NEW, project="apollo")["memory_id"]
    said = Rule(answer={"relation": "contradiction", "confidence": 1.0}, times=1)
    certified.script = [said, Rule(fault="503")] if down else []
    if not down:
        says(certified, "contradiction")
    hidden = f"/memories/{others[0]}"
    meanwhile(certified, lambda: done(office.colleague.patch(hidden, {"visibility": "private"})))
    work(office)

    assert not jobs(office, state="failed").exists()
    assert not jobs(office, last_error__contains="Error").exists()
    assert spent(office) > 0
    if down:
        says(certified, "contradiction")
        due(office)
        work(office)
    # The other one is acted upon, the hidden one is as it was, and no word about it is kept.
    assert live(office.colleague, [*others, new]) == [others[0], new]
    assert records(office) == len(judgements(office)) == 1


class Silent:
    """A server that does not say what it has counted."""

    def __init__(self, text):
        self.text = text

    def __call__(self, instructions, question, seconds):
        if self.text is None:
            raise Malformed("the server's answer holds no message")
        return Reply(self.text, 0, 0)


@pytest.mark.parametrize("answer", ["no JSON", None])
def test_a_server_that_does_not_count_is_counted_for(office, model, monkeypatch, settings, answer):
    monkeypatch.setattr(current_judge(), "_ask", Silent(answer))
    pair(office)
    work(office)

    (verdict,) = judgements(office)
    # Instructions and both texts, three times over; and what it said, where it said something.
    assert verdict.tokens_in > 3 * estimated_tokens(OLD + NEW)
    assert (verdict.tokens_out > 0) == (answer is not None)
    settings.JUDGE_TOKENS_PER_DAY = 1
    remember(office.senior, "The staging database listens on port 5434.", project="apollo")
    work(office)
    assert list(waiting(office)) == [TOKENS_USED_UP]


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("four", 2), ("ä" * 30, 20), ("\ud800", 1)])
def test_an_estimate_goes_by_the_length(text, tokens):
    assert estimated_tokens(text) == tokens


@pytest.mark.rule("DI-07", "JU-04")
def test_a_report_at_which_the_server_fails_for_ever_is_asked_about_thrice(
    office, model, monkeypatch
):
    patience = Patience(within=1.0, one_try=0.3, first_pause=0.01)
    monkeypatch.setattr(current_judge(), "_patience", patience)
    memory = kept(office.senior, OLD, project="apollo")
    model.script = [
        Rule(if_contains=["What the reporter says"], fault="500"),
        Rule(answer={"relation": "unrelated", "confidence": 0.9}),
    ]
    done(misled(office.agent, memory, "Nothing listens there."))
    for _ in range(MOST_TRIES - 1):
        work(office)
        assert jobs(office, kind=ATTRIBUTE_MISLED, state="queued").exists()
        due(office)
    work(office)

    (kept_one,) = attributions(office)
    assert (kept_one.blame, kept_one.counted) == ("unusable", False)
    assert jobs(office, kind=ATTRIBUTE_MISLED, state="done").exists()
    assert spent(office) > 0


@pytest.mark.rule("DI-07")
def test_a_server_that_is_down_for_all_uses_no_attempt_up(office, model, monkeypatch):
    patience = Patience(within=1.0, one_try=0.3, first_pause=0.01)
    monkeypatch.setattr(current_judge(), "_patience", patience)
    memory = kept(office.senior, OLD, project="apollo")
    model.script = [Rule(fault="500")]
    done(misled(office.agent, memory, "Nothing listens there."))
    for _ in range(MOST_TRIES + 1):
        work(office)
        due(office)
    assert attributions(office) == []
    says(model, "misled", 0.9)
    due(office)
    work(office)
    assert [one.blame for one in attributions(office)] == ["misled"]
