"""A verdict that could not matter at its moment is looked at again once it can."""

import pytest
from django.utils import timezone

from hygiene.stub import Rule
from memory.conflict.left_to_the_judge import JUDGE_MEMORY
from memory.models import SettledPair
from tenants.context import acting_as
from tenants.jobs import leave_job
from tenants.models import Job
from tests.judging import certified, conflicts, judgements, live, says, work
from tests.memories import done, kept, row
from tests.test_judging import NEW, OLD, model, server

__all__ = ["certified", "model", "server"]

pytestmark = pytest.mark.rule("JU-08", "DE-09", "RE-03", "PO-15")

BEATEN_BY = "The staging database listens on port 5434."


def compared(person):
    """Return the id of a memory that was judged with others about which nobody was asked."""
    Job.objects.using("owner").filter(tenant=person.caller.tenant_id).update(state="obsolete")
    return kept(person, NEW, project="apollo")


def forget(person, memory_id):
    done(person.post(f"/memories/{memory_id}/forget", {"reason": "for now"}))


def restore(person, memory_id):
    done(person.post(f"/memories/{memory_id}/restore"))


def sweep(office):
    """Have a sweep find what no job of a memory's own comes to."""
    Job.objects.using("owner").filter(tenant=office.tenant, state="queued").update(state="obsolete")
    assert office.senior.post("/hygiene/sweeps", {}).status_code == 202
    work(office)


def looked_at_again(office, by):
    sweep(office) if by == "sweep" else work(office)


def disputed(office, one, other):
    """Return whether the two wait for people, and are live."""
    pending = [{c["memory_a"], c["memory_b"]} for c in conflicts(office.viewer, "pending")]
    return pending == [{one, other}] and len(live(office.viewer, [one, other])) == 2


@pytest.mark.parametrize("by", ["job", "sweep"])
def test_what_lost_to_one_is_in_dispute_with_the_other_once_it_is_back(office, certified, by):
    certified.script = [
        Rule(if_contains=["port 5432", "port 5434"], answer={"relation": "unrelated"}),
        Rule(answer={"relation": "contradiction", "confidence": 1.0}),
    ]
    protected = kept(office.contractor, OLD, project="apollo", kind="gotcha")
    winner = kept(office.senior, BEATEN_BY, project="apollo")
    work(office)
    loser = compared(office.contractor)
    work(office)
    assert live(office.viewer, [protected, winner, loser]) == [protected, winner]
    assert sorted(one.deed for one in judgements(office)) == ["late", "nothing", "supersede"]
    assert conflicts(office.viewer, "pending") == []

    restore(office.senior, loser)
    looked_at_again(office, by)

    assert disputed(office, loser, protected)
    assert sorted(one.deed for one in judgements(office)) == ["dispute", "nothing", "supersede"]
    asked = len(certified.requests)
    sweep(office)
    assert len(certified.requests) == asked


@pytest.mark.parametrize("by", ["job", "sweep"])
@pytest.mark.parametrize("gone", ["the newer", "the older"])
def test_what_went_while_the_judge_was_asked_is_in_dispute_once_it_is_back(
    office, certified, gone, by
):
    says(certified, "contradiction", 0.5)
    older = kept(office.senior, OLD, project="apollo")
    newer = compared(office.senior)
    away = iter([newer if gone == "the newer" else older])
    certified.meddle = lambda: [forget(office.senior, one) for one in away]
    work(office)
    assert [one.deed for one in judgements(office)] == ["late"]

    for one in (older, newer):
        if one not in live(office.viewer, [older, newer]):
            restore(office.senior, one)
    looked_at_again(office, by)

    assert disputed(office, older, newer)
    assert [one.deed for one in judgements(office)] == ["dispute"]


@pytest.mark.rule("PO-14")
def test_what_was_settled_just_then_is_acted_upon_if_it_is_taken_up_again(office, certified):
    says(certified, "contradiction", 0.5)
    older = kept(office.senior, OLD, project="apollo")
    newer = compared(office.senior)
    low, high = sorted((row(older).id, row(newer).id))
    settled = {"tenant": office.tenant, "low_id": low, "high_id": high}
    certified.meddle = lambda: SettledPair.objects.using("owner").get_or_create(
        **settled, defaults={"why": "keep_both"}
    )
    work(office)
    assert [one.deed for one in judgements(office)] == ["late"]

    SettledPair.objects.using("owner").filter(**settled).update(reopened_at=timezone.now())
    with acting_as(office.senior.caller):
        leave_job(JUDGE_MEMORY, dedup_key="taken up again", subject_id=row(newer).id)
    work(office)

    assert disputed(office, older, newer)
    # Neither text had changed: what was said still stood.
    assert len(certified.requests) == len(judgements(office)) == 1


@pytest.mark.parametrize("by", ["job", "sweep"])
@pytest.mark.parametrize(
    ("relation", "deed"), [("unrelated", "nothing"), ("complementary", "relate")]
)
def test_what_had_its_effect_is_not_asked_about_again(office, certified, relation, deed, by):
    certified.script = [
        Rule(if_contains=["port 5434"], answer={"relation": "contradiction", "confidence": 1.0}),
        Rule(answer={"relation": relation, "confidence": 1.0}),
    ]
    other = kept(office.contractor, OLD, project="apollo")
    newer = compared(office.contractor)
    work(office)
    assert [one.deed for one in judgements(office)] == [deed]

    forget(office.contractor, newer)
    restore(office.senior, newer)
    looked_at_again(office, by)

    assert len(certified.requests) == len(judgements(office)) == 1
    assert len(live(office.viewer, [other, newer])) == 2


def test_what_was_found_unrelated_to_the_loser_is_not_asked_about_again(office, certified):
    certified.script = [
        Rule(if_contains=["port 5434"], answer={"relation": "contradiction", "confidence": 1.0}),
        Rule(answer={"relation": "unrelated", "confidence": 1.0}),
    ]
    kept(office.contractor, OLD, project="apollo")
    kept(office.senior, BEATEN_BY, project="apollo")
    loser = compared(office.contractor)
    work(office)
    assert sorted(one.deed for one in judgements(office)) == ["nothing", "supersede"]
    asked = len(certified.requests)

    restore(office.senior, loser)
    work(office)

    assert len(certified.requests) == asked
