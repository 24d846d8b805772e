"""A thing may change a thousand times before anybody looks: that is told in few words."""

import json

import pytest
from django.utils import timezone

from memory.models import Change, Component, Mark
from memory.trust.open_marks import MOST_PLACES, NEWEST
from tenants.ids import Prefix, new_id, read_id
from tests.dirty import reported, states, trust, verified
from tests.memories import done, kept, seen


def changes(office, subject, number):
    """Return so many changes that were reported of a subject, the oldest first."""
    made = [
        Change(
            id=new_id(),
            tenant_id=office.tenant.id,
            project_id=office.apollo.id,
            subject=subject,
            summary=f"It moved, {one}.",
            by_member_id=office.senior.member.id,
            observed_at=timezone.now(),
        )
        for one in range(number)
    ]
    return Change.objects.using("owner").bulk_create(made)


def marked_by(memory, caused, component=None, **more):
    """Mark a memory, or a component of it, by each of the changes."""
    marks = [
        Mark(
            id=new_id(),
            tenant_id=one.tenant_id,
            memory_id=read_id(Prefix.MEMORY, memory),
            component=component,
            cause="change",
            change_id=one.id,
            observed_at=one.observed_at,
            created_at=timezone.now(),
            **{"direct": True, "path": [], **more},
        )
        for one in caused
    ]
    Mark.objects.using("owner").bulk_create(marks)


def component(memory, subject):
    found = Component.objects.using("owner")
    return found.get(memory=read_id(Prefix.MEMORY, memory), subject=subject)


def recalled(person, query, **more):
    return done(person.post("/recall", {"query": query, "project": "apollo", **more}))["results"]


@pytest.mark.rule("SB-08", "SB-04", "RC-04")
def test_of_very_many_marks_the_newest_are_told_and_how_many_more_there_are(office):
    memory = kept(office.senior, "The hot marsupial.", project="apollo", subjects=["hot.x"])
    marked_by(memory, changes(office, "hot.x", 400))

    told = seen(office.senior, memory)

    assert (len(told["marks"]), told["marks_omitted"]) == (NEWEST, 400 - NEWEST)
    times = [one["created_at"] for one in told["marks"]]
    assert times == sorted(times, reverse=True)
    assert "It moved, 399" in told["dirty_reason"]
    assert len(json.dumps(told)) < 20_000
    assert told["trust_state"] == "dirty"
    # A look settles all of them at once, those that are not told among them.
    answer = verified(office.senior, memory)
    assert (answer["memory"]["trust_state"], answer["memory"]["marks"]) == ("verified", [])
    assert answer["memory"]["marks_omitted"] == 0


@pytest.mark.rule("SB-08")
def test_of_few_marks_none_is_left_out(office):
    memory = kept(office.senior, "The hot marsupial.", project="apollo", subjects=["hot.x"])
    marked_by(memory, changes(office, "hot.x", NEWEST))

    told = seen(office.senior, memory)

    assert (len(told["marks"]), told["marks_omitted"]) == (NEWEST, 0)


@pytest.mark.rule("TR-01", "RC-02", "VE-02")
def test_what_is_not_among_the_newest_counts_as_much(office):
    """An old mark on one component, and very many newer ones on another and on a dependency."""
    memory = kept(
        office.senior,
        "The hot marsupial.",
        project="apollo",
        components=[{"subject": f"hot.{one}", "value": "1"} for one in "abc"],
        depends_on=["warm.z"],
    )
    marked_by(memory, changes(office, "hot.a", 1), component(memory, "hot.a"))
    marked_by(memory, changes(office, "hot.b", 200), component(memory, "hot.b"))
    marked_by(memory, changes(office, "warm.z", 200), direct=False)

    told = seen(office.senior, memory)

    dirty = {one["subject"]: one["dirty"] for one in told["components"]}
    assert dirty == {"hot.a": True, "hot.b": True, "hot.c": False}
    assert told["marks_omitted"] == 401 - len(told["marks"])
    for subject, status in (
        *(("hot.a", "verify_before_use"), ("hot.b", "verify_before_use"), ("hot.c", "qualified")),
        *(("warm.z", "qualified"), ("elsewhere.x", "qualified")),
    ):
        (found,) = recalled(office.senior, "hot marsupial", subjects=[subject])
        assert found["temporal_status"] == status, subject
        if subject != "elsewhere.x":
            changed = "hot" if subject == "hot.c" else subject
            assert changed in found["dirty_reason"], subject
    for left, subject in (("dirty", "hot.b"), ("dirty", "hot.a")):
        verified(office.senior, memory, components=[subject])
        assert trust(office.senior, memory) == left
    assert seen(office.senior, memory)["marks_omitted"] == 200 - NEWEST


@pytest.mark.rule("SB-08", "TR-01")
def test_however_many_places_there_are_they_stay_few(office):
    memory = kept(office.senior, "The hot marsupial.", project="apollo", depends_on=["hot.z"])
    for number in range(0, 300, 3):
        marked_by(memory, changes(office, f"hot.z{number}", 3), direct=False)

    told = seen(office.senior, memory)

    assert len(told["marks"]) + told["marks_omitted"] == 300
    assert len(told["marks"]) <= NEWEST + MOST_PLACES


@pytest.mark.rule("RC-02", "VE-01")
def test_a_look_in_vain_counts_for_those_that_are_not_told(office):
    memory = states(office.senior, "hot.x", "1", content="The hot marsupial.")
    marked_by(memory, changes(office, "hot.x", 100), component(memory, "hot.x"))
    verified(office.colleague, memory, "inconclusive", method="command", components=["hot.x"])

    (found,) = recalled(office.senior, "hot marsupial")
    assert found["temporal_status"] == "unverifiable"

    reported(office.colleague, "hot.x")
    (found,) = recalled(office.senior, "hot marsupial")
    assert found["temporal_status"] == "verify_before_use"


@pytest.mark.rule("RC-10", "SB-08")
def test_of_then_as_many_are_told(office):
    memory = kept(office.senior, "The hot marsupial.", project="apollo", subjects=["hot.x"])
    clean = timezone.now().isoformat()
    marked_by(memory, changes(office, "hot.x", 60))
    dirty = timezone.now().isoformat()
    verified(office.senior, memory)

    states_then = [
        [
            (one["trust_state"], bool(one["dirty_reason"]))
            for one in recalled(office.senior, "hot marsupial", **more)
        ]
        for more in ({"as_of": clean}, {"as_of": dirty}, {})
    ]
    assert states_then == [[("verified", False)], [("dirty", True)], [("verified", False)]]
