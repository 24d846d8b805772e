"""What a judge says of a pair, and what the policy makes of that."""

from dataclasses import dataclass, field, replace
from uuid import UUID

from memory.conflict.detect import Candidate
from memory.conflict.pairs import age_of
from memory.conflict.periods import Meeting, Times, in_its_time
from memory.conflict.policy import Action, Age, Bars, Deed, Pair, Relation, Verdict, decide
from memory.models import Memory


@dataclass(frozen=True)
class Judged:
    """
    A candidate, and what a judge says of it and the memory.

    :param evidence: the verdict as it is kept, told for the memory and the candidate
    :param is_proven: the verdict follows from what was declared, whichever judge is configured
    """

    candidate: Candidate
    verdict: Verdict
    evidence: dict[str, object] = field(default_factory=dict)
    is_proven: bool = False

    @property
    def is_related(self) -> bool:
        return self.verdict.relation is not Relation.UNRELATED

    @property
    def is_rival(self) -> bool:
        return self.verdict.relation not in (Relation.UNRELATED, Relation.COMPLEMENTARY)


@dataclass(frozen=True)
class Decided:
    """A verdict about a memory and another, and what is to be done about the two."""

    judged: Judged
    other: Memory
    pair: Pair
    times: Times
    bars: Bars
    action: Action

    @property
    def retires(self) -> bool:
        return self.action.deed in (Deed.SUPERSEDE, Deed.SUCCEED)

    @property
    def brakes(self) -> bool:
        """Whether something is retired by it that somebody wrote deliberately."""
        return self.retires and min(self.pair.newer.rank, self.pair.older.rank) > 0

    @property
    def waits(self) -> bool:
        """Whether more is to be done once both hold: nothing contradicts itself before."""
        is_left = self.action.deed in (Deed.NOTHING, Deed.SUCCEED) and not self.pair.closed
        return is_left and self.times.meeting is Meeting.AHEAD and self.judged.is_rival

    def under(self, bars: Bars) -> "Decided":
        """Return the same pair, with what is done to it under these bars."""
        verdict = self.judged.verdict
        action = decide(self.pair, verdict, bars)
        return replace(self, action=in_its_time(action, verdict.relation, self.times))

    def with_loser_restored(self) -> "Decided":
        """Return the same pair, with what is done to it if a person brought the loser back."""
        newer, older = self.pair.newer, self.pair.older
        if self.action.winner is Age.NEWER:
            pair = replace(self.pair, older=replace(older, restored=True))
        else:
            pair = replace(self.pair, newer=replace(newer, restored=True))
        return replace(self, pair=pair).under(self.bars)

    def loser(self, memory: Memory) -> UUID:
        return self.other.id if self.wins(memory) else memory.id

    def wins(self, memory: Memory) -> bool:
        """Return whether the memory, and not the other, is who wins or should."""
        return self.action.winner is age_of(memory, self.other)
