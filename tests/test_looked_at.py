"""What somebody independent has looked at counts, where two contradict each other."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Component, Verification
from tenants.ids import Prefix, read_id
from tests.judging import branch, certified, conflicts, live, says, stating, work
from tests.memories import kept, remember, row, seen
from tests.test_judging import model, pair, server

__all__ = ["certified", "model", "server"]


def looked(person, memory_id, *, at=None, outcome="confirmed", value=None, subjects=()):
    """Note that somebody has looked whether a memory holds."""
    Verification.objects.using("owner").create(
        tenant_id=person.caller.tenant_id,
        memory_id=read_id(Prefix.MEMORY, memory_id),
        by_member=person.member,
        by_agent_id=person.caller.agent_id,
        level=person.caller.level,
        outcome=outcome,
        method="command",
        observed_value=value,
        subjects=list(subjects),
        weighs=True,
        observed_at=at or timezone.now(),
    )


@pytest.mark.rule("PO-08")
def test_what_was_confirmed_since_the_newer_was_written_is_left_to_people(office, certified):
    says(certified, "contradiction")
    old, new = pair(office)
    looked(office.reviewer, old)

    work(office)

    (conflict,) = conflicts(office.viewer)
    assert (conflict["state"], conflict["recommended_winner"]) == ("pending", new)
    assert live(office.viewer, [old, new]) == [old, new]


@pytest.mark.rule("PO-08", "TR-04")
@pytest.mark.parametrize(
    "how", ["by its owner", "by its owner's agent", "before", "refuted", "inconclusive"]
)
def test_what_does_not_count_leaves_the_newer_its_win(office, certified, how):
    says(certified, "contradiction")
    old, new = pair(office, old=office.senior, new=office.colleague)
    who = {"by its owner": office.senior, "by its owner's agent": office.agent}
    earlier = timezone.now() - timedelta(hours=1) if how == "before" else None
    outcome = how if how in ("refuted", "inconclusive") else "confirmed"
    looked(who.get(how, office.reviewer), old, at=earlier, outcome=outcome)

    work(office)

    assert live(office.viewer, [old, new]) == [new]


@pytest.mark.rule("PO-08")
@pytest.mark.parametrize(
    ("subjects", "wins"), [(["deploy.host"], True), (["deploy.branch"], False)]
)
def test_who_looked_at_another_component_has_not_looked_at_this(office, subjects, wins):
    old = branch(office.senior, "main")["memory_id"]
    new = kept(office.colleague, "We deploy from release these days.", project="apollo")
    looked(office.reviewer, old, subjects=subjects)

    again = branch(office.colleague, "release", content="We deploy from release these days.")

    assert (again["absorbed"], again["memory_id"]) == (True, new)
    assert again["superseded"] == ([old] if wins else [])
    assert again["conflicts"][0]["state"] == ("resolved" if wins else "pending")


def stated_later(office, text, value):
    """Have a contractor's note state a value that a senior's contradicts already."""
    return branch(office.contractor, value, content=text)


@pytest.mark.rule("DE-04", "PO-09")
def test_a_value_that_somebody_has_seen_since_makes_the_other_out_of_date(office):
    old = branch(office.senior, "main")["memory_id"]
    text = "We deploy from release these days."
    new = kept(office.contractor, text, project="apollo")
    looked(office.senior, new, value="release", subjects=["deploy.branch"])

    told = stated_later(office, text, "release")

    (conflict,) = told["conflicts"]
    assert (conflict["kind"], conflict["resolution"]) == ("stale", "recency")
    assert conflict["verdict"]["relation"] == "a_supersedes_b"
    assert live(office.viewer, [old, new]) == [new]


@pytest.mark.rule("DE-04", "PO-07")
@pytest.mark.parametrize("how", ["by its owner", "no value", "another component", "earlier"])
def test_otherwise_it_is_a_contradiction_and_the_level_decides(office, how):
    old = branch(office.senior, "main")["memory_id"]
    text = "We deploy from release these days."
    new = kept(office.contractor, text, project="apollo")
    who = office.contractor if how == "by its owner" else office.senior
    subjects = ["deploy.host"] if how == "another component" else ["deploy.branch"]
    looked(who, new, value=None if how == "no value" else "release", subjects=subjects)
    if how == "earlier":
        looked(office.reviewer, old, value="main", subjects=["deploy.branch"])

    told = stated_later(office, text, "release")

    (conflict,) = told["conflicts"]
    assert (conflict["kind"], conflict["winner"]) == ("contradiction", old)
    assert live(office.viewer, [old, new]) == [old]


def suggested(memory_id, subject, value):
    memory = row(memory_id)
    Component.objects.using("owner").create(
        tenant_id=memory.tenant_id, memory=memory, subject=subject, value=value, suggested=True
    )


@pytest.mark.rule("DE-04", "DE-03", "DE-05")
def test_what_was_only_read_out_of_a_text_is_compared_and_never_judged_at_once(office, certified):
    says(certified, "unrelated")
    old = kept(office.colleague, "Nothing is said of where it goes out from.", project="apollo")
    suggested(old, "deploy.branch", "main")

    new = branch(office.senior, "release", content="Blue is the colour of the sky.")

    (candidate,) = new["conflict_candidates"]
    assert candidate == {"memory_id": old, "score": None, "via": "subject"}
    assert (new["conflicts"], new["superseded"], new["judging"]) == ([], [], "queued")
    work(office)
    assert len(certified.requests) == 1
    assert live(office.viewer, [old, new["memory_id"]]) == [old, new["memory_id"]]


@pytest.mark.rule("DE-04", "PO-11")
def test_a_dismissed_suggestion_leads_to_nothing(office):
    old = kept(office.colleague, "Nothing is said of where it goes out from.", project="apollo")
    suggested(old, "deploy.branch", "main")
    Component.objects.using("owner").filter(memory=row(old)).update(dismissed_at=timezone.now())

    new = branch(office.senior, "release", content="Blue is the colour of the sky.")

    assert new["conflict_candidates"] == []


@pytest.mark.rule("DE-04", "DE-03")
def test_several_suggested_values_are_no_reason_to_compare(office):
    old = kept(office.colleague, "We build for several processors.", project="apollo")
    for value in ("amd64", "arm64"):
        suggested(old, "build.arch", value)
    new = remember(
        office.senior,
        "The sky is blue.",
        project="apollo",
        components=stating("build.arch", "riscv64", multi=True),
    )
    assert new["conflict_candidates"] == []
    assert seen(office.viewer, old)["lifecycle"] == "live"
