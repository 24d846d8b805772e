"""
The open pair set: an older and a newer memory, how they relate, who should win, what must be kept.

The pairs stand in hygiene/pairs, one file a shape; the README there says what the fields mean. A
pair is read strictly, and its winner must follow from its relation, kinds, ranks and levels.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

PAIRS = Path(__file__).parent / "pairs"
# The broad summary that once took the place of a precise diagnosis.
INCIDENT = "broad-summary-over-gotcha-001"
PROTECTED_KINDS = frozenset({"gotcha", "convention", "decision", "preference"})
KINDS = PROTECTED_KINDS | {"fact", "reference", "episode", "procedure", "task", "open_question"}
RANKS = range(3)
LEVELS = (10, 20, 30, 40, 50)


class Shape(StrEnum):
    """What is tricky about a pair."""

    VALUE_CHANGE = "value_change"
    REFINEMENT = "refinement"
    ADDITIVE_LIST = "additive_list"
    SAME_NAME_OTHER_ENTITY = "same_name_other_entity"
    OTHER_SCOPE = "other_scope"
    NEGATION_OR_REVERSAL = "negation_or_reversal"
    QUOTED_OR_HYPOTHETICAL = "quoted_or_hypothetical"
    LATE_ARRIVING_OLD_FACT = "late_arriving_old_fact"
    BROAD_SUMMARY_OVER_GOTCHA = "broad_summary_over_gotcha"
    PLAIN_DUPLICATE = "plain_duplicate"


class Relation(StrEnum):
    """How the two relate: A is the older one, B the newer."""

    DUPLICATE = "duplicate"
    A_SUPERSEDES_B = "a_supersedes_b"
    B_SUPERSEDES_A = "b_supersedes_a"
    CONTRADICTION = "contradiction"
    COMPLEMENTARY = "complementary"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


class Winner(StrEnum):
    """Who should be current knowledge in the end; with a person, no machine may retire either."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"
    PERSON = "person"


class Malformed(ValueError):
    """A line of the set cannot be read as a pair."""


@dataclass(frozen=True)
class Component:
    """What the writer would have declared beside the text."""

    subject: str
    value: str
    multi: bool = False


@dataclass(frozen=True)
class Note:
    """One side of a pair, as it would be written."""

    kind: str
    content: str
    rank: int
    level: int
    components: tuple[Component, ...] = ()

    @property
    def is_protected(self) -> bool:
        return self.kind in PROTECTED_KINDS and self.rank >= 1


@dataclass(frozen=True)
class LabelledPair:
    """A pair and what is right about it."""

    id: str
    shape: Shape
    language: str
    older: Note
    newer: Note
    relation: Relation
    winner: Winner
    must_keep: tuple[str, ...]
    why: str
    held_out: bool

    @property
    def has_components(self) -> bool:
        return bool(self.older.components or self.newer.components)

    @property
    def loser(self) -> Note | None:
        """The side that may be retired, if one of them may."""
        if self.winner is Winner.NEWER:
            return self.older
        return self.newer if self.winner is Winner.OLDER else None


@dataclass(frozen=True)
class Split:
    """The pairs for tuning prompts and bars, and those that nobody tunes on."""

    tuning: tuple[LabelledPair, ...]
    held_out: tuple[LabelledPair, ...]


def load(folder: Path = PAIRS) -> list[LabelledPair]:
    """
    Return every pair of the set, in the order of files and lines.

    :raises Malformed: naming the file and line of what cannot be read as a pair
    """
    return [pair for path in sorted(folder.glob("*.jsonl")) for pair in _read(path)]


def split(pairs: Sequence[LabelledPair]) -> Split:
    """Return the pairs for tuning apart from those that are held out."""
    return Split(
        tuning=tuple(pair for pair in pairs if not pair.held_out),
        held_out=tuple(pair for pair in pairs if pair.held_out),
    )


def sample(pairs: Sequence[LabelledPair], most: int) -> list[LabelledPair]:
    """
    Return at most so many of the pairs, as many of each shape as of any other while there are any.

    Always the same ones, spread over each shape, in the order in which they came.
    """
    by_shape: dict[Shape, list[LabelledPair]] = {}
    for pair in pairs:
        by_shape.setdefault(pair.shape, []).append(pair)
    taken: dict[Shape, int] = dict.fromkeys(by_shape, 0)
    for _ in range(min(most, len(pairs))):
        left = [shape for shape in taken if taken[shape] < len(by_shape[shape])]
        taken[min(left, key=lambda shape: taken[shape])] += 1
    chosen = {
        of_shape[place * len(of_shape) // taken[shape]].id
        for shape, of_shape in by_shape.items()
        for place in range(taken[shape])
    }
    return [pair for pair in pairs if pair.id in chosen]


def faults(pair: LabelledPair) -> list[str]:
    """Return what cannot be right about a pair, in words; nothing if it is sound."""
    found = [
        fault
        for side, note in (("older", pair.older), ("newer", pair.newer))
        for fault in _faults_of_note(side, note)
    ]
    if pair.winner is not (due := due_winner(pair)):
        found.append(f"the winner is {pair.winner}, but {due} follows from the rest")
    kept_in = (pair.older.content, pair.newer.content)
    found += [
        f"must keep {kept!r}, which stands in neither text"
        for kept in pair.must_keep
        if not any(kept in text for text in kept_in)
    ]
    if (loser := pair.loser) is not None:
        winner = pair.newer if loser is pair.older else pair.older
        found += [
            f"must keep {kept!r}, which the winner lacks"
            for kept in pair.must_keep
            if kept not in winner.content
        ]
    if not pair.why.strip():
        found.append("says not why")
    return found


def due_winner(pair: LabelledPair) -> Winner:
    """Return who should win, given how the two relate and who wrote which kind of memory."""
    if pair.relation in {Relation.COMPLEMENTARY, Relation.UNRELATED}:
        return Winner.BOTH
    if pair.relation is Relation.UNSURE:
        return Winner.PERSON
    older, newer = pair.older, pair.newer
    if 0 in {older.rank, newer.rank}:
        return Winner.OLDER if older.rank > newer.rank else Winner.NEWER
    wins = _would_win(pair)
    winner, loser = (newer, older) if wins is Winner.NEWER else (older, newer)
    lost = any(kept not in winner.content for kept in pair.must_keep)
    return Winner.PERSON if loser.is_protected or lost else wins


def _would_win(pair: LabelledPair) -> Winner:
    """Return who wins as long as nothing protects the loser."""
    older, newer = pair.older, pair.newer
    if pair.relation is Relation.A_SUPERSEDES_B:
        return Winner.OLDER
    if pair.relation is Relation.B_SUPERSEDES_A:
        return Winner.NEWER
    if pair.relation is Relation.DUPLICATE and older.rank != newer.rank:
        return Winner.OLDER if older.rank > newer.rank else Winner.NEWER
    return Winner.OLDER if older.level > newer.level else Winner.NEWER


def _faults_of_note(side: str, note: Note) -> Iterator[str]:
    if note.kind not in KINDS:
        yield f"the {side} one is of no kind that there is: {note.kind}"
    if note.rank not in RANKS:
        yield f"the {side} one has no rank that there is: {note.rank}"
    if note.level not in LEVELS:
        yield f"the {side} one has no level that there is: {note.level}"
    if note.content != note.content.strip() or not note.content:
        yield f"the {side} one is empty or padded"


def _read(path: Path) -> Iterator[LabelledPair]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            pair = _pair(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Malformed(f"{path.name}, line {number}: {error}") from error
        if pair.shape != path.stem:
            raise Malformed(f"{path.name}, line {number}: its shape is {pair.shape}")
        yield pair


def _pair(line: Mapping[str, Any]) -> LabelledPair:
    given = dict(line)
    components = given.pop("components", {})
    if strangers := components.keys() - {"older", "newer"}:
        raise Malformed(f"components of nobody: {', '.join(sorted(strangers))}")
    given["shape"] = Shape(given["shape"])
    given["relation"] = Relation(given["relation"])
    given["winner"] = Winner(given["winner"])
    given["must_keep"] = tuple(given["must_keep"])
    for side in ("older", "newer"):
        stated = tuple(Component(**one) for one in components.get(side, ()))
        given[side] = Note(**given[side], components=stated)
    return LabelledPair(**given)
