"""Of each pair one call, one verdict and one action, however many jobs come to it at once."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from hygiene.models import Judgement, PairInHand
from hygiene.stub import Rule
from memory import remember as remembering
from memory import taking_in
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from tenants.context import acting_as
from tenants.jobs import claim, leave_job, run_job
from tenants.models import Job
from tests.judging import certified, conflicts, judgements, live, records, says, work
from tests.memories import done, kept, posting, remember, row, seen, together
from tests.test_judging import NEW, OLD, due, model, pair, server
from tests.test_sweep import taken

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("JU-03")


@pytest.fixture
def unhurried(certified):
    """A model that takes its time, so that others come while it answers."""
    certified.latency = 0.02
    yield certified
    certified.latency = 0


def ports(person, count):
    """Return the ids of so many memories of which each is near to each."""
    texts = (f"The staging database listens on port {5400 + number}." for number in range(count))
    return [kept(person, text, project="apollo") for text in texts]


def open_jobs(office):
    found = Job.objects.using("owner").filter(tenant=office.tenant, kind=JUDGE_MEMORY)
    return found.filter(state__in=("queued", "running"))


def until_none_is_open(office):
    """Do the office's jobs as one of several workers would, to the end of all."""
    while True:
        waiting = list(open_jobs(office).values_list("id", flat=True))
        if not waiting:
            return
        for job_id in waiting:
            # One by one: who changes several waits in a circle with who finishes one.
            open_jobs(office).filter(id=job_id).update(run_after=timezone.now())
            job = claim(job_id)
            if job is not None:
                run_job(job)


def left_for(person, memory_id, name):
    """Return another job for a memory, beside the one that there is."""
    with acting_as(person.caller):
        return leave_job(JUDGE_MEMORY, dedup_key=name, subject_id=row(memory_id).id)


@pytest.mark.rule("JU-08", "T092")
def test_eight_threads_ask_about_each_pair_once(office, unhurried):
    says(unhurried, "unrelated")
    ids = ports(office.colleague, 8)
    for number in range(8):
        left_for(office.colleague, ids[number], f"again {number}")

    together(*[lambda: until_none_is_open(office)] * 8)

    pairs = {(one.older_id, one.newer_id) for one in judgements(office)}
    assert len(unhurried.requests) == len(judgements(office)) == len(pairs) == 8 * 7 // 2
    assert not PairInHand.objects.using("owner").filter(tenant=office.tenant).exists()


def test_whoever_comes_second_leaves_the_pair_to_the_first(office, unhurried):
    says(unhurried, "contradiction")
    old, new = pair(office)
    (first,) = open_jobs(office).values_list("id", flat=True)
    second = left_for(office.colleague, old, "from the other side")

    def come_second():
        run_job(taken(second))

    unhurried.meddle = come_second
    run_job(taken(first))
    unhurried.meddle = lambda: None

    ended = Job.objects.using("owner").get(id=second)
    assert (ended.state, ended.result) == ("done", {"pairs": 0, "conflicts": 0})
    assert len(unhurried.requests) == len(judgements(office)) == records(office) == 1
    assert live(office.viewer, [old, new]) == [new]


@pytest.mark.parametrize(("visibility", "asked"), [("project", 0), ("private", 1)])
def test_a_pair_is_left_to_the_newer_ones_job_if_that_comes_to_it(
    office, unhurried, visibility, asked
):
    says(unhurried, "unrelated")
    old = kept(office.colleague, OLD, project="apollo", visibility=visibility)
    remember(office.senior, NEW, project="apollo")
    left_for(office.senior, remember(office.senior, NEW, project="apollo")["memory_id"], "more")
    older_one = left_for(office.colleague, old, "from the other side")

    run_job(taken(older_one))

    assert len(unhurried.requests) == asked
    until_none_is_open(office)
    assert len(unhurried.requests) == len(judgements(office)) == 1


@pytest.mark.rule("T093")
def test_a_pair_of_a_job_whose_lease_has_run_out_is_asked_about_by_another(office, unhurried):
    says(unhurried, "unrelated")
    _old, new = pair(office)
    (first,) = open_jobs(office).values_list("id", flat=True)
    second = left_for(office.senior, new, "again")

    def be_overtaken():
        unhurried.meddle = lambda: None
        Job.objects.using("owner").filter(id=first).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
        run_job(taken(second))

    unhurried.meddle = be_overtaken
    run_job(taken(first))

    assert len(judgements(office)) == 1
    assert Job.objects.using("owner").get(id=second).state == "done"


@pytest.mark.rule("JU-05", "WR-13", "DE-09", "T094")
def test_what_was_said_before_the_judge_went_down_is_kept_and_acted_upon_with_the_rest(
    office, unhurried
):
    unhurried.script = [
        Rule(answer={"relation": "contradiction", "confidence": 1.0}, times=1),
        Rule(fault="503", retry_after=1),
    ]
    lower = kept(office.contractor, OLD, project="apollo")
    higher = kept(office.senior, "The staging database listens on port 5434.", project="apollo")
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    new = kept(office.agent2, NEW)
    work(office)

    assert [one.deed for one in judgements(office)] == ["waiting"]
    assert judgements(office)[0].tokens_in > 0
    assert conflicts(office.viewer) == []
    asked = len(unhurried.requests)
    says(unhurried, "contradiction")
    due(office)
    work(office)

    assert len(unhurried.requests) == asked + 1
    assert {one.deed for one in judgements(office)} == {"supersede", "late"}
    # It lost to one of them, so it superseded nobody, also of those that it was asked about before.
    assert live(office.viewer, [lower, higher, new]) == [lower, higher]


def test_what_changed_since_it_was_said_is_asked_anew(office, unhurried):
    unhurried.script = [
        Rule(answer={"relation": "unrelated", "confidence": 1.0}, times=1),
        Rule(fault="503", retry_after=1),
    ]
    first = kept(office.colleague, OLD, project="apollo")
    second = kept(office.colleague, "The staging database listens on port 5434.", project="apollo")
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="obsolete")
    kept(office.senior, NEW, project="apollo")
    work(office)
    (waiting,) = judgements(office)
    for one in (first, second):
        done(office.colleague.patch(f"/memories/{one}", {"tags": ["port"]}))
    spent = waiting.tokens_in
    says(unhurried, "unrelated", 0.8)
    due(office)
    work(office)

    assert {(one.deed, one.confidence) for one in judgements(office)} == {("nothing", 0.8)}
    assert {one.older_version for one in judgements(office)} == {2}
    assert Judgement.objects.using("owner").get(id=waiting.id).tokens_in > spent


@pytest.mark.rule("DE-05")
def test_who_waits_waits_for_a_job_that_was_left_before(office, unhurried):
    says(unhurried, "contradiction", 0.5)
    _old, new = pair(office)

    again = remember(office.senior, NEW, project="apollo", wait=20)

    assert (again["absorbed"], again["memory_id"], again["judging"]) == (True, new, "done")
    assert [one["state"] for one in again["conflicts"]] == ["pending"]
    assert len(unhurried.requests) == 1


@pytest.fixture
def meeting(monkeypatch):
    """Have two writes meet when each has looked around, and none is to be seen yet."""
    barrier = threading.Barrier(2)
    take_in = taking_in.take_in

    def met(*arguments):
        barrier.wait(timeout=20)
        return take_in(*arguments)

    monkeypatch.setattr(remembering, "take_in", met)


@pytest.mark.rule("DE-01", "DE-05")
def test_two_who_write_alike_at_once_are_compared_by_their_jobs(office, unhurried, meeting):
    says(unhurried, "contradiction", 0.5)

    answers = together(
        posting(office.colleague, "/memories", {"content": OLD, "project": "apollo"}),
        posting(office.senior, "/memories", {"content": NEW, "project": "apollo"}),
    )

    told = [done(answer) for answer in answers]
    assert [one["conflict_candidates"] for one in told] == [[], []]
    assert "queued" in [one["judging"] for one in told]
    work(office)
    assert len(unhurried.requests) == len(judgements(office)) == records(office) == 1


def test_who_writes_alone_leaves_nothing_to_do(office, unhurried):
    answer = remember(office.senior, NEW, project="apollo")

    assert (answer["judging"], open_jobs(office).count()) == ("done", 0)


@pytest.mark.rule("DE-01")
def test_a_job_waits_for_who_was_writing_before(office, unhurried, monkeypatch):
    says(unhurried, "contradiction", 0.5)
    looked, go_on = threading.Event(), threading.Event()
    take_in = taking_in.take_in

    def slow(caller, *arguments):
        if caller.member_id == office.colleague.member.id:
            looked.set()
            go_on.wait(20)
        return take_in(caller, *arguments)

    monkeypatch.setattr(remembering, "take_in", slow)
    answers = []

    def write_slowly():
        try:
            answers.append(
                posting(office.colleague, "/memories", {"content": OLD, "project": "apollo"})()
            )
        finally:
            connections.close_all()

    def judge():
        try:
            run_job(taken(job_id))
        finally:
            connections.close_all()

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert looked.wait(10)
    second = remember(office.senior, NEW, project="apollo")
    assert (second["conflict_candidates"], second["judging"]) == ([], "queued")
    (job_id,) = open_jobs(office).values_list("id", flat=True)
    worker = threading.Thread(target=judge)
    worker.start()
    worker.join(0.5)
    assert worker.is_alive()
    go_on.set()
    writer.join()
    worker.join()

    assert [answer.status_code for answer in answers] == [201]
    work(office)  # whichever of the two has the pair
    assert len(unhurried.requests) == len(judgements(office)) == 1
    assert seen(office.viewer, second["memory_id"])["disputed"]
