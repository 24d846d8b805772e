"""The sweep: what was never compared is compared once, wherever it is interrupted."""

from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from hygiene.judge import Opinion, Said
from hygiene.models import Judgement, Sweep
from hygiene.schedule import sweep_those_due
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from memory.models import Conflict
from tenants.ids import Prefix, read_id
from tenants.jobs import claim, run_job
from tenants.models import Job
from tests.memories import done, kept, refused, row

pytestmark = pytest.mark.rule("JU-08", "PO-14", "PO-19")

PORTS = (
    "The indexer of apollo listens on port 8080.",
    "The indexer of apollo listens on port 9090.",
    "The indexer of apollo listens on port 7070.",
)


class Told:
    """A judge that says what it is told, and remembers what it was asked."""

    id = "rules"
    prompt_version = "told-1"
    likeness = ""

    def __init__(self, relation=Said.CONTRADICTION, confidence=0.9):
        self.relation, self.confidence = relation, confidence
        self.asked = []
        self.breaks_at = None

    def compare(self, older, newer):
        if len(self.asked) == self.breaks_at:
            raise RuntimeError("killed")
        self.asked.append((older.content, newer.content))
        return Opinion(self.relation, self.confidence, "Told.", tokens_in=5)


@pytest.fixture
def judge(monkeypatch):
    told = Told()
    monkeypatch.setattr("hygiene.judging.current_judge", lambda: told)
    return told


def written(person, *contents, **more):
    """Return memories about which no judge was asked."""
    ids = [kept(person, content, project="apollo", **more) for content in contents]
    Job.objects.using("owner").filter(
        tenant=person.caller.tenant_id, kind=JUDGE_MEMORY, state="queued"
    ).update(state="obsolete")
    return ids


def start(person, **body):
    answer = person.post("/hygiene/sweeps", body)
    assert answer.status_code == 202, answer.content
    return answer.json()


def job_of(told):
    return Job.objects.using("owner").get(subject_id=read_id(Prefix.BATCH, told["id"]))


def taken(job_id):
    job = claim(job_id)
    assert job is not None
    return job


def work(told):
    """Do the sweep's job, as a worker would."""
    Job.objects.using("owner").filter(id=job_of(told).id).update(run_after=timezone.now())
    run_job(taken(job_of(told).id))
    return job_of(told).state


def swept(person, **body):
    told = start(person, **body)
    assert work(told) == "done"
    return done(person.get(f"/hygiene/sweeps/{told['id']}"))


def judged(office):
    return Judgement.objects.using("owner").filter(tenant=office.tenant)


def test_a_sweep_compares_what_was_never_compared(office, judge):
    written(office.senior, *PORTS)

    told = swept(office.senior)

    assert (told["state"], told["memories"], told["of_memories"]) == ("done", 3, 3)
    assert (told["pairs"], told["disputes"], told["actions"]) == (3, 3, 0)
    assert len(judge.asked) == len({frozenset(pair) for pair in judge.asked}) == 3
    conflicts = Conflict.objects.using("owner").filter(tenant=office.tenant)
    assert {one.batch_id for one in conflicts} == {read_id(Prefix.BATCH, told["id"])}


def test_a_second_sweep_begins_where_the_first_ended(office, judge):
    written(office.senior, *PORTS[:2])
    swept(office.senior)
    asked = len(judge.asked)

    assert swept(office.senior)["of_memories"] == 0
    written(office.senior, PORTS[2])
    told = swept(office.senior)

    assert told["memories"] == 1
    assert len(judge.asked) == asked + 2
    assert told["pairs"] == 2


def test_pairs_that_were_judged_or_settled_are_not_judged_again(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *PORTS)
    swept(office.senior)
    asked = len(judge.asked)

    told = swept(office.reviewer)

    assert told["skipped"] == 6
    assert len(judge.asked) == asked


def test_a_new_prompt_is_asked_anew(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *PORTS[:2])
    swept(office.senior)
    judge.prompt_version = "told-2"

    assert swept(office.senior)["pairs"] == 1


@pytest.mark.rule("T089")
def test_a_sweep_that_was_killed_goes_on_and_judges_no_pair_twice(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *PORTS)
    written(office.senior, "The billing of hermes runs at noon.", "Billing in hermes runs at noon!")
    judge.breaks_at = 2
    told = start(office.senior)

    assert work(told) == "queued"
    # The first memory is done with, with both its pairs.
    before = Sweep.objects.using("owner").get(id=read_id(Prefix.BATCH, told["id"]))
    assert (before.memories, before.pairs) == (1, 2)
    assert judged(office).count() == 2
    judge.breaks_at = None
    assert work(told) == "done"

    assert len(judge.asked) == len({frozenset(pair) for pair in judge.asked}) == 4
    assert judged(office).count() == 4
    after = done(office.senior.get(f"/hygiene/sweeps/{told['id']}"))
    assert (after["memories"], after["pairs"], after["state"]) == (5, 4, "done")


def test_a_worker_that_was_overtaken_does_nothing(office, judge):
    written(office.senior, *PORTS[:2])
    told = start(office.senior)
    slow = taken(job_of(told).id)
    Job.objects.using("owner").filter(id=slow.id).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )
    answer = judge.compare

    def overtaken(older, newer):
        judge.compare = answer
        assert work(told) == "done"
        return answer(older, newer)

    judge.compare = overtaken
    run_job(slow)

    assert judged(office).count() == 1
    assert Conflict.objects.using("owner").filter(tenant=office.tenant).count() == 1


def test_a_limit_ends_it_and_the_next_goes_on_from_there(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *PORTS)

    first = swept(office.senior, limit=2)
    rest = swept(office.senior)

    assert (first["memories"], first["of_memories"]) == (2, 2)
    assert (rest["memories"], rest["of_memories"]) == (1, 1)
    assert judged(office).count() == 3


def test_what_is_retired_expired_or_proposed_is_left_out(office, judge):
    senior = office.senior
    live, retired = written(senior, *PORTS[:2])
    done(senior.post(f"/memories/{retired}/forget", {"reason": "wrong"}))
    written(office.watcher, PORTS[2])
    (expired,) = written(
        senior,
        "The indexer of apollo listens on port 6060.",
        valid_until=(timezone.now() + timedelta(hours=1)).isoformat(),
    )
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE embeddings SET valid_until = now() - interval '1 s' WHERE memory_id = %s",
            [row(expired).id],
        )
        cursor.execute(
            "UPDATE memories SET valid_until = now() - interval '1 s' WHERE id = %s",
            [row(expired).id],
        )

    told = swept(senior)

    assert (told["memories"], told["pairs"]) == (1, 0)
    assert judge.asked == []
    assert row(live).lifecycle == "live"


def test_it_sees_what_its_member_sees(office, judge):
    written(office.senior, PORTS[0])
    written(office.colleague, PORTS[1], visibility="private")
    other = office.outsider

    assert swept(office.senior)["pairs"] == 0
    assert swept(other)["of_memories"] == 0
    assert swept(office.colleague)["pairs"] == 1


def test_one_project_alone(office, judge):
    written(office.reviewer, *PORTS[:2])
    kept(office.reviewer, "Hermes speaks to nobody at night.", project="hermes")

    assert swept(office.reviewer, project="hermes")["of_memories"] == 1
    assert swept(office.reviewer, project="apollo")["pairs"] == 1
    refused(office.senior.post("/hygiene/sweeps", {"project": "hermes"}), 400, "validation_failed")


def test_who_may_start_and_who_may_look(office, other_office, judge):
    told = start(office.senior)

    refused(office.viewer.post("/hygiene/sweeps"), 403, "insufficient_scope")
    refused(office.colleague.get(f"/hygiene/sweeps/{told['id']}"), 404, "not_found")
    refused(other_office.admin.get(f"/hygiene/sweeps/{told['id']}"), 404, "not_found")
    assert done(office.admin.get(f"/hygiene/sweeps/{told['id']}"))["state"] == "queued"
    bot = office.bot("sweeper", office.senior, scopes=list(office.senior.caller.scopes))
    refused(bot.post("/hygiene/sweeps"), 403, "forbidden")


def test_one_is_under_way_at_a_time(office, judge):
    first = start(office.senior)

    assert start(office.senior)["id"] == first["id"]
    assert start(office.senior, project="apollo")["id"] != first["id"]


def test_with_judging_off_there_is_no_sweep(office, settings):
    settings.JUDGE = "off"

    refused(office.senior.post("/hygiene/sweeps"), 409, "judging_off")


def age(office, days):
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE memories SET created_at = created_at - make_interval(days => %s) "
            "WHERE tenant_id = %s",
            [days, office.tenant.id],
        )


def sweeps_of(office):
    return Sweep.objects.using("owner").filter(tenant=office.tenant)


def swept_when_due(office):
    """Return the one sweep that the schedule starts, once there is something old enough."""
    written(office.senior, *PORTS[:2])
    sweep_those_due(timedelta(hours=24))
    assert not sweeps_of(office).exists()
    age(office, 2)

    sweep_those_due(timedelta(hours=24))
    sweep_those_due(timedelta(hours=24))

    (sweep,) = sweeps_of(office)
    return sweep


def test_members_with_something_new_are_swept_by_themselves(office, judge):
    sweep = swept_when_due(office)

    assert sweep.member_id == office.senior.member.id
    run_job(taken(Job.objects.using("owner").get(subject_id=sweep.id).id))
    sweep.refresh_from_db(using="owner")
    assert (sweep.state, sweep.pairs) == ("done", 1)
    written(office.senior, PORTS[2])
    sweep_those_due(timedelta(hours=24))
    assert sweeps_of(office).count() == 1
    sweeps_of(office).update(started_at=timezone.now() - timedelta(hours=25))
    sweep_those_due(timedelta(hours=24))
    assert sweeps_of(office).count() == 2
