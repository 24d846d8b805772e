"""What tests about changes and verifications say often."""

from datetime import datetime
from typing import Any

from memory.models import Mark
from tests.memories import done, kept
from tests.people import Office, Person


def states(person: Person, subject: str, value: str | None = None, **more: Any) -> str:
    """Return the id of a memory in apollo with one component."""
    said = {"subject": subject} if value is None else {"subject": subject, "value": value}
    more.setdefault("content", f"{person.name}: {subject} is {value}.")
    return kept(person, more.pop("content"), project="apollo", components=[said], **more)


def reported(person: Person, subject: str, summary: str = "it moved", **more: Any) -> Any:
    """Return the answer to a change that was reported in apollo."""
    return done(
        person.post(
            "/changes", {"project": "apollo", "subject": subject, "summary": summary, **more}
        )
    )


def marked(person: Person, subject: str, **more: Any) -> set[str]:
    """Return what a change marks, as its reporter is told."""
    return {one["memory_id"] for one in reported(person, subject, **more)["marked"]}


def marks_of(office: Office) -> int:
    """Return how many marks there are in the tenant, open or not."""
    return Mark.objects.using("owner").filter(tenant=office.tenant).count()


def verified(person: Person, memory_id: str, outcome: str = "confirmed", **more: Any) -> Any:
    """Return the answer to a verification that was taken."""
    more.setdefault("method", "self")
    return done(person.post(f"/memories/{memory_id}/verify", {"outcome": outcome, **more}))


def trust(person: Person, memory_id: str) -> str:
    """Return the trust state of a memory."""
    return str(done(person.get(f"/memories/{memory_id}"))["trust_state"])


def at(moment: datetime) -> str:
    """Return a time as it is sent."""
    return moment.isoformat()
