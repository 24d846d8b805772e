"""What tests of the review desk say often: disputes as a judge would have left them."""

from collections.abc import Sequence
from typing import Any

from memory.models import Conflict, Embedding, Link, Memory, SettledPair
from tenants.ids import Prefix, read_id, wire_id
from tests.memories import kept
from tests.people import Office, Person

DESK = "/admin/memory/conflict/"


def verdict(confidence: float = 0.8, **more: Any) -> dict[str, Any]:
    """Return what a judge said."""
    return {
        "relation": "contradiction",
        "confidence": confidence,
        "reasoning": "Both name the port of the same service, and name another one.",
        "shared_subject": "service.port",
        "missing_specifics": [],
        "judge": "openai:small",
        "prompt_version": "compare-1",
        **more,
    }


def dispute(office: Office, newer: str, older: str | None = None, **more: Any) -> str:
    """Return the id of a dispute that waits, about two memories or about one."""
    a = read_id(Prefix.MEMORY, newer)
    b = None if older is None else read_id(Prefix.MEMORY, older)
    conflict = Conflict.objects.using("owner").create(
        tenant=office.tenant,
        memory_a_id=a,
        memory_b_id=b,
        low_id=min(a, b or a),
        high_id=max(a, b or a),
        level_a=30,
        level_b=None if b is None else 30,
        via="vector" if b else "challenge",
        **{
            "kind": "contradiction" if b else "challenged",
            "row": "not sure enough" if b else "",
            "verdict": verdict() if b else None,
            "reason": "" if b else "It says the wrong port.",
            **more,
        },
    )
    return wire_id(Prefix.CONFLICT, conflict.id)


def pair(person: Person, office: Office, number: int, **more: Any) -> tuple[str, str, str]:
    """Return the newer and the older of two that disagree, and their dispute."""
    note = f"Service {number:02} of the cluster listens on port {{}}."
    older = kept(person, note.format(5000 + number), project="apollo", kind="gotcha")
    newer = kept(person, note.format(6000 + number), project="apollo", kind="gotcha")
    return newer, older, dispute(office, newer, older, **more)


def challenged(person: Person, office: Office, number: int, **more: Any) -> tuple[str, str]:
    """Return a memory that is called into question, and the dispute."""
    memory = kept(person, f"Printer {number:02} stands on floor {number}.", project="apollo")
    return memory, dispute(office, memory, **more)


def state_of(dispute_id: str) -> tuple[str, str | None]:
    """Return the state of a dispute, and how it ended."""
    conflict = Conflict.objects.using("owner").get(id=read_id(Prefix.CONFLICT, dispute_id))
    return conflict.state, conflict.resolution


def everything(office: Office, ids: Sequence[str]) -> dict[str, Any]:
    """Return what the tables hold of memories and around them, versions and events apart."""
    wanted = [read_id(Prefix.MEMORY, one) for one in ids]

    def all_of(model: Any, *left_out: str, **which: Any) -> list[dict[str, Any]]:
        rows = model.objects.using("owner").filter(tenant=office.tenant, **which).order_by("id")
        names = [one.attname for one in model._meta.concrete_fields if one.attname not in left_out]
        return list(rows.values(*names))

    return {
        "memories": all_of(Memory, "version", id__in=wanted),
        "embeddings": all_of(Embedding, memory__in=wanted),
        "links": all_of(Link, removed_at=None),
        "settled": all_of(SettledPair, reopened_at=None),
        "conflicts": all_of(Conflict),
        "live": list(
            Memory.objects.using("owner")
            .filter(tenant=office.tenant, invalidated_at=None)
            .order_by("id")
            .values_list("id", flat=True)
        ),
    }
