"""What a write is found to be near to, and what that means: nothing yet."""

import random
import time
from datetime import timedelta
from itertools import permutations

import pytest
from django.db import transaction
from django.utils import timezone

from memory.conflict.act import act
from memory.conflict.decided import Judged
from memory.conflict.detect import Candidate, candidates_of
from memory.conflict.policy import Bars, Relation, Verdict
from memory.finding.embedding import EmbedderDown, current
from memory.models import Memory
from tenants.caller import Role
from tenants.context import acting_as
from tests.judging import (
    branch,
    conflicts,
    jobs_of,
    judgements,
    live,
    records,
    stating,
    work,
)
from tests.memories import kept, remember, row, seen

OLD = "The staging database listens on port 5432."
NEW = "The staging database listens on port 5433."


def candidates(answer):
    """Return the ids of what a write was told to be near to."""
    return [one["memory_id"] for one in answer["conflict_candidates"]]


@pytest.mark.rule("DE-01", "DE-07", "field-fault-8")
def test_what_lies_near_is_told(office):
    near = kept(office.colleague, OLD, project="apollo")
    kept(office.colleague, "Lunch is at noon on Fridays.", project="apollo")

    answer = remember(office.senior, NEW, project="apollo")

    (candidate,) = answer["conflict_candidates"]
    assert (candidate["memory_id"], candidate["via"]) == (near, "vector")
    assert 0.75 < candidate["score"] <= 1.0
    assert (answer["candidates_omitted"], answer["conflicts"]) == (0, [])
    assert answer["judging"] == "queued"


@pytest.mark.rule("DE-01", "DE-07")
def test_who_is_alone_is_told_so(office):
    answer = remember(office.senior, NEW, project="apollo")
    assert answer["conflict_candidates"] == answer["conflicts"] == []
    assert (answer["candidates_omitted"], answer["judging"]) == (0, "done")
    assert jobs_of(office) == []


@pytest.mark.rule("DE-01")
def test_the_bar_itself_is_not_enough(office):
    other = row(kept(office.colleague, OLD, project="apollo"))
    memory = row(kept(office.senior, NEW, project="apollo"))
    scores = {other.id: current().bars.candidate}
    with acting_as(office.senior.caller):
        assert candidates_of(memory, scores, by_subject=False) == []
        scores[other.id] += 0.0001
        assert [one.memory.id for one in candidates_of(memory, scores)] == [other.id]


@pytest.mark.rule("DE-02", "field-fault-20", "field-fault-25")
def test_likeness_alone_decides_nothing(office):
    old = kept(office.colleague, "The indexer of Paris listens on port 8080.", project="apollo")
    answer = remember(
        office.senior, "The indexer of Berlin listens on port 8080.", project="apollo"
    )
    assert candidates(answer) == [old]
    work(office)
    assert len(live(office.viewer, [old, answer["memory_id"]])) == 2
    assert not any(one["state"] == "resolved" for one in conflicts(office.viewer))


@pytest.mark.rule("DE-03", "DE-07")
def test_a_subject_finds_what_likeness_does_not(office):
    said = stating("db.port", "5432"), stating("db.port", "5433")
    old = remember(office.senior, OLD, project="apollo", components=said[0])["memory_id"]
    answer = remember(
        office.colleague,
        "Ring Ops: another one tonight.",
        project="apollo",
        components=said[1],
    )
    assert answer["conflict_candidates"] == [{"memory_id": old, "score": None, "via": "subject"}]
    assert [one["via"] for one in answer["conflicts"]] == ["subject"]


@pytest.mark.rule("DE-03")
@pytest.mark.parametrize("change", ["same value", "no value", "other subject", "expired"])
def test_without_another_value_the_subject_finds_nothing(office, change):
    component = {"subject": "db.port", "value": "5432"}
    later = (timezone.now() + timedelta(seconds=0.3)).isoformat()
    until = {"valid_until": later} if change == "expired" else {}
    remember(office.senior, OLD, project="apollo", components=[component], **until)
    if change == "expired":
        component["value"] = "5433"
        time.sleep(0.4)
    elif change == "no value":
        component = {"subject": "db.port"}
    elif change == "other subject":
        component = {"subject": "db.port.admin", "value": "5433"}
    answer = remember(
        office.colleague, "Something else altogether.", project="apollo", components=[component]
    )
    assert answer["conflict_candidates"] == answer["conflicts"] == []


@pytest.mark.rule("DE-01", "DE-08")
def test_only_what_overlaps_and_is_seen_is_near(office):
    kept(office.reviewer, OLD, project="hermes")
    kept(office.colleague, OLD, project="apollo", visibility="private")
    kept(office.colleague, OLD)
    own = kept(office.reviewer, OLD)
    wide = kept(office.outsider, OLD, project="hermes", visibility="tenant")
    shown = kept(office.colleague, OLD, project="apollo")

    answer = remember(office.reviewer, NEW, project="apollo")

    assert set(candidates(answer)) == {own, wide, shown}


@pytest.mark.rule("DE-08")
def test_a_pair_that_not_everybody_reads_is_shown_to_who_reads_both(office):
    wide = branch(office.senior, "main", visibility="tenant")["memory_id"]
    answer = branch(office.senior, "release")
    (conflict,) = answer["conflicts"]
    assert (conflict["state"], conflict["memory_b"]) == ("pending", wide)
    assert conflicts(office.outsider) == []
    assert seen(office.outsider, wide)["disputed"] is False
    assert len(conflicts(office.viewer)) == 1


@pytest.mark.rule("DE-06")
def test_running_it_again_adds_no_record(office):
    kept(office.colleague, OLD, project="apollo")
    for _ in range(3):
        remember(office.senior, NEW, project="apollo")
        work(office)
    assert len(judgements(office)) == records(office) == 1


@pytest.mark.rule("WR-13", "DE-05", "field-fault-8")
def test_what_was_written_without_an_embedder_is_compared_later(office, monkeypatch):
    def down(_text):
        raise EmbedderDown("down")

    old = kept(office.colleague, OLD, project="apollo")
    with monkeypatch.context() as broken:
        broken.setattr("memory.store.embed", down)
        answer = remember(office.senior, NEW, project="apollo")
        assert answer["judging"] == "deferred"
        assert "vector" not in [one["via"] for one in answer["conflict_candidates"]]
    work(office)
    (judgement,) = judgements(office)
    assert (judgement.older_id, judgement.newer_id) == (row(old).id, row(answer["memory_id"]).id)


RELATIONS = [
    Relation.CONTRADICTION,
    Relation.STALE,
    Relation.DUPLICATE,
    Relation.COMPLEMENTARY,
    Relation.UNRELATED,
    Relation.UNSURE,
]


@pytest.mark.rule("DE-09", "PO-10")
@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_neighbours_changes_what_happens(office, seed):
    chance = random.Random(seed)
    people = [office.senior, office.contractor, office.watcher, office.colleague]
    kinds = ["fact", "fact", "gotcha"]
    for name in ("Anna", "Bert", "Carl", "Dora"):
        kept(chance.choice(people), f"{name} rings.", project="apollo", kind=chance.choice(kinds))
    writer = chance.choice([office.senior, office.contractor])
    memory_id = row(kept(writer, "Emil rings.", project="apollo")).id
    sight = office.senior.caller.as_role(Role.JUDGE)
    with acting_as(sight):
        memory = Memory.objects.get(id=memory_id)
        others = list(Memory.objects.exclude(id=memory_id).order_by("sequence"))
    judged = [
        Judged(
            Candidate(other, 0.9),
            Verdict(chance.choice(RELATIONS), chance.choice([0.5, 0.92, 1.0])),
        )
        for other in others
    ]

    def outcome(order):
        with acting_as(sight), transaction.atomic():
            acted = act(memory, order, Bars())
            state = Memory.objects.order_by("sequence").values_list("id", "superseded_by")
            told = sorted(
                (str(one.low_id), str(one.high_id), one.state, one.kind, str(one.winner_id))
                for one in acted.conflicts
            )
            happened = [list(state), told, acted.deeds]
            transaction.set_rollback(True)
        return happened

    first, *rest = [outcome(list(order)) for order in list(permutations(judged))[::5]]
    assert all(one == first for one in rest)
    retired = [one for one in others if dict(first[0])[one.id] is not None]
    assert not [one for one in retired if one.is_protected]
    if dict(first[0])[memory_id] is not None:
        assert retired == []
