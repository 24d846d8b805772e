"""What a sweep brings to an end for a day to come is undone with it, as all else that it did."""

import pytest
from django.db import connection

from hygiene import health
from hygiene.judge import Said
from memory.conflict import act
from tenants.caller import Role
from tenants.context import acting_as
from tests.disputes import undo
from tests.judging import live, work
from tests.memories import commands, done, kept, refused, row, seen
from tests.test_beginnings import COMING, day_comes, first, moves, worker_comes
from tests.test_health import alarming
from tests.test_shown_later import none_left, show, states
from tests.test_sweep import PORTS, judge, swept, written

__all__ = ["judge"]

pytestmark = pytest.mark.rule("RE-06", "PO-10", "JU-08")

END = "2099-01-01T00:00:00.000000Z"


def by_value(office, judge):
    """Return two memories that state another value, and that nothing has compared."""
    now = states(office.senior, "main", visibility="private", content="We ship at noon.")
    later = states(
        office.colleague, "release", valid_from=COMING, content="Bob built the pipeline himself."
    )
    show(office.senior, now)
    none_left(office)
    return now, later


def by_verdict(office, judge):
    judge.relation, judge.confidence = Said.B_SUPERSEDES_A, 1.0
    (now,) = written(office.senior, PORTS[0])
    (later,) = written(office.senior, PORTS[1], valid_from=COMING)
    return now, later


@pytest.fixture(params=[by_value, by_verdict])
def ending(office, judge, request):
    """A sweep by which one is to end as the other begins, and the two."""
    now, later = request.param(office, judge)
    told = swept(office.senior)
    assert seen(office.viewer, now)["valid_until"] == END
    return told, now, later


def test_the_end_is_taken_back(office, ending):
    told, now, later = ending

    answer = done(undo(office.senior, told["id"]))

    assert [(one["memory"], one["other"], one["outcome"]) for one in answer["items"]] == [
        (now, later, "restored")
    ]
    assert seen(office.viewer, now)["valid_until"] is None
    assert commands(office.viewer, now)[-1] == "take_back_end"
    # And for good: on the day nothing happens.
    day_comes(later)
    worker_comes(office)
    assert live(office.viewer, [now, later]) == [now, later]


def test_what_came_of_it_on_the_day_is_undone_as_well(office, ending):
    told, now, later = ending
    day_comes(later)
    worker_comes(office)
    assert seen(office.viewer, now)["superseded_by"] == later

    answer = done(undo(office.senior, told["id"]))

    assert [one["outcome"] for one in answer["items"]] == ["restored"]
    assert live(office.viewer, [now, later]) == [now, later]


def test_who_does_not_decide_about_it_takes_nothing_back(office, ending):
    told, now, _later = ending

    answer = done(undo(office.colleague, told["id"]))

    assert {one["outcome"] for one in answer["items"]} == {"not_allowed"}
    assert seen(office.viewer, now)["valid_until"] == END
    refused(undo(office.outsider, told["id"]), 404, "not_found")


@pytest.mark.rule("DI-12", "VI-01")
@pytest.mark.parametrize(
    ("person", "may"),
    [("senior", True), ("reviewer", True), ("colleague", False), ("agent", False)],
)
def test_in_the_database_too_only_who_decides_takes_it_back(office, person, may):
    now = first(office)
    moves(office.senior)
    caller = getattr(office, person).caller.as_role(Role.REVIEWER)

    with acting_as(caller), connection.cursor() as cursor:
        cursor.execute("SELECT take_back_end(%s)", [row(now).id])

    assert (row(now).valid_until is None) is may


@pytest.mark.rule("DE-09")
def test_it_ends_from_whichever_side_the_two_are_met(office):
    now = first(office)
    done(office.senior.post(f"/memories/{now}/forget", {"reason": "A mistake."}))
    later = moves(office.senior)["memory_id"]

    # Not by a person: what they bring back no machine brings to an end.
    done(office.agent.post(f"/memories/{now}/restore"))
    work(office)

    assert seen(office.viewer, now)["valid_until"] == END
    assert row(now).ends_with_id == row(later).id


@pytest.mark.rule("JU-08", "HI-03")
def test_what_is_to_end_already_is_not_brought_to_it_again(office):
    now = first(office)
    moves(office.senior)
    before = row(now)

    assert moves(office.senior)["absorbed"]

    assert (row(now).version, row(now).end_set_at) == (before.version, before.end_set_at)
    assert commands(office.viewer, now) == ["remember", "let_it_end"]


@pytest.mark.rule("PO-17", "JU-09")
def test_the_brake_is_an_alarm_also_where_it_counts_what_is_to_end(office, monkeypatch):
    for where in (act, health):
        monkeypatch.setattr(where, "MOST_RETIRED", 1)
        monkeypatch.setattr(where, "MOST_RETIRED_SHARE", 0.0)
    first(office)
    assert "brake_on" not in alarming(office.senior)

    moves(office.senior)

    assert "brake_on" in alarming(office.senior)
    kept(office.senior, "Something else.", project="apollo")
