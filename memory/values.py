"""
When two values of a component are one value, however they are written.

Only what certainly means the same compares as the same: 1,000 and 1000, but not 1.000, which half
of the world reads otherwise; 5.0 and 5, but not 2.10 and 2.1, which may be versions. A number or a
date means something by itself; in a name it is a piece of the name: release/v2.0 is not release/v2,
nor is node 18.0 certainly node 18.
"""

import re
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import urlsplit

from memory.specifics import Specific, missing
from memory.text import normalised, plain_characters

_COUNTED = frozenset({"number", "version", "date"})
_MEANT = frozenset({"number", "date"})
# Names whose case is part of the name, and what shows that a word is one.
_TO_THE_LETTER = frozenset({"path", "env_var", "command", "code", "identifier", "flag", "version"})
_WORD = re.compile(r"\S+")
_NAME = re.compile(r"\S*(?:[\d/\\:=@_$]|\w\.\w)\S*")
# Numbers in one language, and something else in others: DOS, ELF, null.
_OTHER_WORDS = frozenset({"null", "dos", "due", "elf", "cent", "mil", "mille"})
# What is left out at the end: not the dots of "..", which name a directory.
_END = re.compile(r"(?<=[^/\\.,;。、\s])[.,;。、]+$")
_QUOTES = (("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"))
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://\S+")
_PATH = re.compile(r"(?:~|\.{1,2})?/\S+")
# Not the two at the beginning, which name another machine, nor those of an address inside.
_SLASHES = re.compile(r"(?<=[^/:])/{2,}")
_TIME = re.compile(
    r"(?:(?P<date>\d{4}-\d{2}-\d{2})[Tt ])?(?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)"
    r" ?(?P<zone>[Zz]|UTC|[+-]\d{2}:?\d{2})",
    re.ASCII,
)
# A word behind a version that does not say how far it is from its release.
_NAMED = re.compile(r"[-+](?!(?:rc|alpha|beta|dev|post|pre|a|b)[.-]?\d*$)", re.IGNORECASE)
_WHOLE = re.compile(r"(-?\d+)\.0{1,2}")
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?) (ns|us|ms|s|min|h|kib|mib|gib|tib)")
# Only units whose size nobody disputes: a day may be a working day, a megabyte two things.
_SIZES = {
    "ns": ("s", Decimal("1e-9")),
    "us": ("s", Decimal("1e-6")),
    "ms": ("s", Decimal("1e-3")),
    "s": ("s", Decimal(1)),
    "min": ("s", Decimal(60)),
    "h": ("s", Decimal(3600)),
    "kib": ("kib", Decimal(1)),
    "mib": ("kib", Decimal(1024)),
    "gib": ("kib", Decimal(1024**2)),
    "tib": ("kib", Decimal(1024**3)),
}
_BOOLEANS = {
    word: truth
    for truth, words in {
        "yes": "yes true on enabled ja wahr oui vrai sí si verdadero sì vero sim verdadeiro tak да"
        " 是 真 はい 예 네",
        "no": "no false off disabled nein falsch non faux falso não nao nie нет 否 いいえ 아니요",
    }.items()
    for word in words.split()
}


def same_value(a: str | None, b: str | None) -> bool:
    """Return whether the two are certainly the same value; no value is only the same as none."""
    if a is None or b is None:
        return a is b
    return a == b or normalised_value(a) == normalised_value(b)


def normalised_value(text: str) -> str:
    """
    Return the one form in which a value compares.

    Case and white space make no difference, but in names, paths and commands case does. Numbers,
    units, dates and times, and words for yes and no, compare by what they mean; times that name
    their distance from UTC, by when they are; a version, if it is all that is said.
    """
    plain = _bare(plain_characters(normalised(text)))
    if _URL.fullmatch(plain):
        return _address(plain)
    if _PATH.fullmatch(plain):
        return _place(plain)
    if time := _in_utc(plain):
        return time
    if truth := _BOOLEANS.get(plain.casefold()):
        return truth
    found = _specifics(plain)
    whole = next((one for one in found if one.text == plain), None)
    if whole is not None:
        return _of_specific(whole)
    written = _piecewise(plain, found)
    # Ten minutes is a number only once ten is.
    again = next((one for one in _specifics(written) if one.text == written), None)
    return _of_specific(again) if again else written


def _specifics(text: str) -> list[Specific]:
    return [one for one in missing(of=text, within="") if one.text.lower() not in _OTHER_WORDS]


def _bare(text: str) -> str:
    """Return the value without what surrounds it: quotes, white space, a full stop."""
    text = _END.sub("", text.strip()).rstrip()
    for opening, closing in _QUOTES:
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner.strip():
            return inner.strip() if closing not in inner else text
    return text


def _in_utc(text: str) -> str | None:
    """Return a time of which is said how far from UTC it is as it is there; nothing of others."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    zone = "+00:00" if match["zone"].upper() in ("Z", "UTC") else match["zone"]
    try:
        # Of a time without a date any day will do: it is the same each day.
        at = datetime.fromisoformat(f"{match['date'] or '2000-01-02'}T{match['time']}{zone}")
        at = at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.isoformat() if match["date"] else at.timetz().isoformat()


def _of_specific(one: Specific) -> str:
    """Return how a value compares that is nothing else."""
    if one.kind == "path":
        return _place(one.text)
    if one.kind == "version" and _NAMED.search(one.value):
        # v2-release may as well be a branch.
        return one.text
    if one.kind in ("env_var", "url"):
        # $HOME and HOME are not certainly one, nor is what a reader leaves out of an address.
        return one.text
    if one.kind not in _COUNTED:
        return one.value
    if rounded := _WHOLE.fullmatch(one.value):
        return rounded[1]
    return _in_base_units(one)


def _in_base_units(one: Specific) -> str:
    amount = _AMOUNT.fullmatch(one.value)
    if amount is None:
        return one.value
    unit, size = _SIZES[amount[2]]
    return f"{(Decimal(amount[1]) * size).normalize():f} {unit}"


def _piecewise(text: str, found: list[Specific]) -> str:
    """
    Return words and specifics in their order, each in the form in which it compares.

    A number or a date that is a word of its own compares by what it means; inside a word it is a
    piece of a name.
    """
    small = _WORD.sub(_in_small_letters, text)
    written, start = "", 0
    for one in found:
        place = text.find(one.text, start)
        end = place + len(one.text)
        if place < 0:
            continue
        if one.kind in _TO_THE_LETTER:
            written += small[start:place] + one.text
        elif one.kind in _MEANT and _is_apart(text, place, end):
            written += small[start:place] + _in_base_units(one)
        else:
            continue
        start = end
    return " ".join((written + small[start:]).split())


def _is_apart(text: str, start: int, end: int) -> bool:
    before, after = text[:start][-1:], text[end:].lstrip(",;")[:1]
    return not before.strip() and not after.strip()


def _in_small_letters(word: re.Match[str]) -> str:
    small = word[0].lower()
    return word[0] if _NAME.fullmatch(word[0]) or len(small) != len(word[0]) else small


def _place(path: str) -> str:
    """Return a path without slashes that change nothing."""
    return _SLASHES.sub("/", path).removeprefix("./").rstrip("/") or path


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    user, at, host = parts.netloc.rpartition("@")
    scheme = parts.scheme.lower()
    port = {"http": ":80", "https": ":443"}.get(scheme)
    place = user + at + (host.lower().removesuffix(port) if port else host.lower())
    # Of a store s3://bucket/key and s3://bucket/key/ are two things.
    path = parts.path.removesuffix("/") if port or parts.path == "/" else parts.path
    rest = "".join(
        mark + part for mark, part in (("?", parts.query), ("#", parts.fragment)) if part
    )
    return f"{scheme}://{place}{path}{rest}"
