"""What relies on a subject is clear again when what says something of it was found unchanged."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, replacing
from tests.people import WRITE

pytestmark = pytest.mark.rule("VE-05")

BRANCH = "deployment.branch"
SEEN: dict[str, Any] = {"method": "command", "observed_value": "main", "components": [BRANCH]}


def relying(person, *depends_on, **more):
    """Return a procedure in apollo that depends on these."""
    more = {"project": "apollo"} | more
    text = f"{person.name}: deploy {', '.join(depends_on)}."
    return kept(person, text, kind="procedure", depends_on=list(depends_on), **more)


def test_a_subject_found_unchanged_clears_what_relies_on_it_and_on_that(office):
    stated = states(office.senior, BRANCH, "main")
    procedure = relying(office.senior, BRANCH)
    further = kept(office.senior, "Further.", project="apollo", depends_on=[procedure])
    reported(office.colleague, BRANCH)

    told = verified(office.colleague, stated, **SEEN)

    assert {one["memory_id"] for one in told["cleared"]} == {stated, procedure, further}
    for one in (stated, procedure, further):
        assert trust(office.senior, one) == "verified"


@pytest.mark.rule("VE-03", "VE-04", "VE-06")
@pytest.mark.parametrize("how", ["refuted", "inconclusive", "before", "bare word from below"])
def test_what_was_not_found_unchanged_clears_nothing(office, how):
    stated = states(office.senior, BRANCH, "main")
    procedure = relying(office.senior, BRANCH)
    before = at(timezone.now())
    reported(office.colleague, BRANCH)
    value = {"method": "command", "observed_value": "trunk"} if how == "refuted" else {}
    more = {"observed_at": before} if how == "before" else {}
    outcome = how if how in ("refuted", "inconclusive") else "confirmed"

    verified(office.contractor, stated, outcome, **value, **more)

    assert trust(office.senior, procedure) == "dirty"


def test_a_new_value_is_not_the_old_one_unchanged(office):
    stated = states(office.senior, BRANCH, "main")
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)

    new = states(office.senior, BRANCH, "trunk", links=replacing(stated))
    verified(office.colleague, new, method="command", observed_value="trunk")

    assert trust(office.senior, procedure) == "dirty"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_all_that_says_something_of_it_has_to_be_looked_at(office, order):
    both = [
        states(person, BRANCH, "main", content=f"{person.name} says main.")
        for person in (office.senior, office.colleague)
    ]
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)

    verified(office.reviewer, both[order[0]], **SEEN)
    assert trust(office.senior, procedure) == "dirty"
    verified(office.reviewer, both[order[1]], **SEEN)
    assert trust(office.senior, procedure) == "verified"


def test_what_lies_below_has_to_be_looked_at_too(office):
    stated = states(office.senior, BRANCH, "main")
    below = states(office.senior, f"{BRANCH}.mirror", "main too")
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)

    verified(office.reviewer, stated, **SEEN)
    assert trust(office.senior, procedure) == "dirty"
    verified(office.reviewer, below)
    assert trust(office.senior, procedure) == "verified"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_relies_on_several_waits_for_all_of_them(office, order):
    subjects = ["deployment.branch", "deployment.host"]
    both = [states(office.senior, one, "main") for one in subjects]
    procedure = relying(office.senior, *subjects)
    reported(office.colleague, "deployment", whole_tree=True)

    verified(office.reviewer, both[order[0]])
    assert trust(office.senior, procedure) == "dirty"
    verified(office.reviewer, both[order[1]])
    assert trust(office.senior, procedure) == "verified"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_also_relies_on_a_memory_waits_for_that(office, order):
    both = [states(office.senior, one, "main") for one in ("deployment.branch", "deployment.host")]
    procedure = relying(office.senior, BRANCH, both[1])
    reported(office.colleague, "deployment", whole_tree=True)

    verified(office.reviewer, both[order[0]])
    assert trust(office.senior, procedure) == "dirty"
    verified(office.reviewer, both[order[1]])
    assert trust(office.senior, procedure) == "verified"


def test_of_two_changes_only_the_one_that_was_overtaken_is_cleared(office):
    stated = states(office.senior, BRANCH, "main")
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH, "first")
    between = at(timezone.now())
    reported(office.colleague, BRANCH, "second")

    verified(office.reviewer, stated, observed_at=between, **SEEN)

    marks = done(office.senior.get(f"/memories/{procedure}"))["marks"]
    assert [one["change"]["summary"] for one in marks] == ["second"]


@pytest.mark.rule("SB-03")
@pytest.mark.parametrize("told_first", ["change", "look"])
def test_whichever_is_told_first_the_marks_are_the_same(office, told_first):
    stated = states(office.senior, BRANCH, "main")
    procedure = relying(office.senior, BRANCH)
    other = relying(office.senior, "deployment.branch.mirror")
    moved = timezone.now()
    looked = moved + timedelta(microseconds=1)
    deeds = [
        lambda: reported(office.colleague, BRANCH, observed_at=at(moved)),
        lambda: verified(office.reviewer, stated, observed_at=at(looked), **SEEN),
    ]

    for deed in deeds if told_first == "change" else reversed(deeds):
        deed()

    assert trust(office.senior, procedure) == "verified"
    # Nobody says anything of what lies below, so nobody has looked there.
    assert trust(office.senior, other) == "dirty"


@pytest.mark.rule("DE-08", "VI-04")
@pytest.mark.parametrize("seen_by", ["its owner alone", "the project"])
def test_what_not_all_may_read_who_read_it_clears_nothing(office, seen_by):
    visibility = "private" if seen_by == "its owner alone" else "project"
    stated = states(office.colleague, BRANCH, "main", visibility=visibility)
    procedure = relying(office.senior, BRANCH)
    own = relying(office.colleague, BRANCH, visibility="private")
    reported(office.senior, BRANCH)

    verified(office.colleague, stated, **SEEN)

    cleared = seen_by == "the project"
    assert trust(office.senior, procedure) == ("verified" if cleared else "dirty")
    assert trust(office.colleague, own) == "verified"


def test_the_same_subject_in_another_project_is_another_thing(office):
    both = office.person("both", grants=[(office.apollo, WRITE), (office.hermes, WRITE)])
    elsewhere = kept(
        both,
        "There it is main.",
        project="hermes",
        visibility="tenant",
        components=[{"subject": BRANCH, "value": "main"}],
    )
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)

    verified(both, elsewhere, **SEEN)

    assert trust(office.senior, procedure) == "dirty"
