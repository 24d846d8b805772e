"""A text as the judge without a model reads it: words by their stems, clauses, names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.finding.languages import SMALL_WORDS, language_of
from memory.finding.words import lexemes
from memory.specifics import Specific, missing
from memory.specifics.negations import negations
from memory.text import plain_characters

_AROUND = ".,;:!?\"'()[]“”„«»。，、；：！？「」"
_STOPS = re.compile(r"(?<=[\w)\]])[.,;:!…。、，；：！]+(?=\s|$)|[。、，；：！]")
_LAST_STOP = re.compile(r"(?<=[\w)\]])[.;:!…。！]+\s*$")
_SPACED = re.compile(r"\w \w")
_LETTERS = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\s+[-–—]\s+|(?<=[:,])\s+|[。；！？，、：]|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_OPENING = re.compile(
    r"(?:in|at|on|for|within|under|inside|when|bei|im|am|auf|für|unter|en|dans|sur|pour|chez|à|au"
    r"|para|sobre|nel|nella|per|su|no|na|nos|nas|em|в|во|на|для|при|у|po|w|dla|przy)"
    r"(?= )(?! \d)(?P<scope>(?: [^\s,:;.]+){1,4})",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[^\s.!?:;\"„“«] )(?!I\b)[A-ZÀ-ÞА-Я][\w-]*")


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
    def tokens(self) -> list[str]:
        """All its words, small ones too, without the punctuation around them."""
        words = (word.strip(_AROUND) for word in self.text.casefold().split())
        return [word for word in words if word]

    @cached_property
    def without_stops(self) -> str:
        """
        Its words with all that may change what they say: quotes, operators, a mark of a question.

        Commas and stops are left out. In a text that denies something they may say what it denies,
        and only the last stop is left out: "No, use TLS" and "no use TLS".
        """
        stops = _LAST_STOP if self.denials else _STOPS
        return " ".join(stops.sub("", self.text.casefold()).split())

    @cached_property
    def clauses(self) -> list["Reading"]:
        """Its sentences and the parts between commas."""
        parts = [part for part in _CLAUSE.split(self.text) if part and part.strip()]
        return [read(part, self.language) for part in parts]

    @cached_property
    def denials(self) -> int:
        return len(negations(plain_characters(self.text)))

    @cached_property
    def sentences(self) -> list["Reading"]:
        return [read(part, self.language) for part in _SENTENCE.split(self.text) if part.strip()]

    @property
    def first_clause(self) -> "Reading":
        return self.clauses[0] if self.clauses else self

    @cached_property
    def is_spaced(self) -> bool:
        """Whether its words stand apart."""
        return _SPACED.search(self.text) is not None

    def denies_otherwise(self, other: "Reading") -> bool:
        """Return whether one of the two denies what the other says."""
        if bool(self.denials) != bool(other.denials):
            return True
        # Two denials are one in many languages. In those without spaces they cancel out.
        return self.denials % 2 != other.denials % 2 and not self.is_spaced

    @cached_property
    def denied(self) -> frozenset[str]:
        """The words that its denials are about: the next two, in German the one before as well."""
        plain = plain_characters(self.text)
        about: set[str] = set()
        for start, end in negations(plain):
            about.update(_words(plain[end : end + 80], self.language)[:2])
            if self.language == "german":
                about.update(_words(plain[max(start - 40, 0) : start], self.language)[-1:])
        return frozenset(about)

    @cached_property
    def opening(self) -> frozenset[str]:
        """The words by which the text begins with where or for whom it holds, if it does."""
        found = _OPENING.match(self.text)
        return read(found["scope"], self.language).stems if found else frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that are written as names in the midst of a sentence."""
        if self.language == "german":
            return frozenset()
        dates = {word for one in self.specifics if one.kind == "date" for word in one.text.split()}
        found = {match[0] for match in _NAME.finditer(self.text)}
        return frozenset(name.casefold() for name in found - dates)

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
