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
from memory.trust.readings import is_a_reading

MOST = 10  # of one text
LONGEST_TEXT = 8 * 1024  # characters looked at
LONGEST_VALUE = 120


class Suggestion(NamedTuple):
    """A subject, and the value that a text gives it."""

    subject: str
    value: str


# What is said of a thing in one word. After these a plain word is a value, too.
_NAMES_OF_ATTRIBUTES = (
    "port branch version path url uri host hostname region zone timeout ttl retention limit "
    "size owner lead manager maintainer provider engine database broker queue bucket topic "
    "namespace cluster user username role email channel schedule interval window command "
    "entrypoint directory folder file image tag registry domain protocol encoding locale "
    "currency timezone license licence framework language runtime shell endpoint prefix "
    "suffix deadline date time format mode level threshold quota replicas workers threads "
    "retries address location model dialect backend frontend server platform remote mirror "
    "name alias period version rate length registry lifetime"
)
# Of these also where the word could be an adjective elsewhere.
_NAMES_OF_A_WORD = (
    "branch region zone provider engine database broker namespace user username role format "
    "protocol currency mode level framework language runtime shell backend dialect window "
    "locale"
)
# A sentence with one of these says something else than how things are.
_UNSURE = re.compile(
    r"\b(?:if|unless|when|whenever|once|until|before|after|was|were|had|been|would|could|should"
    r"|might|may|maybe|perhaps|probably|suppose|supposing|assume|assuming|for example|such as|not"
    r"|never|no|none|neither|nor|cannot|instead|rather|than|proposal|proposed?s?|propose|plan|plans|planned|todo"
    r"|will|shall|or|between|old|former|formerly|previous|previously|said|says|claims|claimed|asked"
    r"|asks|thinks|thought|believes|wants|wanted|wish|imagine|hypothetically|either|both|unlike"
    r"|anything|something|someone|somebody|usually|sometimes|often|about|around|roughly"
    r"|approximately|almost|nearly|under|over|least|most|up to|depends|varies|different|any|what"
    r"|which|who|why|how|try|tried|consider|wonder|rumou?r|allegedly|supposedly|apparently|today"
    r"|yesterday|tonight|this (?:morning|afternoon|evening|week|time|run)|at the moment|right now"
    r"|for now|temporar\w+|ago|so far)\b"
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
    r"|[\w-]+(?:\.[a-z]{2,6})+"
)
_VALUE = rf"(?P<value>{_STRONG})"
_ANY_VALUE = rf"(?P<value>{_STRONG}|{_WORD_OF_VALUE})"
_END = r"\s*(?:\([^()]*\))?[.!;]?$"
_NAME = r"[A-Za-z][\w-]*"
_WHAT = rf"(?P<what>{_NAME}(?: {_NAME}){{0,4}}?)"
_IS = (
    r"(?:\s+(?:is now|is set to|is called|is named|is fixed at|are set to|defaults to|points to"
    r"|points at|is|equals)\s+|\s*(?::|=|→|->)\s*)"
)

_A = r"(?:(?:[Tt]he|[Oo]ur|[Aa]n?|[Tt]his project's|[Nn]ote that the) )?"
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
    rf"^{_A}(?P<attribute>{_NAME}) (?:of|for) (?:the |our )?"
    rf"(?P<what>{_NAME}(?: {_NAME}){{0,3}}?){_IS}{_ANY_VALUE}{_END}"
)
_KEY = re.compile(rf"^(?P<key>[A-Za-z]\w*(?:[._-]\w+)+)\s*[:=]\s*{_ANY_VALUE}{_END}")
_ENVIRONMENT = re.compile(r"^(?:export )?(?P<key>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=(?P<value>\S+)$")
_NO_THINGS = (
    "it this that they we you he she i there here everything all which these those who one "
    "some thing things problem reason point issue question answer idea result goal rule note "
    "warning tip hint caveat example bug fix update change difference trick value number"
)
_NO_VALUES = (
    "a an the in on at by for with from to of as so very too also always still now only just "
    "done broken slow fast down up ready fine good bad wrong right new old needed required "
    "missing available important optional deprecated known unknown stable unstable open "
    "closed empty full safe unsafe used unused enough great nice small large big hard easy "
    "simple complex true false yes correct incorrect ok okay green red live dead shared "
    "private public"
)
_PREPOSITIONS = "the in on by with at from to and"
_SECRETS = re.compile(r"pass(?:word|phrase|wd)?$|secret$|token$|key$|credentials?$")
_ATTRIBUTES = frozenset(_NAMES_OF_ATTRIBUTES.split())
_OF_A_WORD = frozenset(_NAMES_OF_A_WORD.split())
_WORDS_OF_NO_THING = frozenset(_NO_THINGS.split())
_PLAIN_WORDS_OF_NO_VALUE = frozenset(_NO_VALUES.split())
_INSIDE = frozenset(_PREPOSITIONS.split())
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+|^\s*>+\s*|^#+\s+")
_PIECES = re.compile(r"\n+|(?<=[.!?;])\s+(?=[A-Z`\"(])")


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
    fenced = False
    for piece in _PIECES.split(plain_characters(text)):
        if piece.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        # What is quoted is somebody else's, and what stands in a block of code is no sentence.
        if not fenced and not piece.lstrip().startswith(">") and 8 <= len(piece) <= 300:
            yield _BULLET.sub("", piece).strip().replace("**", "")


def _said(piece: str) -> Suggestion | None:
    match = _ENVIRONMENT.match(piece)
    if match is not None:
        return _suggestion("env", match["key"], match["value"])
    if _UNSURE.search(_AFTER_TIME.sub("", _outside_quotes(piece))):
        return None
    match = _KEY.match(piece)
    if match is not None:
        *above, last = match["key"].lower().split(".")
        return _suggestion(".".join(above), last, match["value"])
    return _in_a_sentence(piece)


def _in_a_sentence(piece: str) -> Suggestion | None:
    match = _USES.match(piece)
    if match is not None:
        return _suggestion(_thing(match["what"]), match["tool"], match["value"])
    for pattern, attribute in _PATTERNS:
        match = pattern.match(piece)
        if match is not None and attribute is not None:
            return _suggestion(_thing(match["what"]), attribute, match["value"])
    match = _OF.match(piece)
    if match is not None and match["attribute"].lower() in _ATTRIBUTES:
        return _suggestion(_thing(match["what"]), match["attribute"], match["value"])
    match = _ATTRIBUTE.match(piece)
    if match is None:
        return None
    *what, attribute = match["what"].split()
    if _INSIDE & set(what) or "_" in match["what"]:
        # "Deleting the bucket is ...": the beginning of a clause; "modprobe kvm_intel nested=1": a
        # command.
        return None
    if attribute.lower() not in _ATTRIBUTES:
        # Of a thing in other words it is rather what somebody saw than how it is set.
        return None
    if _is_plain(match["value"]) and not _takes_a_word(attribute.lower(), match):
        return None
    return _suggestion(_thing(" ".join(what)), attribute, match["value"])


def _outside_quotes(piece: str) -> str:
    return re.sub(r"`[^`]*`|\"[^\"]*\"|“[^”]*”", "``", piece)


def _is_plain(value: str) -> bool:
    return re.fullmatch(_WORD_OF_VALUE, value) is not None and value.isalpha()


def _takes_a_word(attribute: str, match: re.Match[str]) -> bool:
    """Return whether a plain word is a value of it: the branch is main, the endpoint is slow."""
    if attribute not in _ATTRIBUTES:
        return False
    is_a_name = match["value"][0].isupper()
    said_with_a_sign = match.re is _ATTRIBUTE and ":" in match[0]
    return is_a_name or said_with_a_sign or attribute in _OF_A_WORD


def _thing(words: str) -> str:
    return "_".join(
        word.lower()
        for word in words.split()
        if word.lower() not in ("the", "our", "a", "an", "now", "current", "of", "for")
    )


def _suggestion(thing: str, attribute: str, value: str) -> Suggestion | None:
    bare = value.strip('`"“”').strip()
    last = attribute.lower().replace("-", "_").strip("_.")
    if not thing or not last or _SECRETS.search(last) or _WORDS_OF_NO_THING & {thing, last}:
        return None
    if not bare or len(bare) > LONGEST_VALUE:
        return None
    if is_a_reading(thing, last, bare):
        return None
    if last != "branch" and bare.lower() in _PLAIN_WORDS_OF_NO_VALUE:
        return None
    subject = f"{thing}.{last}".replace("'", "")
    if re.fullmatch(r"[\w.-]+", subject) is None:
        return None
    return Suggestion(subject, bare)
