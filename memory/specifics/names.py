"""
Names, paths, commands and quotations in a text: what is meant to the letter.

Every pattern starts only where a token starts and never gives back what it has read, so that the
time is linear in the text, whoever wrote it.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memory.specifics import quantities
from memory.specifics.quantities import LETTERS, WORD, any_of


class Found(NamedTuple):
    """A stretch of text, what it is, and the value by which it compares."""

    start: int
    end: int
    kind: str
    value: str


_PROGRAM_NAMES = (
    "kubectl docker docker-compose podman git npm npx pnpm yarn pip pipx pip3 uv poetry terraform"
    " helm psql pg_dump pg_restore redis-cli curl wget ssh scp rsync systemctl journalctl ansible"
    " ansible-playbook aws gcloud az cargo pytest apt apt-get brew dnf yum sudo chmod chown mvn"
    " gradle bundle rake composer php bun deno tox ruff mypy dotnet flyctl heroku nginx"
    " openssl kill"
    " pkill crontab alembic celery gh hg svn python3 manage.py make go node python just cat find rm"
    " cp mv tar"
)
PROGRAMS = _PROGRAM_NAMES.split()
_PROSE = (
    "a an the is was are be been has have had and or but for from to in on of with by as at it its"
    " this that these those sure sense them changes use no not all any our your my we you they he"
    " she if when while so than will can must may should does did do only into out over again one"
    " through ahead back wrong live there code ist und oder der die das für mit est et le la les de"
    " un une es el los y per il before after then until without because once later first"
    " now instead"
)
_ARGUMENT = (
    r"--?[A-Za-z][\w=./:@,-]*+"
    r"|(?=[^\s`'\"(),;./:@=_\d~*$]*+[./:@=_\d~*$])(?![^\s`'\"(),;]*+[.:](?:\s|$))[^\s`'\"(),;]++"
)
PLAIN_WORD = rf"(?!{any_of(_PROSE.split())}\b)[a-z][a-z0-9:-]*+(?![\w/@=]|\.\w)"
# A program, what it is to do, and on: as long as flags, paths and the like keep coming.
_COMMAND = re.compile(
    rf"(?<![\w./@-]){any_of(PROGRAMS)} (?!\d)(?:{PLAIN_WORD}|{_ARGUMENT})"
    rf"(?:(?: {PLAIN_WORD}){{0,2}} (?:--?[A-Za-z][\w-]*+ {PLAIN_WORD}|{_ARGUMENT}))*+"
)
_PROMPT = re.compile(r"^[ \t]*+\$ +(\S[^\n]*+)", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)[^\n]*+\n", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,400})\1(?!`)")
# What is an apostrophe as well quotes from the edge of a word to the edge of another.
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|[“„‟]([^“”\n]{1,200})[”“]|”([^“”\n]{1,200})”|«([^«»\n]{1,200})»"
    r"|»([^«»\n]{1,200})«|「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|《([^《》\n]{1,200})》"
    r"|〈([^〈〉\n]{1,200})〉|﹁([^﹁﹂\n]{1,200})﹂|﹃([^﹃﹄\n]{1,200})﹄|〝([^〝〞〟\n]{1,200})[〞〟]"
    r"|‹([^‹›\n]{1,200})›|›([^‹›\n]{1,200})‹|‚([^‚‘'\n]{1,200})[‘']"
    r"|(?<![\w'])['‘‛]((?:[^'‘\n]|(?<=\w)'(?=\w)){2,100})'(?!\w)"
)

_HEX = "[0-9a-fA-F]"
_PIECE = rf"[{WORD}.@%+*-]"
_URL = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s<>\"'`{}|\\^\]\u3000-\u303f]++"
_UUID = rf"(?<![{WORD}-]){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?![{WORD}-])"
_WINDOWS_PATH = rf"(?<![{WORD}])[A-Za-z]:\\(?:[{WORD}.@-]*+\\)*+[{WORD}.@-]*+"
_ROOTED_PATH = rf"(?:~|\.{{1,2}}+|\$\{{?[A-Z_]+\}}?)?/(?:{_PIECE}++/?+)++"
_DEEP_PATH = rf"(?:{_PIECE}++/){{2,}}+{_PIECE}*+"
# With one slash only, a path shows itself by an extension or by the slash at its end: and/or.
_SHALLOW_PATH = rf"{_PIECE}++/(?:(?=[{WORD}.@%+*-]*\.[A-Za-z]){_PIECE}++|(?![{WORD}.@%+*/-]))"
_PATH = (
    rf"(?<![{WORD}.@%+*/~$}}-])(?:{_ROOTED_PATH}"
    rf"|(?={_PIECE}{{0,255}}?[A-Za-z_*])(?:{_DEEP_PATH}|{_SHALLOW_PATH}))"
)
_IP4 = rf"(?<![{WORD}.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d{{1,2}})?(?![{WORD}]|\.\d)"
_IP6 = (
    rf"(?<![{WORD}:])(?={_HEX}{{0,4}}:)(?={_HEX}{{0,4}}(?::{_HEX}{{1,4}}){{0,6}}::"
    rf"|(?:{_HEX}{{1,4}}:){{7}})"
    rf"(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![{WORD}:])"
)
_MAC = rf"(?<![{WORD}:])(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}(?![{WORD}:])"
_FLAG = (
    r"(?<![\w./@+-])(?:--[A-Za-z][A-Za-z0-9_-]*+"
    r"|-(?:[A-Za-z](?![A-Za-z0-9-])|[A-Za-z][A-Za-z]{0,8}+\d[A-Za-z0-9]*+))"
)
_ENV_VAR = (
    rf"\$\{{[A-Za-z_]\w*+|\$[A-Za-z_]\w*+|%[A-Z][A-Z0-9_]++%"
    rf"|(?<![{WORD}])[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++(?![{WORD}])"
    rf"|(?<![{WORD}])[A-Z][A-Z0-9]{{2,60}}+(?==[^\s=])"
)
_VERSION = (
    rf"(?<![{WORD}.])(?:[vV]\d++(?:\.\d++)*+|\d++(?:\.\d++){{2,}}+)"
    r"(?:[-+]?(?:rc|alpha|beta|dev|post|pre|a|b)[.-]?\d*+|[-+][0-9A-Za-z]++"
    r"(?:[.-][0-9A-Za-z]++)*+)?"
    rf"(?![{WORD}])"
)
_EMAIL = rf"(?<![{WORD}.+-])[{WORD}.+-]++@[{WORD}-]++(?:\.[{WORD}-]++)*+"
_ISSUE = r"(?<!\w)#\d{1,9}+(?!\w)"

# Read in this order, each over what the ones before it have left.
_SHAPES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("url", _URL),
        ("identifier", _UUID),
        ("path", _WINDOWS_PATH),
        ("date", quantities.YEAR_FIRST),
        ("date", quantities.YEAR_LAST),
        ("path", _PATH),
        ("identifier", _IP4),
        ("identifier", _MAC),
        ("identifier", _IP6),
        ("flag", _FLAG),
        ("env_var", _ENV_VAR),
        ("version", _VERSION),
        ("identifier", _EMAIL),
        ("identifier", _ISSUE),
    )
)
_TOKEN = re.compile(rf"(?<![{WORD}.-])[{WORD}](?:[{WORD}]|[.-](?=[{WORD}]))*+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")
_PLURAL = re.compile(r"[A-Z]{2,}s")
_DOTTED = re.compile(rf"[{WORD}-]{{2,}}(?:\.[{WORD}-]+)*\.(?:[A-Za-z_][{WORD}-]+|[chr])")
_JOINTS = frozenset("/:@-")
_TWO_SENTENCES = re.compile(r"[^\W\d_]+\.[A-ZÀ-Þ][a-zà-ÿ]*")
_NUMERIC = re.compile(rf"[\d._-]+|\d+[.\d]*-?(?:[{LETTERS}]+(?:-[{LETTERS}]+)*)?")


def quotations(text: str) -> Iterator[Found]:
    """Yield the code, the commands and the quoted words of the text."""
    for start, line in _fenced_lines(text):
        yield _code(start, line)
    for match in _CODE.finditer(text):
        yield _code(match.start(2), match[2])
    for match in _PROMPT.finditer(text):
        yield Found(match.start(1), match.end(1), "command", collapsed(match[1]))
    for match in _COMMAND.finditer(text):
        written = match[0].rstrip(".,;:!?")
        yield Found(match.start(), match.start() + len(written), "command", written)
    for match in _QUOTED.finditer(text):
        inner = match.lastindex or 0
        if value := collapsed(match[inner]).strip(".,;:!?。，、").casefold():
            yield Found(match.start(inner), match.end(inner), "quoted", value)


def take(
    pattern: re.Pattern[str],
    kind: str,
    text: str,
    found: list[Found],
    value: Callable[[re.Match[str]], str | None],
) -> str:
    """Add what the pattern finds, unless its value is None, and return the text without it."""

    def note(match: re.Match[str]) -> str:
        compared = value(match)
        if compared is None:
            return match[0]
        written = match[0].rstrip(".,;:!?")
        found.append(Found(match.start(), match.start() + len(written), kind, compared))
        return " " * len(match[0])

    return pattern.sub(note, text)


def take_shapes(text: str, found: list[Found]) -> str:
    """Add URLs, paths, addresses, flags, variables, versions; return the text without them."""
    for kind, pattern in _SHAPES:
        text = take(pattern, kind, text, found, _VALUES.get(kind, _written))
    return text


def take_identifiers(text: str, found: list[Found]) -> str:
    """Add the words that look like names in a program; return the text without them."""
    return take(_TOKEN, "identifier", text, found, _identifier)


def collapsed(text: str) -> str:
    return " ".join(text.split())


def _identifier(match: re.Match[str]) -> str | None:
    word = match[0]
    if _NUMERIC.fullmatch(word):
        return None
    # In CamelCase prose the case is a matter of taste: Github, GitHub.
    if _CAMEL.search(word) and not _PLURAL.fullmatch(word) and not _TWO_SENTENCES.fullmatch(word):
        return word.casefold() if word.isalpha() else word
    dotted = _DOTTED.fullmatch(word) and not _TWO_SENTENCES.fullmatch(word)
    named = "_" in word.strip("_") or any(map(str.isdigit, word)) or dotted
    return word if named else None


def _written(match: re.Match[str]) -> str:
    return match[0].rstrip(".,;:!?")


def _path_or_url(match: re.Match[str]) -> str | None:
    written = match[0].rstrip(".,;:!?*'")
    if written.count(")") > written.count("("):
        written = written.rstrip(").,;:!?")
    return written.rstrip("/") or None


def _version(match: re.Match[str]) -> str:
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:2]
    # Inside a name it is a piece of the name: the branches release/v2 and release/v2.0 are two.
    if before in _JOINTS or (after[:1] in _JOINTS and after[1:].isalnum()):
        return match[0]
    return quantities.version(match[0])


_VALUES: dict[str, Callable[[re.Match[str]], str | None]] = {
    "url": _path_or_url,
    "path": _path_or_url,
    "date": quantities.date,
    "env_var": lambda match: match[0].strip("${%"),
    "version": _version,
}


def _fenced_lines(text: str) -> Iterator[tuple[int, str]]:
    fences = list(_FENCE.finditer(text + "\n"))
    for opening, closing in zip(fences[::2], fences[1::2], strict=False):
        start = opening.end()
        for line in text[start : closing.start()].splitlines(keepends=True):
            if line.strip():
                yield start + len(line) - len(line.lstrip()), line.strip()
            start += len(line)


def _code(start: int, written: str) -> Found:
    value = collapsed(written).removeprefix("$ ")
    kind = "command" if written.startswith("$ ") or _COMMAND.match(value) else "code"
    return Found(start, start + len(written), kind, value)
