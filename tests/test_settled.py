"""What was decided once is not decided again by a machine."""

from itertools import product

import pytest
from django.db.models.functions import Now

from memory.models import Memory
from tests.judging import branch, conflicts, live, lost, work
from tests.memories import done, kept, remember, replacing, row, seen


def restored(person, memory_id):
    """Bring a memory back."""
    done(person.post(f"/memories/{memory_id}/restore"))


@pytest.mark.rule("RE-03", "PO-14", "field-fault-4")
def test_what_came_back_is_not_retired_on_that_pair(office):
    old = branch(office.colleague, "main")["memory_id"]
    new = branch(office.senior, "release")["memory_id"]
    restored(office.agent, old)
    # It is compared with what was written meanwhile, and the pair is left alone.
    assert work(office) == 1

    again = branch(office.senior, "release", tags=["again"])

    assert (again["absorbed"], again["conflicts"]) == (True, [])
    assert work(office) == 0
    assert live(office.viewer, [old, new]) == [old, new]


@pytest.mark.rule("RE-03", "field-fault-4")
@pytest.mark.parametrize("by", ["contradiction", "stale", "authority", "capture"])
def test_what_a_person_brought_back_loses_to_no_automation(office, by):
    owner = office.watcher if by == "capture" else office.contractor
    old = branch(owner, "main")["memory_id"]
    new = branch(office.senior, "release", links=replacing(old) if by != "capture" else [])
    restored(office.senior, old)
    done(office.senior.post(f"/memories/{new['memory_id']}/forget", {"reason": "out of the way"}))

    writer = {"stale": office.contractor, "authority": office.colleague}.get(by, office.senior)
    answer = branch(writer, "trunk", content="It is trunk by now.")

    between = [one for one in answer["conflicts"] if old in (one["memory_a"], one["memory_b"])]
    assert [one["state"] for one in between] == ["pending"]
    assert between[0]["recommended_winner"] == answer["memory_id"]
    assert seen(office.viewer, old)["lifecycle"] == "live"


@pytest.mark.rule("RE-03", "SU-03")
def test_a_declaration_still_replaces_it(office):
    old = branch(office.contractor, "main")["memory_id"]
    branch(office.senior, "release")
    restored(office.senior, old)
    assert old in branch(office.senior, "trunk", links=replacing(old))["superseded"]


@pytest.mark.rule("SU-03", "PO-14")
def test_a_declared_pair_is_settled(office):
    old = branch(office.contractor, "main")["memory_id"]
    new = branch(office.senior, "release", links=replacing(old))
    assert (new["superseded"], new["conflicts"], lost(office.viewer)) == ([old], [], [])
    restored(office.agent, old)
    assert branch(office.contractor, "main")["absorbed"]
    assert live(office.viewer, [old, new["memory_id"]]) == [old, new["memory_id"]]
    assert conflicts(office.viewer) == []


def dispute(office, **more):
    """Return the ids of two that stand in an open dispute."""
    old = branch(office.contractor, "main", kind="decision")["memory_id"]
    answer = branch(office.senior, "release", **more)
    assert [one["state"] for one in answer["conflicts"]] == ["pending"]
    return old, answer["memory_id"]


@pytest.mark.rule("DI-09")
@pytest.mark.parametrize(
    ("door", "side"),
    # A protected one, as the older is, loses to no automation.
    [*product(["forget", "declared", "review"], [0, 1]), ("authority", 1)],
)
def test_a_dispute_is_moot_as_soon_as_a_side_has_gone(office, door, side):
    ids = dispute(office)
    gone, other = ids[side], ids[1 - side]
    if door == "forget":
        done(office.senior.post(f"/memories/{gone}/forget", {"reason": "no"}))
    elif door == "declared":
        remember(office.senior, "Nothing of it.", project="apollo", links=replacing(gone))
    elif door == "review":
        Memory.objects.using("owner").filter(id=row(gone).id).update(
            invalidated_at=Now(), invalidated_reason="retired"
        )
    else:
        lead = office.person(
            "lead", level=40, grants=[(office.apollo, ("see_project", "write_project"))]
        )
        assert gone in branch(lead, "trunk")["superseded"]

    between = [
        one["state"]
        for one in conflicts(office.viewer)
        if {one["memory_a"], one["memory_b"]} == set(ids)
    ]
    assert between == ["moot"]
    if door != "authority":
        assert seen(office.viewer, other)["disputed"] is False


@pytest.mark.rule("DI-09", "DE-08")
def test_it_is_moot_also_when_who_retires_does_not_see_the_other_side(office):
    own = branch(office.senior, "main", visibility="private")["memory_id"]
    shown = branch(office.senior, "release")["memory_id"]
    assert len(conflicts(office.senior, "pending")) == 1

    done(office.colleague.post(f"/memories/{shown}/forget", {"reason": "no"}))

    assert [one["state"] for one in conflicts(office.senior)] == ["moot"]
    assert seen(office.senior, own)["disputed"] is False


@pytest.mark.rule("PO-14", "DE-06")
def test_an_open_dispute_is_not_opened_twice(office):
    old, new = dispute(office)
    for _ in range(2):
        assert branch(office.senior, "release")["conflicts"] == []
    assert len(conflicts(office.viewer)) == 1
    assert live(office.viewer, [old, new]) == [old, new]


@pytest.mark.rule("RE-03", "field-fault-24")
def test_a_note_about_a_contradiction_is_none(office):
    branch(office.senior, "main")
    note = kept(
        office.senior,
        "Main and release were once in contradiction; it is settled.",
        project="apollo",
    )
    work(office)
    assert seen(office.viewer, note)["lifecycle"] == "live"
    assert conflicts(office.viewer) == []
