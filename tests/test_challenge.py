"""Calling a memory into question: a question, and never an answer."""

import pytest

from memory.models import Conflict, Signal
from tenants.caller import Scope
from tests.disputes import ONE, conflict_row, disputed_pair, kept_in, of, resolve
from tests.judging import branch, work
from tests.memories import (
    MISSING,
    done,
    kept,
    posting,
    recalled,
    refused,
    remember,
    replacing,
    row,
    seen,
    together,
)
from tests.test_sweep import judge, swept

__all__ = ["judge"]


def challenge(person, memory, reason="It moved.", **more):
    return person.post(f"/memories/{memory}/challenge", {"reason": reason, **more})


def signals(memory):
    return Signal.objects.using("owner").filter(memory=row(memory).id)


@pytest.fixture
def memory(office):
    return kept(office.senior, ONE, project="apollo")


@pytest.mark.rule("DI-01", "DI-02")
def test_it_opens_a_dispute_and_the_memory_stays(office, memory):
    told = done(challenge(office.colleague, memory, "It moved.", evidence="nc says refused"))

    assert told == {
        "memory_id": memory,
        "dispute_id": told["dispute_id"],
        "already_pending": False,
    }
    dispute = done(office.senior.get(f"/conflicts/{told['dispute_id']}"))
    assert (dispute["kind"], dispute["state"], dispute["memory_b"]) == (
        "challenged",
        "pending",
        None,
    )
    assert (dispute["memory_a"], dispute["reason"]) == (memory, "It moved.")
    assert dispute["evidence"] == "nc says refused"
    assert dispute["verdict"]["relation"] == "challenged"
    assert dispute["raised_by"] == of(office.colleague)
    now = seen(office.senior, memory)
    assert (now["lifecycle"], now["disputed"]) == ("live", True)
    assert (now["dispute_id"], now["trust_state"]) == (told["dispute_id"], "conflicted")
    found = done(office.senior.post("/recall", {"query": ONE, "project": "apollo"}))["results"]
    assert (found[0]["memory_id"], found[0]["disputed"]) == (memory, True)
    assert found[0]["dispute_id"] == told["dispute_id"]


@pytest.mark.rule("DI-02", "DI-10")
@pytest.mark.parametrize(
    "query", [{"kind": "challenged"}, {"verdict": "challenged"}, {"project": "apollo"}], ids=str
)
def test_it_is_found_in_the_list(office, memory, query):
    dispute = done(challenge(office.colleague, memory))["dispute_id"]

    found = done(office.senior.get("/conflicts", query))["results"]

    assert [one["id"] for one in found] == [dispute]


@pytest.mark.rule("DI-02")
def test_it_is_idempotent_while_it_is_open(office, memory):
    first = done(challenge(office.colleague, memory))

    for person in (office.colleague, office.contractor, office.agent):
        again = done(challenge(person, memory, "I say so, too."))
        assert (again["dispute_id"], again["already_pending"]) == (first["dispute_id"], True)

    assert signals(memory).count() == 1
    assert Conflict.objects.using("owner").filter(memory_a=row(memory).id).count() == 1
    assert conflict_row(first["dispute_id"]).reason == "It moved."


@pytest.mark.rule("DI-02")
def test_once_decided_it_can_be_called_into_question_again(office, memory):
    first = done(challenge(office.colleague, memory))["dispute_id"]
    done(resolve(office.reviewer, first, keep_both=True))

    again = done(challenge(office.colleague, memory, "And again."))

    assert again["dispute_id"] != first
    assert not again["already_pending"]


@pytest.mark.rule("DI-02", "VI-04")
@pytest.mark.parametrize(
    ("person", "status", "code"),
    [
        *((name, 200, None) for name in ("senior", "agent", "watcher", "colleague", "agent2")),
        ("viewer", 403, "insufficient_scope"),
        ("outsider", 404, "not_found"),
        ("admin", 404, "not_found"),
    ],
)
def test_who_may(office, memory, person, status, code):
    answer = challenge(getattr(office, person), memory)

    if status == 200:
        assert not done(answer)["already_pending"]
    else:
        refused(answer, status, code)
        assert not seen(office.senior, memory)["disputed"]


@pytest.mark.rule("DI-02")
def test_who_sees_and_does_not_write_may_not(office, memory):
    looking = office.person("looking", grants=[(office.apollo, ("see_project",))])
    wide = kept(office.outsider, "All know this.", project="hermes", visibility="tenant")

    refused(challenge(looking, memory), 403, "forbidden")
    refused(challenge(office.colleague, wide), 403, "forbidden")
    assert not seen(office.senior, wide)["disputed"]


@pytest.mark.rule("DI-02")
def test_ones_own_personal_memory_can_be(office):
    own = kept(office.colleague, ONE, scope="personal")

    done(challenge(office.colleague, own))
    refused(challenge(office.senior, own), 404, "not_found")


@pytest.mark.rule("DI-02", "WR-11", "WR-12")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "validation_failed"),
        ({"reason": ""}, 400, "validation_failed"),
        ({"reason": "  \n"}, 400, "validation_failed"),
        ({"reason": None}, 400, "validation_failed"),
        ({"reason": "x" * 2049}, 400, "validation_failed"),
        ({"reason": "a\x00b"}, 400, "validation_failed"),
        ({"reason": "x", "evidence": "x" * 2049}, 400, "validation_failed"),
        ({"reason": "x", "kind": "challenged"}, 400, "validation_failed"),
        (
            {"reason": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"},
            422,
            "secret_content_rejected",
        ),
    ],
)
def test_bad_input_is_refused_and_nothing_stored(office, memory, body, status, code):
    refused(office.colleague.post(f"/memories/{memory}/challenge", body), status, code)

    assert not seen(office.senior, memory)["disputed"]
    assert not signals(memory).exists()


@pytest.mark.rule("DI-02")
def test_what_is_not_live_is_in_no_question(office, memory):
    done(office.senior.post(f"/memories/{memory}/forget", {"reason": "x"}))

    refused(challenge(office.colleague, memory), 409, "already_retired")
    refused(challenge(office.colleague, MISSING), 404, "not_found")


@pytest.mark.rule("DI-02", "T150")
@pytest.mark.parametrize("who", ["one", "several"])
def test_twenty_at_once_open_one(office, memory, who):
    people = [office.colleague, office.contractor, office.agent, office.agent2]
    if who == "one":
        people = [office.colleague]

    answers = together(
        *(
            posting(people[turn % len(people)], f"/memories/{memory}/challenge", {"reason": "x"})
            for turn in range(20)
        )
    )

    told = [done(answer) for answer in answers]
    assert len({one["dispute_id"] for one in told}) == 1
    assert [one["already_pending"] for one in told].count(False) == 1
    assert signals(memory).count() == 1


@pytest.mark.rule("DI-06", "PO-13", "field-fault-3")
def test_nothing_automatic_retires_it_or_closes_the_dispute(office, judge):
    from hygiene.judge import Said

    old = branch(office.contractor, "main")["memory_id"]
    dispute = done(challenge(office.colleague, old))["dispute_id"]
    judge.relation, judge.confidence = Said.B_SUPERSEDES_A, 1.0
    new = branch(office.senior, "release")
    work(office)
    swept(office.senior)

    assert new["superseded"] == []
    assert row(old).lifecycle == "live"
    assert conflict_row(dispute).state == "pending"


@pytest.mark.rule("SU-11", "DI-09")
def test_a_declaration_ends_it(office, memory):
    dispute = done(challenge(office.colleague, memory))["dispute_id"]

    remember(office.senior, "It is 5433.", project="apollo", links=replacing(memory))

    assert conflict_row(dispute).state == "moot"


@pytest.mark.rule("DI-12", "PO-16")
def test_what_only_its_owner_sees_is_told_to_nobody(office):
    private = kept(office.senior, ONE, project="apollo", visibility="private")
    dispute = done(challenge(office.senior, private))["dispute_id"]

    for person in (office.reviewer, office.colleague, office.admin):
        refused(person.get(f"/conflicts/{dispute}"), 404, "not_found")
        assert done(person.get("/conflicts", {"state": "all"}))["results"] == []


@pytest.mark.rule("DI-02")
def test_a_token_for_writing_alone_learns_no_more_than_the_id(office, memory):
    blind = office.person(
        "blind", grants=[(office.apollo, ("see_project", "write_project"))], scopes=[Scope.WRITE]
    )

    told = done(challenge(blind, memory))

    assert told == {"memory_id": memory, "absorbed": False, "superseded": [], "skipped": []}


@pytest.mark.rule("DI-01")
def test_a_pair_tells_the_other_side(office):
    one, other, dispute = disputed_pair(office)

    found = done(office.senior.post("/recall", {"query": ONE, "project": "apollo"}))["results"]

    told = {each["memory_id"]: each for each in found}
    assert told[one]["dispute_id"] == told[other]["dispute_id"] == dispute
    assert [each["memory_id"] for each in told[one]["competing_claims"]] == [other]
    assert ONE in recalled(office.senior, ONE, project="apollo")


@pytest.mark.rule("DI-09")
def test_a_pair_with_a_challenged_side_stays_a_pair(office):
    one, _other, dispute = disputed_pair(office)
    alone = done(challenge(office.colleague, one))["dispute_id"]

    done(resolve(office.reviewer, dispute, winner=one))

    assert conflict_row(alone).state == "pending"
    assert kept_in(office, one, kept(office.senior, "A third one.", project="apollo"))
