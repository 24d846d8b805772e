"""Who loses to what was there before has won nothing, in whichever order that is found."""

from itertools import permutations
from typing import Any

import pytest

from hygiene.judge import Said
from tests.judging import branch, certify, conflicts, live, says, stating, work
from tests.memories import commands, done, kept, remember, row, seen
from tests.test_batch_undo import conflicts_of, outcomes, undo
from tests.test_judging import model, server
from tests.test_sweep import judge, swept, written

__all__ = ["judge", "model", "server"]

PORT = "The staging database listens on port 5432."
OTHER = "The staging database listens on port 5433."

pytestmark = pytest.mark.rule("DE-09")


def won_and_lost(office, model, **more):
    """Return what was there twice, and the answer to what beats the one and loses to the other."""
    certify(office)
    says(model, "contradiction", 0.99)
    beaten = branch(office.contractor, "main")["memory_id"]
    stands = kept(office.senior, PORT, project="apollo")
    work(office)
    says(model, "contradiction", 0.99)
    answer = branch(office.contractor, "dev", content=OTHER, **more)
    return beaten, stands, answer


@pytest.mark.parametrize("wait", [0, 10])
def test_what_a_loser_had_won_comes_back(office, model, wait):
    beaten, stands, answer = won_and_lost(office, model, wait=wait)
    assert answer["superseded"] == ([] if wait else [beaten])
    work(office)

    lost = answer["memory_id"]
    assert live(office.senior, [beaten, stands, lost]) == [beaten, stands]
    assert seen(office.senior, lost)["superseded_by"] == stands


def test_the_answer_shows_only_that_it_lost(office, model):
    _beaten, stands, answer = won_and_lost(office, model, wait=10)
    decided = {one["winner"] for one in answer["conflicts"] if one["state"] == "resolved"}
    assert (answer["superseded"], decided) == ([], {stands})


@pytest.mark.rule("RE-02", "PO-16")
def test_it_comes_back_like_all_that_is_restored(office, model):
    beaten, stands, answer = won_and_lost(office, model, wait=10)
    lost = answer["memory_id"]

    back = seen(office.contractor, beaten)
    assert (back["lifecycle"], back["superseded_by"]) == ("live", None)
    assert back["invalidated_reason"] is None
    assert "restore_memory" in commands(office.contractor, beaten)
    assert seen(office.contractor, lost)["supersedes"] == []
    assert row(beaten).restored_by_person_at is None
    pair = [one for one in conflicts(office.senior) if beaten in (one["memory_a"], one["memory_b"])]
    assert {one["state"] for one in pair if lost in (one["memory_a"], one["memory_b"])} == {"moot"}
    assert all(one["winner"] != lost for one in conflicts(office.senior))
    assert live(office.senior, [beaten, stands, lost]) == [beaten, stands]


@pytest.mark.rule("PO-21")
def test_what_loses_only_later_keeps_what_it_had_won(office):
    first = branch(office.contractor, "main")["memory_id"]
    second = branch(office.contractor, "dev")["memory_id"]
    third = branch(office.senior, "trunk")["memory_id"]

    assert live(office.senior, [first, second, third]) == [third]


@pytest.mark.rule("SU-02")
def test_what_was_declared_stays_as_declared(office, model):
    certify(office)
    stands = kept(office.senior, PORT, project="apollo")
    replaced = kept(office.contractor, "Something else was said.", project="apollo")
    says(model, "contradiction", 0.99)
    answer = remember(
        office.contractor,
        OTHER,
        project="apollo",
        links=[{"type": "supersedes", "dst": replaced}],
        wait=10,
    )
    assert seen(office.senior, answer["memory_id"])["superseded_by"] == stands
    assert seen(office.senior, replaced)["superseded_by"] == answer["memory_id"]
    assert answer["superseded"] == [replaced]


@pytest.mark.rule("PO-07")
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("silent", [None, 0, 1, 2])
def test_in_every_order_one_is_left_and_the_same(office, model, order, silent):
    """Of two that declare it the server decides, of the others the judge: with one result."""
    certify(office)
    says(model, "contradiction", 0.99)
    authors = [office.contractor, office.colleague, office.senior]
    ids = {}
    for number in order:
        stated: dict[str, Any] = {"components": []} if number == silent else {}
        said = branch(authors[number], ["main", "dev", "trunk"][number], wait=10, **stated)
        ids[number] = said["memory_id"]
    work(office)
    assert live(office.senior, list(ids.values())) == [_best(authors, ids)]


def _best(authors, ids):
    highest = max(author.caller.level for author in authors)
    return [one for number, one in ids.items() if authors[number].caller.level == highest][-1]


@pytest.mark.rule("DE-07")
def test_the_answer_names_what_was_superseded_while_it_waited(office, model):
    certify(office)
    says(model, "b_supersedes_a", 0.99)
    old = kept(office.colleague, PORT, project="apollo")
    key = {"Idempotency-Key": "once"}
    body = {"content": OTHER, "project": "apollo", "wait": 10}

    answer = done(office.senior.post("/memories", body, **key))

    assert (answer["superseded"], answer["memory"]["supersedes"]) == ([old], [old])
    assert done(office.senior.post("/memories", body, **key))["superseded"] == [old]


@pytest.mark.rule("DE-07")
def test_a_dispute_supersedes_nothing_also_in_the_answer_of_who_waited(office, model):
    certify(office)
    says(model, "contradiction", 0.5)
    kept(office.colleague, PORT, project="apollo")
    stated = stating("db.port", "5433")
    answer = remember(office.senior, OTHER, project="apollo", components=stated, wait=10)
    assert (answer["superseded"], len(answer["conflicts"])) == ([], 1)


@pytest.mark.rule("RE-06", "JU-08")
def test_what_comes_of_a_sweeps_giving_back_is_undone_with_the_sweep(office, judge):
    """Who is back was compared with what it had missed, by a job that the sweep has caused."""
    judge.relation, judge.confidence = Said.CONTRADICTION, 1.0
    (stands,) = written(office.senior, PORT)
    (missed,) = written(office.senior, "Deploys go out from main, and from nowhere else.")
    beaten = branch(office.contractor, "main")["memory_id"]
    (lost,) = written(
        office.contractor, OTHER, components=stating("deploy.branch", "dev"), kind="fact"
    )
    assert live(office.senior, [beaten, lost]) == [lost]
    told = swept(office.senior)
    assert live(office.senior, [stands, beaten, lost]) == [stands, beaten]
    before = conflicts_of(told["id"]).count()

    work(office)

    made = conflicts_of(told["id"]).exclude(memory_a=row(lost).id).exclude(memory_b=row(lost).id)
    assert [{one.memory_a_id, one.memory_b_id} for one in made] == [
        {row(beaten).id, row(missed).id}
    ]
    assert conflicts_of(told["id"]).count() == before + 1
    assert live(office.senior, [stands, missed, beaten, lost]) == [stands, missed]
    assert outcomes(undo(office.senior, told["id"])) == ["restored", "restored"]
    assert live(office.senior, [stands, missed, beaten, lost]) == [stands, missed, beaten, lost]
