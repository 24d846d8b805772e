"""Taking back what people decided: the memories are as they were, versions and events apart."""

import pytest

from memory.models import Link, Memory, SettledPair, Signal
from tests.disputes import (
    ONE,
    OTHER,
    conflict_row,
    disputed_pair,
    kept_in,
    reopened,
    resolve,
    undo,
)
from tests.judging import work
from tests.memories import done, kept, recalled, refused, remember, replacing, row, seen

pytestmark = pytest.mark.rule("RE-06")

# What may differ: a decision and its undoing are two changes.
CHANGING = {"version"}


def stored(office):
    """Return every row of what the tenant remembers, as it is stored."""
    memories = Memory.objects.using("owner").filter(tenant=office.tenant)
    links = Link.objects.using("owner").filter(tenant=office.tenant, removed_at=None)
    return (
        {
            one.id: {name: one.__dict__[name] for name in one.__dict__ if name[0] != "_"}
            | dict.fromkeys(CHANGING)
            for one in memories
        },
        sorted(links.values_list("id", "src_id", "dst_id", "type")),
        sorted(map(str, settled(office))),
    )


def settled(office):
    found = SettledPair.objects.using("owner").filter(tenant=office.tenant, reopened_at=None)
    return list(found.values_list("low_id", "high_id"))


def outcomes(answer):
    return [one["outcome"] for one in done(answer)["items"]]


def challenged(office, memory):
    return done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "no"}))[
        "dispute_id"
    ]


CHOICES = {
    "winner": lambda one, other: {"winner": one},
    "loser": lambda one, other: {"winner": other},
    "keep_both": lambda one, other: {"keep_both": True},
}


@pytest.mark.rule("DI-04")
@pytest.mark.parametrize("choice", CHOICES)
def test_a_decision_about_a_pair_is_taken_back(office, choice):
    one, other, dispute = disputed_pair(office)
    done(office.senior.post("/links", {"src": one, "dst": other, "type": "supersedes"}))
    before = stored(office)
    told = done(resolve(office.reviewer, dispute, note="why", **CHOICES[choice](one, other)))
    assert stored(office) != before

    assert outcomes(undo(office.reviewer, told["batch"])) == ["reopened"]

    assert stored(office) == before
    now = done(office.senior.get(f"/conflicts/{dispute}"))
    assert (now["state"], now["resolution"], now["winner"], now["note"]) == (
        "pending",
        None,
        None,
        "",
    )
    assert (now["resolved_by"], now["resolved_at"], now["batch"]) == (None, None, None)
    assert seen(office.senior, one)["dispute_id"] == dispute
    assert {ONE, OTHER} <= set(recalled(office.senior, "staging port", project="apollo"))


@pytest.mark.rule("DI-04")
def test_a_merge_is_taken_back_and_its_text_goes(office):
    _one, _other, dispute = disputed_pair(office)
    before = stored(office)
    told = done(resolve(office.reviewer, dispute, merge={"content": "Both of them."}))
    merged = told["side_a"]["superseded_by"]

    assert outcomes(undo(office.senior, told["batch"])) == ["reopened"]

    memories, links, pairs = stored(office)
    text = memories.pop(row(merged).id)
    assert (text["invalidated_reason"], text["lifecycle"]) == ("forgotten", "retired")
    assert (memories, links, pairs) == before


@pytest.mark.rule("DI-04")
def test_a_merge_into_what_was_there_leaves_that(office):
    said = kept(office.reviewer, "Both of them.", project="apollo")
    _one, _other, dispute = disputed_pair(office)
    before = stored(office)
    told = done(resolve(office.reviewer, dispute, merge={"content": "Both of them."}))
    assert told["side_a"]["superseded_by"] == said

    done(undo(office.reviewer, told["batch"]))

    assert stored(office) == before


@pytest.mark.rule("DI-04", "DI-07")
@pytest.mark.parametrize("choice", [{"retire": True}, {"keep_both": True}], ids=str)
def test_a_decision_about_one_is_taken_back_with_what_it_weighed(office, choice):
    memory = kept(office.senior, ONE, project="apollo")
    dispute = challenged(office, memory)
    signals = Signal.objects.using("owner").filter(memory=row(memory).id)
    before = stored(office)
    told = done(resolve(office.reviewer, dispute, **choice))
    assert signals.get().weighed_by_id == conflict_row(dispute).id

    assert outcomes(undo(office.reviewer, told["batch"])) == ["reopened"]

    assert stored(office) == before
    assert signals.get().weighed_by_id is None
    assert seen(office.senior, memory)["dispute_id"] == dispute


@pytest.mark.rule("DI-09")
def test_what_became_moot_with_it_waits_again_also_where_the_reviewer_sees_nothing(office):
    one, other, dispute = disputed_pair(office)
    private = kept(office.contractor, "Mine says 6000.", project="apollo", visibility="private")
    hidden = kept_in(office, private, other)
    alone = challenged(office, other)
    told = done(resolve(office.reviewer, dispute, winner=one))
    assert [conflict_row(each).state for each in (hidden, alone)] == ["moot", "moot"]

    done(undo(office.reviewer, told["batch"]))

    assert [conflict_row(each).state for each in (dispute, hidden, alone)] == ["pending"] * 3
    assert conflict_row(hidden).resolved_at is None


@pytest.mark.rule("DI-09")
def test_what_became_moot_otherwise_stays_so(office):
    one, other, dispute = disputed_pair(office)
    third = kept(office.senior, "It is 6000.", project="apollo")
    beside = kept_in(office, third, other)
    done(office.senior.post(f"/memories/{third}/forget", {"reason": "x"}))
    told = done(resolve(office.reviewer, dispute, winner=one))

    done(undo(office.reviewer, told["batch"]))

    assert conflict_row(beside).state == "moot"


@pytest.mark.rule("RE-03")
def test_a_memory_that_a_person_had_restored_is_so_still(office):
    one, other, dispute = disputed_pair(office)
    done(office.senior.post(f"/memories/{other}/forget", {"reason": "x"}))
    done(office.senior.post(f"/memories/{other}/restore"))
    reopened(dispute)
    before = row(other).restored_by_person_at
    told = done(resolve(office.reviewer, dispute, winner=one))

    done(undo(office.reviewer, told["batch"]))

    assert row(other).restored_by_person_at == before is not None


def test_undoing_does_not_count_as_restoring(office):
    """No person has vouched for the loser: the question is open again, and nothing more."""
    one, other, dispute = disputed_pair(office)
    told = done(resolve(office.reviewer, dispute, winner=one))

    done(undo(office.reviewer, told["batch"]))

    assert row(other).restored_by_person_at is None


def test_it_can_be_decided_again_and_undone_again(office):
    one, other, dispute = disputed_pair(office)
    before = stored(office)
    for choice in ({"winner": one}, {"keep_both": True}, {"winner": other}):
        told = done(resolve(office.reviewer, dispute, **choice))
        done(undo(office.reviewer, told["batch"]))
        assert stored(office) == before


@pytest.mark.rule("T210")
def test_undoing_it_twice_does_nothing(office):
    one, _, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    assert done(undo(office.reviewer, batch))["undone"] == 1

    assert done(undo(office.reviewer, batch)) == {"batch": batch, "undone": 0, "items": []}
    assert conflict_row(dispute).state == "pending"


def test_what_has_changed_since_is_left_alone(office):
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    done(office.senior.post(f"/memories/{one}/forget", {"reason": "both were wrong"}))

    assert outcomes(undo(office.reviewer, batch)) == ["nothing_to_undo"]

    assert (row(other).lifecycle, conflict_row(dispute).state) == ("superseded", "resolved")


def test_what_came_back_by_hand_is_left_as_it_is(office):
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    done(office.senior.post(f"/memories/{other}/restore"))
    done(office.senior.post(f"/memories/{other}/forget", {"reason": "x"}))

    assert outcomes(undo(office.reviewer, batch)) == ["nothing_to_undo"]

    assert row(other).invalidated_reason == "forgotten"


def test_what_is_disputed_anew_is_left_to_the_new_question(office):
    memory = kept(office.senior, ONE, project="apollo")
    batch = done(resolve(office.reviewer, challenged(office, memory), keep_both=True))["batch"]
    again = challenged(office, memory)

    assert outcomes(undo(office.reviewer, batch)) == ["nothing_to_undo"]

    assert seen(office.senior, memory)["dispute_id"] == again


@pytest.mark.rule("DI-12", "VI-04")
def test_who_may_undo(office, other_office):
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]

    for person in (office.outsider, other_office.senior, office.admin):
        refused(undo(person, batch), 404, "not_found")
    refused(undo(office.viewer, batch), 403, "insufficient_scope")
    bot = office.bot("undoer", office.senior, scopes=list(office.senior.caller.scopes))
    refused(undo(bot, batch), 403, "forbidden")
    assert outcomes(undo(office.colleague, batch)) == ["not_allowed"]
    assert row(other).lifecycle == "superseded"
    assert outcomes(undo(office.senior, batch)) == ["reopened"]


def test_a_dispute_of_a_sweep_belongs_to_the_sweep_again(office):
    from tenants.ids import Prefix, new_id, wire_id

    sweep = new_id()
    one = kept(office.senior, ONE, project="apollo")
    other = kept(office.colleague, OTHER, project="apollo")
    dispute = kept_in(office, other, one, batch_id=sweep)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    assert outcomes(undo(office.reviewer, batch)) == ["reopened"]

    assert outcomes(undo(office.reviewer, wire_id(Prefix.BATCH, sweep))) == ["dismissed"]


@pytest.mark.rule("SB-05")
def test_dependents_are_as_they_were(office):
    one, other, dispute = disputed_pair(office)
    dependent = kept(office.senior, "So the pool is 20.", project="apollo", depends_on=[other])
    before = {mark["id"] for mark in seen(office.senior, dependent)["marks"]}
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]

    done(undo(office.reviewer, batch))

    marks = seen(office.senior, dependent)["marks"]
    assert "superseded" not in {mark.get("cause") for mark in marks}
    assert before <= {mark["id"] for mark in marks}


def test_a_later_version_of_the_winner_does_not_stand_in_the_way_of_its_loser(office):
    """The winner was superseded since: what was asked then is no question any more."""
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    remember(office.senior, "It is 7000 now.", project="apollo", links=replacing(one))

    assert outcomes(undo(office.reviewer, batch)) == ["nothing_to_undo"]
    done(office.senior.post(f"/memories/{other}/restore"))


@pytest.mark.rule("DE-05", "JU-08")
def test_what_was_said_while_it_was_away_is_compared_with_it_then(office):
    one, other, dispute = disputed_pair(office)
    batch = done(resolve(office.reviewer, dispute, winner=one))["batch"]
    said_since = kept(office.senior, OTHER.replace("5433", "5999"), project="apollo")
    work(office)
    assert of(office.reviewer, other, said_since) == []

    assert outcomes(undo(office.reviewer, batch)) == ["reopened"]
    work(office)

    (found,) = of(office.reviewer, other, said_since)
    assert (found["state"], found["kind"]) == ("pending", "contradiction")


def of(person, one, other):
    """Return the disputes about both."""
    told = done(person.get("/conflicts", {"memory": one, "state": "all"}))["results"]
    return [found for found in told if other in (found["memory_a"], found["memory_b"])]
