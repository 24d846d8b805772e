"""One dispute as people read it: both sides beside each other, and what was said and done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from memory.chain import chain_wire
from memory.feed import MOST_CHOICES, author_name, place_name, preview
from memory.models import Conflict, ConflictState, Memory, Method, Signal
from memory.page import minute, rank_name
from memory.text import visible
from memory.trust.verifications import UNNAMED_AGENT
from memory.wire import memory_wires
from reviews.deciding import Desk
from reviews.difference import Piece, beside_each_other
from reviews.in_the_way import gone_sides
from reviews.listed import PER_PAGE, letter_of, loser_of, rows, said_of
from reviews.outcomes import (
    made_moot,
    may_decide,
    merged,
    outcomes,
    to_be_kept,
)
from reviews.wish import QUEUES, Wish, beside, how_many_before, in_tab, narrowed
from tenants.admin_forms import level_names
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id
from tenants.models import Member

MOST_SIGNALS = 50
# What the ways of finding a pair are called on the page.
_FOUND_BY = {
    "vector": "texts that are near each other",
    "subject": "the same subject",
    "component": "the same component",
    "said": "somebody who said so",
    "challenge": "somebody who said so",
}


@dataclass(frozen=True)
class Side:
    """
    One of the memories in conflict.

    :param told: the memory as every face tells it
    :param source: where it comes from, as its author told
    :param versions: the chain it stands in, oldest first
    """

    letter: str
    id: str
    memory: Memory
    told: dict[str, Any]
    is_newer: bool
    pieces: list[Piece]
    author: str
    place: str
    rank: str
    level: str
    source: str
    verified: str
    versions: list[dict[str, Any]]
    wins: bool
    is_recommended: bool


def conflict_page(caller: Caller, conflict: Conflict, wish: Wish) -> dict[str, Any]:
    """Return what a dispute's page shows, opened from a queue. Belongs inside a door."""
    ids = [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]
    found = {one.id: one for one in _in_full(Memory.objects.filter(id__in=ids))}
    memories = [found[one] for one in ids]
    said = said_of(conflict)
    missing = list(dict.fromkeys([*map(visible, conflict.missing_specifics), *said.missing]))
    (row,) = rows(caller, [conflict])
    signals = _signals(conflict, memories[0]) if len(memories) == 1 else []
    # What signals say is not said again, be it one or several after each other.
    heard = {one["reason"] for one in signals}
    heard_together = "; ".join(
        dict.fromkeys(one["reason"] for one in reversed(signals) if one["is_of_this"])
    )
    return {
        "id": wire_id(Prefix.CONFLICT, conflict.id),
        "conflict": conflict,
        "said": said,
        "missing": missing,
        "words": [
            one
            for one in dict.fromkeys((visible(conflict.reason), said.reasoning))
            if one and one not in heard and not heard_together.startswith(one)
        ],
        "evidence": visible(conflict.evidence),
        "note": visible(conflict.note),
        "sides": _sides(conflict, memories, missing),
        "signals": signals,
        "row": row,
        "gone": gone_sides(conflict, memories) if conflict.state == ConflictState.MOOT else [],
        "found_by": _FOUND_BY.get(conflict.via, conflict.via),
        "loser": letter_of(conflict, loser_of(conflict)),
        "verdict_facts": _verdict_facts(conflict, memories),
        **_queue(caller, conflict, wish),
        **_deciding(caller, conflict, memories),
    }


def _verdict_facts(conflict: Conflict, memories: Sequence[Memory]) -> list[tuple[str, str]]:
    """Return what a verdict cost, and which versions it was about; each with a name."""
    verdict = conflict.verdict or {}
    facts = []
    if "tokens_in" in verdict:
        spent = f"{verdict['tokens_in']:,} in, {verdict['tokens_out']:,} out"
        facts.append(("Tokens", spent if verdict["tokens_in"] else "none: no model was asked"))
    if verdict.get("latency_ms"):
        facts.append(("Answered in", f"{verdict['latency_ms']:,} ms"))
    if "version_a" in verdict:
        about = [verdict["version_a"], verdict["version_b"]]
        facts.append(("Judged versions", ", ".join(map(_version, memories, "AB", about))))
    return facts


def _version(memory: Memory, letter: str, judged: int) -> str:
    since = "" if memory.version == judged else f" (now {memory.version})"
    return f"{letter} {judged}{since}"


def _in_full(memories: QuerySet[Memory]) -> QuerySet[Memory]:
    return memories.select_related("owner", "author_agent", "project").defer("words", "text_key")


def _queue(caller: Caller, conflict: Conflict, wish: Wish) -> dict[str, Any]:
    """Return where the dispute stands among those that somebody works through."""
    before, after = beside(caller, wish, conflict)
    waiting = in_tab(narrowed(caller, wish), wish).count() if wish.state in QUEUES else 0
    ahead = how_many_before(caller, wish, conflict)
    return {
        "wish": wish,
        "here": wish.query(),
        "previous": None if before is None else wire_id(Prefix.CONFLICT, before.id),
        "next": None if after is None else wire_id(Prefix.CONFLICT, after.id),
        "waiting": waiting,
        "back_page": ahead // PER_PAGE + 1,
    }


def _deciding(caller: Caller, conflict: Conflict, sides: Sequence[Memory]) -> dict[str, Any]:
    """Return what may be done about the dispute, as long as it waits."""
    is_pending = conflict.state == ConflictState.PENDING
    desk = Desk.of(caller)
    may = may_decide(desk, conflict, sides)
    if not (is_pending and may):
        return {"is_pending": is_pending, "may_decide": may}
    is_pair = len(sides) == 2
    members = Member.objects.filter(active=True).order_by("name", "id")[:MOST_CHOICES]
    return {
        "is_pending": True,
        "may_decide": True,
        "outcomes": outcomes(desk, conflict, tuple(sides)),
        "merged": merged(sides) if is_pair else "",
        "moot_by_merge": made_moot(conflict, sides) if is_pair else "",
        "kept": to_be_kept(sides) if is_pair else [],
        "members": [(wire_id(Prefix.MEMBER, one.id), one.name) for one in members],
        "assigned": ""
        if conflict.assigned_to_id is None
        else wire_id(Prefix.MEMBER, conflict.assigned_to_id),
    }


def _sides(conflict: Conflict, memories: list[Memory], missing: list[str]) -> list[Side]:
    texts = [visible(memory.content) for memory in memories]
    pieces = (
        beside_each_other(texts[0], texts[1], missing)
        if len(texts) == 2
        else tuple([Piece(text, differs=False, missing=False)] for text in texts)
    )
    names, told = level_names(), memory_wires(memories)
    newest = max(memory.sequence for memory in memories)
    return [
        Side(
            letter=letter_of(conflict, memory.id),
            id=wire_id(Prefix.MEMORY, memory.id),
            memory=memory,
            told=wire,
            is_newer=memory.sequence == newest and len(memories) == 2,
            pieces=cut,
            author=author_name(memory),
            place=place_name(memory),
            rank=rank_name(memory),
            level=names.get(memory.author_level, ""),
            source=visible(
                ", ".join(f"{name} {value}" for name, value in (memory.source or {}).items())
            ),
            verified=_vouched_for(wire),
            versions=_versions(memory),
            wins=memory.id == conflict.winner_id,
            is_recommended=memory.id == conflict.recommended_winner_id,
        )
        for memory, cut, wire in zip(memories, pieces, told, strict=True)
    ]


def _vouched_for(told: Mapping[str, Any]) -> str:
    """Return when it was last vouched for, and whether anybody but its author has looked."""
    if told["last_verified_at"] is None:
        return "never"
    looked = [one for one in told["verifications"] if one["method"] != Method.SELF]
    by = "" if looked else ", by its author alone"
    return f"{minute(told['last_verified_at'])}{by}"


def _versions(memory: Memory) -> list[dict[str, Any]]:
    this = wire_id(Prefix.MEMORY, memory.id)
    return [
        {
            "id": one["id"],
            "preview": preview(one["content"]),
            "author": one["author"]["name"],
            "on": one["created_at"][:10],
            "why": one["supersede_reason"] or one["invalidated_reason"] or "",
            "is_this": one["id"] == this,
        }
        for one in chain_wire(memory.id)
    ]


def _signals(conflict: Conflict, memory: Memory) -> list[dict[str, Any]]:
    """Return what was said against a memory, newest first."""
    found = Signal.objects.filter(memory=memory.id).select_related("by_member", "by_agent")
    return [
        {
            "kind": one.kind.replace("_", " "),
            "reason": visible(one.reason),
            "query": visible(one.query),
            "by": _signer(one),
            "at": one.created_at,
            "is_weighed": one.weighed_by_id is not None,
            "is_of_this": one.weighed_by_id in (None, conflict.id),
        }
        for one in found.order_by("-created_at", "-id")[:MOST_SIGNALS]
    ]


def _signer(signal: Signal) -> str:
    if signal.by_agent_id is not None:
        return UNNAMED_AGENT if signal.by_agent is None else signal.by_agent.name
    return "the judge" if signal.by_member is None else signal.by_member.name
