"""
Components read out of a text by patterns: what it says of which subject, and with what value.

A suggestion is no statement: it leads to candidates for a comparison, and nothing more, until
somebody accepts it. So a pattern rather says nothing than something wrong: what is asked, supposed,
denied, past, planned or of several values is left alone, and so is what somebody saw at one moment:
an exit code, a load, how long something took.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.text import plain_characters
from memory.trust.naming import ATTRIBUTES, SMALL_NAMES, is_a_release, is_a_value, names_a_thing
from memory.trust.readings import is_a_reading

MOST = 10  # of one text
LONGEST_TEXT = 8 * 1024  # characters looked at
LONGEST_PIECE = 300
LONGEST_VALUE = 120


class Suggestion(NamedTuple):
    """A subject, and the value that a text gives it."""

    subject: str
    value: str


# A sentence with one of these says something else than how things are.
_UNSURE = re.compile(
    r"\b(?:if|unless|when|whenever|once|until|before|after|was|were|had|been|would|could|should"
    r"|might|may|maybe|perhaps|probably|suppose|supposing|assume|assuming|for example|such as|not"
    r"|never|no|none|neither|nor|cannot|instead|rather|than|proposal|proposed?s?|propose|plan|plans|planned|todo"
    r"|will|shall|or|between|old|former|formerly|previous|previously|said|says|claims|claimed|asked"
    r"|asks|thinks|thought|believes|wants|wanted|wish|imagine|hypothetically|either|both|unlike"
    r"|anything|something|someone|somebody|usually|sometimes|often|about|around|roughly"
    r"|approximately|almost|nearly|(?:under|over) \d\S*|least|most|up to"
    r"|depends|varies|different|any|what|which|who|why|how|try|tried|consider|wonder|rumou?r|allegedly|supposedly|apparently|today"
    r"|yesterday|tonight|this (?:morning|afternoon|evening|week|time|run)|at the moment|right now"
    r"|for now|temporar\w+|ago|so far|think|guess|iirc|afaik|imho|imo|seems?|looks like|likely"
    r"|hopefully|according|during|except|only|currently)\b"
    r"|n't\b|\?|…|\.\.\.|\be\.g\.|\bi\.e\.",
    re.IGNORECASE,
)
# "No." and "after" stand in these without making them unsure.
_AFTER_TIME = re.compile(r"\b(?:times out|expires?|is rotated|are rotated) after\b", re.IGNORECASE)

_UNIT = (
    r"(?:ns|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?|days?|weeks?|months?|years?|[KMGT]i?B"
    r"|kB|%|requests|connections|characters|bytes)"
)
_WORD_OF_VALUE = r"[A-Za-z][\w+#-]*"
_STRONG = (
    r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”"
    r"|[a-z][a-z0-9+.-]*://[^\s`'\"<>]*[^\s`'\"<>.,;:)]"
    r"|(?:[A-Za-z]:\\|~?/|\./)[\w./\\@+-]*[\w/]"
    r"|\d{4}-\d{2}-\d{2}(?:T[\d:]+Z?)?"
    r"|\d{1,2}:\d{2}(?: (?:UTC|CET|CEST|GMT|EST|PST))?"
    r"|v?\d+(?:\.\d+)+(?:[-+][\w.]+)?"
    rf"|\d[\d,_]*(?: ?{_UNIT})?(?!\w|\.\w|%)"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?=[^\s]*[\d_/@-])[A-Za-z][\w./@:-]*\w"
    r"|[A-Z][A-Z0-9_]{2,}"
    r"|[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+"
)
_VALUE = rf"(?P<value>{_STRONG})"
_ANY_VALUE = rf"(?P<value>{_STRONG}|{_WORD_OF_VALUE})"
_END = r"(?:\s+\([^()]+\))?\s*[.!;]?$"
_NAME = r"[A-Za-z][\w-]*"
_WHAT = rf"(?P<what>{_NAME}(?: {_NAME}){{0,4}}?)"
_IS = (
    r"(?:\s+(?:is now|is set to|is called|is named|is fixed at|are set to|defaults to|points to"
    r"|points at|is|equals)\s+|\s*(?P<sign>:|=|→|->)\s*)"
)

_A = r"(?:(?P<article>[Tt]he|[Oo]ur|[Aa]n?|[Tt]his project's|[Nn]ote that the) )?"
_PATH_VALUE = r"(?P<value>`(?:~?/|\./|[A-Za-z]:\\)[^\s`]+`|(?:~?/|\./|[A-Za-z]:\\)[^\s`]*[^\s`.,;])"
_URL_VALUE = r"(?P<value>[a-z]+://[^\s`]*[^\s`.,;:)])"
_TIME_VALUE = r"(?P<value>\d{1,2}:\d{2}(?: [A-Z]{2,4})?)"
_CODE_VALUE = r"(?P<value>`[^`\n]+`)"
_RELEASED = "(?:deploys|is deployed|builds|is built|is released|releases|ships) from (?:the )?"
# What a thing does, with what value, and what that tells of it.
_SAYINGS = (
    ("(?:listens|runs|is|answers|serves|is served|is exposed) on port", _VALUE, "port"),
    ("uses port", _VALUE, "port"),
    (f"{_RELEASED}branch", _ANY_VALUE, "branch"),
    (_RELEASED.removesuffix(" (?:the )?") + "(?: the)?", rf"{_ANY_VALUE} branch", "branch"),
    ("(?:logs|writes its logs|writes logs) (?:to|into)", _VALUE, "log_path"),
    (
        "(?:lives?|is|are|(?:is|are) (?:stored|kept)|is found|can be found|sits) (?:in|at|under)",
        _PATH_VALUE,
        "path",
    ),
    (
        "(?:is|lives|is served|is hosted|answers|is reachable|is available) (?:at|under)",
        _URL_VALUE,
        "url",
    ),
    (
        "(?:(?:is|are) (?:built|started|run|tested|linted|deployed|generated)|starts?) (?:with|by)",
        _CODE_VALUE,
        "command",
    ),
    ("times? out after", _VALUE, "timeout"),
    ("(?:expires?|is rotated|are rotated) after", _VALUE, "lifetime"),
    ("(?:is|are) kept for", _VALUE, "retention"),
    ("runs? (?:daily |nightly |every day |every night )?at", _TIME_VALUE, "time"),
    ("is owned by(?: the)?", r"(?P<value>[A-Z][\w-]*)", "owner"),
)
_PATTERNS = [
    (re.compile(rf"^{_A}{_WHAT} {phrase} {value}{_END}"), attribute)
    for phrase, value, attribute in _SAYINGS
]
# "The backend uses Django 5.2": the version of the one in the other.
_USES = re.compile(
    rf"^{_A}{_WHAT} (?:uses|runs on|runs|requires|needs|is pinned to|is built on|is based on"
    r"|depends on) (?P<tool>[A-Z][A-Za-z+.#]*|[a-z][a-z-]+) (?:version )?"
    rf"(?P<value>v?\d+(?:\.\d+)*){_END}"
)
_ATTRIBUTE = re.compile(rf"^{_A}(?P<what>{_NAME}(?: {_NAME}){{1,4}}?){_IS}{_ANY_VALUE}{_END}")
_OF = re.compile(
    rf"^{_A}(?P<attribute>{_NAME}(?: {_NAME})?) (?:of|for) (?:the |our )?"
    rf"(?P<what>{_NAME}(?: {_NAME}){{0,3}}?){_IS}{_ANY_VALUE}{_END}"
)
# No semicolon at its end: that would be code.
_KEY = re.compile(
    rf"^(?P<key>[A-Za-z]\w*(?:[._-]\w+)+)\s*(?P<sign>[:=])\s*{_ANY_VALUE}(?:\s+\([^()]+\))?\.?$"
)
_ENVIRONMENT = re.compile(
    r"^(?:export )?(?P<key>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=(?P<value>\S*[\w/'\"%])$"
)
_LEFT_OUT = frozenset({"the", "our", "a", "an", "now", "of", "for"})
_SECRETS = re.compile(r"pass(?:word|phrase|wd)?$|secret$|token$|key$|credentials?$")
# What stands before these is a file, a host or an object in code, and no key of a setting.
_NO_KEY = re.compile(
    r"(?:.*\.)?(?:md|txt|rst|py|go|js|ts|tsx|rs|java|rb|php|c|h|cpp|sh|sql|html|css|json|ya?ml|toml"
    r"|ini|cfg|conf|log|com|org|net|io|dev|internal|example|local|exe|lock)|(?:self|this|cls)\..*"
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_PIECES = re.compile(r"\n|(?<=[.!?;])[ \t]+(?=[A-Z`\"(])")
# A line that goes on with the sentence of the line above, and begins no list of keys.
_WRAPPED = re.compile(
    r"(?:(?<=[^\n.!?])\n(?=[a-z(])|(?<=[^\n.!?:;]{60})\n(?=\w))(?![^\n:=→]{1,60}[:=→])"
)
# A heading, or a line before a colon, says with these that what follows does not hold now.
_NOT_NOW = re.compile(
    r"\b(?:proposal|propos\w+|examples?|draft|options?|ideas?|suppose|if|old|former|previous\w*"
    r"|before|legacy|plan\w*|says?|said|wrote|quote\w*|claims?|asked|todo|rejected|alternatives?"
    r"|history|deprecated|future|questions?)\b",
    re.IGNORECASE,
)


def suggested_components(text: str) -> list[Suggestion]:
    """
    Return what a text says of subjects, each subject once; of several values none.

    Deterministic, without a model, in time linear in the text. English.
    """
    found: dict[str, str] = {}
    torn: set[str] = set()
    for piece in _pieces(text[:LONGEST_TEXT]):
        said = _said(piece)
        if said is None:
            continue
        if found.setdefault(said.subject, said.value) != said.value:
            torn.add(said.subject)
    kept = [Suggestion(subject, value) for subject, value in found.items() if subject not in torn]
    return kept[:MOST]


def _pieces(text: str) -> Iterator[str]:
    """Return the sentences and lines in which the writer says how things are now."""
    fenced = under_heading = introduced = False
    for piece in _PIECES.split(_WRAPPED.sub(" ", plain_characters(text))):
        bare = piece.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
        elif bare.startswith("#"):
            under_heading, introduced = _NOT_NOW.search(bare) is not None, False
        elif not bare:
            introduced = False
        elif bare.endswith(":"):
            introduced = _NOT_NOW.search(bare) is not None
        # What is quoted is somebody else's, and what stands in a block of code is no sentence.
        elif (
            not (fenced or under_heading or introduced or bare.startswith(">"))
            and 8 <= len(bare) <= LONGEST_PIECE
        ):
            yield _BULLET.sub("", bare).replace("**", "").strip()


def _said(piece: str) -> Suggestion | None:
    match = _ENVIRONMENT.match(piece)
    if match is not None:
        return _suggestion(["env"], match["key"], match["value"], after_a_sign=True)
    if _UNSURE.search(_AFTER_TIME.sub("", _outside_quotes(piece))):
        return None
    match = _KEY.match(piece)
    if match is not None and _is_a_setting(match):
        above, _, last = match["key"].rpartition(".")
        return _suggestion([above] if above else [], last, match["value"], after_a_sign=True)
    return _in_a_sentence(piece)


def _is_a_setting(match: re.Match[str]) -> bool:
    """Return whether a key with a value is a setting: no file with a remark, no line of code."""
    if _NO_KEY.fullmatch(match["key"].lower()) is not None:
        return False
    if match["sign"] == "=":
        # A word would be a variable.
        return re.search(r"[\d/`\"-]", match["value"]) is not None
    return not match["value"].isalpha() or match["value"] in SMALL_NAMES


def _in_a_sentence(piece: str) -> Suggestion | None:
    for pattern, attribute in _PATTERNS:
        match = pattern.match(piece)
        if match is not None:
            return _of(match, attribute, sign=attribute)
    match = _USES.match(piece)
    if match is not None:
        return _of(match, match["tool"]) if is_a_release(match["tool"], match["value"]) else None
    match = _OF.match(piece)
    if match is not None and match["attribute"].split()[-1].lower() in ATTRIBUTES:
        return _of(match, match["attribute"], sign=match["sign"])
    match = _ATTRIBUTE.match(piece)
    if match is None or (match["sign"] == "=" and piece.endswith(";")):
        return None
    *what, attribute = match["what"].split()
    if "_" in match["what"] or attribute.lower() not in ATTRIBUTES:
        # "modprobe kvm_intel nested=1" is a command. Of a thing in other words it is rather what
        # somebody saw than how it is set.
        return None
    return _of(match, attribute, what=what, sign=match["sign"])


def _of(
    match: re.Match[str], attribute: str, *, what: list[str] | None = None, sign: str | None = None
) -> Suggestion | None:
    """Return what the match says of a thing, if its words name one."""
    words = match["what"].split() if what is None else what
    if not names_a_thing(words, attribute.lower(), with_article=match["article"] is not None):
        return None
    return _suggestion(words, attribute, match["value"], after_a_sign=sign is not None)


def _outside_quotes(piece: str) -> str:
    return re.sub(r"`[^`]*`|\"[^\"]*\"|“[^”]*”", "``", piece)


def _suggestion(
    words: list[str], attribute: str, value: str, *, after_a_sign: bool
) -> Suggestion | None:
    thing = "_".join(word.lower() for word in words if word.lower() not in _LEFT_OUT)
    last = re.sub(r"[\s-]+", "_", attribute.lower()).strip("_.")
    bare = value.strip('`"“”').strip()
    if not thing or not last or _SECRETS.search(last) or not 0 < len(bare) <= LONGEST_VALUE:
        return None
    if is_a_reading(thing, last, bare):
        return None
    if not is_a_value(last, value, after_a_sign=after_a_sign):
        return None
    subject = f"{thing}.{last}".replace("'", "")
    if re.fullmatch(r"[\w.-]+", subject) is None:
        return None
    return Suggestion(subject, bare)
