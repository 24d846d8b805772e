"""
The product's own exchange format: JSON Lines, a memory on each line, oldest first.

The first line says what the file is. What a memory hangs on is told by ids, which are mapped to new
ones when the file is brought in elsewhere. The same knowledge gives the same file.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from memory.conflict.detect import several_valued
from memory.exchange.drafts import Draft, Faults, moment_or_none
from memory.exchange.lines import objects_of
from memory.models import Lifecycle, LinkType, Memory, SettledPair
from memory.trust.state import TrustState, has_expired
from memory.wire import memory_wires
from tenants.ids import Prefix, moment, wire_id
from tenants.once import Answer

FORMAT, VERSION = "palimpsest", 1
# Told to `remember` as they stand in a memory.
PLAIN = (
    *("content", "kind", "visibility", "subjects", "valid_from", "valid_until", "review_after"),
    *("importance", "tags", "session", "source"),
)
# Told in the file, for those who read it; the server says them anew.
TOLD = (
    *("author", "provenance_rank", "author_level", "created_at", "project"),
    *("trust_state", "dirty_reason"),
)
# Whoever brings it in vouches for it; not for what was in doubt already.
IN_DOUBT = (TrustState.DIRTY, TrustState.CONFLICTED, TrustState.PROPOSED)


def lines_of(memories: Iterable[Answer], known: Sequence[str]) -> Iterator[str]:
    """
    Give the lines of a file.

    :param memories: as they are told outside, in the order of writing
    :param known: the ids of all of them: what hangs on others is left out
    """
    yield _line({"format": FORMAT, "version": VERSION, "memories": len(known)})
    for row in rows_of(memories, known):
        yield _line(row)


def with_their_age(memories: Sequence[Memory]) -> list[Answer]:
    """
    Return them as they are told outside, and as old as they are, wherever they were written.

    An end that is to come and is the beginning of another memory is decided anew where that is. A
    subject that is known to have several values has them there, too, whoever said so here, and what
    somebody let stand beside another does so there.
    """
    several = several_valued(memory.id for memory in memories)
    settled = _settled_with(memories)
    return [
        wire
        | {"created_at": moment(memory.said_at)}
        | {"settled_with": sorted(settled[memory.id])}
        | {"components": _of_several(wire["components"], several[memory.id])}
        | ({"valid_until": None} if _ends_with_another(memory) else {})
        for memory, wire in zip(memories, memory_wires(memories), strict=True)
    ]


def _settled_with(memories: Sequence[Memory]) -> defaultdict[UUID, set[str]]:
    """Return the ids, as they are told, of what each stands beside because somebody decided so."""
    ids = [memory.id for memory in memories]
    pairs = SettledPair.objects.filter(
        Q(low__in=ids) | Q(high__in=ids),
        reopened_at=None,
        low__invalidated_at=None,
        high__invalidated_at=None,
    ).values_list("low_id", "high_id")
    settled: defaultdict[UUID, set[str]] = defaultdict(set)
    for low, high in pairs:
        settled[low].add(wire_id(Prefix.MEMORY, high))
        settled[high].add(wire_id(Prefix.MEMORY, low))
    return settled


def _of_several(components: Iterable[Answer], several: Collection[str]) -> list[Answer]:
    return [one | {"multi": one["multi"] or one["subject"] in several} for one in components]


def _ends_with_another(memory: Memory) -> bool:
    return memory.ends_with_id is not None and not has_expired(memory, timezone.now())


def rows_of(memories: Iterable[Answer], known: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give what is told of each memory; what hangs on others than the known ones is left out."""
    inside = set(known)
    for memory in memories:
        yield _told(memory, inside)


def _line(said: Mapping[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False, sort_keys=True) + "\n"


def _told(memory: Answer, inside: set[str]) -> dict[str, Any]:
    return {
        "id": memory["id"],
        **{name: memory[name] for name in (*PLAIN, *TOLD)},
        "components": [
            {name: one[name] for name in ("subject", "value", "multi")}
            for one in memory["components"]
        ],
        "depends_on": [
            one for one in memory["depends_on"] if one in inside or not one.startswith("mem_")
        ],
        "links": [
            {"type": one["type"], "dst": one["dst"]}
            for one in memory["links"]
            if one["src"] == memory["id"]
            and one["dst"] in inside
            and one["type"] != LinkType.SUPERSEDES
        ],
        "settled_with": [one for one in memory["settled_with"] if one in inside],
        "lifecycle": memory["lifecycle"],
        "invalidated_reason": memory["invalidated_reason"],
        "superseded_by": memory["superseded_by"] if memory["superseded_by"] in inside else None,
    }


def read_jsonl(text: str) -> list[Draft]:
    """
    Return the drafts of a file.

    :raises Invalid: naming the lines in which something is wrong
    """
    faults = Faults()
    drafts: list[Draft] = []
    for place, said in objects_of(text, faults):
        if "format" in said and "content" not in said:
            _check_head(said, place, faults)
        else:
            _take(said, place, drafts, faults)
    faults.must_be_none()
    return drafts


def _check_head(said: Mapping[str, Any], place: str, faults: Faults) -> None:
    if said.get("format") != FORMAT or said.get("version") != VERSION:
        faults.add(
            place, f"is a file of another sort; format {FORMAT}, version {VERSION} is read here"
        )


def _take(said: dict[str, Any], place: str, drafts: list[Draft], faults: Faults) -> None:
    known = {*PLAIN, *TOLD, "id", "components", "depends_on", "links", "settled_with", "lifecycle"}
    unknown = sorted(set(said) - known - {"invalidated_reason", "superseded_by"})
    if unknown:
        faults.add(place, f"{unknown[0]}: unknown here", "unknown_field")
        return
    if not isinstance(said.get("content"), str):
        faults.add(place, "content: must be a text", "wrong_type")
        return
    depends_on, links = said.get("depends_on") or [], said.get("links") or []
    settled_with = said.get("settled_with") or []
    if not _are_texts(depends_on) or not _are_links(links) or not _are_texts(settled_with):
        names = "depends_on, links, settled_with"
        faults.add(place, f"{names}: not as they are exported", "wrong_type")
        return
    successor, why = said.get("superseded_by"), said.get("invalidated_reason")
    if not _are_texts([one for one in (successor, why) if one is not None]):
        faults.add(place, "superseded_by, invalidated_reason: must be texts", "wrong_type")
        return
    try:
        asserted_at = moment_or_none(said.get("created_at"))
    except ValueError:
        faults.add(place, "created_at: must be a time, as 2026-01-31T12:00:00Z", "wrong_type")
        return
    memories = tuple(one for one in depends_on if one.startswith("mem_"))
    fields = {name: said[name] for name in PLAIN if said.get(name) is not None}
    fields["components"] = _of_one_mind(said.get("components") or [])
    fields["depends_on"] = [one for one in depends_on if one not in memories]
    drafts.append(
        Draft(
            place=place,
            fields=fields,
            ref=said.get("id") if isinstance(said.get("id"), str) else None,
            successor=successor,
            links=tuple((one["type"], one["dst"]) for one in links),
            depends_on=memories,
            settled_with=tuple(settled_with),
            retired=_why_retired(said) if successor is None else None,
            in_doubt=said.get("trust_state") in IN_DOUBT,
            asserted_at=asserted_at,
        )
    )


def _of_one_mind(components: Any) -> Any:
    """
    Return components of which each of a subject says alike whether it has several values.

    A repeat may have said so later.
    """
    if not isinstance(components, list) or not all(map(_has_a_subject, components)):
        return components
    several = {one["subject"] for one in components if one.get("multi") is True}
    return [one | {"multi": True} if one["subject"] in several else one for one in components]


def _has_a_subject(component: Any) -> bool:
    return isinstance(component, dict) and isinstance(component.get("subject"), str)


def _why_retired(said: Mapping[str, Any]) -> str | None:
    """Return why it was not in use any more, whatever took its place; what is in use, has none."""
    lifecycle, why = said.get("lifecycle"), said.get("invalidated_reason")
    if lifecycle == Lifecycle.SUPERSEDED:
        return Lifecycle.SUPERSEDED.value
    # What has only expired says so by its end.
    is_retired = lifecycle == Lifecycle.RETIRED and (why or not said.get("valid_until"))
    return str(why or lifecycle) if is_retired else None


def _are_links(said: object) -> bool:
    return isinstance(said, list) and all(
        isinstance(one, dict)
        and one.get("type") in LinkType.values
        and _are_texts([one.get("dst")])
        for one in said
    )


def _are_texts(said: object) -> bool:
    return isinstance(said, list) and all(isinstance(one, str) for one in said)
