"""
When one value of a subject rules out another: 5432 and 5433, but not 5432 and "unknown".

Two values that are merely written otherwise may both be true: one is vague, a bound, a part of the
other, of one environment only, or in another unit. That is for somebody to look at, and proves
nothing.
"""

import re
import unicodedata
from typing import NamedTuple

from memory.specifics.negations import negations
from memory.values import normalised_value, same_value

_NO_VALUE = re.compile(
    r"\W*|(?:tb[acd]|todo|n/?a|unknown|unclear|undecided|not (?:known|decided|set)(?: yet)?"
    r"|various|(?:depends|varies|differs|ask|see)\b.*|unbekannt|offen|unklar|hängt\b.*|siehe\b.*"
    r"|inconnue?|dépend\b.*|voir\b.*|desconocid[oa]|depende\b.*|sconosciut[oa]|dipende\b.*"
    r"|desconhecid[oa]|неизвестно|зависит\b.*|nieznan[eay]|zależy\b.*)",
    re.IGNORECASE,
)
_NO_VALUE_JOINED = re.compile(r"未知|未定|不明|待定|不确定|取决于.*|미정|알 수 없음")
# What a value begins with that says more or less than the value itself.
_BEFORE = re.compile(
    r"[!<>=]=|[<>≤≥=≠~≈^±]"
    r"|(?:(?:up to|at (?:least|most)|(?:more|less|fewer) than|over|under|above|below|min(?:imum)?"
    r"|max(?:imum)?|between|from|since|until|about|around|approx\w*|roughly|maybe|perhaps|probably"
    r"|usually|bis zu|mindestens|höchstens|über|unter|etwa|ungefähr|vielleicht|jusqu'à"
    r"|au (?:moins|plus)|environ|peut-être|hasta|al menos|quizás?|aproximadamente|fino a|almeno"
    r"|circa|ca|forse|até|pelo menos|talvez|до|около|примерно|возможно|co najmniej|około)\b\.?)"
    r"|至少|最多|大约|大概|可能|約|最大|最小|たぶん|아마|최대|최소|약(?= ?\d)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r" ?(?:[(（][^()（）]*[)）]|\+|以上|以下|まで|이상|이하)$"
    r"| (?:in|on|for|at|under|during|if|when|except|per"
    r"|or (?:more|less|higher|lower|later|newer|above|below))\b.*$",
    re.IGNORECASE,
)
_PLACE_BEFORE = re.compile(r"[^\W\d]\w{2,} ?[:：] (?=\S)")
_RANGE = re.compile(r"\d+(?:\.\d+)? ?(?:-|–|to|bis|à|a|до|～|~|\.\.) ?\d+(?:\.\d+)?(?: ?[^\W\d]+)?")
_ANY_OF = re.compile(r"(?:\d+ ?\.)+[x*]", re.IGNORECASE)
# Those that are often written before the number: any three letters may begin a name, as "oak1".
_CURRENCY = (
    r"(?:usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|rub|uah|try|brl|mxn|zar"
    r"|krw|sgd|hkd)"
)
_AMOUNT = re.compile(
    rf"(?P<before>[$€£¥₽]|{_CURRENCY})? ?-?(?P<number>\d+(?:[.,:]\d+)*)"
    r" ?(?P<after>[^\W\d_]{1,12}|[$€£¥₽%]|°[CF]|[^\W\d_]{1,4}/[^\W\d_]{1,4})?",
    re.IGNORECASE,
)
_DAY = 86_400
# Seconds and bytes, at least and at most: a week has five days or seven, a megabyte is two things.
_SIZES = {
    "s": ("time", 1, 1),
    "d": ("time", _DAY, _DAY),
    "wk": ("time", 5 * _DAY, 7 * _DAY),
    "mo": ("time", 20 * _DAY, 31 * _DAY),
    "yr": ("time", 365 * _DAY, 366 * _DAY),
    "b": ("bytes", 1, 1),
    "kib": ("bytes", 1024, 1024),
    "kb": ("bytes", 1000, 1024),
    "mb": ("bytes", 1000**2, 1024**2),
    "gb": ("bytes", 1000**3, 1024**3),
    "tb": ("bytes", 1000**4, 1024**4),
}
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_IN_UTC = re.compile(r".*\d[+-]\d{2}:\d{2}")
# A number alone may be an amount, and then a finer one is another: 16 and 16.4 seconds are two.
_VERSION = re.compile(r"(?P<name>(?:[^\W\d]\w{2,}[ :-])*)(?P<number>\d+(?:\.\d+)*)")
_WORDS = re.compile(r"[\w.+#-]*\w[+#]*")


class _Value(NamedTuple):
    """A value and what it is said with: bounds, doubts, where it holds."""

    said_with: tuple[str, ...]
    is_denied: bool
    bare: str


def rules_out(one: str, other: str) -> bool:
    """Return whether of one thing with a single value the two cannot both be true."""
    if same_value(one, other) or _says_nothing(one) or _says_nothing(other):
        return False
    here, there = _read(normalised_value(one)), _read(normalised_value(other))
    if here.said_with != there.said_with:
        return False
    if here.is_denied or there.is_denied:
        return here.is_denied != there.is_denied and same_value(here.bare, there.bare)
    if _is_part_of(here.bare, there.bare) or _is_part_of(there.bare, here.bare):
        return False
    if _is_finer(here.bare, there.bare) or _is_finer(there.bare, here.bare):
        return False
    return _differ_in_amount(here.bare, there.bare)


def _says_nothing(value: str) -> bool:
    bare = value.strip()
    return (_NO_VALUE.fullmatch(bare) or _NO_VALUE_JOINED.fullmatch(bare)) is not None


def _read(value: str) -> _Value:
    """Return the value apart from what it is said with."""
    said_with = []
    if before := _BEFORE.match(value) or _PLACE_BEFORE.match(value):
        said_with.append(before[0].strip().casefold())
        value = value[before.end() :].strip()
    if after := _AFTER.search(value):
        said_with.append(after[0].strip().casefold())
        value = value[: after.start()].strip()
    if _RANGE.fullmatch(value) or _ANY_OF.fullmatch(value):
        said_with.append("a range")
    denials = negations(value)
    bare = value
    for start, end in reversed(denials):
        bare = f"{bare[:start]} {bare[end:]}"
    bare = " ".join(bare.split())
    if denials and _WORDS.search(bare):
        return _Value(tuple(said_with), True, bare)
    return _Value(tuple(said_with), False, value)


def _is_part_of(one: str, other: str) -> bool:
    """Return whether the words of the one are all in the other, or short for them."""
    words, others = _words(one), _words(other)
    return bool(words) and all(
        word in others or any(_is_short_for(word, more) for more in others) for word in words
    )


def _is_short_for(word: str, more: str) -> bool:
    return len(word) > 2 and more.isalpha() and more.startswith(word)


def _is_finer(one: str, other: str) -> bool:
    """Return whether the one is a version, and the other says less exactly which it is."""
    here, there = _VERSION.fullmatch(one), _VERSION.fullmatch(other)
    if here is None or there is None or here["name"].casefold() != there["name"].casefold():
        return False
    is_version = here["name"] or here["number"].count(".") > 1
    return bool(is_version) and here["number"].startswith(f"{there['number']}.")


def _words(value: str) -> set[str]:
    """Return the words of a value without their accents: who writes Zurich may mean Zürich."""
    plain = unicodedata.normalize("NFKD", value.casefold())
    return set(_WORDS.findall("".join(one for one in plain if not unicodedata.combining(one))))


def _differ_in_amount(one: str, other: str) -> bool:
    """Return whether they differ, as far as they are amounts: of different units nobody knows."""
    here, there = _AMOUNT.fullmatch(one), _AMOUNT.fullmatch(other)
    unit, other_unit = _unit(one, here), _unit(other, there)
    if unit == other_unit:
        # Half of the world reads 1.000 as one.
        return not (here and there) or _THOUSANDS.sub("", one) != _THOUSANDS.sub("", other)
    sizes, other_sizes = _SIZES.get(unit), _SIZES.get(other_unit)
    if not (here and there and sizes and other_sizes) or sizes[0] != other_sizes[0]:
        return False
    try:
        mine, theirs = float(here["number"]), float(there["number"])
    except ValueError:
        return False
    return mine * sizes[2] < theirs * other_sizes[1] or theirs * other_sizes[2] < mine * sizes[1]


def _unit(value: str, amount: re.Match[str] | None) -> str:
    """Return in what an amount is counted; nothing where it is none, or counted in nothing."""
    if amount is None:
        return "utc" if _IN_UTC.fullmatch(value) else ""
    return " ".join(part.casefold() for part in (amount["before"], amount["after"]) if part)
