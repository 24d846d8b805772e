"""
The judge without a model: it knows what is proven by structure, and suspects the rest.

Proven is the clash of two declared values and the exact repeat. Whatever else it sees in the words
stays below every bar: it can open a dispute, and retire nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hygiene.judge import Exhibit, Opinion, Said, Statement
from hygiene.rules.opposites import denied, opposite, other_world
from hygiene.rules.reading import Reading, read_both
from hygiene.rules.wording import (
    is_addition,
    is_change,
    is_exclusive,
    is_hearsay,
    is_past,
    is_present,
    years,
)
from memory.specifics import differ, missing
from memory.text import same_text_key
from memory.values import same_value

PROMPT_VERSION = "rules-1"
PROVEN = 1.0
SUSPECTED = 0.85
GUESSED = 0.7


@dataclass(frozen=True)
class Both:
    """Two memories side by side, with what they share."""

    older: Reading
    newer: Reading
    shown_older: Exhibit
    shown_newer: Exhibit

    @property
    def shared(self) -> frozenset[str]:
        return self.older.stems & self.newer.stems

    @property
    def kept(self) -> float:
        """How much of the older one's words stands in the newer one, 0..1."""
        return len(self.shared) / max(len(self.older.stems), 1)

    @property
    def taken(self) -> float:
        """How much of the newer one's words stands in the older one, 0..1."""
        return len(self.shared) / max(len(self.newer.stems), 1)

    @property
    def likeness(self) -> float:
        return max(self.kept, self.taken)


class RulesJudge:
    """A judge that asks nobody. It says the same of the same pair, always."""

    id = "rules"
    prompt_version = PROMPT_VERSION

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """Return how they relate, as far as structure and words show it."""
        proven = _clash(older, newer) or _repeat(older, newer)
        if proven is not None:
            return proven
        both = Both(*read_both(older.content, newer.content), older, newer)
        for rule in _RULES:
            opinion = rule(both)
            if opinion is not None:
                return _not_by_rank_alone(opinion, older, newer)
        if both.shared:
            return _keep(both, "They share words, and nothing shows that they disagree.")
        return Opinion(Said.UNRELATED, GUESSED, "They share no word that tells anything.")
