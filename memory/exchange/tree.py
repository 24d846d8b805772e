"""
A tree of Markdown files: one for each memory, readable by people, and read back to the letter.

What stands before the text, between two lines of ---, are the fields as JSON. Other Markdown is
taken in a section at a time (memory/importing.py).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils import timezone

from memory.exchange.drafts import Draft, Faults
from memory.exchange.jsonl import read_jsonl
from memory.importing import notes_of
from tenants.once import Answer
from tenants.refusals import Invalid

_FENCE = "---\n"
_MARK = "palimpsest: 1\n"


def files_of(told: Iterable[Mapping[str, Any]], folders: Mapping[str, str]) -> Iterator[Answer]:
    """
    Give the files of memories as they stand in an exchange file.

    :param folders: the name of each project's folder, by its id
    """
    for memory in told:
        folder = folders.get(memory["project"] or "", "personal")
        fields = "".join(
            f"{name}: {json.dumps(memory[name], ensure_ascii=False, sort_keys=True)}\n"
            for name in sorted(memory)
            if name != "content"
        )
        yield {
            "path": f"{folder}/{memory['kind']}/{memory['id']}.md",
            "content": f"{_FENCE}{_MARK}{fields}{_FENCE}{memory['content']}\n",
        }


def read_tree(files: Iterable[Mapping[str, str]]) -> list[Draft]:
    """
    Return the drafts of Markdown files: of the product's own exactly, of others a section each.

    :raises Invalid: naming the files in which something is wrong
    """
    faults = Faults()
    drafts: list[Draft] = []
    for file in files:
        content = file["content"]
        if not content.startswith(_FENCE + _MARK):
            # So some systems end every line.
            content = content.replace("\r\n", "\n")
        if content.startswith(_FENCE + _MARK):
            drafts += _own(file["path"], content, faults)
        else:
            drafts += [
                Draft(note.uri, note.fields(), ref=None) for note in notes_of(content, file["path"])
            ]
    faults.must_be_none()
    # The oldest first, in whichever order a folder is read: what came later knew of what was there.
    now = timezone.now()
    return sorted(drafts, key=lambda one: one.asserted_at or now)


def _own(path: str, content: str, faults: Faults) -> list[Draft]:
    head, fence, text = content.removeprefix(_FENCE + _MARK).partition(f"\n{_FENCE}")
    said: dict[str, Any] = {"content": text.removesuffix("\n")}
    for line in head.split("\n"):
        name, _, value = line.partition(": ")
        try:
            said[name] = json.loads(value)
        except ValueError:
            faults.add(path, f"{name}: must be JSON, as it was exported", "malformed_json")
            return []
    if not fence:
        faults.add(path, "its fields must end with a line of ---", "malformed")
        return []
    try:
        drafts = read_jsonl(json.dumps(said))
    except Invalid as refusal:
        for error in refusal.errors:
            faults.add(path, error.message, error.code)
        return []
    return [replace(draft, place=path) for draft in drafts]
