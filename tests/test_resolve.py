"""Deciding a dispute: who may, in which forms, what follows, and that it can be undone."""

import pytest

from memory.models import SettledPair
from tenants.caller import Scope
from tenants.models import Event
from tests.disputes import ONE, OTHER, disputed_pair, kept_in, of, reopened, resolve, undo
from tests.judging import branch
from tests.memories import (
    MISSING,
    commands,
    done,
    kept,
    recalled,
    refused,
    row,
    seen,
)
from tests.people import ALL_SCOPES, MOST_SCOPES, REVIEW, SEE, WRITE

FIRST_FORMS = "winner", "keep_both", "retire", "merge"


def challenged(office, by=None, **more):
    memory = kept(office.senior, ONE, project="apollo", **more)
    told = done((by or office.colleague).post(f"/memories/{memory}/challenge", {"reason": "no"}))
    return memory, told["dispute_id"]


@pytest.mark.rule("DI-04")
def test_one_side_wins_and_the_other_goes(office):
    one, other, dispute = disputed_pair(office)

    told = done(resolve(office.reviewer, dispute, winner=one, note="asked Ops"))

    assert (told["state"], told["resolution"], told["winner"]) == ("resolved", "manual", one)
    assert told["resolved_by"] == of(office.reviewer)
    assert (told["note"], told["dissent_retained"]) == ("asked Ops", True)
    assert told["batch"].startswith("bat_")
    assert seen(office.senior, one)["lifecycle"] == "live"
    lost = seen(office.senior, other)
    assert (lost["lifecycle"], lost["superseded_by"]) == ("superseded", one)
    assert row(other).supersede_reason == "manual"
    assert OTHER not in recalled(office.senior, OTHER, project="apollo")
    assert not seen(office.senior, one)["disputed"]
    assert "supersede" in commands(office.senior, other)


@pytest.mark.rule("DI-04")
def test_both_stay_and_no_machine_asks_again(office):
    one, other, dispute = disputed_pair(office)

    told = done(resolve(office.reviewer, dispute, keep_both=True))

    assert (told["state"], told["resolution"], told["winner"]) == ("resolved", "keep_both", None)
    assert [seen(office.senior, each)["lifecycle"] for each in (one, other)] == ["live", "live"]
    low, high = sorted((row(one).id, row(other).id))
    assert SettledPair.objects.using("owner").filter(low=low, high=high, reopened_at=None).exists()


@pytest.mark.rule("DI-04")
def test_a_new_text_takes_the_place_of_both(office):
    one, other, dispute = disputed_pair(office, tags=["db"], subjects=["db.port"])
    text = "Staging listens on 5432 for the pool and on 5433 for everybody else."

    told = done(resolve(office.reviewer, dispute, merge={"content": text}))

    assert (told["resolution"], told["winner"]) == ("merged", None)
    merged = told["side_a"]["superseded_by"]
    assert told["side_b"]["superseded_by"] == merged
    memory = seen(office.senior, merged)
    assert (memory["content"], memory["lifecycle"], memory["provenance_rank"]) == (text, "live", 2)
    assert (memory["owner"], memory["visibility"]) == (of(office.reviewer), "project")
    assert sorted(memory["supersedes"]) == sorted([one, other])
    assert (memory["tags"], memory["subjects"]) == (["db"], ["db.port"])
    assert text in recalled(office.senior, text, project="apollo")


@pytest.mark.rule("DI-04", "DI-03")
@pytest.mark.parametrize("form", ["winner", "keep_both"])
def test_what_is_disputed_alone_is_upheld(office, form):
    memory, dispute = challenged(office)

    choice = {"winner": memory} if form == "winner" else {"keep_both": True}
    told = done(resolve(office.reviewer, dispute, **choice))

    expected = ("manual", memory) if form == "winner" else ("keep_both", None)
    assert (told["resolution"], told["winner"]) == expected
    now = seen(office.senior, memory)
    assert (now["lifecycle"], now["disputed"]) == ("live", False)
    assert now["trust_state"] == "verified"


@pytest.mark.rule("DI-04")
def test_what_is_disputed_alone_is_retired_without_a_successor(office):
    memory, dispute = challenged(office)

    told = done(resolve(office.reviewer, dispute, retire=True, note="it is wrong"))

    assert (told["resolution"], told["winner"]) == ("retired", None)
    gone = seen(office.senior, memory)
    assert (gone["lifecycle"], gone["invalidated_reason"]) == ("retired", "retired")
    assert gone["superseded_by"] is None
    assert "retire" in commands(office.senior, memory)


@pytest.mark.rule("DI-04")
@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        ({}, ["winner", "keep_both", "retire", "merge"]),
        ({"keep_both": False}, ["winner", "keep_both", "retire", "merge"]),
        ({"winner": "one", "keep_both": True}, ["winner", "keep_both"]),
        ({"retire": True}, ["retire"]),
        ({"winner": MISSING}, ["winner"]),
        ({"winner": "third"}, ["winner"]),
        ({"winner": "mem_1"}, ["winner"]),
        ({"winner": None}, ["winner"]),
        ({"keep_both": "yes"}, ["keep_both"]),
        ({"merge": {"content": "  "}}, ["merge.content"]),
        ({"merge": {"content": ONE}}, ["merge.content"]),
        ({"merge": {}}, ["merge.content"]),
        ({"merge": {"content": "x", "kind": "fact"}}, ["merge.kind"]),
        ({"merge": {"content": "x" * 32769}}, ["merge.content"]),
        ({"keep_both": True, "resolution": "manual"}, ["resolution"]),
        ({"keep_both": True, "note": "x" * 2049}, ["note"]),
    ],
)
def test_wrong_forms_are_refused_by_field(office, choice, fields):
    one, other, dispute = disputed_pair(office)
    third = kept(office.senior, "A third one.", project="apollo")
    names = {"one": one, "third": third}
    said = {
        name: names.get(value, value) if isinstance(value, str) else value
        for name, value in choice.items()
    }

    problem = refused(resolve(office.reviewer, dispute, **said), 400, "validation_failed")

    assert [error["field"] for error in problem["errors"]] == fields
    assert [row(each).lifecycle for each in (one, other)] == ["live", "live"]
    assert done(office.senior.get(f"/conflicts/{dispute}"))["state"] == "pending"


@pytest.mark.rule("DI-04")
@pytest.mark.parametrize(
    "choice", [{"merge": {"content": "A new text."}}, {"winner": MISSING}, {}], ids=str
)
def test_wrong_forms_about_one_are_refused(office, choice):
    memory, dispute = challenged(office)

    refused(resolve(office.reviewer, dispute, **choice), 400, "validation_failed")

    assert seen(office.senior, memory)["disputed"]


@pytest.mark.rule("WR-11", "DI-04")
@pytest.mark.parametrize("field", ["note", "merge"])
def test_a_secret_is_refused(office, field):
    _, _, dispute = disputed_pair(office)
    secret = "The key is ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a."
    said = {"merge": {"content": secret}} if field == "merge" else {
        "keep_both": True, "note": secret
    }  # fmt: skip

    refused(resolve(office.reviewer, dispute, **said), 422, "secret_content_rejected")


@pytest.mark.rule("DI-05", "T148", "T210")
def test_the_second_is_told_the_first_outcome(office):
    one, _, dispute = disputed_pair(office)
    done(resolve(office.reviewer, dispute, winner=one))

    for again in ({"winner": one}, {"keep_both": True}, {"retire": True}):
        problem = refused(resolve(office.senior, dispute, **again), 409, "already_resolved")
        told = {error["field"]: error["message"] for error in problem["errors"]}
        assert (told["resolution"], told["winner"]) == ("manual", one)
        assert told["resolved_by"] == of(office.reviewer)
        assert of(office.reviewer) in problem["detail"]
    events = Event.objects.using("owner").filter(tenant=office.tenant, command="resolve_conflict")
    assert events.count() == 1


@pytest.mark.rule("DI-12", "VI-04")
@pytest.mark.parametrize(
    ("person", "status", "code"),
    [
        ("senior", 200, None),
        ("reviewer", 200, None),
        ("colleague", 403, "forbidden"),
        ("contractor", 403, "forbidden"),
        ("viewer", 403, "insufficient_scope"),
        ("agent", 403, "insufficient_scope"),
        ("watcher", 403, "insufficient_scope"),
        ("outsider", 404, "not_found"),
        ("admin", 404, "not_found"),
    ],
)
def test_who_reviews_the_project_decides_and_nobody_else(office, person, status, code):
    one, other, dispute = disputed_pair(office)

    answer = resolve(getattr(office, person), dispute, winner=one)

    if status == 200:
        done(answer)
    else:
        refused(answer, status, code)
        assert row(other).lifecycle == "live"


@pytest.mark.rule("DI-12", "VI-04", "T205")
def test_another_tenants_dispute_is_not_there(office, other_office):
    one, _, dispute = disputed_pair(office)

    for answer in (
        resolve(other_office.senior, dispute, winner=one),
        other_office.senior.post(f"/conflicts/{dispute}/defer", {"until": None}),
        other_office.senior.post(f"/conflicts/{dispute}/assign", {"member": None}),
        other_office.senior.post(f"/memories/{one}/challenge", {"reason": "x"}),
        other_office.senior.post(f"/memories/{one}/misled", {"reason": "x"}),
        other_office.senior.post(f"/memories/{one}/accept", {"reason": "x"}),
        other_office.senior.post(f"/memories/{one}/reject", {"reason": "x"}),
    ):
        refused(answer, 404, "not_found")


@pytest.mark.rule("DI-12")
def test_what_is_personal_its_owner_decides(office):
    memory = kept(office.colleague, ONE, scope="personal")
    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "not any more"}))

    refused(resolve(office.reviewer, told["dispute_id"], keep_both=True), 404, "not_found")
    done(resolve(office.colleague, told["dispute_id"], retire=True))

    assert row(memory).invalidated_reason == "retired"


@pytest.mark.rule("DI-12", "SU-18")
def test_nothing_goes_that_the_caller_does_not_review(office):
    """A pair across projects: who reviews one side lets that one go, or keeps both."""
    wide = kept(office.outsider, ONE, project="hermes", visibility="tenant")
    narrow = kept(office.senior, OTHER, project="apollo", visibility="tenant")
    dispute = kept_in(office, wide, narrow)

    refused(resolve(office.senior, dispute, winner=narrow), 403, "forbidden")
    done(resolve(office.senior, dispute, winner=wide))

    assert row(narrow).lifecycle == "superseded"


@pytest.mark.rule("SU-18", "DI-04")
def test_nothing_takes_the_place_of_what_more_people_read(office):
    private = kept(office.senior, ONE, project="apollo", visibility="private")
    shared = kept(office.colleague, OTHER, project="apollo")
    dispute = kept_in(office, private, shared)

    refused(resolve(office.senior, dispute, winner=private), 400, "validation_failed", "winner")
    told = done(resolve(office.senior, dispute, merge={"content": "What all should know."}))

    merged = seen(office.colleague, told["side_a"]["superseded_by"])
    assert merged["visibility"] == "project"


@pytest.mark.rule("DI-04")
def test_who_reviews_and_does_not_write_merges_nothing(office):
    _, _, dispute = disputed_pair(office)
    judge = office.person("judging", grants=[(office.apollo, ("see_project", "review_project"))])

    refused(resolve(judge, dispute, merge={"content": "New."}), 403, "forbidden", "project")
    done(resolve(judge, dispute, keep_both=True))


@pytest.fixture
def triage(office):
    """The colleague's agent, whose token is for reviewing where the colleague reviews."""
    sponsor = office.person("sponsor", grants=[(office.apollo, REVIEW)])
    return office.bot("triage", sponsor, scopes=MOST_SCOPES), sponsor


@pytest.mark.rule("DI-12")
def test_an_agent_decides_about_others(office, triage):
    agent, _ = triage
    one, _, dispute = disputed_pair(office)

    told = done(resolve(agent, dispute, winner=one))

    assert told["resolved_by"].startswith("agt_")


@pytest.mark.rule("DI-12", "field-fault-15")
@pytest.mark.parametrize("raised_by", ["agent", "sponsor", "sibling"])
def test_an_agent_decides_nothing_that_its_own_side_raised(office, triage, raised_by):
    agent, sponsor = triage
    by = {"agent": agent, "sponsor": sponsor, "sibling": None}[raised_by]
    _, dispute = challenged(office, by=by or office.bot("sibling", sponsor))

    refused(resolve(agent, dispute, keep_both=True), 403, "forbidden")
    done(resolve(sponsor, dispute, keep_both=True))


@pytest.mark.rule("DI-12", "DI-07")
@pytest.mark.parametrize("reporter", ["agent", "sponsor", "stranger"])
def test_an_agent_decides_no_suspicion_that_its_own_side_shares(office, triage, reporter):
    agent, sponsor = triage
    memory = kept(office.senior, ONE, project="apollo")
    first = {"agent": agent, "sponsor": sponsor, "stranger": office.agent}[reporter]
    done(first.post(f"/memories/{memory}/misled", {"reason": "Refused."}))
    told = done(office.colleague.post(f"/memories/{memory}/misled", {"reason": "Timed out."}))

    answer = resolve(agent, told["dispute_id"], keep_both=True)

    if reporter == "stranger":
        done(answer)
    else:
        refused(answer, 403, "forbidden")


@pytest.mark.rule("DI-12", "field-fault-15")
@pytest.mark.parametrize("author", ["agent", "sponsor"])
def test_an_agent_decides_nothing_about_its_own_sides_memories(office, triage, author):
    agent, sponsor = triage
    own = kept({"agent": agent, "sponsor": sponsor}[author], ONE, project="apollo")
    dispute = kept_in(office, own, kept(office.senior, OTHER, project="apollo"))

    refused(resolve(agent, dispute, winner=own), 403, "forbidden")
    refused(agent.post(f"/conflicts/{dispute}/defer", {"until": None}), 403, "forbidden")
    assert done(office.senior.get(f"/conflicts/{dispute}"))["state"] == "pending"


@pytest.mark.rule("DI-12")
def test_an_agent_whose_sponsor_does_not_review_decides_nothing(office):
    agent = office.bot("eager", office.colleague, scopes=ALL_SCOPES)
    _, _, dispute = disputed_pair(office)

    refused(resolve(agent, dispute, keep_both=True), 403, "forbidden")


@pytest.mark.rule("DI-09")
def test_other_disputes_of_who_lost_are_moot_and_told_so(office):
    one, other, dispute = disputed_pair(office)
    third = kept(office.senior, "It is 6000.", project="apollo")
    beside = kept_in(office, third, other)

    done(resolve(office.reviewer, dispute, winner=one))

    assert done(office.senior.get(f"/conflicts/{beside}"))["state"] == "moot"
    problem = refused(resolve(office.reviewer, beside, keep_both=True), 409, "already_resolved")
    assert "moot" in problem["detail"]


@pytest.mark.rule("RE-03", "PO-14")
def test_a_restored_memory_can_still_lose_to_a_persons_decision(office):
    one, other, dispute = disputed_pair(office)
    done(office.senior.post(f"/memories/{other}/forget", {"reason": "x"}))
    done(office.senior.post(f"/memories/{other}/restore"))
    assert row(other).restored_by_person_at is not None
    reopened(dispute)

    done(resolve(office.reviewer, dispute, winner=one))

    assert row(other).lifecycle == "superseded"


@pytest.mark.rule("RE-04", "RE-02")
def test_what_review_took_away_comes_back_by_reviewer_or_human_owner(office):
    memory = kept(office.agent, ONE)
    dispute = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "no"}))
    done(resolve(office.reviewer, dispute["dispute_id"], retire=True))

    for person in (office.agent, office.colleague, office.contractor):
        refused(person.post(f"/memories/{memory}/restore"), 403, "forbidden")
    done(office.senior.post(f"/memories/{memory}/restore"))

    assert seen(office.agent, memory)["lifecycle"] == "live"
    assert ONE in recalled(office.agent, ONE)


@pytest.mark.rule("WR-05", "DI-05")
def test_the_same_key_gets_the_same_answer(office):
    one, _, dispute = disputed_pair(office)
    headers = {"Idempotency-Key": "k"}

    first = office.reviewer.post(f"/conflicts/{dispute}/resolve", {"winner": one}, **headers)
    again = office.reviewer.post(f"/conflicts/{dispute}/resolve", {"winner": one}, **headers)

    assert done(first) == done(again)


@pytest.mark.rule("DI-12")
def test_a_viewer_who_may_review_nothing_is_refused_although_the_token_allows(office):
    looking = office.person("looking", grants=[(office.apollo, SEE)], scopes=ALL_SCOPES)
    writing = office.person("writing", level=50, grants=[(office.apollo, WRITE)])
    one, _, dispute = disputed_pair(office)

    for person in (looking, writing):
        refused(resolve(person, dispute, winner=one), 403, "forbidden")


@pytest.mark.rule("DI-12", "VI-02")
def test_a_token_for_review_alone_is_shown_no_text(office):
    blind = office.person("blind", grants=[(office.apollo, REVIEW)], scopes=[Scope.REVIEW])
    one, _, dispute = disputed_pair(office)

    put_off = blind.post(f"/conflicts/{dispute}/defer", {"until": None})
    told = resolve(blind, dispute, winner=one)

    for answer in (put_off, told):
        assert done(answer)["id"] == dispute
        assert ONE not in answer.content.decode()
    assert set(told.json()) == {
        *("id", "state", "resolution", "winner"),
        *("deferred_until", "assigned_to", "batch"),
    }


@pytest.mark.rule("PO-21")
def test_what_a_retired_winner_had_beaten_is_listed_as_orphaned(office):
    loser = branch(office.contractor, "main")["memory_id"]
    winner = branch(office.senior, "release")["memory_id"]
    ((lost,),) = [done(office.senior.get("/auto-resolved"))["results"]]
    assert (lost["winner"], lost["orphaned"]) == (winner, False)
    asked = done(office.colleague.post(f"/memories/{winner}/challenge", {"reason": "it is not"}))

    batch = done(resolve(office.reviewer, asked["dispute_id"], retire=True))["batch"]

    ((lost,),) = [done(office.senior.get("/auto-resolved"))["results"]]
    assert lost["orphaned"]
    assert row(loser).lifecycle == "superseded"
    done(undo(office.reviewer, batch))
    ((lost,),) = [done(office.senior.get("/auto-resolved"))["results"]]
    assert not lost["orphaned"]


@pytest.mark.rule("DI-10", "VI-04", "VI-06", "T205")
def test_lists_and_decisions_of_two_tenants_never_mix(office, other_office):
    _, _, here = disputed_pair(office)
    one, _, there = disputed_pair(other_office)

    for state in ("pending", "all", "resolved"):
        listed = done(office.reviewer.get("/conflicts", {"state": state, "limit": 1}))
        assert {each["id"] for each in listed["results"]} <= {here}
        assert listed["count"] <= 1
        assert listed["next"] is None
    refused(office.reviewer.get(f"/conflicts/{there}"), 404, "not_found")
    assert done(office.reviewer.get("/conflicts", {"memory": one}))["results"] == []
    refused(resolve(office.reviewer, there, keep_both=True), 404, "not_found")
    done(resolve(other_office.reviewer, there, keep_both=True))
    assert done(office.reviewer.get("/conflicts", {"state": "resolved"}))["count"] == 0


@pytest.mark.rule("VI-06")
def test_a_reviewer_sees_no_private_disputes_of_others(office):
    private = kept(office.senior, "Mine alone.", project="apollo", visibility="private")
    dispute = kept_in(office, private, kept(office.senior, "For all.", project="apollo"))

    assert done(office.reviewer.get("/conflicts"))["results"] == []
    refused(resolve(office.reviewer, dispute, keep_both=True), 404, "not_found")
    assert [one["id"] for one in done(office.senior.get("/conflicts"))["results"]] == [dispute]


@pytest.mark.rule("DI-10")
def test_pages_are_cut_from_what_is_in_sight(office):
    """Hidden disputes between the visible ones leave no holes, and count for nothing."""
    visible = []
    for number in range(4):
        _, _, dispute = disputed_pair(office, f"Host {number} says 1.", f"Host {number} says 2.")
        visible.append(dispute)
        mine = kept(office.senior, f"Mine, {number}.", project="apollo", visibility="private")
        kept_in(office, mine, kept(office.senior, f"For all, {number}.", project="apollo"))

    found, cursor = [], None
    for _ in range(2):
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = done(office.reviewer.get("/conflicts", query))
        assert (len(page["results"]), page["count"]) == (2, 4)
        found += [one["id"] for one in page["results"]]
        cursor = page["next"]

    assert found == visible[::-1]
    assert cursor is None
