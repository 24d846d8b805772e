"""What people did since stands: undoing, judging again and moving house take none of it away."""

import json

import pytest

from hygiene.judge import Said
from hygiene.stub import Rule
from memory.models import Link
from tests.disputes import disputed_pair, resolve, undo
from tests.judging import branch, certified, conflicts, records, stating, work
from tests.memories import done, kept, remember, replacing, row, seen
from tests.people import ALL_SCOPES, REVIEW
from tests.test_bulk import lives
from tests.test_exchange import archivist, carried_out, files_of
from tests.test_judging import model, pair, server
from tests.test_projects import let_in
from tests.test_shown_later import none_left
from tests.test_sweep import PORTS, judge, swept, written
from tests.test_what_sweeps_leave import listens, restored

__all__ = ["archivist", "certified", "judge", "model", "server"]

MERGED = "Staging listens on port 5433, and on 5432 till March."


def said_again(office, old):
    assert remember(office.reviewer, MERGED, project="apollo")["absorbed"]


def declared(office, old):
    answer = remember(office.reviewer, MERGED, project="apollo", links=replacing(old))
    assert (answer["absorbed"], answer["superseded"]) == (True, [old])


def nothing(office, old):
    pass


@pytest.mark.rule("RE-06", "WR-06", "SU-13")
@pytest.mark.parametrize("since", [said_again, declared, nothing])
def test_a_merged_text_that_somebody_has_said_since_stays(office, since):
    old = kept(office.reviewer, "Staging is a cluster of three.", project="apollo")
    one, other, dispute = disputed_pair(office)
    decided = done(resolve(office.reviewer, dispute, merge={"content": MERGED}))
    merged = seen(office.viewer, one)["superseded_by"]
    since(office, old)

    done(undo(office.reviewer, decided["batch"]))

    assert lives(one, other) == [True, True]
    assert lives(merged) == [since is not nothing]


def links_between(*memory_ids):
    ids = [row(one).id for one in memory_ids]
    drawn = Link.objects.using("owner").filter(src__in=ids, dst__in=ids, type="relates_to")
    return drawn.filter(removed_at=None)


@pytest.mark.rule("PO-12", "JU-08")
@pytest.mark.parametrize("taken_away", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_a_link_that_somebody_took_away_is_not_drawn_again(office, judge, taken_away, turned):
    judge.relation = Said.COMPLEMENTARY
    one, other = written(office.senior, *PORTS[:2])
    ends = (other, one) if turned else (one, other)
    body = {"src": ends[0], "dst": ends[1], "type": "relates_to"}
    link = office.senior.post("/links", body).json()
    if taken_away:
        done(office.senior.delete(f"/links/{link['id']}"))

    told = swept(office.senior)

    assert told["pairs"] == 1
    assert links_between(one, other).count() == (0 if taken_away else 1)


@pytest.mark.rule("PO-12")
def test_a_link_is_drawn_where_none_ever_was(office, judge):
    judge.relation = Said.COMPLEMENTARY
    pair = written(office.senior, *PORTS[:2])
    swept(office.senior)
    assert links_between(*pair).count() == 1


@pytest.mark.rule("PO-14", "PO-15", "JU-04")
@pytest.mark.parametrize("changes", [True, False])
def test_a_dispute_for_want_of_a_verdict_waits_till_there_is_one_of_today(
    office, certified, changes
):
    certified.script = [Rule(fault="out of range")]
    old, _new = pair(office)
    work(office)
    assert [one["kind"] for one in conflicts(office.viewer, "pending")] == ["unjudged"]
    certified.script = [
        Rule(answer={"relation": "contradiction", "confidence": 0.8}, times=1),
        Rule(fault="503"),
    ]
    left = iter([{"tags": ["port"]}] if changes else [])
    certified.meddle = lambda: [
        done(office.colleague.patch(f"/memories/{old}", change)) for change in left
    ]

    assert office.senior.post("/hygiene/sweeps", {}).status_code == 202
    work(office)

    (dispute,) = conflicts(office.viewer, "pending")
    assert dispute["kind"] == ("unjudged" if changes else "contradiction")


@pytest.mark.rule("DE-04", "WR-02")
@pytest.mark.parametrize("shown", [True, False])
def test_several_values_are_several_where_they_are_brought_in(
    office, other_office, archivist, shown
):
    visibility = "project" if shown else "private"
    listed = {"components": stating("deploy.branch", "trunk", multi=True)}
    kept(office.senior, "Trunk, too.", project="apollo", visibility=visibility, **listed)
    for value in ("main", "release"):
        assert branch(archivist, value)["superseded"] == []
    (file,) = files_of(office, archivist, project="apollo")
    told = [json.loads(line) for line in file["content"].splitlines()[1:]]
    assert len(told) == (3 if shown else 2)
    elsewhere = other_office.person(
        "archivist", grants=[(other_office.apollo, REVIEW)], scopes=ALL_SCOPES
    )

    body = {"format": "jsonl", "project": "apollo", "content": file["content"]}
    carried_out(other_office, elsewhere, "/import", body)

    listed = done(elsewhere.get("/memories", {"project": "apollo", "lifecycle": "live"}))
    assert listed["count"] == len(told)
    assert conflicts(elsewhere) == []


@pytest.mark.rule("JU-03", "JU-08")
@pytest.mark.parametrize("stays", [True, False])
def test_what_its_owner_sees_no_more_is_judged_for_who_brought_it_back(office, stays):
    _memory, bring_back = restored(office)
    done(let_in(office, office.colleague, *(["see"] if stays else [])))
    listens(office.senior, 9090)
    none_left(office)

    bring_back()
    work(office)

    assert records(office) == 1


@pytest.mark.rule("RE-03", "WR-06", "DE-04")
@pytest.mark.parametrize(
    ("value", "is_new"), [("release", False), ("Release", False), ("trunk", True)]
)
def test_the_same_text_with_another_value_is_another_claim(office, value, is_new):
    text = "That is where deploys go out from."
    old = branch(office.colleague, "main")["memory_id"]
    new = branch(office.senior, "release", content=text)["memory_id"]
    done(office.agent.post(f"/memories/{old}/restore"))
    done(office.senior.post(f"/memories/{new}/forget", {"reason": "For now."}))

    again = branch(office.senior, value, content=text)

    assert again["superseded"] == ([old] if is_new else [])
    assert lives(old) == [not is_new]
