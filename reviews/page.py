"""One conflict as people read it: both sides beside each other, and what was said and done."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.conflict.disputes import disputes_about, is_conflicted
from memory.feed import author_name, place_name
from memory.models import Conflict, Memory
from memory.page import rank_name
from memory.text import visible
from memory.trust.confidence import evidence_confidence
from memory.trust.state import last_verified_at, trust_state
from reviews.difference import Piece, beside_each_other
from reviews.listed import letter_of, loser_of, rows, said_of
from tenants.admin_forms import level_names
from tenants.caller import Caller
from tenants.ids import Prefix, wire_id


@dataclass(frozen=True)
class Side:
    """One of the memories in conflict."""

    letter: str
    id: str
    memory: Memory
    is_newer: bool
    pieces: list[Piece]
    trust: str
    author: str
    place: str
    rank: str
    level: str
    confidence: float
    verified_at: datetime | None
    wins: bool
    is_recommended: bool


def conflict_page(caller: Caller, conflict: Conflict) -> dict[str, Any]:
    """Return what a conflict's page shows. Belongs inside a door."""
    ids = [one for one in (conflict.memory_a_id, conflict.memory_b_id) if one is not None]
    sides = {
        one.id: one
        for one in Memory.objects.filter(id__in=ids)
        .select_related("owner", "author_agent", "project")
        .defer("words", "text_key")
    }
    said = said_of(conflict)
    missing = list(dict.fromkeys([*map(visible, conflict.missing_specifics), *said.missing]))
    (row,) = rows(caller, [conflict])
    return {
        "id": wire_id(Prefix.CONFLICT, conflict.id),
        "conflict": conflict,
        "said": said,
        "missing": missing,
        "reason": visible(conflict.reason),
        "note": visible(conflict.note),
        "sides": _sides(conflict, [sides[one] for one in ids], missing),
        "row": row,
        "loser": letter_of(conflict, loser_of(conflict)),
    }


def _sides(conflict: Conflict, memories: list[Memory], missing: list[str]) -> list[Side]:
    texts = [visible(memory.content) for memory in memories]
    pieces = (
        beside_each_other(texts[0], texts[1], missing)
        if len(texts) == 2
        else tuple([Piece(text, differs=False, missing=False)] for text in texts)
    )
    disputes = disputes_about(memory.id for memory in memories)
    names, now = level_names(), timezone.now()
    newest = max(memory.sequence for memory in memories)
    return [
        _side(
            conflict,
            memory,
            cut,
            level=names.get(memory.author_level, str(memory.author_level)),
            is_newer=memory.sequence == newest and len(memories) == 2,
            conflicted=is_conflicted(disputes.get(memory.id, ())),
            now=now,
        )
        for memory, cut in zip(memories, pieces, strict=True)
    ]


def _side(
    conflict: Conflict,
    memory: Memory,
    pieces: list[Piece],
    *,
    level: str,
    is_newer: bool,
    conflicted: bool,
    now: datetime,
) -> Side:
    return Side(
        letter=letter_of(conflict, memory.id),
        id=wire_id(Prefix.MEMORY, memory.id),
        memory=memory,
        is_newer=is_newer,
        pieces=pieces,
        trust=trust_state(memory, now, conflicted=conflicted).value,
        author=author_name(memory),
        place=place_name(memory),
        rank=rank_name(memory),
        level=level,
        confidence=evidence_confidence(memory, conflicted=conflicted),
        verified_at=last_verified_at(memory),
        wins=memory.id == conflict.winner_id,
        is_recommended=memory.id == conflict.recommended_winner_id,
    )
