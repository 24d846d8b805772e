"""What waits for a look is not kept waiting by what is out of use; there always is a way out."""

from datetime import UTC, datetime

import pytest

from memory.models import Memory
from memory.trust.expiry import mark_what_expired
from tests.dirty import reported, states, trust, verified
from tests.memories import done, kept, replacing, row, seen
from tests.test_next_step import Case, asked, is_settled, made
from tests.test_subjects_that_hold import BRANCH, SEEN, relying

pytestmark = pytest.mark.rule("VE-05", "SB-03", "SB-05")


def superseded(office, memory):
    kept(office.senior, "Nobody speaks of it now.", project="apollo", links=replacing(memory))


def forgotten(office, memory):
    done(row_owner(office, memory).post(f"/memories/{memory}/forget", {"reason": "old"}))


def rejected(office, memory):
    done(office.reviewer.post(f"/memories/{memory}/reject", {"reason": "no"}))


def retired(office, memory):
    told = done(office.senior.post(f"/memories/{memory}/challenge", {"reason": "I doubt it."}))
    done(office.reviewer.post(f"/conflicts/{told['dispute_id']}/resolve", {"retire": True}))


def expired(office, memory):
    stored = Memory.objects.using("owner").filter(id=row(memory).id)
    stored.update(valid_until=datetime.now(UTC))
    mark_what_expired()


def row_owner(office, memory):
    return office.senior if row(memory).owner_id == office.senior.member.id else office.colleague


DOORS = {one.__name__: one for one in (superseded, forgotten, rejected, retired, expired)}


def writer(office, door):
    return office.watcher if door == "rejected" else office.colleague


def one_is_left(office, door, at=BRANCH):
    """Return what was looked at, what was not, and those that wait for that."""
    stated = states(office.senior, BRANCH, "main")
    other = states(writer(office, door), at, "main", content="Others say so, too.")
    procedure = relying(office.senior, BRANCH)
    further = kept(office.senior, "Further.", project="apollo", depends_on=[procedure])
    reported(office.colleague, BRANCH)
    verified(office.reviewer, stated, **SEEN)
    return stated, other, (procedure, further)


def states_of(office, memories):
    return {trust(office.senior, one) for one in memories}


@pytest.mark.parametrize("at", [BRANCH, f"{BRANCH}.mirror"])
@pytest.mark.parametrize("door", DOORS)
def test_what_is_out_of_use_keeps_nobody_waiting(office, door, at):
    _stated, other, waiting = one_is_left(office, door, at)
    assert states_of(office, waiting) == {"dirty"}

    DOORS[door](office, other)

    assert states_of(office, waiting) == {"verified"}
    assert [seen(office.senior, one)["marks"] for one in waiting] == [[], []]


@pytest.mark.rule("RE-01")
@pytest.mark.parametrize("door", [one for one in DOORS if one != "expired"])
def test_once_it_is_back_it_is_waited_for_again(office, door):
    _stated, other, waiting = one_is_left(office, door)
    DOORS[door](office, other)

    done(office.reviewer.post(f"/memories/{other}/restore"))

    assert states_of(office, waiting) == {"dirty"}
    verified(office.reviewer, other, **SEEN)
    assert states_of(office, waiting) == {"verified"}


def test_what_was_looked_at_before_it_came_back_stays_clear(office):
    _stated, other, waiting = one_is_left(office, "forgotten")
    forgotten(office, other)
    verified(office.reviewer, other, **SEEN)

    done(office.reviewer.post(f"/memories/{other}/restore"))

    assert states_of(office, waiting) == {"verified"}


@pytest.mark.parametrize("looked_at", ["first", "last"])
def test_when_the_last_that_said_something_is_gone_it_is_looked_at_itself(office, looked_at):
    stated, other, waiting = one_is_left(office, "forgotten")
    for one in (stated, other) if looked_at == "first" else (other, stated):
        forgotten(office, one)

    if looked_at == "first":
        assert states_of(office, waiting) == {"dirty"}
        verified(office.senior, waiting[0])
    assert states_of(office, waiting) == {"verified"}


@pytest.mark.rule("VE-04")
@pytest.mark.parametrize("order", ["replaced first", "looked at first"])
def test_a_value_that_is_another_by_now_is_not_the_old_one_unchanged(office, order):
    """It says so beside the old one: no look at what it replaced clears what relies on it."""
    stated = states(office.senior, BRANCH, "main", kind="decision")
    other = states(office.senior, BRANCH, "main", content="So it was.", kind="decision")
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)
    deeds = [
        lambda: states(office.senior, BRANCH, "trunk", kind="decision", links=replacing(other)),
        lambda: verified(office.reviewer, stated, **SEEN),
    ]

    for deed in deeds if order == "replaced first" else reversed(deeds):
        deed()

    assert trust(office.senior, procedure) == "dirty"
    verified(office.senior, procedure)
    assert trust(office.senior, procedure) == "verified"


def test_the_same_value_in_its_place_is(office):
    _stated, other, waiting = one_is_left(office, "superseded")

    states(office.senior, BRANCH, "Main", content="It is main.", links=replacing(other))

    assert states_of(office, waiting) == {"verified"}


@pytest.mark.rule("DE-04")
def test_of_several_values_one_more_is_none_that_changed(office):
    stated = kept(
        office.senior, "Of main.", project="apollo",
        components=[{"subject": BRANCH, "value": "main", "multi": True}],
    )  # fmt: skip
    procedure = relying(office.senior, BRANCH)
    reported(office.colleague, BRANCH)
    states(office.senior, BRANCH, "trunk", content="Of trunk, too.")

    verified(office.reviewer, stated, **SEEN)

    assert trust(office.senior, procedure) == "verified"


@pytest.mark.rule("RC-07", "SB-04")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("changed", [True, False])
def test_what_rests_on_what_is_gone_says_so_and_is_cleared_by_the_call_that_is_named(
    office, door, changed
):
    case = Case(office)
    base = states(writer(office, door), f"{case.at}.z", "9", content=f"Base of {case.at}.")
    memory = case.written(depends_on=[base])
    if changed:
        case.moved("z")
    DOORS[door](office, base)
    if door == "forgotten" and not changed:
        # It was thrown away, and nobody said that it was wrong.
        assert trust(office.senior, memory) == "verified"
        return

    told = asked(office.senior, memory)
    why = {"forgotten": f"changed at {case.at}.z", "expired": "has expired"}
    assert why.get(door, f"was {door}") in told["dirty_reason"]
    assert told["how_to_verify"]["memory_id"] == memory
    answer = made(office.senior, case, memory, told["how_to_verify"], set())
    assert answer.status_code == 200
    assert is_settled(asked(office.senior, memory))
