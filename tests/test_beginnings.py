"""What begins on a day to come contradicts nothing until then, and takes its place on that day."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memory.models import Memory
from tenants.models import Job
from tests.dirty import reported, verified
from tests.judging import branch, conflicts, live, lost, records, stating, work
from tests.memories import commands, done, kept, replacing, row, seen

pytestmark = pytest.mark.rule("DE-04", "PO-10", "RC-10", "TR-05", "SU-17")

COMING = "2099-01-01T00:00:00Z"
QUESTION = "Which branch are deploys from?"


def told(person, **more):
    """Return how each memory may be used that is recalled, by id."""
    found = done(person.post("/recall", {"query": QUESTION, **more}))["results"]
    return {one["memory_id"]: one["temporal_status"] for one in found}


def first(office, **more):
    return branch(office.senior, "main", **more)["memory_id"]


def moves(person, value="release", **more):
    """Return the answer to a claim that holds from 2099 on."""
    more.setdefault("content", f"Deploys will go out from {value}.")
    return branch(person, value, **{"valid_from": COMING, **more})


def day_comes(*memory_ids):
    """Let the beginnings, and the ends that go with them, have come by now."""
    stored = Memory.objects.using("owner")
    for one in memory_ids:
        begun = timezone.now()
        past = {"created_at": timezone.now() - timedelta(days=1)}
        stored.filter(id=row(one).id).update(valid_from=begun, **past)
        stored.filter(ends_with=row(one).id).update(valid_until=begun, **past)


def worker_comes(office):
    Job.objects.using("owner").filter(tenant=office.tenant, state="queued").update(
        run_after=timezone.now()
    )
    work(office)


def test_today_and_tomorrow_do_not_contradict_each_other(office):
    now = first(office)

    answer = moves(office.senior)

    assert (answer["conflicts"], answer["superseded"]) == ([], [])
    assert conflicts(office.senior) == []
    assert told(office.agent) == {now: "current_enough", answer["memory_id"]: "qualified"}
    assert seen(office.viewer, now)["valid_until"] == "2099-01-01T00:00:00.000000Z"
    assert commands(office.viewer, now) == ["remember", "let_it_end"]


def test_when_the_day_comes_nobody_has_to_do_anything(office):
    now = first(office)
    later = moves(office.senior)["memory_id"]

    day_comes(later)
    after = timezone.now()

    assert told(office.agent) == {later: "current_enough"}
    assert seen(office.viewer, now)["trust_state"] == "expired"
    assert told(office.agent, as_of=after.isoformat()) == {later: "valid_as_historical"}
    earlier = (after - timedelta(hours=1)).isoformat()
    assert told(office.agent, as_of=earlier) == {
        now: "valid_as_historical",
        later: "qualified",
    }


def test_the_worker_settles_it_as_every_other_supersede(office):
    now = first(office)
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[now])
    later = moves(office.senior)["memory_id"]
    day_comes(later)

    worker_comes(office)

    old = seen(office.viewer, now)
    assert (old["trust_state"], old["superseded_by"]) == ("superseded", later)
    assert commands(office.viewer, now)[2:] == ["resolve_by_policy", "supersede"]
    (conflict,) = lost(office.viewer)
    assert (conflict["resolution"], conflict["winner"]) == ("recency", later)
    (mark,) = seen(office.viewer, relying)["marks"]
    assert (mark["cause"], mark["cause_memory"]) == ("superseded", now)
    # Brought back it has no end any more, and the pair is settled.
    done(office.senior.post(f"/memories/{now}/restore"))
    assert seen(office.viewer, now)["valid_until"] is None
    assert live(office.viewer, [now, later]) == [now, later]


def test_before_the_day_the_worker_does_nothing(office):
    now = first(office)
    later = moves(office.senior)["memory_id"]

    worker_comes(office)

    assert live(office.viewer, [now, later]) == [now, later]
    assert records(office) == 0


@pytest.mark.parametrize("how", ["forget", "supersede", "visibility", "challenge"])
def test_what_happens_before_the_day_lifts_the_end(office, how):
    now = first(office)
    later = moves(office.senior)["memory_id"]
    if how == "forget":
        done(office.senior.post(f"/memories/{later}/forget", {"reason": "no"}))
    elif how == "supersede":
        kept(office.senior, "Nothing moves.", project="apollo", links=replacing(later))
    elif how == "visibility":
        done(office.senior.patch(f"/memories/{later}", {"visibility": "private"}))
    else:
        done(office.colleague.post(f"/memories/{now}/challenge", {"reason": "no"}))

    assert seen(office.viewer, now)["valid_until"] is None
    day_comes(later)
    worker_comes(office)
    assert seen(office.viewer, now)["lifecycle"] == "live"


def test_an_earlier_day_comes_first_and_the_same_day_replaces_the_plan(office):
    now = first(office)
    plan = moves(office.senior)["memory_id"]

    other = moves(office.senior, "trunk", content="Trunk it will be.")

    assert other["superseded"] == [plan]
    assert seen(office.viewer, now)["valid_until"] == "2099-01-01T00:00:00.000000Z"
    sooner = moves(
        office.senior, "next", content="Next comes first.", valid_from="2098-01-01T00:00:00Z"
    )
    assert (sooner["superseded"], sooner["conflicts"]) == ([], [])
    assert seen(office.viewer, now)["valid_until"] == "2098-01-01T00:00:00.000000Z"
    day_comes(sooner["memory_id"])
    assert told(office.agent) == {
        sooner["memory_id"]: "current_enough",
        other["memory_id"]: "qualified",
    }


def test_who_says_what_is_so_today_ends_nobodys_plan(office):
    plan = moves(office.senior)["memory_id"]

    now = branch(office.colleague, "main")

    assert (now["conflicts"], now["superseded"]) == ([], [])
    assert told(office.agent) == {now["memory_id"]: "current_enough", plan: "qualified"}
    day_comes(plan)
    worker_comes(office)
    # Which of the two was to last is for people to say.
    (conflict,) = conflicts(office.senior)
    assert conflict["state"] == "pending"
    assert live(office.viewer, [plan, now["memory_id"]]) == [plan, now["memory_id"]]


def test_what_is_protected_is_asked_about_when_the_day_comes(office):
    now = first(office, kind="convention")
    later = moves(office.senior)
    assert (later["conflicts"], seen(office.viewer, now)["valid_until"]) == ([], None)

    day_comes(later["memory_id"])
    worker_comes(office)

    (conflict,) = conflicts(office.senior)
    assert (conflict["state"], conflict["recommended_winner"]) == ("pending", later["memory_id"])


@pytest.mark.rule("PO-07")
def test_no_date_to_come_evades_a_higher_level(office):
    now = first(office)

    answer = moves(office.contractor)

    assert answer["memory"]["superseded_by"] == now
    assert seen(office.viewer, now)["valid_until"] is None


def test_what_says_its_own_end_keeps_it(office):
    end = "2099-06-01T00:00:00.000000Z"
    now = first(office, valid_until=end)

    later = moves(office.senior)["memory_id"]

    assert seen(office.viewer, now)["valid_until"] == end
    day_comes(later)
    worker_comes(office)
    assert seen(office.viewer, now)["superseded_by"] == later


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
        (None, "2021-01-01T00:00:00Z"),
    ],
)
def test_what_is_over_when_it_is_told_contradicts_nothing(office, start, end):
    now = first(office)

    late = branch(office.senior, "release", valid_from=start, valid_until=end)

    assert (late["conflicts"], late["superseded"]) == ([], [])
    assert told(office.agent) == {now: "current_enough"}
    assert seen(office.viewer, late["memory_id"])["trust_state"] == "expired"


def test_periods_that_follow_each_other_do_not_contradict_each_other(office):
    meets = "2098-01-01T00:00:00Z"
    one = first(office, valid_until=meets)

    other = branch(office.senior, "release", valid_from=meets)

    assert (other["conflicts"], other["superseded"]) == ([], [])
    assert live(office.viewer, [one, other["memory_id"]]) == [one, other["memory_id"]]
    overlapping = branch(office.senior, "trunk", content="Trunk.", valid_until=meets)
    assert overlapping["superseded"] == [one]


def test_an_end_that_the_brake_would_stop_is_not_set(office, monkeypatch):
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED", 1)
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED_SHARE", 0.0)
    one = first(office)
    two = branch(office.senior, "main", content="It is main.")["memory_id"]

    moves(office.senior)

    ends = [seen(office.viewer, memory)["valid_until"] for memory in (one, two)]
    assert ends.count(None) == 1
    three = branch(office.senior, "main", content="Main, I say.")["memory_id"]
    moves(office.senior, "trunk", valid_from="2098-01-01T00:00:00Z")
    assert seen(office.viewer, three)["valid_until"] is None


def test_it_begins_by_itself(office):
    now = first(office)
    soon = datetime.now(UTC) + timedelta(seconds=2)

    later = moves(office.senior, valid_from=soon.isoformat())["memory_id"]

    assert told(office.agent)[now] == "current_enough"
    time.sleep(2.1)
    assert told(office.agent) == {later: "current_enough"}


@pytest.mark.rule("SB-03", "SB-05", "RC-02", "RE-02")
@pytest.mark.parametrize("moved", ["deploy.branch", "deploy.host"])
@pytest.mark.parametrize("way", ["its successor goes", "it is restored"])
def test_what_moved_after_its_end_marks_it_when_it_comes_back(office, way, moved):
    """Also what moved before a worker came, and what it rests on."""
    host = stating("deploy.host", "web1")
    base = kept(office.senior, "The host is web1.", project="apollo", components=host)
    now = first(office, depends_on=[base])
    later = moves(office.senior)["memory_id"]
    day_comes(later)
    reported(office.colleague, moved)

    if way == "its successor goes":
        done(office.senior.post(f"/memories/{later}/forget", {"reason": "It was put off."}))
    else:
        worker_comes(office)
        assert seen(office.viewer, now)["superseded_by"] == later
        done(office.senior.post(f"/memories/{now}/restore"))

    back = seen(office.viewer, now)
    assert (back["lifecycle"], back["trust_state"]) == ("live", "dirty")
    assert moved in back["dirty_reason"]
    assert told(office.agent)[now] == (
        "verify_before_use" if moved == "deploy.branch" else "qualified"
    )


@pytest.mark.rule("SB-03", "RE-02")
def test_what_moved_before_its_end_or_beside_it_does_not_mark_it_when_it_comes_back(office):
    now = first(office)
    later = moves(office.senior)["memory_id"]
    reported(office.colleague, "deploy.branch")
    verified(office.senior, now)
    day_comes(later)
    reported(office.colleague, "deploy.command")

    done(office.senior.post(f"/memories/{later}/forget", {"reason": "It was put off."}))

    assert seen(office.viewer, now)["trust_state"] == "verified"
