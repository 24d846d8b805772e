"""Bringing back what was retired."""

import pytest

from memory.models import Door, Memory, SettledPair
from tests.judging import work
from tests.memories import (
    MISSING,
    commands,
    done,
    kept,
    recalled,
    refused,
    remember,
    replacing,
    row,
    seen,
)

OLD, NEW = (
    "The staging database listens on port 5432.",
    "The staging database listens on port 5433.",
)


def retire_by_review(memory_id, door):
    """Retire it as the review desk does."""
    from django.db.models.functions import Now

    Memory.objects.using("owner").filter(id=row(memory_id).id).update(
        invalidated_at=Now(), invalidated_reason=door
    )


def settled(one, other):
    low, high = sorted((row(one).id, row(other).id))
    return SettledPair.objects.using("owner").filter(low=low, high=high).count() == 1


@pytest.mark.rule("RE-01", "RE-02", "RE-05")
def test_a_superseded_memory_comes_back_whole(office):
    old = kept(office.agent, OLD)
    other = kept(office.agent, "Ask Ops about ports.")
    new = remember(office.agent, NEW, links=replacing(old))["memory_id"]
    done(office.agent.post("/links", {"src": new, "dst": old, "type": "contradicts"}))
    done(office.agent.post("/links", {"src": old, "dst": other, "type": "relates_to"}))

    told = done(office.senior.post(f"/memories/{old}/restore", {"reason": "it was right"}))

    assert told["successor"] == new
    memory = told["memory"]
    assert (memory["lifecycle"], memory["trust_state"], memory["content"]) == (
        "live",
        "verified",
        OLD,
    )
    for name in ("superseded_by", "superseded_at", "invalidated_at", "invalidated_reason"):
        assert memory[name] is None
    assert sorted(link["type"] for link in memory["links"]) == ["contradicts", "relates_to"]
    assert seen(office.agent, new)["supersedes"] == []
    assert set(recalled(office.agent, "staging database port")) >= {OLD, NEW}
    events = done(office.agent.get(f"/memories/{old}/history"))["events"]
    restored = next(event for event in events if event["command"] == "restore_memory")
    assert (restored["reason"], restored["actor"]["name"]) == ("it was right", "senior")
    assert restored["before"] == {
        "lifecycle": "superseded",
        "invalidated_reason": "superseded",
        "supersede_reason": "declared",
        "superseded_by": new,
    }
    assert restored["after"] == {"lifecycle": "live"}


@pytest.mark.rule("RE-01")
@pytest.mark.parametrize(
    "door", ["declared", "duplicate", "forget", "close", "retired", "rejected"]
)
def test_every_door_opens_the_other_way(office, door):
    kind = "task" if door == "close" else "fact"
    memory_id = kept(office.agent, OLD, kind=kind, session="s")
    if door == "declared":
        remember(office.agent, NEW, links=replacing(memory_id))
    elif door == "duplicate":
        remember(office.agent, f"{OLD}\n.", session="s")
    elif door in ("forget", "close"):
        done(
            office.agent.post(
                f"/memories/{memory_id}/{door}", {"reason": "x"} if door == "forget" else {}
            )
        )
    else:
        retire_by_review(memory_id, Door(door))
    assert seen(office.senior, memory_id)["lifecycle"] != "live"
    assert OLD not in recalled(office.senior, OLD, project="apollo")

    done(office.senior.post(f"/memories/{memory_id}/restore"))

    assert seen(office.senior, memory_id)["lifecycle"] == "live"
    assert OLD in recalled(office.senior, OLD, project="apollo")
    assert commands(office.senior, memory_id)[-1] == "restore_memory"


@pytest.mark.rule("RE-03", "field-fault-4")
def test_the_pair_is_settled_and_the_hand_of_a_person_remembered(office):
    old = kept(office.agent, OLD)
    new = remember(office.agent, NEW, links=replacing(old))["memory_id"]

    done(office.agent.post(f"/memories/{old}/restore"))
    assert row(old).restored_by_person_at is None
    assert settled(old, new)
    done(office.agent.post(f"/memories/{old}/forget", {"reason": "test"}))
    done(office.senior.post(f"/memories/{old}/restore"))

    assert row(old).restored_by_person_at is not None
    # Sending the successor's text again does not take it away again.
    remember(office.agent, NEW)
    assert seen(office.agent, old)["lifecycle"] == "live"
    # Somebody's word still does.
    assert remember(office.agent, NEW, links=replacing(old))["superseded"] == [old]


@pytest.mark.rule("RE-03", "RE-05")
def test_every_later_version_is_settled_with_what_came_back(office):
    texts = [f"Version {number} of the rule." for number in range(3)]
    first = kept(office.agent, texts[0])
    second = remember(office.agent, texts[1], links=replacing(first))["memory_id"]
    third = remember(office.agent, texts[2], links=replacing(second))["memory_id"]

    told = done(office.senior.post(f"/memories/{first}/restore"))

    assert told["successor"] == third
    assert settled(first, second)
    assert settled(first, third)


@pytest.mark.rule("RE-05")
def test_a_middle_version_comes_back_alone(office):
    first = kept(office.agent, "Version 1 of the rule.")
    second = remember(office.agent, "Version 2 of the rule.", links=replacing(first))["memory_id"]
    third = remember(office.agent, "Version 3 of the rule.", links=replacing(second))["memory_id"]

    told = done(office.agent.post(f"/memories/{second}/restore"))

    assert told["successor"] == third
    lives = {one: seen(office.agent, one)["lifecycle"] for one in (first, second, third)}
    assert lives == {first: "superseded", second: "live", third: "live"}
    assert seen(office.agent, first)["superseded_by"] == second
    assert seen(office.agent, second)["supersedes"] == [first]


@pytest.mark.rule("RE-05")
def test_where_no_successor_lives_none_is_named(office):
    old = kept(office.agent, OLD)
    new = remember(office.agent, NEW, links=replacing(old))["memory_id"]
    done(office.agent.post(f"/memories/{new}/forget", {"reason": "test"}))

    assert done(office.agent.post(f"/memories/{old}/restore"))["successor"] is None


@pytest.mark.rule("RE-04")
def test_what_is_live_cannot_be_restored(office):
    live = kept(office.agent, OLD)

    refused(office.agent.post(f"/memories/{live}/restore"), 409, "already_live")
    assert commands(office.agent, live) == ["remember"]


@pytest.mark.rule("RE-04", "VI-04")
@pytest.mark.parametrize(
    ("person", "status"),
    [
        *(("senior", 200), ("agent", 200), ("colleague", 200), ("reviewer", 200)),
        *(("contractor", 403), ("agent2", 403), ("outsider", 404)),
    ],
)
def test_owner_writer_of_the_level_and_reviewer_may_and_nobody_else(office, person, status):
    memory_id = kept(office.senior, OLD, project="apollo")
    done(office.senior.post(f"/memories/{memory_id}/forget", {"reason": "test"}))

    answer = getattr(office, person).post(f"/memories/{memory_id}/restore")

    assert answer.status_code == status, answer.content
    assert seen(office.senior, memory_id)["lifecycle"] == ("live" if status == 200 else "retired")


@pytest.mark.rule("RE-04")
def test_a_reviewer_may_above_their_own_level(office):
    low = office.person(
        "low", level=10, grants=[(office.apollo, ("see_project", "review_project"))]
    )
    lower = office.person(
        "lower", level=10, grants=[(office.apollo, ("see_project", "write_project"))]
    )
    memory_id = kept(office.senior, OLD, project="apollo")
    done(office.senior.post(f"/memories/{memory_id}/forget", {"reason": "test"}))

    refused(lower.post(f"/memories/{memory_id}/restore"), 403, "forbidden")
    done(low.post(f"/memories/{memory_id}/restore"))


@pytest.mark.rule("RE-04")
@pytest.mark.parametrize("door", [Door.RETIRED, Door.REJECTED])
@pytest.mark.parametrize(
    ("person", "status"),
    [("reviewer", 200), ("senior", 200), ("agent", 403), ("colleague", 403), ("contractor", 403)],
)
def test_what_people_took_away_comes_back_by_reviewer_or_human_owner_alone(
    office, door, person, status
):
    memory_id = kept(office.agent, OLD)
    retire_by_review(memory_id, door)

    answer = getattr(office, person).post(f"/memories/{memory_id}/restore")

    assert answer.status_code == status, answer.content
    assert row(memory_id).lifecycle == ("live" if status == 200 else "retired")


@pytest.mark.rule("RE-04", "VI-04", "field-fault-9")
def test_what_is_hidden_is_not_there_to_restore(office, other_office):
    private = kept(office.senior, OLD, project="apollo", visibility="private")
    done(office.senior.post(f"/memories/{private}/forget", {"reason": "test"}))
    foreign = kept(other_office.agent, OLD)

    problems = {
        refused(office.reviewer.post(f"/memories/{one}/restore"), 404, "not_found")["detail"]
        for one in (private, foreign, MISSING, "mem_1", "prj_01h455vb4pex5vsknk084sn02q")
    }
    assert len(problems) == 1
    assert row(private).lifecycle == "retired"
    done(office.senior.post(f"/memories/{private}/restore"))


@pytest.mark.rule("DE-03", "RE-03")
def test_what_was_written_meanwhile_is_compared_with_what_comes_back(office):
    older = kept(office.senior, "Port one it is.", **_port("1"))
    done(office.senior.post(f"/memories/{older}/forget", {"reason": "for now"}))
    newer = kept(office.senior, "Now two.", **_port("2"))

    done(office.senior.post(f"/memories/{older}/restore"))
    work(office)

    # A person brought it back, so no machine takes it away again: people decide.
    assert [seen(office.senior, one)["lifecycle"] for one in (older, newer)] == ["live", "live"]
    (dispute,) = done(office.senior.get("/conflicts", {"memory": older}))["results"]
    assert {dispute["memory_a"], dispute["memory_b"]} == {older, newer}


def _port(value):
    return {"project": "apollo", "components": [{"subject": "harbor.port", "value": value}]}
