"""
The judge without a model: it knows what is proven by structure, and suspects the rest.

Proven is the clash of two declared values and the exact repeat. Whatever else it sees in the words
stays below every bar: it can open a dispute, and retire nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from hygiene.judge import Exhibit, Opinion, Said, Statement
from hygiene.rules.opposites import denied, opposite, other_world
from hygiene.rules.reading import Reading, read, read_both
from hygiene.rules.wording import (
    is_exclusive,
    is_past,
    is_present,
    is_question,
    is_summary,
    names_release,
    says_change,
    says_more,
    tells_hearsay,
    years,
)
from memory.specifics import Specific, differ, missing
from memory.text import same_text_key
from memory.values import same_value

PROMPT_VERSION = "rules-1"
PROVEN = 1.0
SAME_WORDS = 0.89
SUSPECTED = 0.85
GUESSED = 0.7


@dataclass(frozen=True)
class Both:
    """Two memories side by side, with what they share."""

    older: Reading
    newer: Reading
    shown_older: Exhibit
    shown_newer: Exhibit

    @property
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
    def says_change(self) -> bool:
        return says_change(self.newer.text, self.older.text)

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


class RulesJudge:
    """A judge that asks nobody. It says the same of the same pair, always."""

    id = "rules"
    prompt_version = PROMPT_VERSION

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """Return how they relate, as far as structure and words show it."""
        proven = _clash(older, newer) or _repeat(older, newer)
        if proven is not None:
            return proven
        both = Both(*read_both(older.content, newer.content), older, newer)
        for rule in _RULES:
            opinion = rule(both)
            if opinion is not None:
                return _not_by_rank_alone(opinion, older, newer)
        if both.shared:
            return _keep(both, "They share words, and nothing shows that they disagree.")
        return Opinion(Said.UNRELATED, GUESSED, "They share no word that tells anything.")


def _clash(older: Exhibit, newer: Exhibit) -> Opinion | None:
    """Judge two declared values of a subject that has one."""
    multi = {one.subject for one in (*older.components, *newer.components) if one.multi}
    theirs = _single(newer.components, multi)
    for subject, value in _single(older.components, multi).items():
        other = theirs.get(subject)
        if other is not None and not same_value(value, other):
            return Opinion(
                Said.CONTRADICTION,
                PROVEN,
                f"Both declare {subject}: the older {value}, the newer {other}.",
                shared_subject=subject,
            )
    return None


def _single(components: Iterable[Statement], multi: set[str]) -> dict[str, str]:
    """Return the value of each subject for which exactly one is declared."""
    values: dict[str, list[str]] = {}
    for one in components:
        if one.value is not None and one.subject not in multi:
            values.setdefault(one.subject, []).append(one.value)
    return {
        subject: said[0]
        for subject, said in values.items()
        if all(same_value(said[0], other) for other in said)
    }


def _repeat(older: Exhibit, newer: Exhibit) -> Opinion | None:
    if same_text_key(older.content) != same_text_key(newer.content):
        return None
    return Opinion(Said.DUPLICATE, PROVEN, "The newer text is the older one, word for word.")


def _same_words(both: Both) -> Opinion | None:
    if both.older.tokens != both.newer.tokens or differ(both.older.text, both.newer.text):
        return None
    return Opinion(Said.DUPLICATE, SAME_WORDS, "The same words in the same order, otherwise punctuated.")


def _declared_apart(both: Both) -> Opinion | None:
    """Keep both where their writers declared different subjects, or values of a list."""
    ours = {one.subject for one in both.shown_older.components}
    theirs = {one.subject for one in both.shown_newer.components}
    if not ours or not theirs:
        return None
    if ours.isdisjoint(theirs):
        return _keep(both, f"They declare different things: {min(ours)} and {min(theirs)}.")
    listed = {one.subject for one in both.shown_newer.components if one.multi} & ours
    if listed:
        return _keep(both, f"{min(listed)} has several values, and the newer adds to them.")
    return None


def _hearsay(both: Both) -> Opinion | None:
    begins_alike = both.newer.words[: len(both.older.words)] == both.older.words
    if not tells_hearsay(both.newer.text, both.older.text) or (begins_alike and not is_question(both.newer.text)):
        return None
    return _keep(both, "The newer tells what was said, asked or imagined, and claims nothing.")


def _late(both: Both) -> Opinion | None:
    """Suspect a text that is newer by its writing and older by its own date."""
    told, known = years(both.newer.text), years(both.older.text)
    this_year = both.shown_newer.written_at.year
    if not told or not both.shared or max(told) >= this_year:
        return None
    begun = max(known, default=this_year if is_present(both.older.text) else 0)
    if is_past(both.newer.text) and (max(told) < begun or not both.says_change):
        return _keep(both, f"The newer tells of {max(told)} as of the past.")
    if max(told) >= begun:
        return None
    return Opinion(
        Said.A_SUPERSEDES_B,
        SUSPECTED,
        f"The newer speaks of {max(told)}, the older of a later time.",
    )


def _contained(both: Both) -> Opinion | None:
    """Suspect that the newer replaces what it contains as a whole."""
    if both.kept < 0.99 or len(both.older.stems) < 2 or both.taken > 0.99:
        return None
    if missing(of=both.older.text, within=both.newer.text):
        return None
    if not _stands_together(both.older.words, both.newer.words):
        return None
    return Opinion(
        Said.B_SUPERSEDES_A, GUESSED, "The newer has all words of the older one, and says more."
    )


def _stands_together(words: tuple[str, ...], within: tuple[str, ...]) -> bool:
    """Return whether the words stand in the text with at most one other between two of them."""
    wanted = set(words)
    reach = len(wanted) + 1
    seen: dict[str, int] = {}
    for place, word in enumerate(within):
        if word in wanted:
            seen[word] = place
            if len(seen) == len(wanted) and place - min(seen.values()) <= reach:
                return True
    return False


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


def _of_the_same(mine: Reading, theirs: Reading) -> bool:
    """Return whether what one of the two denies is in the other at all."""
    if mine.stems <= theirs.stems or theirs.stems <= mine.stems:
        return True
    if not mine.is_spaced:
        smaller = min(len(mine.stems), len(theirs.stems))
        return len(mine.stems & theirs.stems) >= 0.6 * smaller
    return bool(mine.denied & theirs.stems or theirs.denied & mine.stems)


def _closest(both: Both) -> tuple[Reading, Reading]:
    """Return the clause of each that has most in common with the other text."""
    mine = max(both.older.clauses, key=lambda one: len(one.stems & both.newer.stems))
    theirs = max(both.newer.clauses, key=lambda one: len(one.stems & mine.stems))
    return mine, theirs


def _no_longer_alone(both: Both) -> Opinion | None:
    """Suspect one more where the older says that there is no other."""
    if not is_exclusive(both.older.text) or is_exclusive(both.newer.text):
        return None
    if both.kept < 0.5 or both.taken > 0.99 or both.are_in_other_places:
        return None
    return _against(both, GUESSED, "The older says that there is nothing else, the newer adds.")


def _changed(both: Both) -> Opinion | None:
    """Suspect a text that says of a change in what the older one says."""
    if not both.says_change or len(both.shared) < 2:
        return None
    if both.kept < 0.3 and both.taken < 0.5:
        return None
    if both.says_more and not is_exclusive(both.older.text):
        return None
    if both.are_in_other_places or is_summary(both.newer.text):
        return None
    return Opinion(
        Said.B_SUPERSEDES_A,
        GUESSED,
        "The newer says that something changed in what the older is about.",
    )


def _other_value(both: Both) -> Opinion | None:
    """Suspect two numbers in one frame."""
    if both.are_apart or both.kept < 0.6:
        return None
    lost = missing(of=both.older.text, within=both.newer.text)
    gained = missing(of=both.newer.text, within=both.older.text)
    kinds = {one.kind for one in lost} & {one.kind for one in gained} - {"negation"}
    if not kinds or (_apart_from(lost, both.older, both.newer) and _apart_from(gained, both.newer, both.older)):
        return None
    return _against(
        both, GUESSED, f"One frame, and another {min(kinds)}: {lost[0].text}, {gained[0].text}."
    )


def _apart_from(specifics: Iterable[Specific], mine: Reading, other: Reading) -> frozenset[str]:
    """Return the words that only this one has, those of its own specifics left out."""
    told = " ".join(one.text for one in specifics)
    return mine.stems - other.stems - read(told, mine.language).stems


def _alike(both: Both) -> Opinion | None:
    if min(both.kept, both.taken) < 0.6 or both.likeness < 0.7:
        return None
    if both.says_more or both.says_change or both.are_apart:
        return None
    if differ(both.older.text, both.newer.text):
        return None
    return Opinion(Said.DUPLICATE, GUESSED, "Nearly the same words, numbers and names.")


def _against(both: Both, confidence: float, why: str) -> Opinion:
    says_so = both.says_change
    relation = Said.B_SUPERSEDES_A if says_so else Said.CONTRADICTION
    return Opinion(relation, confidence, why)


def _keep(_both: Both, why: str) -> Opinion:
    return Opinion(Said.COMPLEMENTARY, GUESSED, why)


def _not_by_rank_alone(opinion: Opinion, older: Exhibit, newer: Exhibit) -> Opinion:
    """
    Return the opinion so that it can retire nothing.

    Beside a provisional memory any relation acts at any confidence; a suspicion must not.
    """
    if min(older.rank, newer.rank) > 0 or opinion.relation in (Said.COMPLEMENTARY, Said.UNRELATED):
        return opinion
    if opinion.relation is Said.DUPLICATE and opinion.confidence == SAME_WORDS:
        return opinion
    return replace(opinion, relation=Said.UNSURE)


_RULES: tuple[Callable[[Both], Opinion | None], ...] = (
    _same_words,
    _declared_apart,
    _hearsay,
    _late,
    _turned,
    _alike,
    _contained,
    _no_longer_alone,
    _changed,
    _other_value,
)
