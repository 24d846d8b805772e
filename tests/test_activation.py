"""Recalls are counted, outside of every answer, and are no evidence of anything."""

import logging
import math
import time
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import (
    Activation,
    Change,
    Component,
    Conflict,
    Corroboration,
    Mark,
    Memory,
    Verification,
)
from memory.recall import recall
from memory.trust import activation as activation_module
from memory.trust.activation import activation, count_recall, write_counts
from tests.memories import done, kept, row
from tests.people import SEE

EVIDENCE = (Memory, Component, Mark, Change, Verification, Corroboration, Conflict)


def stored(office):
    """Return every row of the tenant's that says anything about evidence."""
    return {
        model.__name__: list(model.objects.using("owner").filter(tenant=office.tenant).values())
        for model in EVIDENCE
    }


def counted(memory_id):
    """Return how often the memory was recalled, as far as that is written down."""
    found = Activation.objects.using("owner").filter(memory=row(memory_id).id).first()
    return 0 if found is None else found.recalls


@pytest.mark.rule("TR-03", "PO-10", "field-fault-16")
def test_a_thousand_recalls_are_counted_and_change_nothing_else(office):
    dirty, clean, disputed = (
        kept(
            office.senior,
            f"The {name} of staging is {name}.",
            project="apollo",
            components=[{"subject": f"staging.{name}", "value": name}],
        )
        for name in ("port", "host", "branch")
    )
    change = {"project": "apollo", "subject": "staging.port", "summary": "It moved."}
    done(office.colleague.post("/changes", change))
    done(office.colleague.post(f"/memories/{disputed}/challenge", {"reason": "I doubt it."}))
    found = {"outcome": "confirmed", "method": "file", "evidence": "I looked."}
    done(office.colleague.post(f"/memories/{clean}/verify", found))
    question = {"query": "port, host and branch of staging"}

    def told():
        results = done(office.agent.post("/recall", question))["results"]
        evidence = ("evidence_confidence", "trust_state", "last_verified_at", "dirty_reason")
        return {one["memory_id"]: {name: one[name] for name in evidence} for one in results}

    write_counts()
    before, first = stored(office), told()
    assert {one["trust_state"] for one in first.values()} == {"dirty", "verified", "conflicted"}

    for _ in range(1000):
        recall(office.colleague.caller, k=1, query=question["query"])
    for _ in range(3):
        done(office.agent.get("/memories"))
        done(office.agent.get("/briefing"))
        done(office.agent.get(f"/memories/{clean}"))
    write_counts()

    assert stored(office) == before
    assert told() == first
    # Once with the first answer, and of the thousand the one that was told.
    assert sorted(map(counted, (dirty, clean, disputed)))[-1] >= 1000
    assert sum(map(counted, (dirty, clean, disputed))) >= 1003


@pytest.mark.rule("TR-03")
def test_recalls_are_written_down_by_themselves_soon(office):
    memory = kept(office.senior, "Staging is slow.", project="apollo")
    done(office.agent.post("/recall", {"query": "slow staging"}))

    deadline = time.monotonic() + 20
    while counted(memory) < 1 and time.monotonic() < deadline:
        time.sleep(0.1)

    assert counted(memory) == 1


@pytest.mark.rule("TR-03", "VI-02")
def test_who_only_reads_counts_and_who_may_not_see_does_not(office):
    memory = kept(office.senior, "Staging is slow.", project="apollo")
    viewer = office.person("onlooker", grants=[(office.apollo, SEE)])
    id_ = row(memory).id

    count_recall(viewer.caller, [id_, id_])
    count_recall(office.outsider.caller, [id_])
    write_counts()

    assert counted(memory) == 2


def test_what_cannot_be_counted_is_logged_and_in_nobodys_way(office, monkeypatch, caplog):
    memory = kept(office.senior, "Staging is slow.", project="apollo")
    monkeypatch.setattr(activation_module, "_ADD", "SELECT nothing_of_the_sort()")

    found = done(office.agent.post("/recall", {"query": "slow staging"}))["results"]
    with caplog.at_level(logging.ERROR):
        write_counts()
        # The thread of its own may have been first.
        deadline = time.monotonic() + 20
        while "could not be counted" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.1)

    assert [one["memory_id"] for one in found] == [memory]
    assert "could not be counted" in caplog.text
    assert "slow" not in caplog.text


def test_the_counts_that_wait_are_bounded(office, monkeypatch):
    monkeypatch.setattr(activation_module, "MOST_COUNTED", 3)
    memories = [kept(office.senior, f"Note {number}.", project="apollo") for number in range(5)]
    ids = [row(one).id for one in memories]
    write_counts()
    counts = activation_module._Counts()
    monkeypatch.setattr(counts, "_thread", object())

    counts.add(office.senior.caller, ids)
    counts.add(office.colleague.caller, ids)
    counts.add(office.senior.caller, ids)
    counts.write()

    assert list(map(counted, memories)) == [2, 2, 2, 0, 0]


@pytest.mark.rule("RC-04", "TR-03")
def test_activation_grows_with_recalls_and_fades_with_time_within_bounds():
    now = datetime(2026, 11, 30, tzinfo=UTC)
    written = now - timedelta(days=365.25)

    def of(recalls, last=None, importance=0.5):
        memory = Memory(kind="fact", created_at=written, importance=importance)
        return activation(memory, recalls, last, now)

    assert of(0) == 0.125  # half the importance, after one half-life, and never recalled
    assert of(1000) == 0.25
    assert of(10**9) == of(1000)
    assert of(0) < of(1) < of(10) < of(100) < of(1000)
    assert of(9) == pytest.approx(0.125 * (1 + math.log(10) / math.log(1001)), abs=1e-6)
    assert of(1, last=now) == pytest.approx(2 * of(1), abs=1e-6)
    assert of(10**9, last=now, importance=1) == 1
    assert of(1000, importance=0) == 0


@pytest.mark.rule("RC-04")
def test_recall_tells_the_activation(office):
    memory = kept(office.senior, "Staging is slow.", project="apollo", importance=1)

    def told():
        (found,) = done(office.agent.post("/recall", {"query": "slow staging"}))["results"]
        return found["activation"]

    fresh = told()
    count_recall(office.agent.caller, [row(memory).id] * 100)
    write_counts()

    assert fresh == pytest.approx(0.5, abs=0.001)
    assert told() == pytest.approx(0.5 * (1 + math.log(102) / math.log(1001)), abs=0.01)
