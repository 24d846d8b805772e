"""
What may be suspected of two texts, by their words alone.

Each rule looks for one thing and says what it saw, or nothing. They are asked in the order of the
list at the end, and the first that says something is heard.
"""

from collections.abc import Callable, Iterable

from hygiene.judge import Opinion, Said
from hygiene.rules.both import Both
from hygiene.rules.frames import is_value, names_one_of_many, only_slot
from hygiene.rules.opposites import denied, opposite
from hygiene.rules.reading import Reading, read
from hygiene.rules.wording import (
    is_exclusive,
    is_past,
    is_present,
    is_question,
    is_summary,
    tells_hearsay,
    years,
)
from memory.specifics import Specific

# All below the least bar of the policy: these open a dispute, and retire nothing.
SAME_WORDS = 0.89
SUSPECTED = 0.85
GUESSED = 0.7
FEW_WORDS = 4

Rule = Callable[[Both], Opinion | None]


def keep(why: str) -> Opinion:
    """Return that both may stay, and why."""
    return Opinion(Said.COMPLEMENTARY, GUESSED, why)


def _against(both: Both, confidence: float, why: str) -> Opinion:
    return Opinion(Said.B_SUPERSEDES_A if both.says_change else Said.CONTRADICTION, confidence, why)


def _same_words(both: Both) -> Opinion | None:
    if not both.are_read_whole or both.older.without_stops != both.newer.without_stops:
        return None
    if both.differ or both.lost or both.gained:
        return None
    return Opinion(Said.DUPLICATE, SAME_WORDS, "The same words in the same order.")


def _declared_apart(both: Both) -> Opinion | None:
    """Keep both where their writers declared different subjects, or values of a list."""
    ours = {one.subject for one in both.shown_older.components}
    theirs = {one.subject for one in both.shown_newer.components}
    if not ours or not theirs:
        return None
    if ours.isdisjoint(theirs):
        return keep(f"They declare different things: {min(ours)} and {min(theirs)}.")
    listed = {one.subject for one in both.shown_newer.components if one.multi} & ours
    if listed:
        return keep(f"{min(listed)} has several values, and the newer adds to them.")
    return None


def _hearsay(both: Both) -> Opinion | None:
    begins_alike = both.newer.words[: len(both.older.words)] == both.older.words
    if begins_alike and not is_question(both.newer.text):
        return None
    if not tells_hearsay(both.newer.text, both.older.text):
        return None
    return keep("The newer tells what was said, asked or imagined, and claims nothing.")


def _late(both: Both) -> Opinion | None:
    """Suspect a text that is newer by its writing and older by its own date."""
    told, known = years(both.newer.text), years(both.older.text)
    this_year = both.shown_newer.written_at.year
    if not told or not both.shared or max(told) >= this_year:
        return None
    begun = max(known, default=this_year if is_present(both.older.text) else 0)
    if is_past(both.newer.text) and (max(told) < begun or not both.says_change):
        return keep(f"The newer tells of {max(told)} as of the past.")
    if max(told) >= begun:
        return None
    why = f"The newer speaks of {max(told)}, the older of a later time."
    return Opinion(Said.A_SUPERSEDES_B, SUSPECTED, why)


def _turned(both: Both) -> Opinion | None:
    """Suspect one word that turns the statement round."""
    if both.are_apart or both.likeness < 0.4:
        return None
    mine, theirs = _closest(both)
    shared = mine.stems & theirs.stems
    if len(shared) < 2 and len(shared) < min(len(mine.stems), len(theirs.stems)):
        return None
    turned = opposite(mine.text, theirs.text) or denied(
        mine.stems - theirs.stems, theirs.stems - mine.stems
    )
    if turned:
        return _against(both, SUSPECTED, f"The older says {turned[0]!r}, the newer {turned[1]!r}.")
    if mine.denies_otherwise(theirs) and _of_the_same(mine, theirs):
        return _against(both, SUSPECTED, "One of them denies what the other says.")
    return None


def _closest(both: Both) -> tuple[Reading, Reading]:
    """Return the clause of each that has most in common with the other text."""
    mine = max(both.older.clauses, key=lambda one: len(one.stems & both.newer.stems))
    theirs = max(both.newer.clauses, key=lambda one: len(one.stems & mine.stems))
    return mine, theirs


def _of_the_same(mine: Reading, theirs: Reading) -> bool:
    """Return whether what one of the two denies is in the other at all."""
    if mine.stems <= theirs.stems or theirs.stems <= mine.stems:
        return True
    if not mine.is_spaced:
        smaller = min(len(mine.stems), len(theirs.stems))
        return len(mine.stems & theirs.stems) >= 0.6 * smaller
    return bool(mine.denied & theirs.stems or theirs.denied & mine.stems)


def _one_slot(both: Both) -> Opinion | None:
    """Suspect two values in the same place of the same sentence."""
    if both.says_more:
        return None
    pairs = [(both.older, both.newer), (both.older.first_clause, both.newer.first_clause)]
    for older, newer in pairs:
        slot = only_slot(older, newer)
        if slot is not None and is_value(slot):
            why = f"One sentence, and {slot.older!r} in the older is {slot.newer!r} in the newer."
            return _against(both, GUESSED, why)
    return None


def _alike(both: Both) -> Opinion | None:
    if min(both.kept, both.taken) < 0.6 or both.likeness < 0.7:
        return None
    if both.says_more or both.says_change or both.are_apart or both.differ:
        return None
    return Opinion(Said.DUPLICATE, GUESSED, "Nearly the same words, and the same numbers.")


def _contained(both: Both) -> Opinion | None:
    """Suspect that the newer replaces what it contains as a whole."""
    if both.kept < 1 or len(both.older.stems) < 2 or both.taken == 1 or both.lost:
        return None
    if not _stands_together(both.older.stems, both.newer.words):
        return None
    why = "The newer has all words of the older one, and says more."
    return Opinion(Said.B_SUPERSEDES_A, GUESSED, why)


def _stands_together(words: frozenset[str], within: tuple[str, ...]) -> bool:
    """Return whether the words stand in the text with at most one other between two of them."""
    reach = len(words) + 1
    inside: dict[str, int] = {}
    for place, word in enumerate(within):
        gone = within[place - reach - 1] if place > reach else None
        if gone in inside and inside[gone] == place - reach - 1:
            del inside[gone]
        if word in words:
            inside[word] = place
            if len(inside) == len(words):
                return True
    return False


def _no_longer_alone(both: Both) -> Opinion | None:
    """Suspect one more where the older says that there is no other."""
    if not is_exclusive(both.older.text) or is_exclusive(both.newer.text):
        return None
    if both.kept < 0.5 or both.taken == 1 or both.are_in_other_places:
        return None
    return _against(both, GUESSED, "The older says that there is nothing else, the newer adds.")


def _changed(both: Both) -> Opinion | None:
    """Suspect a text that tells of a change in what the older one says."""
    least = 1 if len(both.older.stems) <= FEW_WORDS else 2
    if not both.says_change or len(both.shared) < least:
        return None
    if both.kept < 0.25 and both.taken < 0.5:
        return None
    if both.newer.stems.isdisjoint(both.older.words[:2]):
        return None  # not what the older one begins with, which is mostly what it is about
    if both.says_more and not is_exclusive(both.older.text):
        return None
    if both.are_in_other_places or is_summary(both.newer.text):
        return None
    why = "The newer says that something changed in what the older is about."
    return Opinion(Said.B_SUPERSEDES_A, GUESSED, why)


def _other_value(both: Both) -> Opinion | None:
    """Suspect another number among the same words."""
    if both.says_more or both.are_apart or both.kept < 0.6:
        return None
    kinds = {one.kind for one in both.lost} & {one.kind for one in both.gained} - {"negation"}
    if not kinds:
        return None
    lost, gained = both.lost[0].text, both.gained[0].text
    if names_one_of_many(both.older.text.partition(lost)[0]):
        return None
    if _own(both.older, both.newer, both.lost) and _own(both.newer, both.older, both.gained):
        return None
    return _against(both, GUESSED, f"The same words, and {lost!r} has become {gained!r}.")


def _own(mine: Reading, other: Reading, specifics: Iterable[Specific]) -> frozenset[str]:
    """Return the words that only this one has, those of its own specifics left out."""
    told = " ".join(one.text for one in specifics)
    return mine.stems - other.stems - read(told, mine.language).stems


RULES: tuple[Rule, ...] = (
    _same_words,
    _declared_apart,
    _hearsay,
    _late,
    _turned,
    _one_slot,
    _alike,
    _contained,
    _no_longer_alone,
    _changed,
    _other_value,
)
