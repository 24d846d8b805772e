"""
The specifics of a text: what a reader needs to the letter, and a summary is quick to lose.

Two texts may be as near as vectors can tell and still be different, by one digit or one "not".
What is doubtful counts as different: then both texts stay, and nothing is lost.
"""

from typing import NamedTuple

from memory.specifics import quantities
from memory.specifics.actions import actions
from memory.specifics.names import Found, collapsed, quotations, take, take_identifiers, take_shapes
from memory.specifics.negations import negations
from memory.text import plain_characters

# Texts that differ in one of these say different things. A quotation or a command may be worded
# otherwise; the numbers, names, paths and flags inside it are found for themselves.
_TELLING = frozenset(
    {"number", "date", "negation", "version", "identifier", "env_var", "path", "flag", "url"}
)
# These are found in another text also where nothing marks them as what they are.
_FOUND_AS_TEXT = frozenset({"command", "path", "identifier", "env_var", "code", "url", "flag"})
_JOINTS = frozenset("/.:@-=$")


class Specific(NamedTuple):
    """One of them: its kind, its text as written, and the value by which it compares."""

    kind: str
    text: str
    value: str


def specifics(text: str) -> frozenset[Specific]:
    """Return the commands, paths, flags, names, versions, numbers, dates, quotations of a text."""
    return frozenset(_in_order(text))


def missing(of: str, within: str) -> list[Specific]:
    """Return the specifics of one text that are not within the other, as they are read."""
    return _lost(_in_order(of), _Held(within))


def every_place_missing(of: str, within: str) -> list[Specific]:
    """
    Return each place of one text at which something stands that is not within the other.

    What lies inside another of them is lost with it; a negation is not looked for.
    """
    held = _Held(within)
    places: list[Specific] = []
    told_to = 0
    for one, specific in _placed(of):
        if specific.kind != "negation" and one.end > told_to and not held.covers(specific):
            places.append(specific)
            told_to = one.end
    return places


def differ(a: str, b: str) -> bool:
    """Return whether numbers, dates, negation, versions or names tell the two texts apart."""
    one, other = _Held(a), _Held(b)
    if one.count("negation") != other.count("negation"):
        return True
    lost = _lost(one.specifics, other) + _lost(other.specifics, one)
    return any(specific.kind in _TELLING for specific in lost)


class _Held:
    """What a text holds, asked about one specific of another text at a time."""

    def __init__(self, text: str) -> None:
        self.specifics = _in_order(text)
        self._values = {specific.value for specific in self.specifics}
        self._bare = {one.value.split()[0] for one in self.specifics if one.kind == "number"}
        self._text = collapsed(plain_characters(text))
        self._folded = self._text.casefold()

    def count(self, kind: str) -> int:
        return sum(specific.kind == kind for specific in self.specifics)

    def covers(self, specific: Specific) -> bool:
        if specific.value in self._values:
            return True
        if specific.kind == "number":
            return specific.value in self._bare
        if specific.kind == "quoted" or specific.value == specific.text.casefold():
            return _stands_in(specific.value, self._folded)
        return specific.kind in _FOUND_AS_TEXT and _stands_in(specific.value, self._text)


def _lost(of: list[Specific], held: _Held) -> list[Specific]:
    lost: dict[str, Specific] = {}
    for specific in of:
        if specific.value not in lost and not held.covers(specific):
            lost[specific.value] = specific
    return list(lost.values())


def _stands_in(value: str, text: str) -> bool:
    """Return whether the value is in the text as a whole, not as a piece of something longer."""
    start = text.find(value)
    for _ in range(20):
        if start < 0:
            return False
        end = start + len(value)
        before, after = text[max(start - 1, 0) : start], text[end : end + 2]
        joined = after[:1] in _JOINTS and after[1:].isalnum()
        if not (_in_word(before) or before in _JOINTS or _in_word(after[:1]) or joined):
            return True
        start = text.find(value, start + 1)
    return False


def _in_word(character: str) -> bool:
    # Ideographs and kana stand beside a name without a space and are no part of it.
    return character < "\u2e80" and (character.isalnum() or character == "_")


def _in_order(text: str) -> list[Specific]:
    return [specific for _, specific in _placed(text)]


def _placed(text: str) -> list[tuple[Found, Specific]]:
    plain = plain_characters(text)
    found = [*quotations(plain), *actions(plain)]
    rest = take_shapes(plain, found)
    rest = _take_dates(rest, found)
    rest = take(quantities.QUANTITY, "number", rest, found, quantities.quantity)
    rest = take_identifiers(rest, found)
    rest = take(
        quantities.NUMBER,
        "number",
        rest,
        found,
        lambda m: quantities.number(m["digits"], None, m["sign"]),
    )
    for pattern in (quantities.NUMBER_WORD, quantities.CJK_NUMBER):
        rest = take(pattern, "number", rest, found, lambda m: quantities.number_word(m[0]))
    found += [Found(start, end, "negation", "not") for start, end in negations(rest)]
    found.sort(key=lambda one: (one.start, -one.end))
    return [(one, Specific(one.kind, text[one.start : one.end], one.value)) for one in found]


def _take_dates(text: str, found: list[Found]) -> str:
    for pattern in quantities.DATES:
        text = take(pattern, "date", text, found, quantities.date)
    text = take(quantities.TIME, "date", text, found, quantities.time)
    for pattern in (quantities.MONTH_ALONE, quantities.DOUBTFUL_MONTH):
        text = take(pattern, "date", text, found, lambda match: quantities.month(match[0]))
    return take(quantities.WEEKDAY, "date", text, found, lambda m: quantities.weekday(m[0]))
