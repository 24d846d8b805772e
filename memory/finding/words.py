"""
The words a text is found by, as PostgreSQL keeps them (tsvector) and looks them up (tsquery).

They are made here and not by a text search configuration, because a name in code is one word to
those who look for it, and because Chinese, Japanese, Korean, Thai have no spaces to go by.
A lexeme is one of: a word as written (folded), the same without accents, a stem with its language
before it (`english=deploy`), a name, path or number as a whole, or two characters of a script
without spaces.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import snowballstemmer

from memory.finding.languages import SMALL_WORDS, language_of, language_of_word, languages_of
from memory.text import plain_characters

LONGEST_LEXEME = 200
LAST_POSITION = 16383
MOST_POSITIONS = 255
MOST_QUERY_LEXEMES = 64
# A tsvector is at most 1 MB; 20,000 lexemes are left in where a text would bring more.
MOST_LEXEMES = 20_000
_LONGEST_QUERY = 4_000
_LARGEST_VECTOR = 900_000  # bytes of lexemes and positions

_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff々〆ー"
)
_HANGUL = re.compile("[\uac00-\ud7af]+")
_RUN = re.compile(f"[{_NO_SPACES}]+")
# A token is what stands between spaces and punctuation, and holds together by . - / : @ and such.
_TOKEN = re.compile(
    rf"[{_NO_SPACES}]+|[\w~/-](?:(?![{_NO_SPACES}])\w|[./:@+#~\\-](?=[\w~/.-])(?![{_NO_SPACES}]))*"
)
_PIECE = re.compile(rf"(?:(?![{_NO_SPACES}_])\w)+|[{_NO_SPACES}]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_THOUSANDS = re.compile(r"(?<=\d)[,'](?=\d{3}(?!\d))")
_WORDLESS = re.compile(r"[^\w]+")


def lexemes(text: str, language: str | None = None) -> dict[str, list[int]]:
    """Return each lexeme of the text with its positions, from 1 to 16,383, at most 255 of them."""
    found: dict[str, list[int]] = {}
    for position, lexeme in _placed(_folded(text), language):
        places = found.setdefault(lexeme[:LONGEST_LEXEME], [])
        if len(places) < MOST_POSITIONS and (not places or places[-1] < position):
            places.append(position)
        if len(found) >= MOST_LEXEMES:
            break
    return found


def tsvector(text: str) -> str:
    """Return the text representation of the tsvector of the text, ready to be cast."""
    written: list[str] = []
    size = 0
    for lexeme, positions in lexemes(text).items():
        size += len(lexeme.encode()) + 2 * len(positions) + 8
        if size > _LARGEST_VECTOR:
            break
        written.append(f"{_quoted(lexeme)}:{','.join(map(str, positions))}")
    return " ".join(written)


def query_lexemes(text: str) -> list[str]:
    """
    Return the lexemes to look for, the most specific first, at most 64.

    Small words are left out, unless there is nothing else.
    """
    folded = _folded(text[:_LONGEST_QUERY])
    words = _PIECE.findall(folded.lower())
    languages = languages_of(words)
    small = SMALL_WORDS["english"] | SMALL_WORDS[languages[0]]
    placed = [one for language in languages for one in _placed(folded, language)]
    dropped = {position for position, lexeme in placed if lexeme in small}
    telling = [
        lexeme
        for position, lexeme in placed
        if lexeme not in small and not ("=" in lexeme and position in dropped)
    ]
    every = telling or [lexeme for _, lexeme in placed]
    distinct = dict.fromkeys(lexeme[:LONGEST_LEXEME] for lexeme in every)
    return sorted(distinct, key=_generality)[:MOST_QUERY_LEXEMES]


def tsquery(text: str) -> str:
    """Return the text representation of a tsquery for any of the words; "" when there is none."""
    return " | ".join(map(_quoted, query_lexemes(text)))


def _folded(text: str) -> str:
    """Return the text with compatible forms made one: fullwidth letters, ligatures, composition."""
    if not text.isascii():
        text = plain_characters(unicodedata.normalize("NFKC", text))
    return _THOUSANDS.sub("", text)


def _placed(text: str, language: str | None) -> Iterator[tuple[int, str]]:
    """Yield the lexemes of the text with the position of the word each belongs to."""
    language = language or language_of(_PIECE.findall(text[:4000].lower()))
    position = 0
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip("/:.-@+#~\\")
        pieces = _PIECE.findall(token)
        if not pieces:
            continue
        if len(pieces) > 1 or pieces[0] != token:
            for whole in _wholes(token):
                yield min(position + 1, LAST_POSITION), whole
        for piece in pieces:
            if len(pieces) > 1 and len(piece) == 1 and piece.isascii():
                continue  # the 1 of 2.10.1 finds nothing that the whole does not
            for step, lexeme in _of_piece(piece, language):
                yield min(position + 1 + step, LAST_POSITION), lexeme
            position += len(piece) - 1 if _RUN.match(piece) and len(piece) > 1 else 1


def _wholes(token: str) -> Iterator[str]:
    """Yield what somebody may write to mean the token: itself, the end of a path, a version."""
    whole = token.casefold()
    yield whole
    bare = whole.strip("-/.~_")
    if bare and bare != whole:
        yield bare
    if len(bare) < 40 and (version := _VERSION.match(bare)):
        numbers = version[1].split(".")
        yield from (".".join(numbers[:length]) for length in range(len(numbers), 1, -1))
    if "/" in bare:
        steps = bare.split("/")
        yield from ("/".join(steps[start:]) for start in range(max(1, len(steps) - 8), len(steps)))
    if ":" in bare or "@" in bare or "#" in bare:
        yield from (part for part in re.split("[:@#]", bare) if part and "/" not in part)
    if "_" in token and ("." in token or "/" in token):
        yield from (part.casefold() for part in re.split("[./]", token) if "_" in part)


def _of_piece(piece: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield the lexemes of one word, or of one run of a script without spaces."""
    if _RUN.match(piece):
        if len(piece) == 1 or _HANGUL.fullmatch(piece):
            yield 0, piece
        yield from ((start, piece[start : start + 2]) for start in range(len(piece) - 1))
        return
    word = piece[: 2 * LONGEST_LEXEME].casefold()
    for form in _forms(word, language):
        yield 0, form
    if not (piece.islower() or piece.isupper() or piece.istitle()):
        parts = _CAMEL.findall(piece)
        if 1 < len(parts) <= 12:
            yield from ((0, form) for part in parts for form in _forms(part.casefold(), language))


# Letters whose difference is no accent: the Turkish i without a dot, the strokes.
_STROKES = str.maketrans("ıøłđ", "iold")


@lru_cache(maxsize=20_000)
def _forms(word: str, language: str) -> tuple[str, ...]:
    """Return the word itself, without its accents, and its stem."""
    forms = [word]
    if not word.isascii():
        decomposed = unicodedata.normalize("NFD", word)
        forms.append("".join(one for one in decomposed if not unicodedata.combining(one)))
        forms.append(forms[-1].translate(_STROKES))
    if 2 < len(word) < 60 and word.isalpha():
        suited = language_of_word(word, language)
        languages = dict.fromkeys((suited, "english" if word.isascii() else suited))
        forms += [f"{name}={_stemmers.of(name).stemWord(word)}" for name in languages]
    return tuple(dict.fromkeys(filter(None, forms)))


class _Stemmers(threading.local):
    """A thread's own, by language: a stemmer holds the word that it is at, for one thread alone."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def of(self, language: str) -> Any:
        if language not in self._built:
            self._built[language] = snowballstemmer.stemmer(language)
        return self._built[language]


_stemmers = _Stemmers()


def _generality(lexeme: str) -> tuple[int, int]:
    """Return how little a lexeme tells: names and numbers first, stems last."""
    if "=" in lexeme:
        return (3, 0)
    if _WORDLESS.search(lexeme) or "_" in lexeme or any(map(str.isdigit, lexeme)):
        return (0, -len(lexeme))
    return (1, -len(lexeme))


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
