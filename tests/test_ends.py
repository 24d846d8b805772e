"""An end comes without anybody doing anything, and whoever asks is told of it at once."""

import time
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from memory.models import Mark, Memory
from memory.trust.expiry import mark_what_expired
from tests.dirty import at, states, trust, verified
from tests.memories import done, kept, row, seen

pytestmark = pytest.mark.rule("SB-05", "TR-01", "TR-03", "RC-02")

QUESTION = {"query": "What relies on it?", "project": "apollo"}


@pytest.fixture
def chain(office):
    """What ends, what relies on it, and what relies on that."""
    tomorrow = at(timezone.now() + timedelta(days=1))
    base = states(office.senior, "app.a", "1", valid_until=tomorrow)
    relying = kept(office.senior, "This relies on it.", project="apollo", depends_on=[base])
    further = kept(office.senior, "And that relies on it.", project="apollo", depends_on=[relying])
    return base, relying, further


def ends(memory):
    """Let its end have come by now."""
    moment = timezone.now()
    Memory.objects.using("owner").filter(id=row(memory).id).update(valid_until=moment)
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE embeddings SET valid_until = %s WHERE memory_id = %s",
            [
                moment,
                row(memory).id,
            ],
        )
    return moment


def stored(office):
    return Mark.objects.using("owner").filter(tenant=office.tenant)


def recalled(person, **more):
    found = done(person.post("/recall", {**QUESTION, **more}))["results"]
    return {one["memory_id"]: (one["trust_state"], one["dirty_reason"]) for one in found}


def everywhere(office, memory):
    """Return the states that recall, the memory's page, the list and the search by state tell."""
    listed = done(office.senior.get("/memories", {"project": "apollo"}))["results"]
    by_state = done(office.senior.get("/memories", {"project": "apollo", "trust_state": "dirty"}))
    wanted = done(office.senior.get("/needs-verification", {"project": "apollo"}))["results"]
    return {
        recalled(office.agent)[memory][0],
        trust(office.senior, memory),
        *(one["trust_state"] for one in listed if one["id"] == memory),
        "dirty" if memory in {one["id"] for one in by_state["results"]} else "not listed",
        "dirty" if memory in {one["id"] for one in wanted} else "not wanted",
    }


def test_what_depends_on_it_is_dirty_at_once_and_reading_stores_nothing(office, chain):
    base, relying, further = chain
    ends(base)

    for one in (relying, further):
        assert everywhere(office, one) == {"dirty"}
        (mark,) = seen(office.senior, one)["marks"]
        assert (mark["cause"], mark["cause_memory"], mark["direct"]) == ("expired", base, False)
        assert recalled(office.agent)[one][1] == mark["reason"]
        assert mark["path"] == [base, relying][: 1 + (one == further)]
    assert not stored(office).exists()


def test_the_worker_stores_what_was_told_before(office, chain):
    base, *dependents = chain
    moment = ends(base)
    time.sleep(0.05)
    between = timezone.now().isoformat()
    before = recalled(office.agent)
    told = {one: seen(office.senior, one)["marks"] for one in dependents}

    mark_what_expired()

    assert stored(office).count() == 2
    assert recalled(office.agent) == before
    for one in dependents:
        (mark,), (old,) = seen(office.senior, one)["marks"], told[one]
        assert {**mark, "id": ""} == {**old, "id": ""}
    # And at an earlier time it was so, too: from its end on, and not before.
    assert recalled(office.agent, as_of=between) == before
    early = recalled(office.agent, as_of=(moment - timedelta(microseconds=1)).isoformat())
    assert {early[one] for one in dependents} == {("verified", None)}


def test_an_end_in_time_to_come_says_nothing(office, chain):
    _, *dependents = chain
    assert {trust(office.senior, one) for one in dependents} == {"verified"}


def test_who_looks_after_the_end_clears_it_and_it_was_so_all_the_same(office, chain):
    base, relying, further = chain
    ends(base)
    time.sleep(0.05)
    between = timezone.now().isoformat()

    verified(office.senior, relying)

    assert {trust(office.senior, one) for one in (relying, further)} == {"verified"}
    assert mark_what_expired() >= 0
    assert {trust(office.senior, one) for one in (relying, further)} == {"verified"}
    then = recalled(office.agent, as_of=between)
    assert (then[relying][0], then[further][0]) == ("dirty", "dirty")


def test_what_is_drawn_or_written_afterwards(office, chain):
    base, *_ = chain
    old = kept(office.senior, "Old, and relies on it.", project="apollo")
    ends(base)
    new = kept(office.senior, "New, and relies on it.", project="apollo", depends_on=[base])

    done(office.senior.post("/links", {"src": old, "dst": base, "type": "depends_on"}))

    assert (trust(office.senior, old), trust(office.senior, new)) == ("dirty", "verified")
    assert len(seen(office.senior, old)["marks"]) == 1
    mark_what_expired()
    assert len(seen(office.senior, old)["marks"]) == 1


def test_circles_end_and_a_hidden_cause_is_not_named(office):
    tomorrow = at(timezone.now() + timedelta(days=1))
    hidden = kept(office.colleague, "My secret.", valid_until=tomorrow)
    shared = kept(office.colleague, "This relies on it.", project="apollo", depends_on=[hidden])
    other = kept(office.colleague, "And that relies on it.", project="apollo", depends_on=[shared])
    done(office.colleague.post("/links", {"src": shared, "dst": other, "type": "depends_on"}))
    ends(hidden)

    for one in (shared, other):
        (mark,) = seen(office.senior, one)["marks"]
        assert (mark["cause"], mark["cause_memory"]) == ("expired", None)
        assert hidden not in mark["path"]
        assert "My secret" not in str(mark)
