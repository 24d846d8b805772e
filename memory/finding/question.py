"""What is asked in a recall, and what its wording only hints at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.models import Lifecycle

CURRENT, HISTORICAL = "current", "historical"
NORMAL, HIGH = "normal", "high"

_PAST = re.compile(
    r"\b(?:as of|at (?:the|that) time|back (?:then|when)|used to|previously|formerly|originally"
    r"|in the past|historically|(?:last|previous|earlier|old) (?:release|version|sprint|quarter"
    r"|month|week|year)|before (?:the|we|it|that)|(?:did|were|was) (?:we|it|they|the)"
    r"|until (?:19|20)\d\d|in (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\b(?:currently|right now|at (?:the moment|present)|as of (?:now|today)|nowadays|today|now"
    r"|these days|still|up to date|latest)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """
    What is asked, and about when.

    :param as_of: then, as everything was at that time; in historical mode without it, at any time
    :param high: much hangs on the answer
    :param subjects: what the question is about: which marks lie on it, and what is told first
    :param verified_only: whether what nobody has vouched for is left out
    """

    query: str
    k: int = 10
    historical: bool = False
    as_of: datetime | None = None
    high: bool = False
    kinds: Sequence[str] | None = None
    subjects: Sequence[str] = ()
    include: Sequence[str] = ()
    verified_only: bool = False

    @property
    def with_superseded(self) -> bool:
        """Whether what has been replaced is told, too; never where much hangs on it."""
        return "superseded" in self.include and not self.high

    @property
    def with_expired(self) -> bool:
        return "expired" in self.include and not self.high

    @property
    def lifecycles(self) -> list[str]:
        """What is searched; what was not valid at the time in question is sorted out later."""
        if self.historical:
            return [one.value for one in Lifecycle]
        if self.with_superseded:
            return [Lifecycle.LIVE, Lifecycle.SUPERSEDED]
        return [Lifecycle.LIVE]

    @property
    def wording(self) -> str | None:
        """Of which time the words seem to speak. A hint that is reported, and decides nothing."""
        if _PRESENT.search(self.query):
            return CURRENT
        return HISTORICAL if _PAST.search(self.query) else None
