"""Declared components that contradict each other: judged at once, without any model."""

from itertools import permutations

import pytest

from tests.judging import branch, conflicts, live, lost, records, stating, work
from tests.memories import (
    commands,
    done,
    posting,
    remember,
    replacing,
    row,
    seen,
    together,
)

pytestmark = pytest.mark.rule("DE-04")


@pytest.mark.rule("PO-07", "PO-10", "DE-07", "field-fault-17", "field-fault-19")
def test_the_higher_level_wins_whichever_is_newer(office):
    senior = branch(office.senior, "main")
    answer = branch(office.contractor, "release", valid_from="2031-01-01T00:00:00Z")

    (conflict,) = answer["conflicts"]
    assert conflict["kind"] == "contradiction"
    assert (conflict["resolution"], conflict["resolved_by"]) == ("authority", "policy")
    assert conflict["winner"] == senior["memory_id"]
    assert (conflict["memory_a"], conflict["memory_b"]) == (
        answer["memory_id"],
        senior["memory_id"],
    )
    assert (conflict["level_a"], conflict["level_b"]) == (10, 30)
    assert conflict["dissent_retained"] is True
    assert conflict["verdict"]["confidence"] == 1.0
    assert (answer["memory"]["lifecycle"], answer["superseded"]) == ("superseded", [])
    assert answer["memory"]["superseded_by"] == senior["memory_id"]
    newest = branch(office.colleague, "trunk")
    assert newest["superseded"] == [senior["memory_id"]]
    assert newest["conflicts"][0]["resolution"] == "recency"


@pytest.mark.rule("PO-07", "field-fault-14", "field-fault-16", "T213")
def test_repeating_it_in_any_words_changes_nothing(office):
    said = branch(office.senior, "main")["memory_id"]

    for words in (
        "It is release.",
        "No, release!",
        "Release, I tell you.",
        "As of now it is release.",
    ):
        answer = branch(office.agent2, "release", content=words)
        assert answer["memory"]["lifecycle"] == "superseded"
        assert answer["conflicts"][0]["winner"] == said

    assert seen(office.viewer, said)["lifecycle"] == "live"
    recalled = done(office.viewer.post("/recall", {"query": "which branch?", "project": "apollo"}))
    assert [one["memory_id"] for one in recalled["results"]] == [said]


@pytest.mark.rule("PO-09")
def test_the_same_author_says_it_anew_and_the_newer_wins(office):
    old = branch(office.contractor, "main")["memory_id"]
    answer = branch(office.contractor, "release")

    (conflict,) = answer["conflicts"]
    assert (conflict["kind"], conflict["resolution"]) == ("stale", "recency")
    assert conflict["verdict"]["relation"] == "a_supersedes_b"
    assert answer["superseded"] == [old]


@pytest.mark.rule("PO-09")
def test_a_repeat_that_states_more_is_told_from_its_own_side(office):
    old = remember(office.senior, "Deploys are easy.", project="apollo")["memory_id"]
    new = branch(office.senior, "release")["memory_id"]

    again = branch(office.senior, "main", content="Deploys are easy.", tags=["deploy"])

    assert (again["absorbed"], again["memory_id"]) == (True, old)
    (conflict,) = again["conflicts"]
    assert conflict["verdict"]["relation"] == "b_supersedes_a"
    assert (conflict["memory_a"], conflict["winner"]) == (old, new)
    assert again["memory"]["lifecycle"] == "superseded"


@pytest.mark.rule("field-fault-13")
def test_several_values_of_a_subject_never_clash(office):
    for value in ("amd64", "arm64"):
        answer = remember(
            office.senior,
            f"We build for {value}.",
            project="apollo",
            components=stating("build.arch", value, multi=True),
        )
        assert answer["conflicts"] == []
    single = remember(
        office.colleague,
        "We build for riscv64.",
        project="apollo",
        components=stating("build.arch", "riscv64"),
    )
    assert single["conflicts"] == []


@pytest.mark.parametrize("value", ["Main ", "main"])
def test_values_are_compared_as_they_are_meant(office, value):
    branch(office.senior, "main", components=stating("deploy.branch", "main"))
    assert branch(office.colleague, value, content="It is main.")["conflicts"] == []


@pytest.mark.rule("PO-05")
@pytest.mark.parametrize("value", ["unknown", "not develop", "main or develop", "main (staging)"])
def test_a_value_that_does_not_rule_out_the_other_retires_nobody_at_once(office, value):
    said = branch(office.senior, "main")["memory_id"]

    answer = branch(office.senior, value)

    assert (answer["conflicts"], answer["superseded"]) == ([], [])
    assert [one["memory_id"] for one in answer["conflict_candidates"]] == [said]
    assert seen(office.viewer, said)["lifecycle"] == "live"


def test_another_project_is_another_thing(office):
    branch(office.reviewer, "main")
    answer = branch(office.reviewer, "release", project="hermes")
    assert (answer["conflicts"], answer["superseded"]) == ([], [])


@pytest.mark.rule("PO-11", "field-fault-20", "field-fault-25")
def test_what_states_more_than_the_winner_is_left_to_people(office):
    old = remember(
        office.senior,
        "Deploys go out from main at noon.",
        project="apollo",
        components=[*stating("deploy.branch", "main"), *stating("deploy.hour", "noon")],
    )["memory_id"]

    answer = branch(office.colleague, "release")

    (conflict,) = answer["conflicts"]
    assert (conflict["state"], conflict["resolution"]) == ("pending", None)
    assert conflict["recommended_winner"] == answer["memory_id"]
    assert conflict["missing_specifics"]
    assert live(office.viewer, [old, answer["memory_id"]]) == [old, answer["memory_id"]]
    assert seen(office.viewer, old)["disputed"] is True


@pytest.mark.rule("PO-01")
@pytest.mark.parametrize("kind", ["gotcha", "convention", "decision", "preference"])
def test_a_protected_one_never_loses(office, kind):
    old = branch(office.contractor, "main", kind=kind)["memory_id"]
    answer = branch(office.senior, "release")

    (conflict,) = answer["conflicts"]
    assert (conflict["state"], conflict["recommended_winner"]) == ("pending", answer["memory_id"])
    assert seen(office.viewer, old)["lifecycle"] == "live"


@pytest.mark.rule("PO-02", "PO-03")
def test_captures_give_way_whatever_they_are(office):
    first = branch(office.watcher, "main", kind="decision")["memory_id"]
    second = branch(office.watcher, "release")
    assert second["superseded"] == [first]
    deliberate = branch(office.contractor, "trunk")
    assert deliberate["superseded"] == [second["memory_id"]]
    assert deliberate["conflicts"][0]["resolution"] == "authority"
    assert branch(office.watcher, "dev")["memory"]["lifecycle"] == "superseded"


@pytest.mark.rule("PO-09", "PO-02")
def test_a_capture_that_lost_does_not_count_against_its_sponsor(office):
    said = branch(office.colleague, "main")["memory_id"]
    assert branch(office.watcher, "dev")["memory"]["lifecycle"] == "superseded"

    assert branch(office.senior, "release")["superseded"] == [said]


@pytest.mark.rule("SU-10", "field-fault-2")
def test_what_may_not_be_declared_goes_the_ordinary_way(office):
    said = branch(office.senior, "main")["memory_id"]

    answer = branch(office.contractor, "release", links=replacing(said))

    assert answer["skipped"] == [{"id": said, "reason": "insufficient_authority"}]
    assert [one["winner"] for one in answer["conflicts"]] == [said]
    assert answer["memory"]["links"] == [] or all(
        link["src"] == said for link in answer["memory"]["links"]
    )
    assert seen(office.viewer, said)["lifecycle"] == "live"


@pytest.mark.rule("SU-03", "PO-14")
def test_what_was_declared_is_not_judged(office):
    old = branch(office.senior, "main", kind="decision")["memory_id"]
    answer = branch(office.senior, "release", links=replacing(old))
    assert (answer["superseded"], answer["conflicts"]) == ([old], [])
    assert work(office) == 0
    assert records(office) == 0


@pytest.mark.rule("DE-08", "DE-06")
def test_a_private_one_is_disputed_and_only_its_owner_knows(office):
    own = branch(office.senior, "main", visibility="private")["memory_id"]
    shown = branch(office.senior, "release")

    (conflict,) = shown["conflicts"]
    assert (conflict["state"], conflict["memory_b"]) == ("pending", own)
    assert [one["id"] for one in conflicts(office.senior)] == [conflict["id"]]
    assert conflicts(office.colleague) == []
    assert office.colleague.get(f"/conflicts/{conflict['id']}").status_code == 404
    memory = seen(office.colleague, shown["memory_id"])
    assert (memory["disputed"], memory["dispute_id"]) == (False, None)
    # Nor does the history tell that there is something.
    assert commands(office.colleague, shown["memory_id"]) == ["remember"]
    assert commands(office.senior, shown["memory_id"]) == ["remember", "open_dispute"]


@pytest.mark.rule("DE-08")
def test_nothing_is_found_that_is_out_of_sight(office):
    branch(office.colleague, "main", visibility="private")
    answer = branch(office.senior, "release")
    assert (answer["conflict_candidates"], answer["candidates_omitted"]) == ([], 0)
    assert (answer["conflicts"], answer["superseded"]) == ([], [])


@pytest.mark.rule("DE-09")
def test_who_loses_supersedes_nobody(office):
    weak = branch(office.agent2, "main")["memory_id"]
    strong = branch(office.senior, "main", content="Main is what is deployed.")["memory_id"]

    answer = branch(office.contractor, "release")

    assert answer["memory"]["superseded_by"] == strong
    assert [one["winner"] for one in answer["conflicts"]] == [strong]
    assert answer["superseded"] == []
    assert live(office.viewer, [weak, strong]) == [weak, strong]


@pytest.mark.rule("DE-09", "RE-03")
def test_all_who_beat_it_are_settled_with_it(office):
    strong = branch(office.senior, "main")["memory_id"]
    also = branch(office.colleague, "main", content="Main is what is deployed.")["memory_id"]
    loser = branch(office.contractor, "release")
    assert {one["winner"] for one in loser["conflicts"]} == {strong, also}
    done(office.agent.post(f"/memories/{loser['memory_id']}/restore"))

    for person, content in (
        (office.senior, "Deploys go out from main."),
        (office.colleague, "Main is what is deployed."),
    ):
        assert branch(person, "main", content=content)["absorbed"]

    assert seen(office.viewer, loser["memory_id"])["lifecycle"] == "live"


@pytest.mark.rule("DE-09", "PO-07", "PO-08", "PO-10")
@pytest.mark.parametrize("order", list(permutations(range(4)))[::4])
def test_in_whatever_order_they_come_the_highest_and_newest_is_left(office, order):
    lead = office.person(
        "lead", level=40, grants=[(office.apollo, ("see_project", "write_project"))]
    )
    cast = [
        (lead, "main"),
        (office.senior, "release"),
        (office.contractor, "trunk"),
        (office.colleague, "dev"),
    ]
    ids = {index: branch(*cast[index])["memory_id"] for index in order}

    assert live(office.viewer, list(ids.values())) == [ids[0]]


@pytest.mark.rule("DE-09", "PO-08")
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_among_equals_the_last_one_is_left(office, order):
    cast = [
        (office.senior, "main"),
        (office.colleague, "release"),
        (office.contractor, "trunk"),
    ]
    ids = {index: branch(*cast[index])["memory_id"] for index in order}

    newest = [index for index in order if index != 2][-1]
    assert live(office.viewer, list(ids.values())) == [ids[newest]]


@pytest.mark.rule("DE-04", "T143")
@pytest.mark.parametrize("turn", range(3))
def test_two_at_once_see_each_other(office, turn):
    bodies = [
        {
            "content": f"Deploys go out from {value}, {turn}.",
            "project": "apollo",
            "components": stating("deploy.branch", value),
        }
        for value in ("main", "release")
    ]
    answers = [
        done(answer)
        for answer in together(
            posting(office.senior, "/memories", bodies[0]),
            posting(office.colleague, "/memories", bodies[1]),
        )
    ]
    ids = [answer["memory_id"] for answer in answers]
    newest = max(ids, key=lambda one: row(one).sequence)
    assert sum(len(answer["conflicts"]) for answer in answers) == 1
    assert live(office.viewer, ids) == [newest]
    assert len(lost(office.viewer)) == 1
