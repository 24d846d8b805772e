"""One memory as people read it: all that is known of it, its versions, and what may be done."""

import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from memory.authority import may_replace, must_be_restorable, owns, reviews
from memory.conflict.disputes import other_side
from memory.feed import Line, author_name, in_brief, lines, place_name
from memory.history import history
from memory.models import Conflict, ConflictState, Door, Link, Memory, Method, Visibility
from memory.place import writable_projects
from memory.text import visible
from memory.trust.verifications import UNNAMED_AGENT
from memory.wire import memory_wire, surroundings
from tenants.admin_forms import level_name
from tenants.caller import Caller, Rank
from tenants.ids import Prefix, wire_id, wire_id_or_none
from tenants.models import Agent, Member
from tenants.refusals import NotAllowed

MOST_DECIDED = 20
_RANKS = {
    Rank.PROVISIONAL: "captured by a watcher",
    Rank.DELIBERATE: "written by an agent",
    Rank.HUMAN: "written by a person",
}
# What the versions' time line tells; everything else stands in the table of events.
_STEPS = {
    "supersede": "Superseded",
    "forget": "Forgotten",
    "close_loop": "Closed",
    "retire": "Retired",
    "restore_memory": "Restored",
    "accept": "Accepted",
    "reject": "Rejected",
}
_RELATION = {
    "relates_to": ("relates to", "is related to by"),
    "supersedes": ("supersedes", "is superseded by"),
    "contradicts": ("contradicts", "is contradicted by"),
    "derived_from": ("is derived from", "is the source of"),
    "depends_on": ("depends on", "is relied on by"),
}


def memory_page(caller: Caller, memory: Memory) -> dict[str, Any]:
    """Return what a memory's page shows. Belongs inside a door."""
    now = timezone.now()
    around = surroundings([memory])
    told = history(caller, memory_id=memory.id)
    links, dependencies = around.links[memory.id], around.dependencies[memory.id]
    others = {link.dst_id if link.src_id == memory.id else link.src_id for link in links}
    others |= {one.on_memory_id for one in dependencies if one.on_memory_id is not None}
    disputes = around.disputes.get(memory.id, [])
    others |= {one for one in (other_side(each, memory.id) for each in disputes) if one is not None}
    near = _lines(others)
    wire = memory_wire(memory, around, now)
    return {
        "id": wire_id(Prefix.MEMORY, memory.id),
        "memory": memory,
        "content": visible(memory.content),
        "told": wire,
        "trust": wire["trust_state"],
        "place": place_name(memory),
        "author": author_name(memory),
        "level": level_name(memory.author_level),
        "rank": rank_name(memory),
        "confidence": wire["evidence_confidence"],
        "verified": minute(wire["last_verified_at"] or "never"),
        "source": {name: visible(str(value)) for name, value in (memory.source or {}).items()},
        "dependencies": [
            {"line": near.get(one.on_memory_id), "subject": one.on_subject} for one in dependencies
        ],
        "links": [_link(link, memory, near) for link in links],
        "disputes": [
            {
                "id": wire_id(Prefix.CONFLICT, one.id),
                "kind": one.kind.replace("_", " "),
                "line": near.get(other_side(one, memory.id)),
            }
            for one in disputes
        ],
        "decided": _decided(memory.id),
        "versions": _versions(told["chain"], told["events"], told["memory_id"]),
        "events": [_event(event) for event in told["events"]],
        "may": what_may_be_done(caller, memory),
        "spoken_of": list(
            dict.fromkeys([*(one["subject"] for one in wire["components"]), *memory.subjects])
        ),
        "methods": Method.choices,
        "looked_at": now.isoformat(),
        "project_id": wire_id_or_none(Prefix.PROJECT, memory.project_id),
    }


def _decided(memory_id: UUID) -> list[dict[str, Any]]:
    """Return the disputes about it that are over, as far as all their sides are in sight."""
    over = Conflict.objects.filter(Q(memory_a=memory_id) | Q(memory_b=memory_id)).exclude(
        state=ConflictState.PENDING
    )
    over = over.select_related("resolved_by_member", "resolved_by_agent")
    found = list(over.order_by("-resolved_at", "-id")[:MOST_DECIDED])
    near = _lines(other_side(one, memory_id) for one in found)
    return [
        {
            "id": wire_id(Prefix.CONFLICT, one.id),
            "kind": one.kind.replace("_", " "),
            "how": one.resolution or one.state,
            "won": one.winner_id == memory_id,
            "lost": one.winner_id not in (None, memory_id),
            "by": decided_by(one),
            "at": one.resolved_at,
            "line": near.get(other_side(one, memory_id)),
        }
        for one in found
    ]


def decided_by(conflict: Conflict) -> str:
    """Return who decided it; of what waits, or ended because a side went another way, nobody."""
    if conflict.state in (ConflictState.PENDING, ConflictState.MOOT):
        return ""
    member, agent = conflict.resolved_by_member, conflict.resolved_by_agent
    name = hand_name(member, agent, conflict.resolved_by_agent_id)
    is_policy = conflict.state == ConflictState.RESOLVED and conflict.resolved_by_member_id is None
    return "the policy" if is_policy and not name else name


def hand_name(member: Member | None, agent: Agent | None, agent_id: UUID | None) -> str:
    """Return the name of who did something; empty if it was nobody in sight."""
    if agent_id is not None:
        return UNNAMED_AGENT if agent is None else agent.name
    return "" if member is None else member.name


def rank_name(memory: Memory) -> str:
    """Return by what sort of hand it was written."""
    return _RANKS[Rank(memory.provenance_rank)]


def what_may_be_done(caller: Caller, memory: Memory) -> dict[str, bool]:
    """Return which buttons the caller gets. The operations decide again when one is pressed."""
    is_live = memory.invalidated_at is None
    may_retire = is_live and (may_replace(caller, memory) or reviews(caller, memory))
    writable = writable_projects()
    looks = owns(caller, memory) or memory.project_id in writable
    return {
        "verify": looks and memory.invalidated_reason in (None, Door.SUPERSEDED),
        "take_up": may_retire and looks,
        "report": memory.project_id in writable,
        "question": is_live and (owns(caller, memory) or _writes(memory, writable)),
        "forget": may_retire,
        "close": may_retire and memory.is_loop,
        "restore": not is_live and _may_restore(caller, memory),
    }


def _writes(memory: Memory, writable: frozenset[UUID]) -> bool:
    return memory.visibility != Visibility.PRIVATE and memory.project_id in writable


def _may_restore(caller: Caller, memory: Memory) -> bool:
    try:
        must_be_restorable(caller, memory)
    except NotAllowed:
        return False
    return True


def _lines(ids: Iterable[UUID | None]) -> dict[UUID | None, Line]:
    found = list(in_brief(Memory.objects.filter(id__in=[one for one in ids if one is not None])))
    shown = lines(found, timezone.now())
    return {memory.id: line for memory, line in zip(found, shown, strict=True)}


def _link(link: Link, memory: Memory, near: dict[UUID | None, Line]) -> dict[str, Any]:
    outward = link.src_id == memory.id
    there, back = _RELATION.get(link.type, (link.type, link.type))
    return {
        "relation": there if outward else back,
        "outward": outward,
        "line": near.get(link.dst_id if outward else link.src_id),
    }


def _versions(
    chain: Sequence[dict[str, Any]], events: Sequence[dict[str, Any]], this: str
) -> list[dict[str, Any]]:
    return [
        {
            **version,
            "created_at": minute(version["created_at"]),
            "content": visible(version["content"]),
            "is_this": version["id"] == this,
            "steps": [_event(event) for event in events if _is_step_of(event, version)],
        }
        for version in chain
    ]


def _is_step_of(event: dict[str, Any], version: dict[str, Any]) -> bool:
    return event["memory_id"] == version["id"] and event["command"] in _STEPS


def _event(event: dict[str, Any]) -> dict[str, Any]:
    after = event["after"] or {}
    return {
        **event,
        "at": minute(event["at"]),
        "what": _STEPS.get(event["command"], event["command"]),
        "why": after.get("supersede_reason", ""),
        "successor": after.get("superseded_by"),
        "reason": visible(event["reason"]),
        "before": _shown(event["before"]),
        "after": _shown(event["after"]),
    }


def minute(moment: str) -> str:
    """Return a moment as it stands on a page."""
    return moment[:16].replace("T", " ")


def _shown(value: Any) -> str:
    if not value:
        return ""
    return visible(json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1))
