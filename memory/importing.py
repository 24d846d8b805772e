"""
Markdown as memories: one for each section, its text as it stands in the file.

Reads files and asks nothing of Django or of the database, so that who imports over HTTP can use it
as well as the server. The same files give the same notes, so importing them again adds nothing.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from markdown_it import MarkdownIt

from memory.text import is_blank, normalised, same_text_key

KINDS = (
    "fact",
    "reference",
    "episode",
    "gotcha",
    "convention",
    "decision",
    "preference",
    "procedure",
    "task",
    "open_question",
)
LONGEST = 32 * 1024  # bytes of UTF-8 that one memory may have
LONGEST_URI = 2000  # characters
SUFFIXES = (".md", ".markdown")
_KIND_OF_FOLDER = {"decisions": "decision", "adr": "decision"}
_KIND_OF_FILE = {
    "glossary": "reference",
    "changelog": "episode",
    # What agents are told to do.
    "claude": "convention",
    "agents": "convention",
}
_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?P<said>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_SAYS_KIND = re.compile(
    r"^[ \t]*(?:\*\*)?kind(?:\*\*)?:(?:\*\*)?[ \t]*(?P<kind>\w+)[ \t]*$", re.I | re.M
)
_NO_WORD = re.compile(r"[^\w]+")
# Where a text is cut that is too long, best first: between paragraphs, lines, words.
_CUTS = (re.compile(r"\n(?:[ \t]*\n)+"), re.compile(r"\n"), re.compile(r"(?<=[ \t])"))


class Unreadable(ValueError):
    """A file that is no text, or not in UTF-8."""


@dataclass(frozen=True)
class Note:
    """A section of a Markdown file, or a part of one that is too long for a memory."""

    content: str
    kind: str
    uri: str

    def fields(self) -> dict[str, Any]:
        """Return what `remember` is told of it."""
        return {
            "content": self.content,
            "kind": self.kind,
            "source": {"kind": "markdown", "uri": self.uri, "hash": self.digest},
        }

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the text."""
        return f"sha256:{hashlib.sha256(self.content.encode()).hexdigest()}"

    @property
    def key(self) -> tuple[str, bytes]:
        """Return what is equal for notes that become one memory."""
        return self.kind, same_text_key(self.content)


@dataclass(frozen=True)
class Imported:
    """What became of a note."""

    note: Note
    memory_id: str
    absorbed: bool


@dataclass(frozen=True)
class Forecast:
    """What an import would send."""

    notes: int
    distinct: int
    bytes: int
    kinds: dict[str, int]


def memories_in(*paths: Path, root: Path) -> list[Note]:
    """
    Return the notes of the files, and of all Markdown files in the folders by their names.

    :param root: what addresses of notes are relative to
    :raises FileNotFoundError: if a path is not there
    :raises Unreadable: if a file is not in UTF-8
    """
    return [note for file in _files(paths) for note in notes_of(*_read(file, root))]


def notes_of(text: str, name: str) -> Iterator[Note]:
    """Give the notes of one Markdown text; its name is its path, with forward slashes."""
    text = normalised(text)
    kind, body = _front_matter(text)
    kind = kind or _kind_of_path(PurePosixPath(name))
    taken: Counter[str] = Counter()
    for titles, section, section_kind in _sections(body, kind):
        path = "/".join(map(_slug, titles))
        taken[path] += 1
        anchor = path if taken[path] == 1 else f"{path}-{taken[path]}"
        parts = list(pieces(section))
        for number, part in enumerate(parts, 1):
            place = anchor if len(parts) == 1 else f"{anchor}/part-{number}"
            uri = f"{name}#{place}" if place else name
            yield Note(part, section_kind, uri[:LONGEST_URI])


def forecast(notes: Sequence[Note]) -> Forecast:
    """Return what an import of the notes would send, without sending it."""
    return Forecast(
        notes=len(notes),
        distinct=len({note.key for note in notes}),
        bytes=sum(len(note.content.encode()) for note in notes),
        kinds=dict(Counter(note.kind for note in notes)),
    )


def send(notes: Iterable[Note], remember: Callable[..., Mapping[str, Any]]) -> Iterator[Imported]:
    """
    Have each note remembered, and tell what became of it.

    :param remember: takes the fields of a memory by keyword, and gives the answer to the write
    """
    for note in notes:
        answer = remember(**note.fields())
        yield Imported(note, answer["memory_id"], answer["absorbed"])


def pieces(text: str, longest: int = LONGEST) -> Iterator[str]:
    """Give the text whole, or cut between paragraphs into pieces of at most `longest` bytes."""
    for piece in _packed(text, longest, _CUTS):
        trimmed = piece.strip("\n")
        if not is_blank(trimmed):
            yield trimmed


def _packed(text: str, longest: int, cuts: Sequence[re.Pattern[str]]) -> Iterator[str]:
    if len(text.encode()) <= longest:
        yield text
        return
    if not cuts:
        yield from _cut_anywhere(text, longest)
        return
    held = ""
    for part in _parts(text, cuts[0]):
        if len((held + part).encode()) <= longest:
            held += part
            continue
        if held:
            yield held
        held = ""
        if len(part.encode()) <= longest:
            held = part
        else:
            yield from _packed(part, longest, cuts[1:])
    if held:
        yield held


def _parts(text: str, cut: re.Pattern[str]) -> Iterator[str]:
    """Give the text in parts that end where it may be cut; together they are the text."""
    start = 0
    for found in cut.finditer(text):
        if found.end() > start:
            yield text[start : found.end()]
            start = found.end()
    if start < len(text):
        yield text[start:]


def _cut_anywhere(text: str, longest: int) -> Iterator[str]:
    rest = text.encode()
    while rest:
        # What is left over of a character at the end goes into the next piece.
        piece = rest[:longest].decode(errors="ignore")
        yield piece
        rest = rest[len(piece.encode()) :]


def _sections(body: str, kind: str) -> Iterator[tuple[list[str], str, str]]:
    """Give each section's titles from the outermost, its text with its heading, and its kind."""
    lines = body.split("\n")
    headings = list(_headings(body))
    first = headings[0][0] if headings else len(lines)
    yield from _if_it_says_something([], "\n".join(lines[:first]), kind, has_heading=False)
    stack: list[tuple[int, str, str]] = []
    ends = [start for start, *_ in headings[1:]] + [len(lines)]
    for (start, level, title), end in zip(headings, ends, strict=True):
        while stack and stack[-1][0] >= level:
            stack.pop()
        text = "\n".join(lines[start:end])
        # A kind that is said holds for the sections inside, too.
        said = _kind_said(text) or (stack[-1][2] if stack else kind)
        stack.append((level, title, said))
        yield from _if_it_says_something([one for _, one, _ in stack], text, said, has_heading=True)


def _if_it_says_something(
    titles: list[str], text: str, kind: str, *, has_heading: bool
) -> Iterator[tuple[list[str], str, str]]:
    text = text.strip("\n")
    lines = text.split("\n")
    underlined = len(lines) > 1 and has_heading and re.fullmatch(r"[ \t]*(=+|-+)[ \t]*", lines[1])
    said = lines[2 if underlined else 1 :] if has_heading else lines
    if not is_blank("\n".join(said)):
        yield titles, text, kind


def _headings(body: str) -> Iterator[tuple[int, int, str]]:
    """Give the line, the level and the title of each heading; those in code and quotes are none."""
    tokens = MarkdownIt("commonmark").parse(body)
    for token, following in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            yield token.map[0], int(token.tag[1:]), following.content


def _kind_said(text: str) -> str | None:
    for found in _SAYS_KIND.finditer(text):
        kind = found["kind"].lower()
        if kind in KINDS:
            return kind
    return None


def _front_matter(text: str) -> tuple[str | None, str]:
    found = _FRONT_MATTER.match(text)
    if found is None:
        return None, text
    return _kind_said(found["said"]), text[found.end() :]


def _kind_of_path(path: PurePosixPath) -> str:
    for folder in reversed(path.parts[:-1]):
        if folder.lower() in _KIND_OF_FOLDER:
            return _KIND_OF_FOLDER[folder.lower()]
    return _KIND_OF_FILE.get(path.stem.lower(), "fact")


def _slug(title: str) -> str:
    return _NO_WORD.sub("-", title.lower()).strip("-") or "section"


def _files(paths: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES)
            found.update(dict.fromkeys(sorted(one for one in inside if one.is_file())))
        elif path.is_file():
            found[path] = None
        else:
            raise FileNotFoundError(f"{path}: no such file or folder")
    return list(found)


def _read(file: Path, root: Path) -> tuple[str, str]:
    name = file.resolve().relative_to(root.resolve()).as_posix()
    try:
        return file.read_text(encoding="utf-8-sig"), name
    except UnicodeDecodeError:
        raise Unreadable(f"{name}: not in UTF-8") from None
