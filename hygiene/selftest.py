"""
How good a judge is, measured on labelled pairs through the policy that would act on its word.

Pure but for asking the judge. A dispute is never wrong: it keeps both. Wrong is to retire what
should have stayed, and a contradiction that nobody is told of is missed.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hygiene.judge import Exhibit, Judge, Opinion, Said, Statement, Unusable
from hygiene.labelled import Labelled, Noted
from memory.conflict.coverage import what_is_lost
from memory.conflict.policy import Action, Age, Bars, Deed, Pair, Relation, Side, Verdict, decide

LEAST_PAIRS = 200
MOST_FALSE = 0.01
LEAST_FOUND = 0.8
LEAST_FOUND_BY_RULES = 0.6

# What a judge has to find, and what it had better leave alone.
CLASHING = frozenset({Said.CONTRADICTION, Said.A_SUPERSEDES_B, Said.B_SUPERSEDES_A})
COMPATIBLE = frozenset({Said.COMPLEMENTARY, Said.UNRELATED})
RELATIONS = {
    Said.DUPLICATE: Relation.DUPLICATE,
    Said.A_SUPERSEDES_B: Relation.OLDER_SUPERSEDES,
    Said.B_SUPERSEDES_A: Relation.NEWER_SUPERSEDES,
    Said.CONTRADICTION: Relation.CONTRADICTION,
    Said.COMPLEMENTARY: Relation.COMPLEMENTARY,
    Said.UNRELATED: Relation.UNRELATED,
    Said.UNSURE: Relation.UNSURE,
}
_NO_OPINION = "unusable"
_WRITTEN = datetime(2026, 11, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Result:
    """
    What a judge said of one pair, and what would have been done.

    :param opinion: none, if the judge gave no usable one
    """

    pair: Labelled
    opinion: Opinion | None
    action: Action
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def said(self) -> str:
        return self.opinion.relation.value if self.opinion else _NO_OPINION

    @property
    def retired(self) -> Noted | None:
        if self.action.deed is not Deed.SUPERSEDE:
            return None
        return self.pair.older if self.action.winner is Age.NEWER else self.pair.newer

    @property
    def is_false_invalidation(self) -> bool:
        """Whether somebody was retired who should have stayed, or took with it what must stay."""
        retired = self.retired
        if retired is None or self.action.winner is None:
            return False
        stays = self.pair.newer if retired is self.pair.older else self.pair.older
        lost = any(
            kept in retired.content and kept not in stays.content for kept in self.pair.must_keep
        )
        return lost or self.pair.winner != self.action.winner.value

    @property
    def is_protected_lost(self) -> bool:
        return self.retired is not None and self.retired.is_protected

    @property
    def is_clashing(self) -> bool:
        return self.pair.relation in CLASHING

    @property
    def is_missed(self) -> bool:
        return self.is_clashing and not self._is_told

    @property
    def is_noise(self) -> bool:
        """Whether people are asked about two memories that get on well."""
        return self.pair.relation in COMPATIBLE and self.action.deed is Deed.DISPUTE

    @property
    def _is_told(self) -> bool:
        return self.action.deed in (Deed.DISPUTE, Deed.SUPERSEDE)


@dataclass(frozen=True)
class Report:
    """
    What a judge is worth.

    :param of: how many pairs there are, if these are only a part of them
    """

    judge: str
    prompt_version: str
    results: tuple[Result, ...]
    of: int | None = None

    @property
    def is_of_a_part(self) -> bool:
        return self.of is not None and len(self.results) < self.of

    def count(self, of: Callable[[Result], bool]) -> int:
        return sum(map(of, self.results))

    @property
    def false_invalidations(self) -> int:
        return self.count(lambda one: one.is_false_invalidation)

    @property
    def protected_lost(self) -> int:
        return self.count(lambda one: one.is_protected_lost)

    @property
    def retirements(self) -> int:
        return self.count(lambda one: one.retired is not None)

    @property
    def clashing(self) -> int:
        return self.count(lambda one: one.is_clashing)

    @property
    def missed(self) -> int:
        return self.count(lambda one: one.is_missed)

    @property
    def noise(self) -> int:
        return self.count(lambda one: one.is_noise)

    @property
    def compatible(self) -> int:
        return self.count(lambda one: one.pair.relation in COMPATIBLE)

    @property
    def found_rate(self) -> float:
        """How many of the contradictions ended as a dispute or were acted on, 0..1."""
        return 1 - self.missed / self.clashing if self.clashing else 0.0

    @property
    def false_rate(self) -> float:
        """How many of all the pairs ended in a false invalidation, 0..1."""
        return self.false_invalidations / len(self.results) if self.results else 0.0

    @property
    def false_rate_of_retirements(self) -> float:
        """How many of those that would be retired would be so wrongly, 0..1."""
        return self.false_invalidations / self.retirements if self.retirements else 0.0

    @property
    def noise_rate(self) -> float:
        return self.noise / self.compatible if self.compatible else 0.0

    @property
    def tokens_in(self) -> int:
        return sum(one.tokens_in for one in self.results)

    @property
    def tokens_out(self) -> int:
        return sum(one.tokens_out for one in self.results)

    @property
    def why_not_certified(self) -> tuple[str, ...]:
        """What stands against letting this judge act; nothing, if it may."""
        least = LEAST_FOUND_BY_RULES if self.judge == "rules" else LEAST_FOUND
        against = {
            f"a part of the pairs, {len(self.results)} of {self.of}": self.is_of_a_part,
            f"{len(self.results)} pairs, fewer than {LEAST_PAIRS}": (
                len(self.results) < LEAST_PAIRS
            ),
            f"{self.protected_lost} protected memories lost": self.protected_lost > 0,
            f"{self.false_rate:.1%} false invalidations, more than {MOST_FALSE:.0%}": (
                self.false_rate > MOST_FALSE
            ),
            f"{self.found_rate:.1%} of the contradictions found, fewer than {least:.0%}": (
                self.found_rate < least
            ),
        }
        return tuple(why for why, holds in against.items() if holds)

    @property
    def is_certified(self) -> bool:
        return not self.why_not_certified

    @property
    def acts_on_nothing(self) -> bool:
        """Whether people would decide all that it finds: such a judge may act, and never does."""
        return self.retirements == 0

    def confusion(self) -> Counter[tuple[str, str]]:
        """Return how often each relation was taken for each: (as labelled, as said)."""
        return Counter((str(one.pair.relation), one.said) for one in self.results)

    def cost(self, per_million_in: float, per_million_out: float) -> float:
        """Return what the run cost, given the prices of a million tokens."""
        return (self.tokens_in * per_million_in + self.tokens_out * per_million_out) / 1e6


def run(
    judge: Judge, pairs: Iterable[Labelled], bars: Bars | None = None, *, of: int | None = None
) -> Report:
    """
    Return what the judge is worth on these pairs.

    :param bars: what may be done without a person; by default what a certified judge may
    :param of: how many there are, if these are only a part of them: that certifies nobody
    :raises JudgeDown: if the judge cannot be asked
    """
    settings = bars or Bars()
    results = tuple(_judged(judge, pair, settings) for pair in pairs)
    return Report(judge.id, judge.prompt_version, results, of)


def _judged(judge: Judge, pair: Labelled, bars: Bars) -> Result:
    older, newer = exhibit(pair.older, _WRITTEN), exhibit(pair.newer, _WRITTEN + timedelta(days=7))
    try:
        opinion = judge.compare(older, newer)
    except Unusable as failed:
        verdict = Verdict(Relation.UNUSABLE, 0.0)
        action = decide(sides(pair, Relation.UNUSABLE), verdict, bars)
        return Result(pair, None, action, failed.tokens_in, failed.tokens_out)
    relation = RELATIONS[opinion.relation]
    action = decide(sides(pair, relation), Verdict(relation, opinion.confidence), bars)
    return Result(pair, opinion, action, opinion.tokens_in, opinion.tokens_out)


def exhibit(note: Noted, written_at: datetime) -> Exhibit:
    """Return a side of a labelled pair as a judge is shown it."""
    stated = tuple(Statement(one.subject, one.value, one.multi) for one in note.components)
    return Exhibit(note.content, note.kind, note.rank, note.level, written_at, stated)


def sides(pair: Labelled, relation: Relation) -> Pair:
    """Return the facts about a labelled pair that count for the policy."""
    return Pair(
        newer=_side(pair.newer, pair.older, relation),
        older=_side(pair.older, pair.newer, relation),
    )


def _side(note: Noted, other: Noted, relation: Relation) -> Side:
    mine, said = note.components, other.components
    lost = what_is_lost(
        note.content,
        other.content,
        mine,
        said,
        is_duplicate=relation is Relation.DUPLICATE,
        several={one.subject for one in (*mine, *said) if one.multi},
    )
    return Side(note.rank, note.level, note.is_protected, lost_specifics=lost)
