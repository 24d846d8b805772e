"""The brake holds however many retire at once."""

import pytest

from hygiene.stub import Model, answering
from memory.models import Memory
from tenants.jobs import claim, run_job
from tenants.models import Job
from tests.judging import certify, conflicts, says, stating
from tests.memories import kept, posting, together

pytestmark = pytest.mark.rule("PO-17")

THINGS = 6
TOPICS = [
    "The zebra enclosure opens at 9.",
    "The invoice printer needs toner X.",
    "Quarterly tax forms go to Berlin.",
    "The satellite link drops in rain.",
    "Chess club meets on Tuesday.",
    "The espresso machine leaks water.",
]


@pytest.fixture(scope="module")
def server():
    with answering(Model()) as model:
        yield model


@pytest.fixture
def braked(monkeypatch):
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED", 1)
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED_SHARE", 0.0)


def retired(office):
    found = Memory.objects.using("owner").filter(tenant=office.tenant)
    return found.filter(superseded_by__isnull=False).count()


def clashes(office):
    """Return calls that each contradict another thing that is known."""
    for number in range(THINGS):
        kept(
            office.colleague,
            f"Thing {number} is a.",
            project="apollo",
            components=stating(f"thing.n{number}", "a"),
        )
    return [
        posting(
            office.senior,
            "/memories",
            {
                "content": f"Thing {number} is b.",
                "project": "apollo",
                "components": stating(f"thing.n{number}", "b"),
            },
        )
        for number in range(THINGS)
    ]


@pytest.mark.parametrize("is_braked", [True, False])
def test_writes_at_the_same_moment_retire_no_more_than_one_after_the_other(
    office, is_braked, request
):
    if is_braked:
        request.getfixturevalue("braked")
    answers = together(*clashes(office))
    expected = 1 if is_braked else THINGS
    assert sum(len(answer.json()["superseded"]) for answer in answers) == expected
    assert retired(office) == expected
    assert len(conflicts(office.senior, "pending")) == THINGS - expected


def test_jobs_at_the_same_moment_retire_no_more_than_one_after_the_other(
    office, server, braked, settings
):
    settings.JUDGE, settings.JUDGE_BASE_URL = "openai:stub", server.base_url
    certify(office)
    says(server, "b_supersedes_a", 0.99)
    for topic in TOPICS:
        kept(office.colleague, topic, project="apollo")
    for topic in TOPICS:
        kept(office.senior, topic.replace(".", ", again."), project="apollo")
    queued = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    jobs = [job for one in queued.values_list("id", flat=True) if (job := claim(one)) is not None]

    together(*[lambda job=job: run_job(job) for job in jobs])

    assert len(jobs) >= THINGS
    assert retired(office) == 1
    assert conflicts(office.senior, "pending")
