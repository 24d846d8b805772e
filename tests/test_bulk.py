"""Deciding many disputes at once."""

from itertools import product
from typing import Any

import pytest
from django.db.models.functions import Now

from memory.models import Conflict, Memory
from tests.disputes import (
    ONE,
    conflict_row,
    disputed_pair,
    kept_in,
    of,
    reopened,
    resolve,
    undo,
)
from tests.memories import MISSING, done, kept, posting, refused, row, seen, together
from tests.people import REVIEW
from tests.test_query_budget import counted
from tests.test_undo import stored

pytestmark = pytest.mark.rule("DI-11")

NO_DISPUTE = "cfl_01h455vb4pex5vsknk084sn02q"


def bulk(person, **said):
    return person.post("/conflicts/resolve", said)


def pairs(office, number):
    """Return so many disputes about pairs, each with its earlier and its later side."""
    made = [
        disputed_pair(office, f"Host {turn} listens on 5432.", f"Host {turn} takes port 5433.")
        for turn in range(number)
    ]
    return [(dispute, one, other) for one, other, dispute in made]


def challenged(office):
    memory = kept(office.senior, f"{ONE} Or so.", project="apollo")
    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "no"}))
    return memory, told["dispute_id"]


def lives(*ids):
    return [row(one).lifecycle == "live" for one in ids]


@pytest.mark.parametrize(
    ("policy", "expected", "resolution"),
    [
        ("newest_wins", [False, True], "manual"),
        ("oldest_wins", [True, False], "manual"),
        ("keep_both", [True, True], "keep_both"),
    ],
)
def test_a_policy_decides_all_pairs_in_sight(office, policy, expected, resolution):
    made = pairs(office, 3)

    told = done(bulk(office.reviewer, policy=policy, note="spring clean"))

    assert told["counts"] == {"resolved": 3, "untouched": 0, "failed": 0}
    assert (told["left"], told["dry_run"]) == (0, False)
    for dispute, one, other in made:
        assert lives(one, other) == expected
        conflict = done(office.senior.get(f"/conflicts/{dispute}"))
        assert (conflict["state"], conflict["resolution"]) == ("resolved", resolution)
        assert (conflict["batch"], conflict["note"]) == (told["batch"], "spring clean")
        assert conflict["resolved_by"] == of(office.reviewer)


@pytest.mark.rule("RE-06")
@pytest.mark.parametrize("policy", ["newest_wins", "oldest_wins", "keep_both"])
def test_the_whole_is_undone_in_one_call(office, policy):
    made = pairs(office, 3)
    before = stored(office)
    batch = done(bulk(office.reviewer, policy=policy))["batch"]

    answer = done(undo(office.senior, batch))

    assert [one["outcome"] for one in answer["items"]] == ["reopened"] * 3
    assert stored(office) == before
    assert {conflict_row(dispute).state for dispute, _, _ in made} == {"pending"}


@pytest.mark.parametrize("policy", ["newest_wins", "oldest_wins", "keep_both"])
def test_a_dry_run_tells_the_same_and_changes_nothing(office, policy):
    pairs(office, 2)
    challenged(office)
    before = stored(office)

    dry = done(bulk(office.reviewer, policy=policy, dry_run=True))

    assert (dry["dry_run"], dry["batch"]) == (True, None)
    assert stored(office) == before
    wet = done(bulk(office.reviewer, policy=policy))
    assert wet["items"] == dry["items"]
    assert wet["counts"] == dry["counts"]


@pytest.mark.rule("DI-06")
@pytest.mark.parametrize("policy", ["newest_wins", "oldest_wins"])
def test_single_subjects_are_untouched_by_winner_policies(office, policy):
    memory, dispute = challenged(office)
    ((pair, _, _),) = pairs(office, 1)

    told = done(bulk(office.reviewer, policy=policy))
    assert [one["dispute_id"] for one in told["items"]] == [pair]
    told = done(bulk(office.reviewer, policy=policy, filter={"kind": "challenged"}))

    assert [(one["dispute_id"], one["outcome"]) for one in told["items"]] == [
        (dispute, "untouched")
    ]
    assert (told["batch"], row(memory).lifecycle) == (None, "live")
    assert conflict_row(dispute).state == "pending"


def test_keeping_both_upholds_single_subjects_where_they_are_asked_for(office):
    memory, dispute = challenged(office)

    assert done(bulk(office.reviewer, policy="keep_both"))["items"] == []
    done(bulk(office.reviewer, policy="keep_both", filter={"kind": "challenged"}))

    assert conflict_row(dispute).resolution == "keep_both"
    assert row(memory).lifecycle == "live"


@pytest.mark.rule("RE-03")
@pytest.mark.parametrize("policy", ["newest_wins", "oldest_wins"])
def test_both_stay_where_a_person_has_brought_a_side_back(office, policy):
    ((dispute, one, other),) = pairs(office, 1)
    done(office.senior.post(f"/memories/{other}/forget", {"reason": "x"}))
    done(office.senior.post(f"/memories/{other}/restore"))
    reopened(dispute)

    (item,) = done(bulk(office.reviewer, policy=policy))["items"]

    assert (item["outcome"], item["resolution"], item["retired"]) == ("resolved", "keep_both", [])
    assert lives(one, other) == [True, True]


@pytest.mark.parametrize(
    ("narrowing", "found"),
    [
        ({"project": "apollo"}, 2),
        ({"project": "hermes"}, 0),
        ({"kind": "contradiction"}, 2),
        ({"kind": "stale"}, 0),
        ({"verdict": "contradiction"}, 2),
        ({"verdict": "duplicate"}, 0),
        ({"memory": "the first"}, 1),
        ({"project": "apollo", "kind": "contradiction"}, 2),
        ({}, 2),
    ],
    ids=str,
)
def test_a_filter_narrows_it(office, narrowing, found):
    made = pairs(office, 2)
    said = {
        name: made[0][1] if value == "the first" else value for name, value in narrowing.items()
    }

    told = done(bulk(office.reviewer, policy="keep_both", filter=said))

    assert told["counts"]["resolved"] == found


def later(office, dispute):
    return done(
        office.reviewer.post(f"/conflicts/{dispute}/defer", {"until": "2031-01-01T00:00:00Z"})
    )


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_put_off_is_left_to_its_time(office, dry_run):
    (put_off, one, other), (waiting, *_) = pairs(office, 2)
    later(office, put_off)

    told = done(bulk(office.reviewer, policy="newest_wins", dry_run=dry_run))

    assert [item["dispute_id"] for item in told["items"]] == [waiting]
    assert (told["left"], told["deferred"]) == (0, 1)
    assert (conflict_row(put_off).state, lives(one, other)) == ("pending", [True, True])


@pytest.mark.parametrize("asked", ["deferred", "disputes", "resolutions"])
def test_what_is_put_off_is_decided_where_it_is_asked_for(office, asked):
    (put_off, one, other), (waiting, *_) = pairs(office, 2)
    later(office, put_off)
    ways: dict[str, dict[str, Any]] = {
        "deferred": {"policy": "newest_wins", "filter": {"deferred": True}},
        "disputes": {"policy": "newest_wins", "filter": {"disputes": [put_off]}},
        "resolutions": {"resolutions": [{"dispute_id": put_off, "winner": other}]},
    }

    told = done(bulk(office.reviewer, **ways[asked]))

    assert [item["dispute_id"] for item in told["items"]] == [put_off]
    assert (told["deferred"], lives(one, other)) == (0, [False, True])
    assert conflict_row(waiting).state == "pending"


def test_what_was_put_off_is_decided_when_its_time_has_come(office):
    ((dispute, one, other),) = pairs(office, 1)
    later(office, dispute)
    Conflict.objects.using("owner").filter(id=conflict_row(dispute).id).update(deferred_until=Now())

    told = done(bulk(office.reviewer, policy="newest_wins", filter={"deferred": False}))

    assert (told["counts"]["resolved"], lives(one, other)) == (1, [False, True])


def test_a_list_says_each_by_itself(office):
    (a, a1, a2), (b, b1, b2), (c, c1, c2) = pairs(office, 3)
    memory, alone = challenged(office)

    told = done(
        bulk(
            office.reviewer,
            resolutions=[
                {"dispute_id": a, "winner": a1, "note": "its own"},
                {"dispute_id": b, "keep_both": True},
                {"dispute_id": c, "merge": {"content": "The merged text."}},
                {"dispute_id": alone, "retire": True},
            ],
            note="for all",
        )
    )

    assert [one["outcome"] for one in told["items"]] == ["resolved"] * 4
    assert [one["dispute_id"] for one in told["items"]] == [a, b, c, alone]
    assert lives(a1, a2, b1, b2, c1, c2, memory) == [True, False, True, True, False, False, False]
    assert [conflict_row(each).note for each in (a, b)] == ["its own", "for all"]
    merged = seen(office.senior, c1)["superseded_by"]
    assert seen(office.senior, c2)["superseded_by"] == merged
    assert seen(office.senior, merged)["content"] == "The merged text."
    assert {str(conflict_row(each).batch_id) for each in (a, b, c, alone)} == {
        str(conflict_row(a).batch_id)
    }


@pytest.mark.rule("RE-06")
def test_a_list_with_a_merge_is_undone_exactly(office):
    (a, a1, _), (b, _, _) = pairs(office, 2)
    memory, alone = challenged(office)
    before = stored(office)
    told = done(
        bulk(
            office.reviewer,
            resolutions=[
                {"dispute_id": a, "winner": a1},
                {"dispute_id": b, "merge": {"content": "The merged text."}},
                {"dispute_id": alone, "retire": True},
            ],
        )
    )

    done(undo(office.reviewer, told["batch"]))

    memories, links, settled = stored(office)
    new = set(memories) - set(before[0])
    assert [memories.pop(one)["invalidated_reason"] for one in new] == ["forgotten"]
    assert (memories, links, settled) == before
    assert row(memory).lifecycle == "live"


@pytest.mark.rule("T209", "DI-05")
def test_what_fails_is_told_and_stops_nothing_else(office, other_office):
    (stale, _, _), (good, one, other), (wrong, _, _), (twice, _, _) = pairs(office, 4)
    (foreign, _, _) = pairs(other_office, 1)[0]
    _, alone = challenged(office)
    done(resolve(office.senior, stale, keep_both=True))

    told = done(
        bulk(
            office.reviewer,
            resolutions=[
                {"dispute_id": stale, "keep_both": True},
                {"dispute_id": wrong, "winner": MISSING},
                {"dispute_id": wrong, "keep_both": True},
                {"dispute_id": alone, "merge": {"content": "No."}},
                {"dispute_id": foreign, "keep_both": True},
                {"dispute_id": NO_DISPUTE, "keep_both": True},
                {"dispute_id": twice, "keep_both": True, "winner": one},
                {"dispute_id": good, "winner": other},
            ],
        )
    )

    assert [(each["outcome"], each["code"]) for each in told["items"]] == [
        ("failed", "already_resolved"),
        ("failed", "validation_failed"),
        ("failed", "validation_failed"),
        ("failed", "validation_failed"),
        ("failed", "not_found"),
        ("failed", "not_found"),
        ("failed", "validation_failed"),
        ("resolved", None),
    ]
    assert all(each["detail"] for each in told["items"][:-1])
    assert of(office.senior) in told["items"][0]["detail"]
    assert lives(one, other) == [False, True]
    assert {conflict_row(each).state for each in (wrong, alone, twice)} == {"pending"}
    assert conflict_row(stale).batch_id != conflict_row(good).batch_id


def test_a_merge_that_fails_leaves_nothing_behind(office):
    """Who reviews and does not write merges nothing, and the others are decided all the same."""
    (a, _, _), (b, b1, b2) = pairs(office, 2)
    judge = office.person("judging", grants=[(office.apollo, ("see_project", "review_project"))])
    before = Memory.objects.using("owner").filter(tenant=office.tenant).count()

    told = done(
        bulk(
            judge,
            resolutions=[
                {"dispute_id": a, "merge": {"content": "Merged."}},
                {"dispute_id": b, "winner": b1},
            ],
        )
    )

    assert [each["outcome"] for each in told["items"]] == ["failed", "resolved"]
    assert told["items"][0]["code"] == "forbidden"
    assert Memory.objects.using("owner").filter(tenant=office.tenant).count() == before
    assert lives(b1, b2) == [True, False]
    assert conflict_row(a).state == "pending"


@pytest.mark.parametrize("policy", ["newest_wins", "oldest_wins"])
def test_versions_of_one_thing_become_one_chain(office, policy):
    first, second, third = (kept(office.senior, f"Port {n}.", project="apollo") for n in range(3))
    for one, other in ((second, first), (third, second), (third, first)):
        kept_in(office, one, other)

    told = done(bulk(office.reviewer, policy=policy))

    assert told["counts"]["resolved"] == 2
    moot = [each for each in told["items"] if each["outcome"] == "failed"]
    assert [each["code"] for each in moot] == ["already_resolved"]
    ends = [first, second, third] if policy == "newest_wins" else [third, second, first]
    assert lives(*ends) == [False, False, True]
    assert row(ends[0]).superseded_by_id == row(ends[1]).id
    assert row(ends[1]).superseded_by_id == row(ends[2]).id
    states = Conflict.objects.using("owner").filter(tenant=office.tenant)
    assert sorted(states.values_list("state", flat=True)) == ["moot", "resolved", "resolved"]
    before = {first, second, third}
    done(undo(office.reviewer, told["batch"]))
    assert lives(*before) == [True] * 3
    assert set(states.values_list("state", flat=True)) == {"pending"}


@pytest.mark.rule("WR-12")
@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({}, ["policy", "resolutions"]),
        ({"policy": "keep_both", "resolutions": []}, ["policy", "resolutions"]),
        ({"policy": "best_wins"}, ["policy"]),
        ({"policy": "keep_both", "filter": {"owner": "x"}}, ["filter.owner"]),
        ({"policy": "keep_both", "filter": {"kind": "x"}}, ["filter.kind"]),
        ({"policy": "keep_both", "filter": {"project": "prj_x"}}, ["filter.project"]),
        ({"policy": "keep_both", "filter": {"memory": "x"}}, ["filter.memory"]),
        ({"policy": "keep_both", "filter": {"project": "nope"}}, ["filter.project"]),
        ({"resolutions": [], "filter": {}}, ["filter"]),
        ({"resolutions": [{"keep_both": True}]}, ["resolutions[0].dispute_id"]),
        ({"resolutions": [{"dispute_id": "mem_1"}]}, ["resolutions[0].dispute_id"]),
        ({"resolutions": [{"dispute_id": NO_DISPUTE, "x": 1}]}, ["resolutions[0].x"]),
        (
            {"resolutions": [{"dispute_id": NO_DISPUTE, "keep_both": True}] * 101},
            ["resolutions"],
        ),
        ({"policy": "keep_both", "dry_run": "yes"}, ["dry_run"]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_wrong_forms_are_refused_by_field(office, said, fields):
    ((dispute, _, _),) = pairs(office, 1)

    problem = refused(bulk(office.reviewer, **said), 400, "validation_failed")

    assert [error["field"] for error in problem["errors"]] == fields
    assert conflict_row(dispute).state == "pending"


@pytest.mark.rule("WR-11")
def test_a_secret_anywhere_is_refused(office):
    ((dispute, _, _),) = pairs(office, 1)
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

    for said in (
        {"policy": "keep_both", "note": secret},
        {"resolutions": [{"dispute_id": dispute, "keep_both": True, "note": secret}]},
        {"resolutions": [{"dispute_id": dispute, "merge": {"content": secret}}]},
    ):
        refused(bulk(office.reviewer, **said), 422, "secret_content_rejected")
    assert conflict_row(dispute).state == "pending"


@pytest.mark.rule("DI-12", "VI-04", "DI-10")
def test_only_what_the_caller_reviews_is_decided(office, other_office):
    ((dispute, one, other),) = pairs(office, 1)

    refused(bulk(office.viewer, policy="keep_both"), 403, "insufficient_scope")
    for person in (office.outsider, office.admin, other_office.senior):
        assert done(bulk(person, policy="newest_wins"))["items"] == []
    (item,) = done(bulk(office.colleague, policy="newest_wins"))["items"]

    assert (item["outcome"], item["code"]) == ("failed", "forbidden")
    assert lives(one, other) == [True, True]
    assert conflict_row(dispute).state == "pending"


@pytest.mark.rule("DI-12", "field-fault-15")
def test_an_agent_is_told_what_it_may_not_decide_and_does_the_rest(office):
    sponsor = office.person("sponsor", grants=[(office.apollo, REVIEW)])
    agent = office.bot("triage", sponsor, scopes=list(sponsor.caller.scopes))
    own = kept(agent, ONE, project="apollo")
    mine = kept_in(office, own, kept(office.senior, "Another.", project="apollo"))
    ((theirs, _, _),) = pairs(office, 1)

    told = done(bulk(agent, policy="keep_both"))

    outcomes = {one["dispute_id"]: (one["outcome"], one["code"]) for one in told["items"]}
    assert outcomes == {mine: ("failed", "forbidden"), theirs: ("resolved", None)}


@pytest.mark.rule("T209")
def test_a_hundred_cost_hardly_more_statements_than_one(office):
    made = pairs(office, 100)
    one: list[int] = []
    many: list[int] = []
    with counted(one):
        done(bulk(office.reviewer, resolutions=[{"dispute_id": made[0][0], "winner": made[0][1]}]))

    with counted(many):
        told = done(
            bulk(
                office.reviewer,
                resolutions=[
                    {"dispute_id": dispute, "winner": first, "note": f"{turn}"}
                    for turn, (dispute, first, _) in enumerate(made[1:])
                ],
            )
        )

    assert told["counts"]["resolved"] == 99
    assert many == one
    assert one[0] <= 18
    undoing: list[int] = []
    with counted(undoing):
        assert done(undo(office.reviewer, told["batch"]))["undone"] == 99
    assert undoing[0] <= 24


@pytest.mark.rule("T148", "DI-05")
def test_two_bulks_at_once_decide_each_dispute_once(office):
    made = pairs(office, 6)

    answers = together(
        posting(office.reviewer, "/conflicts/resolve", {"policy": "newest_wins"}),
        posting(office.senior, "/conflicts/resolve", {"policy": "oldest_wins"}),
    )

    told = [done(one) for one in answers]
    assert sum(one["counts"]["resolved"] for one in told) == 6
    for dispute, one, other in made:
        assert sorted(lives(one, other)) == [False, True]
        assert conflict_row(dispute).state == "resolved"


def sharing(office):
    """Return three disputes about one memory and others: two about a pair, and one about it."""
    one, other, third = (
        kept(office.senior, f"The gateway listens on {port}.", project="apollo")
        for port in (7001, 7002, 7003)
    )
    told = done(office.colleague.post(f"/memories/{one}/challenge", {"reason": "no"}))
    return {
        "first": (kept_in(office, one, other), other, one),
        "second": (kept_in(office, third, one), third, one),
        "alone": (told["dispute_id"], None, one),
    }


def said_of(dispute, how):
    """Return the decision in a list's words."""
    dispute_id, other, shared = dispute
    return {"dispute_id": dispute_id} | {
        "shared wins": {"winner": shared},
        "other wins": {"winner": other},
        "keep both": {"keep_both": True},
        "merge": {"merge": {"content": f"Merged out of {dispute_id}."}},
        "retire": {"retire": True},
    }[how]


OF_A_PAIR = ("shared wins", "other wins", "keep both", "merge")
OF_ONE = ("keep both", "retire")


@pytest.mark.rule("RE-06", "T209")
@pytest.mark.parametrize(
    "which", [("first", "second"), ("second", "first"), ("first", "alone"), ("alone", "first")]
)
def test_disputes_that_share_a_side_are_decided_as_the_dry_run_says(office, which):
    disputes = sharing(office)
    before = stored(office)
    ways = product(*(OF_ONE if one == "alone" else OF_A_PAIR for one in which))
    for hows in ways:
        listed = [said_of(disputes[one], how) for one, how in zip(which, hows, strict=True)]
        dry = done(bulk(office.reviewer, resolutions=listed, dry_run=True))

        wet = done(bulk(office.reviewer, resolutions=listed))

        outcomes = [one["outcome"] for one in wet["items"]]
        assert outcomes == [one["outcome"] for one in dry["items"]], hows
        states = [conflict_row(one["dispute_id"]).state for one in listed]
        assert states == ["resolved" if one == "resolved" else "moot" for one in outcomes], hows
        done(undo(office.reviewer, wet["batch"]))
        memories, links, settled = stored(office)
        for new in set(memories) - set(before[0]):
            assert memories.pop(new)["invalidated_reason"] == "forgotten", hows
        assert (memories, links, settled) == before, hows
