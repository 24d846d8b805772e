"""What would be lost with a memory, whatever a judge says."""

import pytest

from bench.pair_set import INCIDENT, load
from hygiene.judge import Statement
from memory.conflict.coverage import (
    MOST_TOLD,
    changed_values,
    lost_with_duplicate,
    lost_with_replaced,
    uncovered,
)

pytestmark = pytest.mark.rule("PO-11")


def test_one_value_may_change():
    assert lost_with_replaced("The API listens on 8080.", "The API listens on 9090.") == ()


def test_what_stood_beside_the_value_may_not_go():
    lost = lost_with_replaced(
        "The API listens on 8080, its config is /etc/api.toml.", "The API listens on 9090."
    )

    assert set(lost) == {"8080", "/etc/api.toml"}


def test_another_command_is_no_new_value_of_the_old_one():
    lost = lost_with_replaced(
        "If it hangs, run `kill -USR1 7`.", "The service is restarted with `systemctl restart x`."
    )

    assert lost


def test_a_number_inside_a_lost_command_is_told_with_the_command():
    assert lost_with_replaced("Run `ss -tnop 5672` first.", "Look at it first.") == (
        "ss -tnop 5672",
    )


def test_the_declared_value_is_what_changed_and_nothing_else():
    older, newer = "Pool of 20 on port 5432.", "Pool of 45 on port 6432."

    assert lost_with_replaced(older, newer, changed=["20"]) == ("5432",)
    assert lost_with_replaced(older, newer, changed=["20", "5432"]) == ()


def test_a_declared_number_is_the_number_with_its_unit_in_the_text():
    assert lost_with_replaced("Kept 14 days.", "Kept 45 days.", changed=["14"]) == ()


@pytest.mark.parametrize(
    ("older", "newer", "changed", "lost"),
    [
        ("Kept 14 days. Retry 14 times.", "Kept 30 days.", ["14"], ("14",)),
        ("Kept 14 days. Retry 14 times.", "Kept 30 days.", ["14 days"], ("14",)),
        ("Retention is 30 days and 30 snapshots are kept.", "60 days.", ["30"], ("30",)),
        ("Timeout 5 s; on failure wait 5 min.", "Timeout 9 s.", ["5 s"], ("5 min",)),
        ("Timeout 5 s; on failure wait 5 min.", "Timeout 9 s.", ["5"], ("5 min",)),
        ("Release on day 3; three approvals are needed.", "On day 4.", ["3"], ("three",)),
        ("Port 80, and 80 again.", "Port 81.", ["80"], ("80",)),
        ("Port 80, and 80 again.", "Port 81.", ["80", "80"], ()),
        ("Kept 14 days.", "Kept 45 days.", ["14 weeks"], ("14 days",)),
    ],
)
def test_a_changed_value_excuses_one_place_and_not_what_has_the_same_number(
    older, newer, changed, lost
):
    assert lost_with_replaced(older, newer, changed=changed) == lost


def test_what_nobody_declared_is_no_excuse_for_two():
    assert lost_with_replaced("On day 3; three approvals.", "On day 4.") == ("3", "three")


def test_a_changed_value_does_not_excuse_the_one_thing_that_is_lost_beside_it():
    older, newer = "Pool of 20, see #4711.", "Pool of 45 (it was 20), see #4712."

    assert lost_with_replaced(older, newer, changed=["20"]) == ("#4711",)


@pytest.mark.rule("WR-10")
def test_a_duplicate_may_lose_nothing_and_deny_nothing():
    assert lost_with_duplicate("Use port 80.", "Port 80 is to be used.") == ()
    assert lost_with_duplicate("Use port 80.", "Use port 81.") == ("80",)
    assert lost_with_duplicate("Use port 80.", "Do not use port 80.")
    assert lost_with_duplicate("Use port 80.", "Use port 80, and 443.") == ("443",)


def test_at_most_so_many_are_told():
    older = " ".join(f"{number}" for number in range(100, 200))

    assert len(lost_with_replaced(older, "none of it")) == MOST_TOLD
    assert len(lost_with_duplicate(older, "none of it")) == MOST_TOLD


@pytest.mark.rule("DE-04")
def test_each_component_of_the_loser_must_stand_in_the_winner():
    loser = [Statement("api.port", "80"), Statement("api.host", "a")]

    assert uncovered(loser, [Statement("api.port", "81")]) == ("api.host",)
    assert uncovered(loser, [Statement("api.port", "81"), Statement("api.host", "a")]) == ()
    assert uncovered([Statement("x", "1"), Statement("x", "2")], [Statement("x", "3")]) == ("x",)
    assert uncovered([], loser) == ()


@pytest.mark.rule("DE-04")
def test_changed_is_what_has_another_value_in_the_winner():
    loser = [
        Statement("a", "1,000"),
        Statement("b", "2"),
        Statement("c", "3"),
        Statement("d", None),
    ]
    winner = [Statement("a", "1000"), Statement("b", "5"), Statement("d", "4")]

    assert changed_values(loser, winner) == ["2"]


@pytest.mark.rule("PO-20")
def test_the_diagnosis_of_the_incident_would_be_missed():
    incident = next(pair for pair in load() if pair.id == INCIDENT)

    lost = lost_with_replaced(incident.older.content, incident.newer.content)

    assert any("ss -tnop" in one for one in lost)
