"""Trust states: one table, from stored facts and a time, in Python and in the database."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.conflict.disputes import disputes_about
from memory.lifecycle import forget, restore_memory
from memory.models import Door, LinkType, Memory
from memory.parts import LinkTo, Statement
from memory.recall import recall
from memory.remember import remember as remembering
from memory.trust.changes import report_change
from memory.trust.in_vain import all_are_in_vain
from memory.trust.standing import Standing, standings
from memory.trust.state import Facts, TrustState, in_state, state_of
from memory.trust.verify import verify
from reviews.challenge import challenge
from reviews.proposals import accept, reject
from tenants.context import acting_as
from tenants.ids import Prefix, read_id
from tenants.refusals import Refusal
from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, replacing, seen
from tests.people import Office, Person, new_office

NOW = timezone.now()
DAY = timedelta(days=1)


def facts(**more: Any) -> Facts:
    plain: dict[str, Any] = {
        "door": None,
        "valid_until": None,
        "conflicted": False,
        "verified": True,
        "doubted": False,
    }
    return Facts(**plain | more)


@pytest.mark.rule("TR-01")
def test_the_first_that_applies_is_the_state():
    """The whole table: every combination of facts, in the order of the rule."""
    for rejected, superseded, expired, conflicted, doubted, attested in product(
        (True, False), repeat=6
    ):
        door = Door.REJECTED if rejected else Door.SUPERSEDED if superseded else None
        told = state_of(
            facts(
                door=door,
                valid_until=NOW - DAY if expired else NOW + DAY,
                conflicted=conflicted,
                doubted=doubted,
                verified=attested,
            ),
            NOW,
        )
        expected = (
            "rejected" if rejected
            else "superseded" if superseded
            else "expired" if expired
            else "conflicted" if conflicted
            else "proposed" if not attested
            else "dirty" if doubted
            else "verified"
        )  # fmt: skip
        assert told == expected


@pytest.mark.rule("TR-01")
@pytest.mark.parametrize("door", [Door.FORGOTTEN, Door.RETIRED, Door.CLOSED])
def test_other_ways_out_leave_the_state_what_it_would_be(door):
    assert state_of(facts(door=door), NOW) == TrustState.VERIFIED
    assert state_of(facts(door=door, doubted=True), NOW) == TrustState.DIRTY


@pytest.mark.rule("TR-05")
def test_the_end_is_the_declared_one_to_the_microsecond():
    ends = facts(valid_until=NOW)

    assert state_of(ends, NOW - timedelta(microseconds=1)) == TrustState.VERIFIED
    assert state_of(ends, NOW) == TrustState.EXPIRED


@pytest.mark.rule("TR-02", "field-fault-17")
@pytest.mark.parametrize(
    ("who", "state"), [("watcher", "proposed"), ("agent", "verified"), ("senior", "verified")]
)
def test_captures_are_born_proposed_and_deliberate_writes_verified(office, who, state):
    memory = kept(getattr(office, who), "The branch is main.", project="apollo")

    assert trust(office.senior, memory) == state
    assert (seen(office.senior, memory)["last_verified_at"] is None) == (state == "proposed")


@pytest.mark.rule("TR-05")
def test_dirty_is_live_recallable_and_unchanged(office):
    memory = states(office.senior, "deployment.branch", "main")
    before = seen(office.senior, memory)

    reported(office.colleague, "deployment.branch")

    after = seen(office.senior, memory)
    assert after["trust_state"] == "dirty"
    assert after["lifecycle"] == "live"
    same = ("content", "version", "invalidated_at", "superseded_by", "evidence_confidence", "tags")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    found = done(office.senior.post("/recall", {"query": "deployment branch"}))["results"]
    assert memory in {one["memory_id"] for one in found}


@pytest.mark.rule("TR-05")
def test_age_alone_changes_nothing(office):
    memory = states(office.senior, "deployment.branch", "main")
    Memory.objects.using("owner").filter(id=read_id(Prefix.MEMORY, memory)).update(
        created_at=NOW - 3650 * DAY
    )

    assert trust(office.senior, memory) == "verified"


@pytest.mark.rule("TR-01", "TR-04")
def test_only_who_says_that_it_is_not_so_makes_it_conflicted(office):
    challenged = states(office.senior, "deployment.branch", "main")
    suspected = states(office.senior, "service.port", "80")
    for person in (office.senior, office.colleague):
        body = {"reason": "It misled me."}
        done(person.post(f"/memories/{suspected}/misled", body))
    done(office.colleague.post(f"/memories/{challenged}/challenge", {"reason": "It is trunk."}))

    assert trust(office.senior, challenged) == "conflicted"
    assert trust(office.senior, suspected) == "dirty"
    assert seen(office.senior, suspected)["disputed"]
    assert seen(office.senior, suspected)["evidence_confidence"] == 0.5
    assert seen(office.senior, challenged)["evidence_confidence"] == 0.4


@pytest.mark.rule("TR-01")
def test_a_restored_memory_is_what_the_rest_says(office):
    old = states(office.senior, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")
    kept(office.senior, "It is trunk.", project="apollo", links=replacing(old))
    assert trust(office.senior, old) == "superseded"

    done(office.senior.post(f"/memories/{old}/restore", {}))

    assert trust(office.senior, old) == "dirty"


@pytest.mark.rule("TR-01")
def test_the_feed_is_narrowed_by_each_state(office):
    kinds = {
        "verified": states(office.senior, "a.a", "1"),
        "dirty": states(office.senior, "a.b", "1"),
        "conflicted": states(office.senior, "a.c", "1"),
        "proposed": kept(office.watcher, "Captured."),
        "superseded": states(office.senior, "a.d", "1"),
        "expired": states(office.senior, "a.e", "1", valid_until=at(NOW - DAY)),
        "rejected": kept(office.watcher, "Captured, and wrong."),
    }
    reported(office.senior, "a.b")
    done(office.colleague.post(f"/memories/{kinds['conflicted']}/challenge", {"reason": "No."}))
    kept(office.watcher, "Captured too.")
    links = replacing(kinds["superseded"])
    kept(office.senior, "The successor.", project="apollo", links=links)
    done(office.reviewer.post(f"/memories/{kinds['rejected']}/reject", {"reason": "no"}))

    for state, memory in kinds.items():
        query = {"trust_state": state, "lifecycle": "all", "project": "apollo"}
        found = done(office.senior.get("/memories", query))["results"]
        assert memory in {one["id"] for one in found}
        assert {one["trust_state"] for one in found} == {state}


@dataclass
class History:
    """What happened in an office, and how everything stood after each step."""

    office: Office
    ids: list[UUID] = field(default_factory=list)
    past: list[tuple[datetime, dict[UUID, tuple[Any, ...]]]] = field(default_factory=list)

    def written(self, answer: dict[str, Any]) -> None:
        memory_id = read_id(Prefix.MEMORY, answer["memory_id"])
        if memory_id not in self.ids:
            self.ids.append(memory_id)

    def standing(self, as_of: datetime | None = None) -> dict[UUID, Standing]:
        with acting_as(self.office.reviewer.caller):
            memories = list(Memory.objects.filter(id__in=self.ids))
            if as_of is not None:
                memories = [one for one in memories if one.created_at <= as_of]
            disputes = disputes_about(one.id for one in memories)
            return standings(memories, timezone.now(), disputes, as_of=as_of)

    def note(self) -> None:
        self.past.append(
            (timezone.now(), {one: told(standing) for one, standing in self.standing().items()})
        )


def told(standing: Standing) -> tuple[Any, ...]:
    return (
        standing.state,
        standing.confidence,
        standing.last_verified_at,
        {mark.id for mark in standing.marks},
        standing.dirty_reason,
        all_are_in_vain(standing.doubts, ()),
        dict(standing.verified),
        standing.suspected,
    )


SUBJECTS = ("app.a", "app.b", "app.b.c", "app")
DEEDS = [
    *("write", "capture", "depend", "supersede", "change", "change", "verify", "verify"),
    *("refute", "part", "challenge", "accept", "reject", "forget", "restore"),
]
STEP = st.tuples(
    st.sampled_from(DEEDS),
    st.integers(0, 7),
    st.integers(0, 3),
)


def _write(history: History, person: Person, which: int, **more: Any) -> None:
    number = len(history.ids)
    history.written(
        remembering(
            person.caller,
            content=f"Statement {number} of {person.name} is about {SUBJECTS[which]}.",
            project="apollo",
            components=[Statement(SUBJECTS[which]), Statement(f"own.s{number}", "1")],
            **more,
        )
    )


def _take(history: History, what: str, one: int, which: int) -> None:
    office = history.office
    target = history.ids[one % len(history.ids)] if history.ids else None
    if what == "write" or target is None:
        _write(history, office.senior, which)
    elif what == "capture":
        _write(history, office.watcher, which)
    elif what == "depend":
        _write(history, office.colleague, which, depends_on=[target])
    elif what == "supersede":
        _write(history, office.senior, which, links=[LinkTo(LinkType.SUPERSEDES, target)])
    elif what == "change":
        caller = office.colleague.caller
        report_change(
            caller,
            project="apollo",
            subject=SUBJECTS[which],
            summary="new",
            whole_tree=one % 2 == 0,
        )
    elif what in ("verify", "part", "refute"):
        components = [f"own.s{history.ids.index(target)}"] if what == "part" else None
        verify(
            office.colleague.caller,
            memory_id=target,
            outcome="refuted" if what == "refute" else ("confirmed", "inconclusive")[which == 3],
            method="self",
            components=components,
        )
    else:
        _decide(office, what, target)


def _decide(office: Office, what: str, target: UUID) -> None:
    caller = office.reviewer.caller
    if what == "challenge":
        challenge(caller, memory_id=target, reason="It is not so.")
    elif what == "accept":
        accept(caller, memory_id=target, reason="yes")
    elif what == "reject":
        reject(caller, memory_id=target, reason="no")
    elif what == "forget":
        forget(caller, memory_id=target, reason="old")
    else:
        restore_memory(caller, memory_id=target)


@pytest.mark.rule("TR-01", "RC-10", "field-fault-18")
@settings(max_examples=15)
@given(steps=st.lists(STEP, min_size=4, max_size=12))
def test_the_database_says_the_same_and_the_past_stays_as_it_was(steps):
    """After any history: `in_state` finds what each row says, and `as_of` tells what was noted."""
    history = History(new_office())
    for what, one, which in steps:
        with suppress(Refusal):
            _take(history, what, one, which)
        history.note()

    now = timezone.now()
    stand = history.standing()
    with acting_as(history.office.reviewer.caller):
        for state in TrustState:
            found = Memory.objects.filter(in_state(state, now), id__in=history.ids)
            assert set(found.values_list("id", flat=True)) == {
                one for one, standing in stand.items() if standing.state == state
            }, state
    for moment, noted in history.past:
        then = history.standing(as_of=moment)
        assert {one: told(standing) for one, standing in then.items()} == noted


@pytest.mark.rule("TR-03", "field-fault-16")
def test_a_thousand_recalls_leave_every_evidence_column_as_it_was(office):
    clean = states(office.senior, "service.port", "80")
    moved = states(office.senior, "service.host", "example")
    captured = kept(office.watcher, "Captured: the service port is 80.")
    verified(office.colleague, clean, method="command", observed_value="80", evidence="ss")
    reported(office.colleague, "service.host")
    names = ("evidence_confidence", "verifications", "trust_state", "marks", "last_verified_at")
    before = [{name: seen(office.senior, one)[name] for name in names} for one in (clean, moved)]
    before.append({name: seen(office.senior, captured)[name] for name in names})

    for _ in range(1000):
        recall(office.senior.caller, query="service port", project="apollo", k=3)
    for _ in range(20):
        seen(office.senior, clean)
        done(office.senior.get("/memories"))
    done(office.senior.patch(f"/memories/{clean}", {"importance": 1}))

    after = [
        {name: seen(office.senior, one)[name] for name in names} for one in (clean, moved, captured)
    ]
    assert after == before
