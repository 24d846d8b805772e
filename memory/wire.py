"""A memory as it is told outside: built inside the door, so that it holds nothing hidden."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.conflict.disputes import disputes_about
from memory.models import Component, Conflict, Dependency, Link, Memory, Verification
from memory.trust.marks import mark_wire, readable_causes
from memory.trust.standing import Standing, standing_of_new, standings
from memory.trust.state import lifecycle
from memory.trust.verifications import UNNAMED_AGENT, verification_wires, verifications_of
from tenants.ids import Prefix, moment, wire_id, wire_id_or_none
from tenants.once import Answer


@dataclass
class Surroundings:
    """What hangs on some memories, as far as whoever's door is open may see it."""

    links: dict[UUID, list[Link]] = field(default_factory=lambda: defaultdict(list))
    components: dict[UUID, list[Component]] = field(default_factory=lambda: defaultdict(list))
    suggested: dict[UUID, list[Component]] = field(default_factory=lambda: defaultdict(list))
    dependencies: dict[UUID, list[Dependency]] = field(default_factory=lambda: defaultdict(list))
    predecessors: dict[UUID, list[UUID]] = field(default_factory=lambda: defaultdict(list))
    disputes: dict[UUID, list[Conflict]] = field(default_factory=lambda: defaultdict(list))
    successors_in_sight: set[UUID] = field(default_factory=set)
    standings: dict[UUID, Standing] = field(default_factory=dict)
    verifications: dict[UUID, list[Verification]] = field(default_factory=dict)
    causes_in_sight: set[UUID] = field(default_factory=set)


def with_authors(memories: "QuerySet[Memory]") -> "QuerySet[Memory]":
    """Return the memories with who wrote them, in the same statement."""
    return memories.select_related("owner", "author_agent").defer("words", "text_key")


def surroundings(memories: Sequence[Memory]) -> Surroundings:
    """Look up what hangs on the memories, in a fixed number of statements."""
    found = Surroundings()
    ids = [memory.id for memory in memories]
    if not ids:
        return found
    links = Link.objects.filter(Q(src__in=ids) | Q(dst__in=ids), removed_at=None)
    for link in links.order_by("created_at", "id"):
        for end in {link.src_id, link.dst_id}.intersection(ids):
            found.links[end].append(link)
    said = Component.objects.filter(memory__in=ids, dismissed_at=None)
    for component in said.order_by("created_at", "id"):
        stated = found.suggested if component.suggested else found.components
        stated[component.memory_id].append(component)
    for dependency in Dependency.objects.filter(memory__in=ids).order_by("created_at", "id"):
        found.dependencies[dependency.memory_id].append(dependency)
    successors = {one for memory in memories if (one := memory.superseded_by_id) is not None}
    for one, later in (
        Memory.objects.filter(Q(superseded_by__in=ids) | Q(id__in=successors))
        .order_by("superseded_at", "sequence")
        .values_list("id", "superseded_by_id")
    ):
        if later in ids:
            found.predecessors[later].append(one)
        if one in successors:
            found.successors_in_sight.add(one)
    found.disputes = disputes_about(ids)
    found.standings = standings(memories, timezone.now(), found.disputes)
    found.verifications = verifications_of(
        one for one, standing in found.standings.items() if standing.looked_at
    )
    found.causes_in_sight = readable_causes(
        mark for one in found.standings.values() for mark in one.marks
    )
    return found


def in_sight(ids: Iterable[UUID | None]) -> set[UUID]:
    """Return those of the memories that whoever's door is open may read."""
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return set()
    return set(Memory.objects.filter(id__in=wanted).values_list("id", flat=True))


def memory_wires(memories: Sequence[Memory]) -> list[Answer]:
    """Return the memories with all that hangs on them."""
    around, now = surroundings(memories), timezone.now()
    return [memory_wire(memory, around, now) for memory in memories]


def memory_wire(memory: Memory, around: Surroundings, now: datetime) -> Answer:
    """Return one memory with all that hangs on it."""
    successor = (
        memory.superseded_by_id if memory.superseded_by_id in around.successors_in_sight else None
    )
    disputes = around.disputes.get(memory.id, [])
    standing = around.standings.get(memory.id) or standing_of_new(memory, now)
    author = author_wire(memory)
    return {
        "id": wire_id(Prefix.MEMORY, memory.id),
        "content": memory.content,
        "kind": memory.kind,
        "project": wire_id_or_none(Prefix.PROJECT, memory.project_id),
        "visibility": memory.visibility,
        "owner": wire_id(Prefix.MEMBER, memory.owner_id),
        "author": author,
        "provenance_rank": memory.provenance_rank,
        "author_level": memory.author_level,
        "trust_state": standing.state.value,
        "evidence_confidence": standing.confidence,
        "last_verified_at": moment(standing.last_verified_at),
        "dirty_reason": standing.dirty_reason,
        "created_at": moment(memory.created_at),
        "valid_from": moment(memory.valid_from),
        "valid_until": moment(memory.valid_until),
        "review_after": moment(memory.review_after),
        "invalidated_at": moment(memory.invalidated_at),
        "invalidated_reason": memory.invalidated_reason,
        "superseded_by": wire_id_or_none(Prefix.MEMORY, successor),
        "superseded_at": moment(memory.superseded_at),
        "supersedes": [wire_id(Prefix.MEMORY, one) for one in around.predecessors[memory.id]],
        "subjects": list(memory.subjects),
        "components": [_component_wire(one, standing) for one in around.components[memory.id]],
        "suggested_components": [_suggestion_wire(one) for one in around.suggested[memory.id]],
        "depends_on": [_dependency_wire(one) for one in around.dependencies[memory.id]],
        "marks": [mark_wire(one, around.causes_in_sight) for one in standing.marks],
        "marks_omitted": standing.more_marks,
        "verifications": verification_wires(
            memory, around.verifications.get(memory.id, ()), author
        ),
        "links": [link_wire(link) for link in around.links[memory.id]],
        "tags": list(memory.tags),
        "importance": memory.importance,
        "session": memory.session,
        "source": memory.source,
        "disputed": bool(disputes),
        "dispute_id": wire_id(Prefix.CONFLICT, disputes[0].id) if disputes else None,
        "version": memory.version,
        "lifecycle": lifecycle(memory, now).value,
    }


def author_wire(memory: Memory) -> dict[str, Any]:
    """Return who wrote a memory, with the level that they had then."""
    if memory.author_agent_id is None:
        return {
            "id": wire_id(Prefix.MEMBER, memory.owner_id),
            "name": memory.owner.name,
            "type": "member",
            "level": memory.author_level,
        }
    # Of another project's agent the caller may read what it wrote for the whole tenant, and not
    # more.
    agent = memory.author_agent
    return {
        "id": wire_id(Prefix.AGENT, memory.author_agent_id),
        "name": UNNAMED_AGENT if agent is None else agent.name,
        "type": "agent",
        "level": memory.author_level,
    }


def link_wire(link: Link) -> Answer:
    """Return an edge."""
    return {
        "id": wire_id(Prefix.LINK, link.id),
        "type": link.type,
        "src": wire_id(Prefix.MEMORY, link.src_id),
        "dst": wire_id(Prefix.MEMORY, link.dst_id),
    }


def _component_wire(component: Component, standing: Standing) -> dict[str, Any]:
    return {
        "id": wire_id(Prefix.COMPONENT, component.id),
        "subject": component.subject,
        "value": component.value,
        "multi": component.multi,
        "verified_at": moment(standing.verified.get(component.subject)),
        "dirty": any(mark.component_id == component.id for mark in standing.marks),
    }


def _suggestion_wire(component: Component) -> dict[str, Any]:
    return {
        "id": wire_id(Prefix.COMPONENT, component.id),
        "subject": component.subject,
        "value": component.value,
    }


def _dependency_wire(dependency: Dependency) -> str:
    if dependency.on_memory_id is not None:
        return wire_id(Prefix.MEMORY, dependency.on_memory_id)
    return str(dependency.on_subject)
