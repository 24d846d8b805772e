"""Marks in whatever order things are told: they come once, they end, and order tells nothing."""

import itertools
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memory.link import link
from memory.models import Component, LinkType, Mark, Memory
from memory.parts import LinkTo, Statement
from memory.remember import remember
from memory.trust.changes import report_change
from memory.trust.expiry import mark_what_expired
from memory.trust.suggestions import accept_component
from memory.trust.verify import verify
from reviews.proposals import accept
from tenants.ids import Prefix, read_id
from tenants.refusals import Refusal
from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, seen
from tests.people import Office, Person, new_office

SUBJECTS = ("app.a", "app.b", "app.b.c", "app.d", "app.port")
# Each example is an office of its own: making a failing one smaller would take minutes.
QUICKLY = (Phase.explicit, Phase.reuse, Phase.generate)
EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)
SUGGESTING, CAPTURED = 0, 1


def graph(office: Office, edges: Any, tag: str) -> list[Any]:
    """Return five memories with two components each, of which some depend on others."""
    memories = []
    for number in range(5):
        parts = [Statement(SUBJECTS[number % 4]), Statement(f"{tag}.s{number}", "1")]
        memories.append(_part(office.senior, number, tag, parts))
    _depend(office, memories, edges)
    return memories


def mixed_graph(office: Office, edges: Any, tag: str) -> list[Any]:
    """Return the same, the first with components that are only suggested, the second captured."""
    told = remember(office.senior.caller, content="The app port is 5433.", project="apollo")
    memories = [read_id(Prefix.MEMORY, told["memory_id"])]
    for number in range(1, 5):
        parts = [Statement(SUBJECTS[number % 4]), Statement(f"{tag}.s{number}", "1")]
        writer = office.watcher if number == CAPTURED else office.senior
        memories.append(_part(writer, number, tag, parts))
    _depend(office, memories, edges)
    return memories


def _part(writer: Person, number: int, tag: str, parts: list[Statement]) -> Any:
    told = remember(
        writer.caller,
        content=f"Part {number} of {tag} says something of {SUBJECTS[number % 4]}.",
        project="apollo",
        components=parts,
    )
    return read_id(Prefix.MEMORY, told["memory_id"])


def _depend(office: Office, memories: list[Any], edges: Any) -> None:
    for src, dst in {(src, dst) for src, dst in edges if src != dst}:
        link(office.senior.caller, src=memories[src], dst=memories[dst], type=LinkType.DEPENDS_ON)


def open_marks(memories: list[Any]) -> set[tuple[int, bool, Any]]:
    """Return where marks are open, whether on the whole, and of which change."""
    marks = Mark.objects.using("owner").filter(memory__in=memories, cleared_at=None)
    return {
        (memories.index(mark.memory_id), mark.component is None, str(mark.change_id))
        for mark in marks.select_related("component", "change")
    }


# What is done the moment it is told; the rest is seen at a moment of its own. Which of two deeds
# came first makes a difference, and so they keep their order.
DEEDS = ("accept", "supersede")
HAPPENS = st.lists(
    st.tuples(
        st.sampled_from(["change", "change", "whole", "part", "link", "state", *DEEDS]),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.rule("SB-03", "SB-05", "VE-03", "VE-05")
@settings(max_examples=12, phases=QUICKLY)
@given(edges=EDGES, happens=HAPPENS, data=st.data())
def test_the_order_in_which_things_are_told_makes_no_difference(edges, happens, data):
    """
    Whether a memory is dirty depends on when things were seen, not on when they were told.

    Changes and verifications are seen at fixed moments and told in two different orders; so are
    dependencies, accepted components, and what is replaced or accepted.
    """
    offices = new_office(), new_office()
    graphs = [mixed_graph(office, edges, "one") for office in offices]
    moments = [timezone.now() + timedelta(microseconds=number) for number in range(len(happens))]
    told = list(zip(happens, moments, strict=True))
    deeds = iter([one for one in told if one[0][0] in DEEDS])
    shuffled = [
        next(deeds) if one[0][0] in DEEDS else one for one in data.draw(st.permutations(told))
    ]

    for office, memories, order in zip(offices, graphs, (told, shuffled), strict=True):
        for happening in order:
            # To accept twice, or what was replaced, is refused.
            with suppress(Refusal):
                _tell(office, memories, *happening)

    first, second = (_dirty(memories) for memories in graphs)
    assert first == second


def _tell(office: Office, memories: list[Any], happens: Any, moment: Any) -> None:
    what, one, which = happens
    if what == "change":
        report_change(
            office.colleague.caller,
            project="apollo",
            subject=SUBJECTS[which],
            summary=f"{one} {which} {moment}",
            observed_at=moment,
        )
    elif what in ("whole", "part"):
        parts = [SUBJECTS[one % 4], f"one.s{one}"]
        is_whole = what == "whole" or one == SUGGESTING
        verify(
            office.senior.caller,
            memory_id=memories[one],
            outcome="confirmed",
            method="self",
            components=None if is_whole else [parts[which % 2]],
            observed_at=moment,
        )
    elif what == "link" and one != which:
        _depend(office, memories, [(one, which)])
    elif what == "state":
        (suggested,) = Component.objects.using("owner").filter(
            memory=memories[SUGGESTING], subject="app.port"
        )
        accept_component(office.senior.caller, component_id=suggested.id)
    elif what == "accept":
        accept(office.reviewer.caller, memory_id=memories[CAPTURED], reason="so it is")
    elif what == "supersede":
        remember(
            office.senior.caller,
            content=f"What took the place of part {one} says something else.",
            project="apollo",
            links=[LinkTo(LinkType.SUPERSEDES, memories[one])],
        )


def _dirty(memories: list[Any]) -> set[tuple[int, bool]]:
    """Return what is marked, and whether as a whole, of what is in use."""
    live = Memory.objects.using("owner").filter(id__in=memories, invalidated_at=None)
    in_use = {memories.index(one) for one in live.values_list("id", flat=True)}
    return {(number, whole) for number, whole, _ in open_marks(memories) if number in in_use}


@pytest.mark.rule("SB-05", "SB-08")
@settings(max_examples=8, phases=QUICKLY)
@given(edges=EDGES)
def test_circles_end_marks_come_once_and_all_is_clean_in_the_end(edges):
    office = new_office()
    memories = graph(office, edges, "one")

    for _ in range(2):
        report_change(
            office.colleague.caller, project="apollo", subject="app", summary="x", whole_tree=True
        )

    marks = Mark.objects.using("owner").filter(tenant=office.tenant, cleared_at=None)
    keys = [(mark.memory_id, mark.component_id, mark.change_id) for mark in marks]
    assert len(keys) == len(set(keys))
    assert {memory for memory, _, _ in keys} == set(memories)
    for memory in memories:
        verify(office.senior.caller, memory_id=memory, outcome="confirmed", method="self")
    assert not marks.all().exists()


def reachable(edges: Any, start: int) -> set[int]:
    """Return what depends on a memory, through others and without itself unless in a circle."""
    found: set[int] = set()
    ahead = [start]
    while ahead:
        one = ahead.pop()
        for src, dst in edges:
            if dst == one and src != dst and src not in found:
                found.add(src)
                ahead.append(src)
    return found


@pytest.mark.rule("SB-05")
@settings(max_examples=8, phases=QUICKLY)
@given(edges=EDGES, start=st.integers(0, 4))
def test_every_dependent_is_marked_and_nothing_else(edges, start):
    office = new_office()
    memories = graph(office, edges, "one")

    report_change(office.colleague.caller, project="apollo", subject=f"one.s{start}", summary="x")

    marked = {number for number, _, _ in open_marks(memories)}
    assert marked == reachable(edges, start) | {start}


@pytest.mark.rule("SB-05")
def test_an_end_that_passes_marks_what_depends_on_it_once(office):
    base = states(office.senior, "app.a", "1", valid_until=at(timezone.now() + timedelta(days=1)))
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    further = kept(office.senior, "Further.", project="apollo", depends_on=[relying])
    mark_what_expired()
    assert trust(office.senior, relying) == "verified"
    _ends(base, timezone.now())

    assert mark_what_expired() >= 1

    for one in (relying, further):
        (mark,) = seen(office.senior, one)["marks"]
        assert (mark["cause"], mark["cause_memory"]) == ("expired", base)
    # It holds although what it relied on has ended, and so does what relies on it.
    verified(office.senior, relying)
    mark_what_expired()
    assert trust(office.senior, relying) == trust(office.senior, further) == "verified"


def _ends(memory: str, moment: Any) -> None:
    Memory.objects.using("owner").filter(id=read_id(Prefix.MEMORY, memory)).update(
        valid_until=moment
    )


def test_what_was_verified_after_the_end_is_not_marked(office):
    base = states(office.senior, "app.a", "1", valid_until=at(timezone.now() + timedelta(days=1)))
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    _ends(base, timezone.now())
    verified(office.senior, relying)

    mark_what_expired()

    assert trust(office.senior, relying) == "verified"


def test_a_tenant_that_is_suspended_waits_and_each_end_is_told_in_its_own(office, other_office):
    ends = {}
    for one in (office, other_office):
        base = states(one.senior, "app.a", "1")
        ends[one.slug] = kept(one.senior, "Relying.", project="apollo", depends_on=[base])
        _ends(base, timezone.now())
    type(other_office.tenant).objects.using("owner").filter(id=other_office.tenant.id).update(
        state="suspended"
    )

    mark_what_expired()

    marks = Mark.objects.using("owner")
    assert marks.filter(tenant=office.tenant, cause="expired").count() == 1
    assert marks.filter(tenant=other_office.tenant).count() == 0


@pytest.mark.rule("SB-05")
def test_two_disputes_have_both_to_end(office):
    base = states(office.senior, "app.a", "1", kind="decision")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    single = done(office.colleague.post(f"/memories/{base}/challenge", {"reason": "no"}))
    other = done(
        office.colleague.post(
            "/memories",
            {
                "content": "It is 2.",
                "project": "apollo",
                "components": [{"subject": "app.a", "value": "2"}],
            },
        )
    )
    pair = other["conflicts"][0]["id"]

    for dispute, state in ((single["dispute_id"], "dirty"), (pair, "verified")):
        done(office.reviewer.post(f"/conflicts/{dispute}/resolve", {"keep_both": True}))
        assert trust(office.senior, relying) == state


@pytest.mark.rule("DE-08")
def test_a_dispute_that_not_all_may_know_of_marks_nothing(office):
    base = states(office.senior, "app.a", "1", kind="decision")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])

    done(
        office.colleague.post(
            "/memories",
            {
                "content": "Mine says 2.",
                "project": "apollo",
                "visibility": "private",
                "components": [{"subject": "app.a", "value": "2"}],
            },
        )
    )

    assert seen(office.reviewer, relying)["marks"] == []


@pytest.mark.rule("SB-05")
def test_automatic_supersedes_mark_too(office):
    old = states(office.senior, "app.a", "1")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[old])

    states(office.senior, "app.a", "2", content="senior: app.a is 2.")

    assert trust(office.senior, old) == "superseded"
    (mark,) = seen(office.senior, relying)["marks"]
    assert mark["cause"] == "superseded"


def test_all_orders_of_two_changes_and_a_look_agree(office):
    """Small, and every order: the look between two changes clears the first alone."""
    outcomes = set()
    for number, order in enumerate(itertools.permutations(range(3))):
        memory = states(office.senior, f"app.t{number}", "1")
        moments = [timezone.now() + timedelta(microseconds=one) for one in range(3)]
        for one in order:
            if one == 1:
                verified(office.senior, memory, observed_at=at(moments[1]))
            else:
                reported(office.senior, f"app.t{number}", str(one), observed_at=at(moments[one]))
        outcomes.add(
            tuple(one["change"]["summary"] for one in seen(office.senior, memory)["marks"])
        )

    assert outcomes == {("2",)}
