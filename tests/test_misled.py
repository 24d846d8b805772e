"""Reports that a memory misled: when they gather, people are asked whether it is out of date."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.conflict.signals import note_signal
from memory.models import Conflict, Memory, Signal
from tenants.context import acting_as
from tests.disputes import ONE, conflict_row, of, resolve
from tests.memories import done, kept, posting, refused, row, seen, together


def misled(person, memory, reason="Nothing listens there.", **more):
    return person.post(f"/memories/{memory}/misled", {"reason": reason, **more})


def signals(memory):
    return Signal.objects.using("owner").filter(memory=row(memory).id).order_by("created_at", "id")


def suspects(memory):
    return Conflict.objects.using("owner").filter(memory_a=row(memory).id, kind="stale_suspect")


@pytest.fixture
def memory(office):
    return kept(office.senior, ONE, project="apollo")


@pytest.mark.rule("DI-07")
def test_one_report_is_kept_and_changes_nothing(office, memory):
    told = done(misled(office.agent, memory, query="which port"))

    signal = told["signal"]
    assert (signal["memory_id"], signal["kind"], signal["query"]) == (
        memory,
        "misled",
        "which port",
    )
    assert signal["reason"] == "Nothing listens there."
    assert signal["id"].startswith("sig_")
    assert (told["dispute_id"], told["opened"]) == (None, False)
    assert not seen(office.senior, memory)["disputed"]
    assert signals(memory).get().by_agent_id == office.agent.agent.id


@pytest.mark.rule("DI-07")
def test_two_open_a_suspicion_and_nothing_is_taken_away(office, memory):
    done(misled(office.agent, memory, "Refused."))
    told = done(misled(office.colleague, memory, "Timed out."))

    assert told["opened"]
    dispute = done(office.senior.get(f"/conflicts/{told['dispute_id']}"))
    assert (dispute["kind"], dispute["state"]) == ("stale_suspect", "pending")
    assert dispute["reason"] == "Refused.; Timed out."
    assert dispute["raised_by"] == of(office.colleague)
    now = seen(office.senior, memory)
    assert (now["lifecycle"], now["disputed"]) == ("live", True)
    assert now["trust_state"] != "conflicted"


@pytest.mark.rule("DI-07")
def test_a_third_adds_to_the_open_one(office, memory):
    done(misled(office.agent, memory))
    told = done(misled(office.colleague, memory))

    again = done(misled(office.contractor, memory))

    assert (again["dispute_id"], again["opened"]) == (told["dispute_id"], False)
    assert signals(memory).count() == 3
    assert suspects(memory).count() == 1


@pytest.mark.rule("DI-07", "DI-02")
def test_a_challenge_counts_and_is_a_dispute_of_its_own(office, memory):
    done(misled(office.agent, memory))

    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "no"}))

    assert not told["already_pending"]
    assert conflict_row(told["dispute_id"]).kind == "challenged"
    assert not suspects(memory).exists()
    again = done(misled(office.agent, memory))
    assert (again["dispute_id"], again["opened"]) == (told["dispute_id"], False)


@pytest.mark.rule("DI-07", "DI-02")
def test_who_challenges_a_suspect_says_something_new(office, memory):
    done(misled(office.agent, memory))
    suspect = done(misled(office.agent, memory))["dispute_id"]

    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "it moved"}))

    assert (told["dispute_id"], told["already_pending"]) == (suspect, True)
    assert [one.kind for one in signals(memory)] == ["misled", "misled", "challenge"]


@pytest.mark.rule("DI-07")
@pytest.mark.parametrize(("days", "opened"), [(89, True), (91, False)])
def test_what_is_older_than_90_days_does_not_count(office, memory, days, opened):
    done(misled(office.agent, memory))
    signals(memory).update(created_at=timezone.now() - timedelta(days=days))

    assert done(misled(office.agent, memory))["opened"] is opened


@pytest.mark.rule("DI-07", "DI-08")
@pytest.mark.parametrize("choice", [{"keep_both": True}, {"winner": "it"}], ids=str)
def test_what_was_weighed_never_counts_again(office, memory, choice):
    done(misled(office.agent, memory))
    suspect = done(misled(office.agent, memory))["dispute_id"]
    said = {name: memory if value == "it" else value for name, value in choice.items()}
    done(resolve(office.reviewer, suspect, **said))
    assert {one.weighed_by_id for one in signals(memory)} == {conflict_row(suspect).id}

    # One that is newer, and those two that were found to be nothing.
    assert not done(misled(office.agent, memory))["opened"]
    raised = done(misled(office.colleague, memory))
    assert raised["opened"]
    assert raised["dispute_id"] != suspect


@pytest.mark.rule("DI-07", "DI-08")
def test_a_dismissed_challenge_is_weighed_too(office, memory):
    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "no"}))
    done(resolve(office.reviewer, told["dispute_id"], keep_both=True))

    assert not done(misled(office.agent, memory))["opened"]


@pytest.mark.rule("DI-07")
def test_a_recheck_that_found_another_value_is_enough(office, memory):
    with acting_as(office.agent.caller):
        signal, dispute = note_signal(
            Memory.objects.get(id=row(memory).id),
            Signal.Kind.RECHECK,
            "It answers on 5433.",
            evidence="nc -z staging 5433",
        )

    assert signal.kind == "recheck"
    assert dispute is not None
    assert (dispute.kind, dispute.reason) == ("stale_suspect", "It answers on 5433.")
    assert seen(office.senior, memory)["lifecycle"] == "live"


@pytest.mark.rule("DI-06", "DI-07")
def test_however_many_report_it_stays(office, memory):
    for _ in range(12):
        done(misled(office.agent, memory))

    now = seen(office.senior, memory)
    assert (now["lifecycle"], now["content"]) == ("live", ONE)


@pytest.mark.rule("DI-07", "T150")
def test_two_reports_at_once_open_one_suspicion(office, memory):
    answers = together(
        *(
            posting(person, f"/memories/{memory}/misled", {"reason": "x"})
            for person in (office.agent, office.colleague, office.contractor, office.senior)
        )
    )

    assert [done(one)["opened"] for one in answers].count(True) == 1
    assert suspects(memory).count() == 1


@pytest.mark.rule("DI-07", "VI-04", "WR-11")
def test_who_may_and_what_is_refused(office, other_office, memory):
    looking = office.person("looking", grants=[(office.apollo, ("see_project",))])

    refused(misled(looking, memory), 403, "forbidden")
    refused(misled(office.viewer, memory), 403, "insufficient_scope")
    for person in (office.outsider, office.admin, other_office.senior):
        refused(misled(person, memory), 404, "not_found")
    refused(misled(office.agent, memory, "  "), 400, "validation_failed", "reason")
    refused(misled(office.agent, memory, query="x" * 8193), 400, "validation_failed", "query")
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    refused(misled(office.agent, memory, query=secret), 422, "secret_content_rejected")
    done(office.senior.post(f"/memories/{memory}/forget", {"reason": "x"}))
    refused(misled(office.agent, memory), 409, "already_retired")
    assert not signals(memory).exists()
