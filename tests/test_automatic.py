"""What the policy does by itself, how it is told, and what stops it."""

import pytest
from django.db.models import F
from django.db.models.functions import Now

from memory.conflict import act
from memory.models import Conflict
from tenants.ids import Prefix, wire_id
from tests.judging import branch, conflicts, live, lost, stating, work
from tests.memories import commands, done, kept, remember, replacing, row, seen


def challenge(memory_id):
    """Open a dispute of the memory's own, as whoever challenges it does."""
    memory = row(memory_id)
    Conflict.objects.using("owner").create(
        tenant_id=memory.tenant_id,
        memory_a_id=memory.id,
        low_id=memory.id,
        high_id=memory.id,
        kind="challenged",
        level_a=memory.author_level,
        via="challenge",
        row="",
        reason="it misled me",
    )


@pytest.mark.rule("PO-16", "DE-07")
def test_a_loss_is_told_everywhere(office):
    old = branch(office.colleague, "main")["memory_id"]
    answer = branch(office.senior, "release")
    new = answer["memory_id"]

    assert answer["superseded"] == [old]
    assert [(one["winner"], one["resolved_by"]) for one in answer["conflicts"]] == [(new, "policy")]
    # Its owner, who is somebody else, is told too.
    (told,) = lost(office.colleague)
    assert (told["id"], told["winner"]) == (answer["conflicts"][0]["id"], new)
    assert (told["side_a"]["id"], told["side_b"]["id"]) == (new, old)
    assert told["side_b"]["lifecycle"] == "superseded"
    assert commands(office.colleague, old) == ["remember", "resolve_by_policy", "supersede"]
    assert lost(office.outsider) == []


@pytest.mark.rule("PO-16", "RE-01")
def test_one_call_brings_it_back(office):
    old = branch(office.colleague, "main")["memory_id"]
    branch(office.senior, "release")
    (told,) = lost(office.colleague)
    done(office.colleague.post(f"/memories/{told['side_b']['id']}/restore"))
    assert seen(office.colleague, old)["lifecycle"] == "live"


@pytest.mark.rule("PO-09")
def test_who_won_over_a_higher_level_by_being_newer_stands_first(office):
    senior_once = branch(office.senior, "main", content="It is main.")["memory_id"]
    done(
        office.admin.patch(
            f"/members/{wire_id(Prefix.MEMBER, office.senior.member.id)}", {"level": 10}
        )
    )
    branch(office.senior, "release", content="It is release.")
    for subject in ("day", "hour", "host"):
        for value in ("this", "that"):
            remember(
                office.colleague,
                f"Of the {subject} it is {value} one.",
                project="apollo",
                components=stating(f"deploy.{subject}", value),
            )
    told = lost(office.colleague)
    assert told[0]["side_b"]["id"] == senior_once
    assert len(told) == 4
    paged, cursor = [], None
    while True:
        query = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = done(office.colleague.get("/auto-resolved", query))
        paged += page["results"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [one["id"] for one in paged] == [one["id"] for one in told]


@pytest.mark.rule("PO-09", "PO-07", "field-fault-16")
def test_nobody_wins_by_rewording(office):
    """Once outranked, the same owner does not win against it by being newer."""
    said = branch(office.senior, "main")["memory_id"]
    assert branch(office.agent2, "release")["memory"]["superseded_by"] == said
    office.contractor.member.__class__.objects.using("owner").filter(
        id=office.contractor.member.id
    ).update(level=30)

    answer = branch(office.contractor, "release", content="Everybody deploys from release.")

    (conflict,) = answer["conflicts"]
    assert (conflict["state"], conflict["recommended_winner"]) == ("pending", answer["memory_id"])
    assert live(office.viewer, [said, answer["memory_id"]]) == [said, answer["memory_id"]]


@pytest.mark.rule("PO-13", "DI-06", "field-fault-3")
@pytest.mark.parametrize("side", ["old", "sure"])
def test_a_challenged_one_is_in_no_automatic_lane(office, side):
    old = branch(office.senior if side == "sure" else office.contractor, "main")["memory_id"]
    challenge(old)
    answer = branch(office.contractor if side == "sure" else office.senior, "release")
    assert [one["state"] for one in answer["conflicts"]] == ["pending"]
    assert live(office.viewer, [old, answer["memory_id"]]) == [old, answer["memory_id"]]
    pending = conflicts(office.viewer, "pending")
    assert {one["kind"] for one in pending} == {"challenged", "contradiction"}


@pytest.mark.rule("DI-06", "WR-08", "WR-06")
def test_a_challenged_one_is_not_restated_away(office):
    text = "The staging database is asleep at night"
    old = kept(office.agent, text, session="s")
    challenge(old)
    assert remember(office.agent, f"{text}.", session="s")["superseded"] == []
    assert remember(office.senior, text, project="apollo")["superseded"] == []
    assert seen(office.viewer, old)["lifecycle"] == "live"
    assert seen(office.viewer, old)["disputed"] is True


@pytest.mark.rule("SU-11", "DI-09")
def test_a_challenged_one_may_be_replaced_by_declaration(office):
    old = branch(office.senior, "main")["memory_id"]
    challenge(old)
    new = branch(office.senior, "release", links=replacing(old))
    assert new["superseded"] == [old]
    assert conflicts(office.viewer, "pending") == []
    assert [one["state"] for one in conflicts(office.viewer)] == ["moot"]


@pytest.mark.rule("PO-17")
def test_the_brake_leaves_the_rest_to_people_and_captures_alone(office, monkeypatch):
    monkeypatch.setattr(act, "MOST_RETIRED", 1)
    monkeypatch.setattr(act, "MOST_RETIRED_SHARE", 0.0)
    first = branch(office.senior, "main")["memory_id"]
    second = branch(office.colleague, "release")
    assert second["superseded"] == [first]

    braked = branch(office.senior, "trunk")

    assert braked["superseded"] == []
    (conflict,) = braked["conflicts"]
    assert (conflict["state"], conflict["recommended_winner"]) == ("pending", braked["memory_id"])
    assert branch(office.watcher, "dev")["memory"]["lifecycle"] == "superseded"


@pytest.mark.rule("PO-17")
def test_in_one_write_no_more_than_the_brake_allows_are_retired(office, monkeypatch):
    monkeypatch.setattr(act, "MOST_RETIRED", 2)
    monkeypatch.setattr(act, "MOST_RETIRED_SHARE", 0.0)
    for content in ("It is main.", "Main it is.", "Always main."):
        branch(office.colleague, "main", content=content)
    answer = branch(office.senior, "release")
    states = sorted(one["state"] for one in answer["conflicts"])
    assert (len(answer["superseded"]), states) == (2, ["pending", "resolved", "resolved"])


@pytest.mark.rule("PO-21")
def test_who_lost_to_what_has_gone_is_told_as_orphaned(office):
    loser = branch(office.colleague, "main")["memory_id"]
    winner = branch(office.senior, "release")["memory_id"]
    assert [one["orphaned"] for one in lost(office.viewer)] == [False]

    done(office.senior.post(f"/memories/{winner}/forget", {"reason": "it was a joke"}))

    (told,) = lost(office.viewer)
    assert (told["side_b"]["id"], told["orphaned"]) == (loser, True)
    done(office.colleague.post(f"/memories/{loser}/restore"))
    assert [one["orphaned"] for one in lost(office.viewer)] == [False]


@pytest.mark.rule("PO-21")
@pytest.mark.parametrize(("value", "orphaned"), [("trunk", False), ("main", True), (None, True)])
def test_what_contradicts_the_successor_is_no_orphan(office, value, orphaned):
    branch(office.colleague, "main")
    winner = branch(office.senior, "release")["memory_id"]
    more = {"links": replacing(winner)}
    if value is None:
        remember(office.senior, "We deploy no more.", project="apollo", **more)
    else:
        branch(office.senior, value, content=f"Now it is {value}.", **more)
    (told,) = lost(office.viewer)
    assert told["orphaned"] is orphaned


@pytest.mark.rule("DE-06", "DI-09")
def test_a_pair_that_is_found_again_has_the_same_record(office):
    old = branch(office.contractor, "main", kind="decision")["memory_id"]
    new = branch(office.senior, "release")
    (conflict,) = new["conflicts"]
    done(office.senior.post(f"/memories/{new['memory_id']}/forget", {"reason": "for now"}))
    assert [one["state"] for one in conflicts(office.viewer)] == ["moot"]
    Conflict.objects.using("owner").filter(tenant=office.tenant).update(
        note="said then", resolved_at=Now(), level_a=F("level_a")
    )
    done(office.agent.post(f"/memories/{new['memory_id']}/restore"))

    again = branch(office.senior, "release")

    assert again["absorbed"]
    (found,) = conflicts(office.viewer)
    assert (found["id"], found["state"], found["resolved_at"]) == (conflict["id"], "pending", None)
    # Nobody has decided it, so what somebody noted on it is still said of it.
    assert found["note"] == "said then"
    assert live(office.viewer, [old, new["memory_id"]]) == [old, new["memory_id"]]


@pytest.mark.rule("DI-05", "PO-14", "field-fault-4")
@pytest.mark.parametrize("state", ["dismissed", "resolved"])
def test_what_a_person_has_decided_is_over_for_every_machine(office, state):
    old = branch(office.contractor, "main", kind="decision")["memory_id"]
    new = branch(office.senior, "release")["memory_id"]
    # Decided, and no word of it but in the record itself.
    Conflict.objects.using("owner").filter(tenant=office.tenant).update(
        state=state,
        resolution="keep_both" if state == "resolved" else None,
        resolved_by_member=office.reviewer.member,
        resolved_at=Now(),
        note="Both hold.",
    )

    again = branch(office.senior, "release", tags=["again"])

    assert (again["absorbed"], again["conflicts"]) == (True, [])
    (conflict,) = conflicts(office.viewer)
    assert (conflict["state"], conflict["note"]) == (state, "Both hold.")
    assert live(office.viewer, [old, new]) == [old, new]


@pytest.mark.rule("PO-17")
def test_a_memory_that_loses_to_several_counts_once_for_the_brake(office, monkeypatch):
    monkeypatch.setattr(act, "MOST_RETIRED", 2)
    monkeypatch.setattr(act, "MOST_RETIRED_SHARE", 0.0)
    for content in ("It is main.", "Main it is.", "Always main."):
        branch(office.senior, "main", content=content)

    states = []
    for content in ("It is release.", "Release it is.", "Release for good."):
        answer = branch(office.contractor, "release", content=content)
        states.append({one["state"] for one in answer["conflicts"]})

    assert states == [{"resolved"}, {"resolved"}, {"pending"}]


@pytest.mark.rule("PO-19", "field-fault-19")
def test_nothing_is_ever_deleted(office):
    ids = [branch(office.senior, value)["memory_id"] for value in ("main", "release", "trunk")]
    work(office)
    assert len(live(office.viewer, ids)) == 1
    assert [seen(office.viewer, one)["content"] for one in ids] == [
        f"Deploys go out from {value}." for value in ("main", "release", "trunk")
    ]
