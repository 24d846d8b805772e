"""
From a verdict to an action: the one table that decides what happens to a pair.

Pure: facts about a pair, a verdict and the settings of the moment go in, an action comes out. The
judge says how two memories relate; whether anything may be done about it is said here and nowhere
else. The rows are tried in their order, and the first that matches acts.
"""

from dataclasses import dataclass
from enum import StrEnum

# How sure a judge must be that a duplicate is dropped, and that differing content is hidden. They
# can be raised by a setting, and never lowered.
DROP_DUPLICATE = 0.90
HIDE_CONTENT = 0.95
RELATE = 0.90


class Relation(StrEnum):
    """How the newer memory and the older one relate."""

    DUPLICATE = "duplicate"
    NEWER_SUPERSEDES = "newer_supersedes"
    OLDER_SUPERSEDES = "older_supersedes"
    STALE = "stale"
    CONTRADICTION = "contradiction"
    COMPLEMENTARY = "complementary"
    UNRELATED = "unrelated"
    UNSURE = "unsure"
    UNUSABLE = "unusable"


class ConflictKind(StrEnum):
    """What a conflict is about."""

    CONTRADICTION = "contradiction"
    STALE = "stale"
    DUPLICATE = "duplicate"
    CHALLENGED = "challenged"
    STALE_SUSPECT = "stale_suspect"
    UNSURE = "unsure"
    UNJUDGED = "unjudged"


class Resolution(StrEnum):
    """How a conflict ended, in a word."""

    AUTHORITY = "authority"
    RECENCY = "recency"
    DUPLICATE = "duplicate"
    MANUAL = "manual"
    KEEP_BOTH = "keep_both"
    RETIRED = "retired"
    MERGED = "merged"


class Age(StrEnum):
    """Which of the two, by the server's own order of writing."""

    NEWER = "newer"
    OLDER = "older"

    @property
    def other(self) -> "Age":
        return Age.OLDER if self is Age.NEWER else Age.NEWER


@dataclass(frozen=True)
class Side:
    """
    What counts about one of the two memories.

    :param protected_kind: gotcha, convention, decision or preference
    :param restored: a person brought it back
    :param challenged: it stands in an open dispute of its own
    :param verified_since: somebody independent confirmed it after the other was asserted
    :param outranked: its owner has lost a contradiction to the other by level before
    :param lost_specifics: specifics that would be lost if the other took its place
    """

    rank: int
    level: int
    protected_kind: bool = False
    restored: bool = False
    challenged: bool = False
    verified_since: bool = False
    outranked: bool = False
    lost_specifics: tuple[str, ...] = ()

    @property
    def is_protected(self) -> bool:
        return self.protected_kind and self.rank >= 1


@dataclass(frozen=True)
class Pair:
    """
    Two memories that may be in conflict.

    :param closed: it was decided between them, or an open dispute waits for that
    :param same_readers: nobody who reads one of them may not read the other
    """

    newer: Side
    older: Side
    closed: bool = False
    same_readers: bool = True

    def side(self, age: Age) -> Side:
        return self.newer if age is Age.NEWER else self.older


@dataclass(frozen=True)
class Verdict:
    """What a judge says of a pair."""

    relation: Relation
    confidence: float


@dataclass(frozen=True)
class Bars:
    """
    What may be done without a person right now.

    :param certified: this judge may act for this tenant
    :param brake: too much was retired automatically of late
    """

    certified: bool = True
    brake: bool = False
    drop_duplicate: float = DROP_DUPLICATE
    hide_content: float = HIDE_CONTENT


class Deed(StrEnum):
    """What is done to a pair."""

    NOTHING = "nothing"
    RELATE = "relate"
    SUPERSEDE = "supersede"
    # Supersede it, once the winner begins to hold.
    SUCCEED = "succeed"
    DISPUTE = "dispute"


@dataclass(frozen=True)
class Action:
    """
    What happens, and to whom.

    :param winner: who wins, or in a dispute who is recommended to
    :param row: the row of the table that decided, for the history and for whoever asks why
    """

    deed: Deed
    row: str
    kind: ConflictKind | None = None
    winner: Age | None = None
    resolution: Resolution | None = None
    missing: tuple[str, ...] = ()


_KINDS = {
    Relation.DUPLICATE: ConflictKind.DUPLICATE,
    Relation.NEWER_SUPERSEDES: ConflictKind.STALE,
    Relation.OLDER_SUPERSEDES: ConflictKind.STALE,
    Relation.STALE: ConflictKind.STALE,
    Relation.CONTRADICTION: ConflictKind.CONTRADICTION,
    Relation.UNSURE: ConflictKind.UNSURE,
    Relation.UNUSABLE: ConflictKind.UNJUDGED,
}


_WITHOUT_A_WINNER = frozenset(
    {Relation.COMPLEMENTARY, Relation.UNRELATED, Relation.UNSURE, Relation.UNUSABLE}
)


def decide(pair: Pair, verdict: Verdict, bars: Bars) -> Action:
    """
    Return what happens to the pair.

    :param bars: lower than the least ones, they count as the least ones
    """
    relation = verdict.relation
    if pair.closed:
        return Action(Deed.NOTHING, "settled or disputed already")
    if relation is Relation.UNRELATED:
        return Action(Deed.NOTHING, "unrelated")
    if relation is Relation.COMPLEMENTARY:
        if verdict.confidence >= RELATE:
            return Action(Deed.RELATE, "complementary")
        return Action(Deed.NOTHING, "complementary, perhaps")
    return _among_rivals(pair, verdict, bars)


def _among_rivals(pair: Pair, verdict: Verdict, bars: Bars) -> Action:
    relation = verdict.relation
    winner = would_be_winner(pair, relation)
    loser = None if winner is None else pair.side(winner.other)
    if pair.newer.challenged or pair.older.challenged:
        return _dispute(relation, winner, "a side is challenged")
    if loser is not None and loser.restored:
        return _dispute(relation, winner, "a person restored the loser")
    if not pair.same_readers:
        return _dispute(relation, winner, "not everybody reads both")
    if winner is not None and min(pair.newer.rank, pair.older.rank) == 0:
        both = pair.newer.rank == pair.older.rank
        return _supersede(
            relation,
            winner,
            Resolution.RECENCY if both else Resolution.AUTHORITY,
            "both provisional" if both else "one provisional",
        )
    if relation is Relation.UNSURE:
        if pair.newer.rank == pair.older.rank == 0:
            return Action(Deed.NOTHING, "unsure of two provisional ones")
        return _dispute(relation, None, "unsure")
    if relation is Relation.UNUSABLE:
        return _dispute(relation, None, "no usable verdict")
    assert winner is not None
    if not bars.certified:
        return _dispute(relation, winner, "the judge is not certified")
    if bars.brake:
        return _dispute(relation, winner, "the brake is on")
    if relation is Relation.DUPLICATE:
        return _of_duplicates(pair, winner, verdict.confidence, bars)
    return _of_differing(pair, winner, verdict, bars)


def would_be_winner(pair: Pair, relation: Relation) -> Age | None:
    """Return who would win if nothing stood against it; nobody where a relation names no winner."""
    if relation in _WITHOUT_A_WINNER:
        return None
    newer, older = pair.newer, pair.older
    if newer.rank == older.rank == 0:
        return Age.NEWER
    if min(newer.rank, older.rank) == 0:
        return Age.NEWER if newer.rank > older.rank else Age.OLDER
    if relation is Relation.OLDER_SUPERSEDES:
        return Age.OLDER
    if relation is Relation.DUPLICATE:
        return Age.NEWER if (newer.rank, newer.level) >= (older.rank, older.level) else Age.OLDER
    if relation is Relation.CONTRADICTION:
        return Age.NEWER if newer.level >= older.level else Age.OLDER
    return Age.NEWER


def _of_duplicates(pair: Pair, winner: Age, confidence: float, bars: Bars) -> Action:
    loser = pair.side(winner.other)
    if loser.is_protected:
        return _dispute(Relation.DUPLICATE, winner, "the loser is protected")
    if confidence < max(bars.drop_duplicate, DROP_DUPLICATE):
        return _dispute(Relation.DUPLICATE, winner, "not sure enough")
    if loser.lost_specifics:
        return _dispute(Relation.DUPLICATE, winner, "specifics would be lost", loser.lost_specifics)
    return _supersede(Relation.DUPLICATE, winner, Resolution.DUPLICATE, "duplicate")


def _of_differing(pair: Pair, winner: Age, verdict: Verdict, bars: Bars) -> Action:
    relation = verdict.relation
    loser = pair.side(winner.other)
    if loser.is_protected:
        return _dispute(relation, winner, "the loser is protected")
    if verdict.confidence < max(bars.hide_content, HIDE_CONTENT):
        return _dispute(relation, winner, "not sure enough")
    if loser.lost_specifics:
        return _dispute(relation, winner, "specifics would be lost", loser.lost_specifics)
    if relation is Relation.OLDER_SUPERSEDES:
        return _dispute(relation, winner, "the older would win")
    if pair.side(winner).outranked:
        return _dispute(relation, winner, "the winner's owner was outranked by it before")
    if relation in (Relation.STALE, Relation.NEWER_SUPERSEDES):
        return _supersede(relation, winner, Resolution.RECENCY, "stale")
    if pair.newer.level != pair.older.level:
        return _supersede(relation, winner, Resolution.AUTHORITY, "contradiction of unequal levels")
    if pair.older.verified_since:
        return _dispute(relation, winner, "the older was verified since")
    return _supersede(relation, winner, Resolution.RECENCY, "contradiction of equal levels")


def _dispute(
    relation: Relation, winner: Age | None, row: str, missing: tuple[str, ...] = ()
) -> Action:
    return Action(Deed.DISPUTE, row, _KINDS[relation], winner, missing=missing)


def _supersede(relation: Relation, winner: Age, resolution: Resolution, row: str) -> Action:
    return Action(Deed.SUPERSEDE, row, _KINDS[relation], winner, resolution)
