"""What tests about conflicts say often."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings

import hygiene.jobs  # noqa: F401  who judges
from hygiene.judge import judge_from
from hygiene.judging import current_judge
from hygiene.model_judge import Patience
from hygiene.models import Certificate, Judgement
from hygiene.stub import Model, Rule
from memory.models import Conflict
from tenants.jobs import claim, run_job
from tenants.models import Job
from tests.memories import done, remember
from tests.people import Office, Person

STUB = "openai:stub"


def work(office: Office) -> int:
    """Do the office's jobs until none is due, and return how many were done."""
    worked = 0
    while waiting := list(_queued(office)):
        jobs = [job for job in map(claim, waiting) if job is not None]
        if not jobs:
            break
        for job in jobs:
            run_job(job)
        worked += len(jobs)
    return worked


def _queued(office: Office) -> Any:
    queued = Job.objects.using("owner").filter(tenant=office.tenant, state="queued")
    return queued.order_by("created_at", "id").values_list("id", flat=True)


def jobs_of(office: Office) -> list[tuple[str, str]]:
    """Return kind and state of all that was left to do in the office."""
    jobs = Job.objects.using("owner").filter(tenant=office.tenant).order_by("created_at", "id")
    return list(jobs.values_list("kind", "state"))


def certify(office: Office, *, passed: bool = True) -> None:
    """Let the stub act in the office, at the address that the settings name."""
    judge = judge_from(STUB, settings.JUDGE_BASE_URL or "http://127.0.0.1")
    Certificate.objects.using("owner").create(
        tenant=office.tenant,
        judge=judge.id,
        prompt_version=judge.prompt_version,
        likeness=judge.likeness,
        passed=passed,
        reason=".",
    )


@pytest.fixture
def certified(office: Office, model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The model of the module that asks for it, which may act in the office."""
    # A model that fails is tried again at once: what comes of it is the same.
    monkeypatch.setattr(current_judge(), "_patience", Patience(first_pause=0.01))
    certify(office)
    return model


def says(model: Model, relation: str, confidence: float = 1.0, **more: Any) -> None:
    """Have the model say this of every pair."""
    model.script = [Rule(answer={"relation": relation, "confidence": confidence, **more})]


def stating(subject: str, *values: str, multi: bool = False) -> list[dict[str, Any]]:
    """Return the components that a write states."""
    return [{"subject": subject, "value": value, "multi": multi} for value in values]


def branch(person: Person, value: str, **more: Any) -> Any:
    """Return the answer to a write that says from which branch is deployed."""
    body = {"project": "apollo", "components": stating("deploy.branch", value)} | more
    return remember(person, body.pop("content", f"Deploys go out from {value}."), **body)


def conflicts(person: Person, state: str = "all", **more: Any) -> list[Any]:
    """Return the conflicts that somebody sees."""
    return list(done(person.get("/conflicts", {"state": state, **more}))["results"])


def lost(person: Person) -> list[Any]:
    """Return what was retired automatically, as somebody is told."""
    return list(done(person.get("/auto-resolved"))["results"])


def live(person: Person, ids: Sequence[str]) -> list[str]:
    """Return those of the memories that are live."""
    return [one for one in ids if done(person.get(f"/memories/{one}"))["lifecycle"] == "live"]


def judgements(office: Office) -> list[Judgement]:
    """Return what was judged in the office, in order."""
    found = Judgement.objects.using("owner").filter(tenant=office.tenant)
    return list(found.order_by("judged_at", "id"))


def records(office: Office) -> int:
    """Return how many records of conflicts the office has, whoever may see them."""
    return Conflict.objects.using("owner").filter(tenant=office.tenant).count()
