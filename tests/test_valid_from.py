"""What holds only from a day on is never told as if it held already, and plainly from then on."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Memory
from memory.trust.temporal import is_still_to_come
from tests.dirty import reported
from tests.memories import done, kept, replacing, row, seen

STEP = timedelta(microseconds=1)
START = datetime(2099, 1, 1, tzinfo=UTC)
COMING, CLAIM = "2099-01-01T00:00:00Z", "The office of apollo is in Frankfurt."
QUESTION = "Where is the office of apollo?"
TOLD = f"From 2099-01-01: {CLAIM}"


def ask(person, **more):
    """Return the one result of a recall."""
    (found,) = done(person.post("/recall", {"query": QUESTION, **more}))["results"]
    return found


def moves(office, **more):
    """Return a claim that holds from 2099 on."""
    return kept(office.senior, CLAIM, project="apollo", **{"valid_from": COMING, **more})


def set_back(memory_id, **columns):
    """Make it look as if it had been so before."""
    Memory.objects.using("owner").filter(id=row(memory_id).id).update(**columns)


@pytest.mark.rule("RC-02", "RC-05")
def test_what_is_to_come_is_told_with_its_beginning(office):
    memory = moves(office)

    found = ask(office.agent)

    assert (found["temporal_status"], found["trust_state"]) == ("qualified", "verified")
    assert found["safe_rendering"] == TOLD
    assert (found["content"], found["withheld"]) == (CLAIM, False)
    # What it says is still all there, and still current knowledge.
    assert seen(office.agent, memory)["valid_from"] == "2099-01-01T00:00:00.000000Z"
    feed = done(office.senior.get("/memories", {"project": "apollo"}))["results"]
    assert [(one["id"], one["lifecycle"], one["valid_from"]) for one in feed] == [
        (memory, "live", "2099-01-01T00:00:00.000000Z")
    ]


@pytest.mark.rule("RC-02", "RC-05", "RC-07")
def test_what_has_begun_is_told_plainly(office):
    moves(office, valid_from="2020-01-01T00:00:00Z")

    for consequence in ("normal", "high"):
        found = ask(office.agent, consequence=consequence)
        assert found["temporal_status"] == "current_enough"
        assert (found["safe_rendering"], found["withheld"]) == (CLAIM, False)


@pytest.mark.rule("RC-07")
def test_where_much_hangs_on_it_what_is_to_come_is_withheld(office):
    memory = moves(office)

    found = ask(office.agent, consequence="high")

    assert (found["temporal_status"], found["withheld"]) == ("verify_before_use", True)
    assert "Frankfurt" not in json.dumps(found)
    assert "2099-01-01" in found["safe_rendering"]
    assert found["how_to_verify"]["memory_id"] == memory


@pytest.mark.rule("RC-10", "RC-03")
def test_an_earlier_time_before_its_beginning_and_one_after(office):
    memory = moves(office)
    now = datetime.now(UTC)
    start = now - timedelta(days=10)
    set_back(memory, created_at=now - timedelta(days=30), valid_from=start)
    before = (start - STEP).isoformat()

    then = ask(office.agent, as_of=before)
    assert then["temporal_status"] == "qualified"
    assert then["safe_rendering"].startswith(f"From {start.date()}")
    high = ask(office.agent, as_of=before, consequence="high")
    assert (high["temporal_status"], high["content"]) == ("verify_before_use", None)
    assert "Frankfurt" not in json.dumps(high)

    for at in (start, now):
        after = ask(office.agent, as_of=at.isoformat())
        assert after["temporal_status"] == "valid_as_historical"
        assert after["safe_rendering"] == f"As of {at.date()}: {CLAIM}"
    assert ask(office.agent)["safe_rendering"] == CLAIM


@pytest.mark.rule("RC-10", "RC-08")
def test_what_was_taken_back_before_it_began_never_held(office):
    memory = moves(office)
    kept(office.senior, "Nothing moves.", project="apollo", links=replacing(memory))
    now = datetime.now(UTC)
    start = now - timedelta(days=10)
    retired = {
        "created_at": now - timedelta(days=30),
        "valid_from": start,
        "superseded_at": now - timedelta(days=20),
        "invalidated_at": now - timedelta(days=20),
    }
    set_back(memory, **retired)
    body = {"query": QUESTION, "mode": "historical"}

    def told():
        found = done(office.agent.post("/recall", body))["results"]
        return next(one for one in found if one["memory_id"] == memory)

    assert told()["temporal_status"] == "qualified"
    assert told()["safe_rendering"].startswith(f"It was to hold from {start.date()}")
    # Once it had begun, it held until it was replaced.
    ended = now - timedelta(days=5)
    set_back(memory, superseded_at=ended, invalidated_at=ended)
    assert told()["temporal_status"] == "valid_as_historical"
    assert told()["safe_rendering"].startswith(f"Until {ended.date()}: {CLAIM}; replaced by ")


@pytest.mark.rule("RC-15", "RC-05")
def test_a_briefing_tells_the_same(office):
    moves(office, kind="convention")
    kept(office.senior, "Doors are locked.", project="apollo", kind="convention")

    rules = done(office.agent.get("/briefing"))["rules"]

    assert {(one["safe_rendering"], one["temporal_status"]) for one in rules} == {
        (TOLD, "qualified"),
        ("Doors are locked.", "current_enough"),
    }


@pytest.mark.rule("RC-06")
def test_competing_claims_say_from_when_they_hold(office):
    coming, _ = (
        kept(
            person,
            f"The office of apollo is in {place}.",
            project="apollo",
            kind="convention",
            components=[{"subject": "office.city", "value": place}],
        )
        for person, place in ((office.senior, "Frankfurt"), (office.colleague, "Dublin"))
    )
    # A dispute that was opened before anybody said when it begins.
    set_back(coming, valid_from=START)

    found = done(office.agent.post("/recall", {"query": QUESTION}))["results"]
    (dispute,) = done(office.agent.get("/briefing"))["disputes"]

    assert {one["temporal_status"] for one in found} == {"conflicted"}
    for told in (*found, dispute):
        assert f") {TOLD} <" in told["safe_rendering"]
        assert ") The office of apollo is in Dublin. <" in told["safe_rendering"]
    starts = {one["competing_claims"][0]["valid_from"] for one in found}
    assert starts == {None, "2099-01-01T00:00:00.000000Z"}


@pytest.mark.rule("RC-05", "TR-05", "TR-07")
def test_what_is_in_doubt_as_well_keeps_its_stricter_status(office):
    moves(office, components=[{"subject": "office.city", "value": "Frankfurt"}])
    reported(office.colleague, "office.city", "The lease is not signed.")

    found = ask(office.agent)

    assert (found["temporal_status"], found["trust_state"]) == ("verify_before_use", "dirty")
    # Nobody can have seen it to be so, so it was not "last verified as" that.
    assert found["safe_rendering"].startswith(f"{TOLD} office.city changed")
    high = ask(office.agent, consequence="high")
    assert high["withheld"] is True
    assert "The lease is not signed" in high["safe_rendering"]


@pytest.mark.rule("RC-02", "RC-10")
@pytest.mark.parametrize(
    ("out_of_use", "at", "still_to_come"),
    [
        (None, START - STEP, True),
        (None, START, False),
        (START - STEP, START + STEP, True),
        (START, START + STEP, False),
        (START + STEP, START - STEP, True),
    ],
)
def test_it_begins_at_the_very_microsecond(out_of_use, at, still_to_come):
    claim = Memory(valid_from=START, invalidated_at=out_of_use)

    assert is_still_to_come(claim, at) is still_to_come
    assert is_still_to_come(Memory(invalidated_at=out_of_use), at) is False
