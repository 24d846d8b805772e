"""What tests about review say often."""

from typing import Any

from memory.models import Conflict
from tenants.founding import OWNER
from tenants.ids import Prefix, new_id, read_id, wire_id
from tests.memories import kept, row
from tests.people import Office, Person

ONE = "The staging database listens on port 5432."
OTHER = "Connections to staging go to port 5433."


def reopened(dispute: str) -> str:
    """Let a dispute wait again, as a judge does who finds the pair anew."""
    changed = {"state": "pending", "resolved_at": None, "resolution": None}
    Conflict.objects.using(OWNER).filter(id=conflict_row(dispute).id).update(**changed)
    return dispute


def kept_in(office: Office, a: str, b: str, **more: Any) -> str:
    """Return the id of a dispute about two memories, as a judge would have opened it."""
    sides = [row(one).id for one in (a, b)]
    conflict = Conflict.objects.using(OWNER).create(
        **{
            "id": new_id(),
            "tenant_id": office.tenant.id,
            "memory_a_id": sides[0],
            "memory_b_id": sides[1],
            "low_id": min(sides),
            "high_id": max(sides),
            "kind": "contradiction",
            "level_a": row(a).author_level,
            "level_b": row(b).author_level,
            "via": "vector",
            "row": "15 not sure enough",
            "verdict": {
                "relation": "contradiction",
                "confidence": 0.8,
                "reasoning": "Two ports.",
                "shared_subject": "staging",
                "missing_specifics": [],
                "judge": "rules",
                "prompt_version": "rules-1",
            },
            **more,
        }
    )
    return wire_id(Prefix.CONFLICT, conflict.id)


def disputed_pair(office: Office, *texts: str, **more: Any) -> tuple[str, str, str]:
    """Return two memories of apollo's, the earlier one first, and the dispute about them."""
    said = texts or (ONE, OTHER)
    one = kept(office.senior, said[0], project="apollo", **more)
    other = kept(office.colleague, said[1], project="apollo", **more)
    return one, other, kept_in(office, other, one)


def conflict_row(dispute: str) -> Conflict:
    """Return what the tables hold of a dispute, whoever may see it."""
    return Conflict.objects.using(OWNER).get(id=read_id(Prefix.CONFLICT, dispute))


def resolve(person: Person, dispute: str, **choice: Any) -> Any:
    """Return the answer to somebody's decision."""
    return person.post(f"/conflicts/{dispute}/resolve", choice)


def undo(person: Person, batch: str) -> Any:
    """Return the answer to somebody who takes a batch back."""
    return person.post(f"/batches/{batch}/undo")


def of(person: Person) -> str:
    """Return the id of the person's seat."""
    return wire_id(Prefix.MEMBER, person.member.id)
