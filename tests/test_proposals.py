"""What a watcher captured is a proposal: somebody else accepts or rejects it."""

import pytest
from django.utils import timezone

from memory.models import Retirement
from tests.dirty import at, marked, reported, trust, verified
from tests.disputes import ONE, OTHER, of, undo
from tests.memories import (
    commands,
    done,
    kept,
    posting,
    recalled,
    refused,
    replacing,
    row,
    seen,
    together,
)
from tests.people import MOST_SCOPES, REVIEW

pytestmark = pytest.mark.rule("TR-06")


@pytest.fixture
def proposal(office):
    """A capture of the senior's watcher."""
    return kept(office.watcher, ONE)


def decide(person, memory, what="accept", reason="seen it"):
    return person.post(f"/memories/{memory}/{what}", {"reason": reason})


def test_accepted_it_counts_as_vouched_for(office, proposal):
    assert seen(office.colleague, proposal)["trust_state"] == "proposed"

    told = done(decide(office.reviewer, proposal))

    assert (told["id"], told["trust_state"], told["lifecycle"]) == (proposal, "verified", "live")
    assert told["provenance_rank"] == 0
    assert commands(office.colleague, proposal)[-1] == "accept"
    found = done(office.colleague.get("/memories", {"trust_state": "proposed"}))
    assert found["results"] == []


@pytest.mark.parametrize("mode", ["current", "historical"])
def test_rejected_it_is_in_no_recall_and_kept(office, proposal, mode):
    told = done(decide(office.reviewer, proposal, "reject", "hearsay"))

    assert (told["trust_state"], told["lifecycle"]) == ("rejected", "retired")
    assert told["invalidated_reason"] == "rejected"
    assert ONE not in recalled(office.colleague, ONE, project="apollo", mode=mode)
    assert seen(office.colleague, proposal)["content"] == ONE
    events = done(office.colleague.get(f"/memories/{proposal}/history"))["events"]
    assert (events[-1]["command"], events[-1]["reason"]) == ("reject", "hearsay")


@pytest.mark.rule("DI-12", "field-fault-15")
@pytest.mark.parametrize("what", ["accept", "reject"])
@pytest.mark.parametrize(
    ("person", "status", "code"),
    [
        ("reviewer", 200, None),
        # It was the senior's own watcher.
        ("senior", 403, "forbidden"),
        ("colleague", 403, "forbidden"),
        ("contractor", 403, "forbidden"),
        ("viewer", 403, "insufficient_scope"),
        ("watcher", 403, "insufficient_scope"),
        ("outsider", 404, "not_found"),
        ("admin", 404, "not_found"),
    ],
)
def test_who_decides(office, proposal, what, person, status, code):  # noqa: PLR0917
    answer = decide(getattr(office, person), proposal, what)

    if status == 200:
        done(answer)
    else:
        refused(answer, status, code)
        assert seen(office.colleague, proposal)["trust_state"] == "proposed"


@pytest.mark.rule("DI-12", "field-fault-15")
def test_an_agent_takes_over_what_another_side_proposed_and_never_its_own(office, proposal):
    own = office.bot("own", office.senior, scopes=MOST_SCOPES)
    other = office.bot(
        "other", office.person("other", grants=[(office.apollo, REVIEW)]), scopes=MOST_SCOPES
    )

    for what in ("accept", "reject"):
        refused(decide(own, proposal, what), 403, "forbidden")
    done(decide(other, proposal))


@pytest.mark.rule("T148")
def test_of_accept_and_reject_at_once_one_wins_and_the_other_is_told(office, proposal):
    other = office.person("second", grants=[(office.apollo, REVIEW)])

    answers = together(
        posting(office.reviewer, f"/memories/{proposal}/accept", {"reason": "x"}),
        posting(other, f"/memories/{proposal}/reject", {"reason": "y"}),
    )

    assert sorted(one.status_code for one in answers) == [200, 409]
    lost = next(one for one in answers if one.status_code == 409)
    winner = other if lost is answers[0] else office.reviewer
    assert of(winner) in refused(lost, 409, "already_resolved")["detail"]
    assert len([one for one in commands(office.colleague, proposal) if one != "remember"]) == 1


def test_decided_it_is_decided(office, proposal):
    done(decide(office.reviewer, proposal))

    for what in ("accept", "reject"):
        problem = refused(decide(office.reviewer, proposal, what), 409, "already_resolved")
        assert of(office.reviewer) in problem["detail"]


def test_what_was_written_deliberately_is_no_proposal(office):
    for person in (office.senior, office.agent):
        memory = kept(person, f"{person.name}: {ONE}", project="apollo")
        refused(decide(office.reviewer, memory), 409, "conflict")
        refused(decide(office.reviewer, memory, "reject"), 409, "conflict")
        assert row(memory).lifecycle == "live"


@pytest.mark.parametrize(
    ("door", "what"),
    [("forgotten", "accept"), ("forgotten", "reject"), ("superseded", "accept")],
)
def test_what_is_not_live_is_decided_once_it_is_restored(office, proposal, door, what):
    if door == "forgotten":
        done(office.senior.post(f"/memories/{proposal}/forget", {"reason": "x"}))
    else:
        kept(office.agent, OTHER, project="apollo", links=replacing(proposal))

    problem = refused(decide(office.reviewer, proposal, what), 409, "already_retired")

    assert door in problem["detail"]
    assert "restore it first" in problem["detail"]
    done(office.reviewer.post(f"/memories/{proposal}/restore"))
    done(decide(office.reviewer, proposal, what))


@pytest.mark.rule("TR-01", "RC-10", "RE-06")
def test_what_was_superseded_is_rejected_and_put_back_where_it_was(office, proposal):
    successor = kept(office.agent, OTHER, project="apollo", links=replacing(proposal))
    superseded = row(proposal)
    meanwhile = at(timezone.now())

    told = done(decide(office.reviewer, proposal, "reject", "hearsay"))

    assert (told["trust_state"], told["lifecycle"]) == ("rejected", "retired")
    assert (told["invalidated_reason"], told["superseded_by"]) == ("rejected", None)
    for when in ({}, {"mode": "historical"}, {"as_of": meanwhile}):
        assert ONE not in recalled(office.colleague, ONE, project="apollo", **when)
    assert seen(office.colleague, successor)["lifecycle"] == "live"
    refused(decide(office.reviewer, proposal, "reject"), 409, "already_resolved")

    (item,) = done(undo(office.reviewer, told["batch"]))["items"]
    assert item["outcome"] == "reopened"
    now = row(proposal)
    for name in ("invalidated_at", "superseded_by_id", "superseded_at", "supersede_reason"):
        assert getattr(now, name) == getattr(superseded, name)
    assert trust(office.colleague, proposal) == "superseded"
    doors = Retirement.objects.using("owner").filter(memory=now.id).order_by("began_at", "id")
    assert [one.door for one in doors] == ["superseded", "rejected", "superseded"]
    assert [one.ended_at is None for one in doors] == [False, False, True]
    # Rejected again it comes back live, as whatever is restored.
    done(decide(office.reviewer, proposal, "reject"))
    done(office.reviewer.post(f"/memories/{proposal}/restore"))
    assert trust(office.colleague, proposal) == "proposed"


@pytest.mark.rule("SB-05")
def test_rejecting_what_was_superseded_is_told_to_what_depends_on_it(office, proposal):
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[proposal])
    kept(office.agent, OTHER, project="apollo", links=replacing(proposal))
    assert [one["cause"] for one in seen(office.senior, relying)["marks"]] == ["superseded"]

    batch = done(decide(office.reviewer, proposal, "reject"))["batch"]
    assert [one["cause"] for one in seen(office.senior, relying)["marks"]] == ["rejected"]
    done(undo(office.reviewer, batch))
    assert [one["cause"] for one in seen(office.senior, relying)["marks"]] == ["superseded"]


@pytest.mark.rule("WR-11", "WR-12")
@pytest.mark.parametrize("body", [{}, {"reason": " "}, {"reason": "x", "note": "y"}], ids=str)
def test_bad_input_is_refused(office, proposal, body):
    for what in ("accept", "reject"):
        answer = office.reviewer.post(f"/memories/{proposal}/{what}", body)
        refused(answer, 400, "validation_failed")
    assert seen(office.colleague, proposal)["trust_state"] == "proposed"


@pytest.mark.rule("RE-04", "RE-02")
def test_what_was_rejected_comes_back_by_a_reviewer(office, proposal):
    done(decide(office.reviewer, proposal, "reject"))

    refused(office.colleague.post(f"/memories/{proposal}/restore"), 403, "forbidden")
    refused(office.agent.post(f"/memories/{proposal}/restore"), 403, "forbidden")
    done(office.reviewer.post(f"/memories/{proposal}/restore"))

    assert seen(office.colleague, proposal)["trust_state"] == "proposed"


@pytest.mark.rule("RE-06")
@pytest.mark.parametrize("what", ["accept", "reject"])
def test_it_can_be_undone(office, proposal, what):
    batch = done(decide(office.reviewer, proposal, what))["batch"]

    assert [one["outcome"] for one in done(undo(office.reviewer, batch))["items"]] == ["reopened"]

    now = seen(office.colleague, proposal)
    assert (now["trust_state"], now["lifecycle"]) == ("proposed", "live")
    assert row(proposal).restored_by_person_at is None
    assert done(undo(office.reviewer, batch))["undone"] == 0
    # Decided anew, the first decision is no longer there to undo.
    done(decide(office.reviewer, proposal, what))
    assert done(undo(office.reviewer, batch))["undone"] == 0


@pytest.mark.rule("RE-06", "SB-05")
def test_undoing_it_brings_back_what_called_it_into_question(office):
    proposal = kept(office.watcher, ONE, subjects=["staging.port"])
    dependent = kept(office.senior, "Connect to staging.", project="apollo", depends_on=[proposal])
    assert marked(office.senior, "staging.port") == {proposal, dependent}
    batch = done(decide(office.reviewer, proposal, "accept"))["batch"]
    assert [len(seen(office.senior, one)["marks"]) for one in (proposal, dependent)] == [0, 0]

    done(undo(office.reviewer, batch))
    done(undo(office.reviewer, batch))

    assert [len(seen(office.senior, one)["marks"]) for one in (proposal, dependent)] == [1, 1]
    assert trust(office.senior, dependent) == "dirty"


@pytest.mark.rule("RE-06", "SB-05")
def test_undoing_it_marks_nothing_that_was_verified_since(office):
    proposal = kept(office.watcher, ONE, subjects=["staging.port"])
    dependent = kept(office.senior, "Connect to staging.", project="apollo", depends_on=[proposal])
    reported(office.senior, "staging.port")
    batch = done(decide(office.reviewer, proposal, "accept"))["batch"]
    verified(office.senior, dependent)

    done(undo(office.reviewer, batch))

    assert [len(seen(office.senior, one)["marks"]) for one in (proposal, dependent)] == [1, 0]


@pytest.mark.rule("RE-06", "DI-09")
def test_undoing_a_rejection_opens_the_dispute_about_it_again(office, proposal):
    said = {"reason": "It is 5433."}
    dispute = done(office.colleague.post(f"/memories/{proposal}/challenge", said))["dispute_id"]
    batch = done(decide(office.reviewer, proposal, "reject"))["batch"]
    assert done(office.reviewer.get(f"/conflicts/{dispute}"))["state"] == "moot"

    done(undo(office.reviewer, batch))

    assert done(office.reviewer.get(f"/conflicts/{dispute}"))["state"] == "pending"
    assert trust(office.colleague, proposal) == "conflicted"


@pytest.mark.rule("RE-06", "VI-04")
def test_who_may_not_decide_undoes_nothing(office, other_office, proposal):
    batch = done(decide(office.reviewer, proposal))["batch"]

    assert done(undo(office.colleague, batch))["undone"] == 0
    assert done(undo(office.senior, batch))["undone"] == 0
    for person in (office.outsider, other_office.reviewer):
        refused(undo(person, batch), 404, "not_found")
    assert seen(office.colleague, proposal)["trust_state"] == "verified"
