"""What one sweep or write leaves to the next sweep, and in whose sight it is judged then."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from hygiene import judging
from hygiene.judge import Said
from hygiene.models import Sweep
from hygiene.schedule import sweep_those_due
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from memory.models import Component, Conflict
from tests.judging import certified, conflicts, judgements, records, says, work
from tests.memories import done, kept, remember, row
from tests.test_failed_jobs import fail, jobs
from tests.test_judging import model, server
from tests.test_members import path_of
from tests.test_private_beside_shown import long_ago
from tests.test_shown_later import none_left
from tests.test_sweep import judge, start, swept, written
from tests.test_sweep import work as sweep_on

__all__ = ["certified", "judge", "model", "server"]

pytestmark = pytest.mark.rule("JU-08", "DE-05")

A_DAY = timedelta(days=1)


def ports(number, text="The indexer of apollo listens on port {}."):
    return [text.format(8000 + one) for one in range(number)]


def due(person):
    """Return whether the schedule starts a sweep for somebody, with the judge of this test."""
    judge = judging.current_judge()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT member_id FROM sweeps_due('1 day', 100000, %s, %s)",
            [judge.id, judge.prompt_version],
        )
        return person.member.id in {one for (one,) in cursor.fetchall()}


def pairs_of(judge):
    return [frozenset(pair) for pair in judge.asked]


@pytest.mark.parametrize("values", [True, False], ids=["suggested values", "likeness alone"])
def test_three_of_each_at_most_and_the_next_sweeps_come_to_the_rest(office, judge, values):
    judge.relation = Said.UNRELATED
    text = "The indexer of apollo listens on port {}." if values else "Apollo indexes at night: {}"
    ids = written(office.senior, *ports(9, text))
    suggested = Component.objects.using("owner").filter(memory_id__in=[row(one).id for one in ids])
    assert suggested.exists() == values

    first = swept(office.senior)
    assert 9 <= first["pairs"] <= 3 * first["memories"] == 27
    sweeps = 1
    while swept(office.senior)["of_memories"] > 0:
        sweeps += 1
        assert sweeps < 9
    assert len(pairs_of(judge)) == len(set(pairs_of(judge))) == 9 * 8 // 2


@pytest.mark.rule("RC-13")
def test_a_large_store_is_swept_along_the_graph_and_the_same_pairs_are_asked(
    office, judge, monkeypatch
):
    judge.relation = Said.UNRELATED
    monkeypatch.setattr("hygiene.neighbours.EXACT_UP_TO", 5)
    monkeypatch.setattr("hygiene.neighbours._LOOKED_UP_AT_ONCE", 4)
    call_command("index_embeddings")
    written(office.senior, *ports(9, "Apollo indexes at night: {}"))
    while swept(office.senior)["of_memories"] > 0:
        pass
    assert len(pairs_of(judge)) == len(set(pairs_of(judge))) == 9 * 8 // 2


def test_a_limit_loses_nothing_of_what_is_to_be_looked_at_again(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *ports(9))
    swept(office.senior)
    for _ in range(40):
        if swept(office.senior, limit=2)["of_memories"] == 0:
            break
    assert len(pairs_of(judge)) == len(set(pairs_of(judge))) == 9 * 8 // 2


def test_a_sweep_that_was_killed_goes_on_with_what_it_looks_at_again(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *ports(9))
    swept(office.senior)
    judge.breaks_at = len(judge.asked) + 3
    told = start(office.senior)
    assert sweep_on(told) == "queued"
    judge.breaks_at = None
    assert sweep_on(told) == "done"
    while swept(office.senior)["of_memories"] > 0:
        pass
    assert len(pairs_of(judge)) == len(set(pairs_of(judge))) == 9 * 8 // 2


def test_the_schedule_comes_again_to_who_has_some_left(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *ports(9))
    swept(office.senior)
    assert not due(office.senior)
    long_ago(office)
    assert due(office.senior)
    while swept(office.senior)["of_memories"] > 0:
        pass
    long_ago(office)
    assert not due(office.senior)


@pytest.mark.rule("DE-03")
def test_a_write_has_all_compared_that_speak_of_its_subject_and_the_ten_nearest(
    office, certified, settings
):
    chosen = settings.JUDGE
    settings.JUDGE = "off"
    ids = written_off(office, ports(14))
    settings.JUDGE = chosen
    says(certified, "unrelated")
    remember(office.senior, "The indexer of apollo listens on port 9999.", project="apollo")
    work(office)

    assert {one.older_id for one in judgements(office)} == {row(one).id for one in ids}


def written_off(office, texts):
    return [kept(office.colleague, text, project="apollo") for text in texts]


def test_the_rest_of_a_writes_candidates_comes_with_the_sweeps(office, certified, settings):
    chosen = settings.JUDGE
    settings.JUDGE = "off"
    ids = written_off(office, ports(16, "Apollo indexes at night: {}"))
    settings.JUDGE = chosen
    says(certified, "unrelated")
    new = remember(office.senior, "Apollo indexes at night: 9999", project="apollo")

    def compared():
        mine = row(new["memory_id"]).id
        return sum(mine in (one.older_id, one.newer_id) for one in judgements(office))

    told = len(new["conflict_candidates"])
    work(office)
    assert (told, compared()) == (len(ids), 10)
    for _ in range(8):
        done_by(office.senior, office)
    assert compared() == told


def done_by(person, office):
    assert person.post("/hygiene/sweeps", {}).status_code == 202
    work(office)


def test_another_judge_makes_sweeps_due(office, judge):
    judge.relation = Said.UNRELATED
    written(office.senior, *ports(2))
    swept(office.senior)
    long_ago(office)
    assert not due(office.senior)
    judge.prompt_version = "told-2"
    assert due(office.senior)
    sweep_those_due(A_DAY)
    assert Sweep.objects.using("owner").filter(tenant=office.tenant).count() == 2


def listens(person, port, **more):
    return kept(person, f"The indexer of apollo listens on port {port}.", project="apollo", **more)


def forgotten_while_swept(office):
    """Return a memory that was away while its owner's sweeps came past it, and another."""
    one = listens(office.senior, 8080)
    done(office.senior.post(f"/memories/{one}/forget", {"reason": "It was a mistake."}))
    other = listens(office.colleague, 9090)
    none_left(office)
    done_by(office.senior, office)
    return one, other, lambda: done(office.senior.post(f"/memories/{one}/restore", {}))


def proposed_while_swept(office):
    one = listens(office.watcher, 8080)
    other = listens(office.colleague, 9090)
    none_left(office)
    done_by(office.senior, office)
    accept = f"/memories/{one}/accept"
    return one, other, lambda: done(office.reviewer.post(accept, {"reason": "x"}))


@pytest.mark.rule("JU-09", "PO-14")
@pytest.mark.parametrize("away", [forgotten_while_swept, proposed_while_swept])
@pytest.mark.parametrize("lost", ["failed", "off"])
def test_what_comes_back_is_judged_by_the_next_sweep_if_its_own_job_was_not_done(
    office, settings, away, lost
):
    one, other, bring_back = away(office)
    before = records(office)
    if lost == "off":
        settings.JUDGE = "off"
    bring_back()
    if lost == "off":
        work(office)
        settings.JUDGE = "rules"
    else:
        fail(office, kind=JUDGE_MEMORY, state="queued")
    assert records(office) == before

    done_by(office.senior, office)

    assert records(office) == before + 1
    found = Conflict.objects.using("owner").get(tenant=office.tenant)
    assert {found.memory_a_id, found.memory_b_id} == {row(one).id, row(other).id}


def restored(office):
    one = listens(office.colleague, 8080)
    done(office.colleague.post(f"/memories/{one}/forget", {"reason": "It was a mistake."}))
    return one, lambda: done(office.reviewer.post(f"/memories/{one}/restore", {}))


def accepted(office):
    one = listens(office.watcher, 8080)
    return one, lambda: done(office.reviewer.post(f"/memories/{one}/accept", {"reason": "x"}))


@pytest.mark.rule("JU-03", "DE-08")
@pytest.mark.parametrize("by", [restored, accepted])
def test_what_a_reviewer_brings_back_is_judged_in_its_owners_sight(office, by):
    memory, bring_back = by(office)
    owner = row(memory).owner_id
    listens(office.reviewer, 7070, visibility="private")
    owners = office.colleague if owner == office.colleague.member.id else office.senior
    listens(owners, 9090, visibility="private")
    none_left(office)
    before = records(office)

    bring_back()
    (job,) = jobs(office, kind=JUDGE_MEMORY)
    assert job.member_id == owner
    work(office)

    assert records(office) == before + 1
    (dispute,) = conflicts(owners, state="pending")
    assert memory in (dispute["memory_a"], dispute["memory_b"])
    assert conflicts(office.reviewer, state="pending") == []


@pytest.mark.rule("JU-03")
def test_once_the_owner_has_left_it_is_judged_for_who_brought_it_back(office):
    memory, bring_back = restored(office)
    done(office.admin.patch(path_of(office.colleague), {"active": False}))
    listens(office.senior, 9090)
    none_left(office)

    bring_back()
    work(office)

    assert records(office) == 1
    assert {one.member_id for one in jobs(office, kind=JUDGE_MEMORY)} == {office.reviewer.member.id}
    assert row(memory).owner_id == office.colleague.member.id
