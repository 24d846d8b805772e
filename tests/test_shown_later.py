"""What becomes visible, or knowledge, later than it was written is compared all the same."""

import pytest

from tenants.models import Job
from tests.judging import certify, conflicts, jobs_of, live, says, stating, work
from tests.memories import done, kept, remember, seen
from tests.test_judging import NEW, OLD, model, server
from tests.test_sweep import swept as swept_by

__all__ = ["model", "server"]

pytestmark = pytest.mark.rule("JU-08", "DE-05")

JUDGE = ("judge_memory", "queued")


def states(person, value, **more):
    content = more.pop("content", f"Deploys go out from {value}.")
    components = stating("deploy.branch", value)
    return remember(person, content, project="apollo", components=components, **more)["memory_id"]


def show(person, memory_id, visibility="project"):
    return done(person.patch(f"/memories/{memory_id}", {"visibility": visibility}))


def none_left(office):
    Job.objects.using("owner").filter(tenant=office.tenant).delete()


@pytest.mark.rule("DE-04", "DE-03", "VI-04")
@pytest.mark.parametrize("visibility", ["project", "tenant"])
def test_a_value_that_is_shown_later_clashes_with_what_stands_there(office, visibility):
    mine = states(office.senior, "main", visibility="private")
    theirs = states(office.colleague, "release", visibility=visibility)
    work(office)
    assert conflicts(office.colleague) == []

    show(office.senior, mine, visibility)
    assert jobs_of(office)[-1] == JUDGE
    work(office)

    (conflict,) = conflicts(office.viewer)
    assert {conflict["memory_a"], conflict["memory_b"]} == {mine, theirs}
    assert conflict["kind"] == "contradiction"
    assert len(live(office.viewer, [mine, theirs])) == 1


@pytest.mark.rule("DE-01")
def test_a_text_that_is_shown_later_is_judged(office, model):
    certify(office)
    says(model, "contradiction", 0.5)
    mine = kept(office.colleague, OLD, project="apollo", visibility="private")
    kept(office.senior, NEW, project="apollo")
    none_left(office)

    show(office.colleague, mine)
    work(office)

    assert len(conflicts(office.viewer)) == len(model.requests) == 1


@pytest.mark.parametrize(
    "change", [{"visibility": "private"}, {"visibility": "project"}, {"importance": 1.0}]
)
def test_nothing_is_left_to_do_where_nobody_sees_it_newly(office, change):
    mine = kept(office.senior, OLD, project="apollo")
    none_left(office)

    done(office.senior.patch(f"/memories/{mine}", change))

    assert jobs_of(office) == []


@pytest.mark.rule("DE-05")
def test_where_judging_is_off_nothing_is_judged(office, settings):
    settings.JUDGE = "off"
    mine = kept(office.senior, OLD, project="apollo", visibility="private")
    show(office.senior, mine)
    work(office)
    # It comes to nothing, and is there for the next sweep once there is a judge.
    assert jobs_of(office) == [("judge_memory", "obsolete")]


@pytest.mark.rule("DE-08", "VI-04")
def test_a_job_of_what_is_shown_sees_what_its_owner_sees(office):
    hidden = states(office.colleague, "release", visibility="private")
    mine = states(office.senior, "main", visibility="private")
    show(office.senior, mine)
    work(office)

    assert conflicts(office.colleague) == conflicts(office.senior) == []
    assert seen(office.colleague, hidden)["lifecycle"] == "live"


@pytest.mark.rule("TR-02")
@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_proposal_that_is_accepted_is_compared_once_more(office, verdict):
    proposal = kept(office.watcher, OLD, project="apollo")
    kept(office.senior, NEW, project="apollo")
    none_left(office)

    done(office.reviewer.post(f"/memories/{proposal}/{verdict}", {"reason": "it is so"}))

    assert jobs_of(office) == ([JUDGE] if verdict == "accept" else [])
    work(office)
    pairs = [{one["memory_a"], one["memory_b"]} for one in conflicts(office.reviewer)]
    assert any(proposal in pair for pair in pairs) is (verdict == "accept")


@pytest.mark.rule("DE-03", "DE-04")
def test_a_sweep_finds_two_values_that_nothing_else_has_compared(office):
    """However far apart their texts are: a subject is no likeness."""
    mine = states(office.senior, "main", visibility="private", content="We ship at noon.")
    theirs = states(office.colleague, "release", content="Bob built the pipeline himself.")
    show(office.senior, mine)
    none_left(office)

    told = swept_by(office.senior)

    assert (told["pairs"], told["actions"] + told["disputes"]) == (1, 1)
    (conflict,) = conflicts(office.viewer)
    assert {conflict["memory_a"], conflict["memory_b"]} == {mine, theirs}
    assert conflict["batch"] == told["id"]
    again = swept_by(office.reviewer)
    assert again["pairs"] == 0


@pytest.mark.rule("DE-08")
def test_a_sweep_opens_a_dispute_where_not_all_see_both(office):
    states(office.colleague, "release", content="Bob built the pipeline himself.")
    mine = states(office.senior, "main", visibility="private", content="We ship at noon.")
    done(office.senior.get(f"/memories/{mine}"))
    told = conflicts(office.senior)
    assert [one["state"] for one in told] == ["pending"]
    none_left(office)

    assert swept_by(office.senior)["pairs"] == 0
    assert len(conflicts(office.senior)) == 1


@pytest.mark.rule("DE-04")
def test_a_sweep_leaves_alone_what_is_proposed_or_has_several_values(office):
    states(office.watcher, "trunk", content="Somebody typed trunk.")
    kept(
        office.senior,
        "Both are fine.",
        project="apollo",
        components=stating("deploy.branch", "main", "release", multi=True),
    )
    states(office.colleague, "hotfix", content="Bob built the pipeline himself.")
    states(office.colleague, "canary", content="Whatever goes to Mars.")
    none_left(office)

    assert swept_by(office.senior)["pairs"] == 0
    assert conflicts(office.senior) == []
