"""A text as the judge without a model reads it: its words by their stems, its clauses, its names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.finding.languages import SMALL_WORDS, language_of
from memory.finding.words import lexemes
from memory.specifics import Specific, missing
from memory.specifics.negations import negations
from memory.text import plain_characters

_LETTERS = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\s+[-–—]\s+|(?<=[:,])\s+|[。；！？，、：]|\n+")
_NAME = re.compile(r"(?<=[^\s.!?:;\"„“«] )[A-ZÀ-ÞА-Я][\w-]+")


@dataclass(frozen=True)
class Reading:
    """
    A text, read in a language that it shares with the text it is compared with.

    :param words: the stems of its words in their order, small words left out
    """

    text: str
    language: str
    words: tuple[str, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def clauses(self) -> list["Reading"]:
        """Its sentences and the parts between commas."""
        parts = [part for part in _CLAUSE.split(self.text) if part and part.strip()]
        return [read(part, self.language) for part in parts[:200]]

    @cached_property
    def denials(self) -> int:
        return len(negations(plain_characters(self.text)))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that are written as names in the midst of a sentence."""
        if self.language == "german":
            return frozenset()
        return frozenset(match[0].casefold() for match in _NAME.finditer(self.text))

    @cached_property
    def specifics(self) -> list[Specific]:
        return missing(of=self.text, within="")


def read_both(older: str, newer: str) -> tuple[Reading, Reading]:
    """Return both texts, read in the one language that they are likeliest in."""
    language = language_of(_LETTERS.findall(f"{older[:2000]} {newer[:2000]}".lower()))
    return read(older, language), read(newer, language)


def read(text: str, language: str) -> Reading:
    """Return the text as it reads in this language."""
    return Reading(text, language, _words(text, language))


def _words(text: str, language: str) -> tuple[str, ...]:
    small = SMALL_WORDS.get(language, frozenset()) | SMALL_WORDS["english"]
    at: dict[int, list[str]] = {}
    for lexeme, places in lexemes(text, language).items():
        for place in places:
            at.setdefault(place, []).append(lexeme)
    return tuple(
        _stem(forms) for _, forms in sorted(at.items()) if not any(form in small for form in forms)
    )


def _stem(forms: Sequence[str]) -> str:
    return next((form.partition("=")[2] for form in forms if "=" in form), forms[0])
