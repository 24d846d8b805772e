"""Two memories side by side: what their texts share, and whether they speak of one place."""

from dataclasses import dataclass
from functools import cached_property

from hygiene.judge import Exhibit
from hygiene.rules.opposites import other_world
from hygiene.rules.reading import Reading, read_both
from hygiene.rules.wording import names_release, says_more, words_of_change
from memory.specifics import Specific, differ, missing

# Characters of each text. What stands further on is suspected of nothing; the policy's own guard
# reads it all.
LONGEST_READ = 8_000


@dataclass(frozen=True)
class Both:
    """Two memories, shown and read."""

    shown_older: Exhibit
    shown_newer: Exhibit
    older: Reading
    newer: Reading

    @property
    def are_read_whole(self) -> bool:
        """Whether nothing of either text was left unread."""
        shown = (self.shown_older, self.shown_newer)
        return all(len(one.content) <= LONGEST_READ for one in shown)

    @cached_property
    def shared(self) -> frozenset[str]:
        return self.older.stems & self.newer.stems

    @property
    def kept(self) -> float:
        """How much of the older one's words stands in the newer one, 0..1."""
        return len(self.shared) / max(len(self.older.stems), 1)

    @property
    def taken(self) -> float:
        """How much of the newer one's words stands in the older one, 0..1."""
        return len(self.shared) / max(len(self.newer.stems), 1)

    @property
    def likeness(self) -> float:
        return max(self.kept, self.taken)

    @cached_property
    def lost(self) -> list[Specific]:
        """The specifics that only the older one has."""
        return missing(of=self.older.text, within=self.newer.text)

    @cached_property
    def gained(self) -> list[Specific]:
        """The specifics that only the newer one has."""
        return missing(of=self.newer.text, within=self.older.text)

    @cached_property
    def differ(self) -> bool:
        return differ(self.older.text, self.newer.text)

    @cached_property
    def says_change(self) -> bool:
        """Whether the newer tells of a change in a sentence that is about the same at all."""
        known = words_of_change(self.older.text)
        return any(
            not self.older.stems.isdisjoint(sentence.stems)
            for sentence in self.newer.sentences
            if words_of_change(sentence.text) - known
        )

    @cached_property
    def says_more(self) -> bool:
        return says_more(self.newer.text, self.older.text)

    @cached_property
    def are_apart(self) -> bool:
        """Whether they are of different places, releases or names."""
        older, newer = self.older.names, self.newer.names
        return self.are_in_other_places or bool(older and newer and older != newer)

    @cached_property
    def are_in_other_places(self) -> bool:
        """Whether they say of themselves that they hold in different places or releases."""
        older, newer = self.older, self.newer
        if other_world(older.text, newer.text):
            return True
        if newer.opening and newer.opening.isdisjoint(older.stems):
            return True
        if older.opening and newer.opening and older.opening != newer.opening:
            return True
        return names_release(older.text) and names_release(newer.text)


def side_by_side(older: Exhibit, newer: Exhibit) -> Both:
    """Return the two memories, read in the one language that they are likeliest in."""
    return Both(
        older, newer, *read_both(older.content[:LONGEST_READ], newer.content[:LONGEST_READ])
    )
