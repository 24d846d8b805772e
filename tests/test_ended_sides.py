"""What is over, or will be sooner, takes nothing with it that still holds."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Memory
from tests.disputes import conflict_row, disputed_pair, resolve
from tests.judging import lost
from tests.memories import done, kept, refused, remember, row, seen
from tests.test_bulk import bulk, lives

SOON = (timezone.now() + timedelta(days=1)).isoformat()
LATER = (timezone.now() + timedelta(days=9)).isoformat()
TEXT = "The indexer of apollo listens on port 8080."


def over(*memory_ids):
    """Let what holds only for a time have ended by now."""
    ids = [row(one).id for one in memory_ids]
    Memory.objects.using("owner").filter(id__in=ids).update(valid_until=timezone.now())


@pytest.mark.rule("DI-04", "TR-05")
@pytest.mark.parametrize("ended", [0, 1])
def test_a_side_that_has_ended_does_not_win(office, ended):
    *sides, dispute = disputed_pair(office)
    over(sides[ended])

    problem = refused(
        resolve(office.reviewer, dispute, winner=sides[ended]), 400, "validation_failed", "winner"
    )

    assert [error["code"] for error in problem["errors"]] == ["ended"]
    assert lives(*sides) == [True, True]
    done(resolve(office.reviewer, dispute, winner=sides[1 - ended]))
    assert seen(office.viewer, sides[ended])["superseded_by"] == sides[1 - ended]


@pytest.mark.rule("DI-04")
def test_of_two_that_have_ended_one_may_win(office):
    one, other, dispute = disputed_pair(office)
    over(one, other)

    done(resolve(office.reviewer, dispute, winner=other))

    assert lives(one, other) == [False, True]


@pytest.mark.rule("DI-11", "TR-05")
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("policy", "ended", "resolution"),
    [
        ("newest_wins", 1, "keep_both"),
        ("oldest_wins", 0, "keep_both"),
        ("newest_wins", 0, "manual"),
        ("oldest_wins", 1, "manual"),
    ],
)
def test_no_policy_lets_what_has_ended_win(office, policy, ended, resolution, dry_run):
    *sides, dispute = disputed_pair(office)
    over(sides[ended])

    answer = done(bulk(office.reviewer, policy=policy, dry_run=dry_run))

    (item,) = answer["items"]
    assert (item["outcome"], item["resolution"]) == ("resolved", resolution)
    assert row(sides[1 - ended]).lifecycle == "live"
    if not dry_run:
        assert conflict_row(dispute).resolution == resolution


@pytest.mark.rule("PO-06", "PO-11")
@pytest.mark.parametrize(
    ("older", "newer", "missing"),
    [
        ({}, {"valid_until": SOON}, ["valid_until"]),
        ({"valid_until": LATER}, {"valid_until": SOON}, ["valid_until"]),
        ({"valid_until": SOON}, {"valid_until": SOON}, []),
        ({"valid_until": SOON}, {"valid_until": LATER}, []),
        ({"valid_until": SOON}, {}, []),
    ],
)
def test_a_duplicate_that_ends_sooner_is_none(office, older, newer, missing):
    first = kept(office.colleague, TEXT, project="apollo", **older)

    answer = remember(office.senior, TEXT, project="apollo", wait=10, **newer)

    (conflict,) = answer["conflicts"]
    assert conflict["kind"] == "duplicate"
    assert conflict["missing_specifics"] == missing
    assert conflict["state"] == ("pending" if missing else "resolved")
    assert [one["winner"] for one in lost(office.viewer)] == (
        [] if missing else [answer["memory_id"]]
    )
    assert seen(office.viewer, first)["lifecycle"] == ("live" if missing else "superseded")


@pytest.mark.rule("WR-06")
@pytest.mark.parametrize(
    ("there", "said", "absorbed"),
    [
        ({}, {}, True),
        ({}, {"valid_until": SOON}, True),
        ({}, {"valid_from": SOON}, True),
        ({"valid_until": SOON}, {}, False),
        ({"valid_until": SOON}, {"valid_until": LATER}, False),
        ({"valid_until": SOON}, {"valid_until": SOON}, True),
        ({"valid_until": LATER}, {"valid_until": SOON}, True),
        ({"valid_from": SOON}, {}, False),
        ({"valid_from": LATER}, {"valid_from": SOON}, False),
        ({"valid_from": SOON}, {"valid_from": SOON}, True),
        ({"valid_from": SOON}, {"valid_from": LATER}, True),
    ],
)
def test_what_is_said_for_longer_is_no_repeat(office, there, said, absorbed):
    first = kept(office.senior, TEXT, project="apollo", **there)

    answer = remember(office.senior, TEXT, project="apollo", **said)

    assert answer["absorbed"] is absorbed
    if not absorbed:
        over(first)
        found = done(office.viewer.post("/recall", {"query": TEXT}))["results"]
        assert [one["memory_id"] for one in found] == [answer["memory_id"]]
