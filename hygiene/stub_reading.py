"""How the stub of a model reads: simply, and to the same end each time."""

import re
from typing import Any

PLAIN = {
    "reasoning": "By the script.",
    "shared_subject": "",
    "missing_specifics": [],
    "relation": "unrelated",
    "confidence": 0.95,
}
_QUOTED = re.compile(
    r"^-----(([AB]|note|asked|report)-[0-9a-f]+)-----\n(.*?)\n-----end-\1-----$",
    re.DOTALL | re.MULTILINE,
)
_SPECIFIC = re.compile(r"\d|[/_=.:]\w|^--?\w|[a-z][A-Z]")
_CHANGED = re.compile(r"\b(now|no longer|instead of|moved to|replaces|replaced|since then)\b", re.I)
_COMMON = re.compile(
    r"(a|an|and|are|as|at|be|by|for|from|in|is|it|of|on|or|the|this|to|was|we|with)?", re.I
)


def read_simply(question: str) -> dict[str, Any]:
    """Return what simple eyes make of two quoted texts, or of one and a report of it."""
    texts = {found.group(2): found.group(3) for found in _QUOTED.finditer(question)}
    if {"note", "report"} <= set(texts):
        return _attributed(_words(texts["note"]), _words(texts["report"]))
    if set(texts) != {"A", "B"}:
        return PLAIN | {"relation": "unsure", "reasoning": "There are not two notes."}
    older, newer = _words(texts["A"]), _words(texts["B"])
    shared = older & newer
    likeness = len(shared) / max(min(len(older), len(newer)), 1)
    missing = sorted(word for word in older - newer if _SPECIFIC.search(word))
    relation, confidence = _seen(
        older, newer, likeness, is_change=bool(_CHANGED.search(texts["B"]))
    )
    if relation == "b_supersedes_a" and len(missing) > 1:  # one is the value that changed
        relation, confidence = "complementary", 0.9
    loses = relation in ("b_supersedes_a", "contradiction", "duplicate")
    return {
        "reasoning": f"The notes share {len(shared)} words, {likeness:.0%} of the shorter one.",
        "shared_subject": " ".join(sorted(shared)[:4]),
        "missing_specifics": missing if loses else [],
        "relation": relation,
        "confidence": confidence,
    }


def _attributed(note: frozenset[str], report: frozenset[str]) -> dict[str, Any]:
    """Return whether a report speaks of what the note says: then the note is to blame."""
    shared = note & report
    return PLAIN | {
        "reasoning": f"The report shares {len(shared)} words with the note.",
        "shared_subject": " ".join(sorted(shared)[:4]),
        "relation": "misled" if len(shared) > 1 else "not_misled",
        "confidence": 0.85,
    }


def _seen(
    older: frozenset[str], newer: frozenset[str], likeness: float, *, is_change: bool
) -> tuple[str, float]:
    if older == newer:
        return "duplicate", 0.97
    if likeness >= 0.5 and (is_change or older < newer):
        return "b_supersedes_a", 0.96
    if likeness >= 0.6:
        return "contradiction", 0.95
    return ("complementary", 0.9) if likeness >= 0.25 else ("unrelated", 0.95)


def _words(text: str) -> frozenset[str]:
    words = (word.strip(".,;:!?()\"'`") for word in text.split())
    return frozenset(
        word if _SPECIFIC.search(word) else word.lower()
        for word in words
        if not _COMMON.fullmatch(word)
    )


def obey(question: str) -> str:
    """Return what a model says that does as the notes tell it: the JSON in them, or their words."""
    texts = "\n".join(found.group(3) for found in _QUOTED.finditer(question))
    told = re.search(r"\{.*\}", texts, re.DOTALL)
    return told.group() if told else texts
