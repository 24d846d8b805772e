"""Waiting for the judge: no longer than was asked for, and with an answer that stands."""

import threading
import time

import pytest
from django.db import connections

from hygiene import jobs as judging
from hygiene.model_judge import ModelJudge
from hygiene.stub import Rule
from tenants.deadline import awaited_until
from tenants.jobs import MOST_ATTEMPTS
from tenants.models import Job
from tests.judging import certify, conflicts, jobs_of, judgements, records, says, work
from tests.memories import done, kept, memories_of, posting, remember, together
from tests.test_judging import NEW, OLD, model, server

__all__ = ["model", "server"]

pytestmark = pytest.mark.rule("DE-05")

KEY = {"Idempotency-Key": "k1"}


@pytest.fixture
def slow(office, model):
    certify(office)
    model.latency = 4.0
    yield model
    model.latency = 0


def ports(person, count):
    """Write so many memories of which each is near to each, and leave none to be judged."""
    for number in range(count):
        kept(person, f"The staging database listens on port {5440 + number}.", project="apollo")
    Job.objects.using("owner").filter(tenant=person.caller.tenant_id).delete()


def timed(call):
    """Return what a call returns, and the seconds that it took."""
    began = time.monotonic()
    return call(), time.monotonic() - began


def body(wait=None, **more):
    said = {"content": NEW, "project": "apollo", **more}
    return said if wait is None else {**said, "wait": wait}


@pytest.mark.rule("JU-03", "WR-02")
@pytest.mark.parametrize("fault", ["", "drip"])
def test_nobody_waits_longer_than_asked_and_the_worker_judges_the_rest(office, slow, fault):
    says(slow, "contradiction", 0.5)
    if fault:
        slow.latency = 0
        slow.script = [Rule(fault=fault, seconds=8.0)]
    ports(office.colleague, 10)

    answer, took = timed(lambda: remember(office.senior, **body(wait=2)))

    assert (answer["judging"], answer["conflicts"]) == ("queued", [])
    assert 1.5 < took < 10
    (job,) = Job.objects.using("owner").filter(tenant=office.tenant)
    assert (job.state, job.attempts, job.lease) == ("queued", 0, None)
    assert judgements(office) == []
    slow.latency = 0
    says(slow, "contradiction", 0.5)
    assert work(office) == 1
    assert jobs_of(office) == [("judge_memory", "done")]
    assert len(judgements(office)) == records(office) == 10


@pytest.mark.rule("JU-03", "WR-13")
def test_what_was_said_in_time_is_kept_for_when_the_rest_is(office, slow):
    says(slow, "contradiction", 0.5)
    slow.latency = 0.7
    ports(office.colleague, 10)

    answer, took = timed(lambda: remember(office.senior, **body(wait=2)))

    assert (answer["judging"], answer["conflicts"]) == ("queued", [])
    assert took < 10
    heard = judgements(office)
    assert 1 <= len(heard) < 10
    assert {one.deed for one in heard} == {"waiting"}
    slow.latency = 0
    asked = len(slow.requests)
    work(office)
    # None that was answered is asked about again.
    assert len(slow.requests) - asked == 10 - len(heard)
    assert len(judgements(office)) == records(office) == 10


@pytest.mark.rule("JU-04", "JU-05")
@pytest.mark.parametrize(
    ("fault", "told"),
    # Whether the pause after a failure fits into the wait is chance.
    [("not JSON", ["queued"]), ("503", ["queued", "deferred"]), ("reset", ["queued", "deferred"])],
)
def test_a_judge_that_fails_while_somebody_waits_is_asked_again_soon(office, slow, fault, told):
    slow.latency = 0.5
    slow.script = [Rule(fault=fault)]
    ports(office.colleague, 1)

    answer, took = timed(lambda: remember(office.senior, **body(wait=1)))

    assert answer["judging"] in told
    assert answer["conflicts"] == []
    assert took < 6
    # Three bad answers would make a dispute: cut short, they do not.
    assert judgements(office) == []
    slow.latency = 0
    says(slow, "contradiction", 0.5)
    time.sleep(1.1)  # the pause after a failure
    work(office)
    assert [one.relation for one in judgements(office)] == ["contradiction"]


def test_who_has_time_is_told_all(office, slow):
    slow.latency = 0.05
    says(slow, "contradiction", 0.5)
    ports(office.colleague, 3)

    answer = remember(office.senior, **body(wait=30))

    assert (answer["judging"], len(answer["conflicts"])) == ("done", 3)
    assert {one.deed for one in judgements(office)} == {"dispute"}


def test_a_worker_that_has_the_job_is_waited_for_no_longer(office, slow, monkeypatch):
    ports(office.colleague, 1)
    monkeypatch.setattr("memory.conflict.waiting.claim", lambda _job: None)

    answer, took = timed(lambda: remember(office.senior, **body(wait=1)))

    assert answer["judging"] == "queued"
    assert took < 6


@pytest.mark.parametrize(("attempt", "state"), [(1, "queued"), (MOST_ATTEMPTS, "failed")])
def test_a_job_that_fails_is_not_told_as_done(office, model, monkeypatch, attempt, state):
    ports(office.colleague, 1)

    def fail(*_arguments):
        raise RuntimeError("broken")

    monkeypatch.setattr(judging, "hear", fail)
    before = remember(office.senior, **body())
    assert before["judging"] == "queued"
    jobs = Job.objects.using("owner").filter(tenant=office.tenant)
    jobs.update(attempts=attempt - 1)

    again = remember(office.senior, **body(wait=1))

    assert (again["absorbed"], again["judging"], again["conflicts"]) == (True, "deferred", [])
    assert (jobs.get().state, jobs.get().attempts) == (state, attempt)


def test_only_what_is_awaited_has_less_time(model):
    """Whoever asks for nobody has the judge's own patience."""
    asked = []

    def ask(_instructions, _question, seconds):
        asked.append(seconds)
        raise RuntimeError("enough")

    judge = ModelJudge("openai:stub", ask)
    for moment in (None, time.monotonic() + 3, time.monotonic() + 600):
        with pytest.raises(RuntimeError):
            compare_until(judge, moment)

    assert [round(one) for one in asked] == [20, 3, 20]


def compare_until(judge, moment):
    from datetime import UTC, datetime

    from hygiene.judge import Exhibit

    two = [Exhibit(text, "fact", 1, 50, datetime.now(UTC)) for text in (OLD, NEW)]
    if moment is None:
        return judge.compare(*two)
    with awaited_until(moment):
        return judge.compare(*two)


@pytest.mark.rule("WR-05", "T142")
def test_a_request_sent_again_is_told_what_the_first_was_told_in_the_end(office, model):
    certify(office)
    says(model, "contradiction", 0.5)
    ports(office.colleague, 1)

    first = office.senior.post("/memories", body(wait=20), **KEY)
    asked = len(model.requests)
    again = office.senior.post("/memories", body(wait=20), **KEY)

    assert (first.status_code, again.status_code) == (201, 201)
    assert (first.json()["judging"], len(first.json()["conflicts"])) == ("done", 1)
    assert again.json() == first.json()
    assert len(model.requests) == asked
    assert memories_of(office) == 2


@pytest.mark.rule("WR-05", "T142")
def test_who_was_told_that_it_is_queued_is_told_so_again_also_once_it_is_done(office, slow):
    says(slow, "contradiction", 0.5)
    ports(office.colleague, 1)
    first = done(office.senior.post("/memories", body(wait=1), **KEY))
    slow.latency = 0
    work(office)
    assert len(conflicts(office.viewer)) == 1

    again = done(office.senior.post("/memories", body(wait=1), **KEY))

    assert (first["judging"], first["conflicts"]) == ("queued", [])
    assert again == first


@pytest.mark.rule("WR-05", "T142")
def test_the_same_request_sent_while_the_first_waits_is_told_the_same(office, slow):
    slow.latency = 1.0
    says(slow, "contradiction", 0.5)
    ports(office.colleague, 1)
    send = posting(office.senior, "/memories", body(wait=20), **KEY)

    def send_later():
        time.sleep(0.5)
        return posting(office.senior, "/memories", body(wait=20), **KEY)()

    first, again = (done(answer) for answer in together(send, send_later))

    assert (first["judging"], len(first["conflicts"])) == ("done", 1)
    assert again == first
    assert len(slow.requests) == 1


@pytest.mark.rule("WR-05", "T142")
def test_a_replay_waits_no_longer_than_the_first_would_have(office, slow):
    ports(office.colleague, 1)
    first = done(office.senior.post("/memories", body(wait=1), **KEY))
    time.sleep(2.1)  # as long as a write may have taken before it began to wait

    again, took = timed(lambda: done(office.senior.post("/memories", body(wait=1), **KEY)))
    assert again == first
    assert took < 0.7

    other = {"Idempotency-Key": "k2"}
    at_once = body(content="The staging database listens on port 5439.")
    first, took = timed(lambda: done(office.senior.post("/memories", at_once, **other)))
    assert (first["judging"], took < 3.5) == ("queued", True)
    again, took = timed(lambda: done(office.senior.post("/memories", at_once, **other)))
    assert (again, took < 3) == (first, True)


@pytest.mark.rule("DE-01")
def test_who_waits_does_not_wait_for_another_writer_beyond_it(office, model, monkeypatch):
    """A write that goes on for long holds up the worker, and not whoever waits."""
    from memory import remember as remembering
    from memory import taking_in

    certify(office)
    looked, go_on = threading.Event(), threading.Event()
    take_in = taking_in.take_in

    def stalled(caller, *arguments):
        if caller.member_id == office.colleague.member.id:
            looked.set()
            go_on.wait(20)
        return take_in(caller, *arguments)

    monkeypatch.setattr(remembering, "take_in", stalled)

    def write():
        try:
            posting(office.colleague, "/memories", body(content=OLD))()
        finally:
            connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    assert looked.wait(10)
    answer, took = timed(lambda: remember(office.senior, **body(wait=1)))
    go_on.set()
    writer.join()

    assert answer["judging"] == "queued"
    assert took < 6
    assert jobs_of(office)[0] == ("judge_memory", "queued")
