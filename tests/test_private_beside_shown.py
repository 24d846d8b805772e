"""What a member keeps private is compared with what others show later, in their own sight alone."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from hygiene.judging import current_judge
from hygiene.models import Sweep
from tenants.models import Job
from tests.judging import conflicts, judgements, records, stating, work
from tests.memories import done, remember, seen
from tests.test_failed_jobs import A_DAY
from tests.test_shown_later import none_left, show, states
from tests.test_unanswered import asked_for

pytestmark = pytest.mark.rule("DE-08", "JU-03", "JU-08")


def due(person):
    """Return whether the schedule starts a sweep for somebody."""
    with connection.cursor() as cursor:
        judge = current_judge()
        cursor.execute(
            "SELECT member_id FROM sweeps_due('1 day', 100000, %s, %s)",
            [judge.id, judge.prompt_version],
        )
        return person.member.id in {one for (one,) in cursor.fetchall()}


def long_ago(office):
    sweeps = Sweep.objects.using("owner").filter(tenant=office.tenant)
    sweeps.update(started_at=datetime.now(UTC) - 2 * A_DAY)


def swept(person, office):
    asked_for(person)
    work(office)


@pytest.fixture
def hidden(office):
    """Return the id of what the colleague keeps private, and has compared with all there was."""
    private = states(office.colleague, "release", visibility="private")
    swept(office.colleague, office)
    return private


def brought_into_sight(office, how):
    """Return the id of another's memory that the colleague's sweep has passed, and that is back."""
    if how == "shown":
        other = states(office.senior, "main", visibility="private")
        private = states(office.colleague, "release", visibility="private")
        swept(office.colleague, office)
        return private, other, lambda: show(office.senior, other)
    other = states(office.senior, "main")
    done(office.senior.post(f"/memories/{other}/forget", {"reason": "It was a mistake."}))
    private = states(office.colleague, "release", visibility="private")
    swept(office.colleague, office)
    return private, other, lambda: done(office.senior.post(f"/memories/{other}/restore", {}))


@pytest.mark.parametrize("how", ["shown", "restored"])
def test_what_comes_into_sight_is_compared_with_what_is_kept_private(office, how):
    private, other, bring = brought_into_sight(office, how)
    none_left(office)
    long_ago(office)
    assert not due(office.colleague)
    bring()
    work(office)
    assert records(office) == 0
    assert due(office.colleague)

    swept(office.colleague, office)

    (conflict,) = conflicts(office.colleague)
    assert {conflict["memory_a"], conflict["memory_b"]} == {private, other}
    assert (conflict["state"], conflict["kind"]) == ("pending", "contradiction")
    # Nobody else is told that there is anything.
    for person in (office.senior, office.viewer, office.admin):
        assert conflicts(person) == []
    assert not seen(office.senior, other)["disputed"]
    assert seen(office.colleague, other)["disputed"]
    assert seen(office.senior, other)["lifecycle"] == "live"


def test_with_nothing_private_beside_it_nobody_is_asked(office):
    other = states(office.senior, "main", visibility="private")
    states(office.colleague, "release", visibility="project")
    # In the personal layer, and so beside nothing of a project's.
    remember(office.colleague, "I deploy from main.", components=stating("deploy.branch", "main"))
    swept(office.colleague, office)
    none_left(office)
    long_ago(office)
    show(office.senior, other)
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="done")
    assert not due(office.colleague)

    asked_for(office.colleague)

    left = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    assert [job.kind for job in left] == ["sweep"]


def test_whoever_shows_it_learns_of_no_job(office, hidden):
    other = states(office.senior, "main", visibility="private")
    Job.objects.using("owner").filter(tenant=office.tenant).update(state="done")
    show(office.senior, other)

    left = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    assert [job.member_id for job in left] == [office.senior.member.id]


def test_what_others_write_is_compared_with_what_is_kept_private_by_the_schedule(office, hidden):
    long_ago(office)
    assert not due(office.colleague)
    other = states(office.senior, "main")
    work(office)
    assert records(office) == 0
    assert due(office.colleague)

    swept(office.colleague, office)

    (conflict,) = conflicts(office.colleague)
    assert {conflict["memory_a"], conflict["memory_b"]} == {hidden, other}
    assert conflicts(office.senior) == []
    long_ago(office)
    assert not due(office.colleague)
    assert judgements(office) == []  # no judge is asked about values that were declared
