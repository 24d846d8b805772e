"""
Two texts beside each other, word by word: what one has and the other has not.

Pure. What comes out is plain text in pieces; the template escapes it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

# A word keeps what belongs to it: 10:00, v1.2.3, /etc/hosts, on-call, --force.
_WORD = re.compile(r"[-/~$.]*\w+(?:[.:/@%+-]+\w+)*|\s+|[^\w\s]")
# Comparing takes time with the square of this; beyond it everything between the common beginning
# and the common end counts as different.
MOST_WORDS = 2000

Span = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """
    Some of a text.

    :param differs: the other text has something else here, or nothing
    :param missing: it would be lost with this text
    """

    text: str
    differs: bool
    missing: bool


def beside_each_other(
    left: str, right: str, missing: Iterable[str] = ()
) -> tuple[list[Piece], list[Piece]]:
    """
    Return both texts in pieces.

    :param missing: specifics to mark wherever one text has them and the other has not
    """
    ours, theirs = differing(left, right)
    wanted = [one for one in missing if one.strip()]
    return (
        pieces(left, ours, [one for one in wanted if one not in right]),
        pieces(right, theirs, [one for one in wanted if one not in left]),
    )


def differing(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """Return where each of the texts differs from the other, in characters."""
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    first = _common(ours, theirs)
    last = _common(ours[first:][::-1], theirs[first:][::-1])
    middle, other = ours[first : len(ours) - last], theirs[first : len(theirs) - last]
    at = len("".join(ours[:first]))
    if max(len(middle), len(other)) > MOST_WORDS:
        changes = [(0, len(middle), 0, len(other))]
    else:
        compared = SequenceMatcher(None, middle, other).get_opcodes()
        changes = [change[1:] for change in compared if change[0] != "equal"]
    return (
        _spans(middle, at, [(start, end) for start, end, _, _ in changes]),
        _spans(other, at, [(start, end) for _, _, start, end in changes]),
    )


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _spans(words: Sequence[str], at: int, changes: Iterable[Span]) -> list[Span]:
    starts = [at]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[start], starts[end]) for start, end in changes if start < end]


def pieces(text: str, changed: Sequence[Span], missing: Iterable[str] = ()) -> list[Piece]:
    """Return the text cut wherever it begins or ends to differ, or to be missing elsewhere."""
    lost = [span for one in missing for span in _places(one, text)]
    cuts = {0, len(text), *(end for span in (*changed, *lost) for end in span)}
    differs, is_lost = _covered(cuts, changed), _covered(cuts, lost)
    return [
        Piece(text[start:end], start in differs, start in is_lost)
        for start, end in pairwise(sorted(cuts))
    ]


def _places(specific: str, text: str) -> list[Span]:
    found = re.finditer(rf"(?<!\w){re.escape(specific)}(?!\w)", text)
    return [match.span() for match in found]


def _covered(cuts: Iterable[int], spans: Iterable[Span]) -> set[int]:
    """Return the cuts that lie in one of the spans."""
    covered, reach = set(), 0
    opening = sorted(spans)
    following = 0
    for cut in sorted(cuts):
        while following < len(opening) and opening[following][0] <= cut:
            reach = max(reach, opening[following][1])
            following += 1
        if cut < reach:
            covered.add(cut)
    return covered
