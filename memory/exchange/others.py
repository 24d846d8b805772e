"""
Other systems' files: an export of mem0, and the file of the MCP reference memory server.

Texts are taken as they stand. What has no text of its own (a relation of a graph) is said in a
sentence of its three words.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from memory.exchange.drafts import Draft, Faults, moment_or_none
from memory.exchange.lines import objects_of
from memory.text import is_blank
from tenants.parsing import read_json
from tenants.refusals import Invalid
from tenants.subject_paths import as_label

LONGEST_LABEL = 80


def read_mem0(text: str) -> list[Draft]:
    """
    Return the drafts of mem0's JSON: a list of memories, or an object with them in `results`.

    :raises Invalid: if it is something else, naming the memory in which something is wrong
    """
    faults = Faults()
    drafts = []
    for number, one in enumerate(_listed(text), 1):
        place = f"memory {number}"
        said = (
            one.get("memory") or one.get("text") or one.get("data")
            if isinstance(one, dict)
            else None
        )
        if not isinstance(said, str):
            faults.add(place, "must have a text in memory, text or data", "wrong_type")
            continue
        source = {"kind": "mem0", "uri": str(one.get("id") or place), "hash": one.get("hash")}
        tags = one.get("categories") or []
        fields = {
            "content": said,
            "source": {name: value for name, value in source.items() if value},
            "tags": [str(tag)[:LONGEST_LABEL] for tag in tags] if isinstance(tags, list) else [],
        }
        told = one.get("updated_at") or one.get("created_at")
        drafts.append(Draft(place, fields, ref=source["uri"], asserted_at=_moment(told)))
    faults.must_be_none()
    return drafts


def _moment(told: object) -> datetime | None:
    """Return when it was asserted, if that is told in a way that leaves no doubt."""
    with suppress(ValueError):
        return moment_or_none(told)
    return None


def _listed(text: str) -> list[Any]:
    said = read_json(text.encode("utf-8", "surrogatepass"))
    listed = said.get("results", said.get("memories")) if isinstance(said, dict) else said
    if not isinstance(listed, list):
        raise Invalid.field("content", "must be a list of memories, or an object with results")
    return listed


def read_graph(text: str) -> list[Draft]:
    """
    Return the drafts of the reference memory server's file: an entity or a relation on each line.

    Each observation of an entity is a memory that begins with the entity's name.

    :raises Invalid: naming the lines in which something is wrong
    """
    faults = Faults()
    drafts: list[Draft] = []
    for place, said in objects_of(text, faults):
        if said.get("type") == "entity":
            drafts += _entity(said, place, faults)
        elif said.get("type") == "relation":
            drafts += _relation(said, place, faults)
        else:
            faults.add(place, "must be an entity or a relation", "wrong_type")
    faults.must_be_none()
    return drafts


def _entity(said: Mapping[str, Any], place: str, faults: Faults) -> list[Draft]:
    name, sort, seen = said.get("name"), said.get("entityType"), said.get("observations")
    if not isinstance(name, str) or not isinstance(seen, list) or not _all_texts(seen):
        faults.add(place, "an entity has a name and a list of observations", "wrong_type")
        return []
    tags = [sort[:LONGEST_LABEL]] if isinstance(sort, str) and not is_blank(sort) else []
    return [
        _said(
            f"{name}: {one}",
            place if len(seen) == 1 else f"{place}, observation {number}",
            tags,
            name,
        )
        for number, one in enumerate(seen, 1)
    ]


def _relation(said: Mapping[str, Any], place: str, faults: Faults) -> list[Draft]:
    words = [said.get(name) for name in ("from", "relationType", "to")]
    if not _all_texts(words):
        faults.add(place, "a relation has from, to and relationType", "wrong_type")
        return []
    source, relation, target = (str(word) for word in words)
    return [_said(f"{source} {relation} {target}", place, ["relation"], source, target)]


def _all_texts(said: list[Any]) -> bool:
    return all(isinstance(one, str) and not is_blank(one) for one in said)


def _said(content: str, place: str, tags: list[str], *about: str) -> Draft:
    subjects = [label for one in about if (label := _label(one))]
    source = {"kind": "memory-graph", "uri": place}
    return Draft(place, {"content": content, "tags": tags, "subjects": subjects, "source": source})


def _label(name: str) -> str:
    return as_label(name)[:LONGEST_LABEL]
