"""What recall tells of the past is what it would have told then."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Memory, Retirement
from memory.remember import remember as operation_remember
from tests.disputes import kept_in, resolve, undo
from tests.histories import QUESTION, History, clock, summary, told, without_claims_of
from tests.memories import done, kept, refused, remember, replacing, row, seen


def as_of(person, at, **more):
    return told(person, as_of=at.isoformat(), **more)


@pytest.mark.rule("RC-10", "field-fault-18")
def test_each_time_gives_what_was_current_then(office):
    before = clock()
    first = kept(office.senior, "The note says port 1.", project="apollo")
    with_first = clock()
    second = kept(office.senior, "The note says port 2.", project="apollo", links=replacing(first))
    with_second = clock()
    done(office.senior.post(f"/memories/{second}/forget", {"reason": "wrong"}))
    with_none = clock()
    done(office.senior.post(f"/memories/{first}/restore"))
    # A later change of something else moves nothing.
    done(office.senior.patch(f"/memories/{first}", {"tags": ["late"]}))

    assert as_of(office.agent, before) == {}
    assert set(as_of(office.agent, with_first)) == {first}
    assert set(as_of(office.agent, with_second)) == {second}
    assert as_of(office.agent, with_none) == {}
    assert set(as_of(office.agent, clock())) == {first}
    assert set(told(office.agent, mode="historical")) == {first, second}
    then = as_of(office.agent, with_second)[second]
    assert (then["temporal_status"], then["trust_state"]) == ("valid_as_historical", "verified")
    assert then["safe_rendering"].startswith("Until ")
    assert then["safe_rendering"].endswith("forgotten since.")


@pytest.mark.rule("RC-10")
def test_the_very_moment_counts_to_the_microsecond(office):
    memory = kept(office.senior, "The note says port 1.", project="apollo")
    done(office.senior.post(f"/memories/{memory}/forget", {"reason": "wrong"}))
    (period,) = Retirement.objects.using("owner").filter(memory=row(memory).id)
    written, step = row(memory).created_at, timedelta(microseconds=1)

    assert as_of(office.agent, written - step) == {}
    assert set(as_of(office.agent, written)) == {memory}
    assert set(as_of(office.agent, period.began_at - step)) == {memory}
    assert as_of(office.agent, period.began_at) == {}


@pytest.mark.rule("RC-10", "DI-04")
@pytest.mark.parametrize("how", ["alone", "among many"])
def test_at_every_moment_there_are_the_sides_or_what_they_were_merged_into(office, how):
    one = kept(office.senior, "The note says port 1.", project="apollo")
    other = kept(office.colleague, "The note says port 2.", project="apollo")
    dispute, text = kept_in(office, other, one), {"content": "The note says port 3."}
    if how == "alone":
        done(resolve(office.reviewer, dispute, merge=text))
    else:
        listed = [{"dispute_id": dispute, "merge": text}]
        done(office.reviewer.post("/conflicts/resolve", {"resolutions": listed}))
    merged = seen(office.senior, one)["superseded_by"]

    at, born = row(one).invalidated_at, row(merged).created_at
    assert at is not None
    assert (row(other).invalidated_at, born) == (at, at)
    step = timedelta(microseconds=1)
    assert set(as_of(office.agent, at - step)) == {one, other}
    assert set(as_of(office.agent, at)) == {merged}
    assert set(as_of(office.agent, at + step)) == {merged}


@pytest.mark.rule("RC-10", "RC-08")
def test_what_was_over_by_then_comes_only_if_asked_for(office):
    first = kept(office.senior, "The note says port 1.", project="apollo")
    end = clock() + timedelta(seconds=0.5)
    ending = kept(
        office.senior, "The note says port 3.", project="apollo", valid_until=end.isoformat()
    )
    with_first = clock()
    second = kept(office.senior, "The note says port 2.", project="apollo", links=replacing(first))
    Memory.objects.using("owner").filter(id=row(ending).id).update(valid_until=clock())
    later = clock()

    assert set(as_of(office.agent, with_first)) == {first, ending}
    assert set(as_of(office.agent, later)) == {second}
    whole = as_of(office.agent, later, include=["superseded", "expired"])
    assert {one: found["trust_state"] for one, found in whole.items()} == {
        first: "superseded",
        second: "verified",
        ending: "expired",
    }
    assert {found["temporal_status"] for found in whole.values()} == {"valid_as_historical"}
    assert list(whole).index(second) < list(whole).index(first)


@pytest.mark.rule("RC-10", "TR-06")
def test_what_was_rejected_never_comes_back(office):
    memory = remember(office.watcher, "The note says port 1.")["memory_id"]
    captured = clock()
    assert set(as_of(office.agent, captured)) == {memory}
    Memory.objects.using("owner").filter(id=row(memory).id).update(
        invalidated_at=clock(), invalidated_reason="rejected"
    )

    assert as_of(office.agent, captured) == {}
    assert told(office.agent, mode="historical") == {}


@pytest.mark.rule("RC-10", "TR-06", "RC-06")
def test_what_was_rejected_does_not_come_back_as_a_rival_either(office):
    stated = {"subject": "staging.port", "value": "1"}
    memory = kept(office.senior, "The note says port 1.", project="apollo", components=[stated])
    other = remember(office.watcher, "The note says port 2.", project="apollo")["memory_id"]
    third = kept(office.colleague, "The note says port 3.", project="apollo")
    for rival in (other, third):
        kept_in(office, rival, memory)
    disputed = clock()
    before = as_of(office.agent, disputed)[memory]
    assert {one["memory_id"] for one in before["competing_claims"]} == {other, third}

    done(office.reviewer.post(f"/memories/{other}/reject", {"reason": "It never was."}))

    after = as_of(office.agent, disputed)
    assert other not in after
    assert after[memory]["trust_state"] == "conflicted"
    assert [one["memory_id"] for one in after[memory]["competing_claims"]] == [third]
    assert "port 3" in after[memory]["safe_rendering"]
    assert "port 2" not in json.dumps(after)
    assert "port 2" not in json.dumps(as_of(office.agent, disputed, consequence="high"))


@pytest.mark.rule("RC-10", "VI-03")
def test_the_past_is_shown_to_who_may_see_it_now(office):
    memory = kept(office.senior, "The note says port 1.", project="apollo")
    shared = clock()
    done(office.senior.patch(f"/memories/{memory}", {"visibility": "private"}))

    assert set(as_of(office.senior, shared)) == {memory}
    assert as_of(office.colleague, shared) == {}
    assert as_of(office.outsider, shared) == {}


@pytest.mark.rule("RC-10", "TR-01", "SB-04")
def test_marks_and_disputes_are_those_of_then(office):
    memory = kept(
        office.senior,
        "The note says port 1.",
        project="apollo",
        components=[{"subject": "staging.port", "value": "1"}],
    )
    clean = clock()
    body = {"project": "apollo", "subject": "staging.port", "summary": "A new port."}
    done(office.colleague.post("/changes", body))
    dirty = clock()
    body = {"outcome": "confirmed", "method": "command", "observed_value": "1"}
    done(office.colleague.post(f"/memories/{memory}/verify", {**body}))
    verified = clock()
    opened = done(office.senior.post(f"/memories/{memory}/challenge", {"reason": "It is 2."}))
    challenged = clock()

    def state(at):
        found = as_of(office.agent, at)[memory]
        return found["trust_state"], found["dirty_reason"] is not None, found["dispute_id"]

    assert state(clean) == ("verified", False, None)
    assert state(dirty) == ("dirty", True, None)
    assert state(verified) == ("verified", False, None)
    assert state(challenged) == ("conflicted", False, opened["dispute_id"])
    assert as_of(office.agent, challenged)[memory]["temporal_status"] == "conflicted"
    assert as_of(office.agent, verified)[memory]["temporal_status"] == "valid_as_historical"
    assert (
        as_of(office.agent, clean)[memory]["last_verified_at"]
        == told(office.agent)[memory]["created_at"]
    )


@pytest.mark.rule("RC-13", "RC-10")
def test_what_came_later_takes_no_room(office):
    """Sixty later notes are nearer to the question than the twelve of then."""
    old = [kept(office.agent, f"Staging, says note {number}.") for number in range(12)]
    then = clock()
    for number in range(60):
        content = f"The note says of staging: {number}."
        operation_remember(office.agent.caller, content=content)

    assert set(as_of(office.agent, then)) == set(old)
    assert len(as_of(office.agent, then, k=10)) == 10
    assert set(as_of(office.agent, then, k=12)) == set(old)


@pytest.mark.rule("RC-10", "TR-01")
def test_what_was_accepted_and_undone_was_vouched_for_in_between(office):
    memory = remember(
        office.watcher,
        "The note says port 1.",
        project="apollo",
        components=[{"subject": "staging.port", "value": "1"}],
    )["memory_id"]
    body = {"project": "apollo", "subject": "staging.port", "summary": "A new port."}
    done(office.colleague.post("/changes", body))
    moments = [clock()]
    for _ in range(2):
        answer = office.reviewer.post(f"/memories/{memory}/accept", {"reason": "I saw it."})
        moments.append(clock())
        done(undo(office.reviewer, done(answer)["batch"]))
        moments.append(clock())

    found = [as_of(office.agent, at)[memory] for at in moments]
    states = [(one["trust_state"], one["dirty_reason"] is not None) for one in found]
    proposed, verified = ("proposed", True), ("verified", False)
    assert states == [proposed, verified, proposed, verified, proposed]
    assert [one["last_verified_at"] is not None for one in found] == [False, True] * 2 + [False]
    # Whoever wants to rely on it found it then, and only then.
    wanted = [memory in as_of(office.agent, at, min_trust="verified") for at in moments]
    assert wanted == [False, True] * 2 + [False]


@pytest.mark.rule("RC-10", "DE-04")
def test_a_suggestion_states_nothing_before_it_was_accepted(office):
    said = "The staging port is 5433. The staging host is db1.internal."
    memory = kept(office.senior, said, project="apollo")
    one, other = seen(office.senior, memory)["suggested_components"]
    done(office.senior.post(f"/components/{one['id']}/accept"))
    body = {"outcome": "confirmed", "method": "command", "observed_value": one["value"]}
    done(office.colleague.post(f"/memories/{memory}/verify", body))
    told_then, then = summary(told(office.agent)), clock()
    # All of it is not verified any more: at this nobody has looked.
    done(office.senior.post(f"/components/{other['id']}/accept"))
    told_later, later = summary(told(office.agent)), clock()

    assert told_then != told_later
    assert summary(as_of(office.agent, then)) == told_then
    assert summary(as_of(office.agent, later)) == told_later


@pytest.mark.rule("RC-10")
def test_the_future_is_not_known(office):
    late = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    refused(
        office.agent.post("/recall", {"query": QUESTION, "as_of": late}),
        400,
        "validation_failed",
        "as_of",
    )


@pytest.mark.rule("RC-10", "TR-01", "field-fault-18")
@pytest.mark.parametrize("seed", [1, 3, 5, 7, 8])
def test_every_step_of_a_random_history_is_told_later_as_it_was_told_then(office, seed):
    history = History(office, seed)
    for _ in range(45):
        history.step()

    # What is rejected is never told of again, not even of when nobody had decided.
    rejected = history.rejected()
    for number, (at, recorded) in enumerate(history.record):
        then = as_of(office.reviewer, at, project="apollo")
        statuses = {one["temporal_status"] for one in then.values()}
        # A plan had yet to come then.
        assert statuses <= {"valid_as_historical", "conflicted", "qualified"}
        expected = {
            one: without_claims_of(rejected, what)
            for one, what in recorded.items()
            if one not in rejected
        }
        assert summary(then) == expected, f"after {history.steps[: number + 1]}"
    # All of them accept something, and take something back.
    assert history.happened["accept"], history.steps
    assert history.happened["undo"], history.steps
