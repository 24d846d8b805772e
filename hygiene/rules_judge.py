"""
The judge without a model: it knows what is proven by structure, and suspects the rest.

Proven is the clash of two declared values of which one rules out the other, and the exact repeat.
Whatever else it sees in the words stays below every bar of the policy: it can open a dispute, and
retire nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

from hygiene.judge import Exhibit, Opinion, Said, Statement
from hygiene.rules.both import side_by_side
from hygiene.rules.suspicions import GUESSED, RULES, SAME_WORDS, SUSPECTED, keep
from memory.rival_values import rules_out
from memory.text import same_text_key
from memory.values import same_value

PROMPT_VERSION = "rules-2"
PROVEN = 1.0


class RulesJudge:
    """A judge that asks nobody. It says the same of the same pair, always."""

    id = "rules"
    prompt_version = PROMPT_VERSION
    likeness = ""

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """Return how they relate, as far as structure and words show it."""
        proven = clash(older, newer) or _repeat(older, newer)
        if proven is not None:
            return proven
        both = side_by_side(older, newer)
        for rule in RULES:
            opinion = rule(both)
            if opinion is not None:
                return _without_rank(_of_kinds(opinion, older, newer), older, newer)
        if both.shared:
            return keep("They share words, and nothing shows that they disagree.")
        return Opinion(Said.UNRELATED, GUESSED, "They share no word that tells anything.")


def clash(older: Exhibit, newer: Exhibit) -> Opinion | None:
    """
    Return what follows from two declared values of a subject that has one; nothing, if none.

    It is proven only if one value rules out the other; else they may both be true.
    """
    multi = {one.subject for one in (*older.components, *newer.components) if one.multi}
    theirs = _single(newer.components, multi)
    suspected = None
    for subject, value in _single(older.components, multi).items():
        other = theirs.get(subject)
        if other is None or same_value(value, other):
            continue
        is_proven = rules_out(value, other)
        why = f"Of {subject} the older declares {value[:100]!r}, the newer {other[:100]!r}."
        opinion = Opinion(
            Said.CONTRADICTION, PROVEN if is_proven else SUSPECTED, why, shared_subject=subject
        )
        if is_proven:
            return opinion
        suspected = suspected or opinion
    return _without_rank(suspected, older, newer) if suspected else None


def _single(components: Iterable[Statement], multi: set[str]) -> dict[str, str]:
    """Return the value of each subject for which one is declared, and no other beside it."""
    values: dict[str, list[str]] = {}
    for one in components:
        if one.value is not None and one.subject not in multi:
            values.setdefault(one.subject, []).append(one.value)
    return {
        subject: said[0]
        for subject, said in values.items()
        if all(same_value(said[0], other) for other in said[1:])
    }


def _repeat(older: Exhibit, newer: Exhibit) -> Opinion | None:
    if same_text_key(older.content) != same_text_key(newer.content):
        return None
    if older.kind != newer.kind:
        return _of_another_kind(older, newer)
    return Opinion(Said.DUPLICATE, PROVEN, "The newer text is the older one, word for word.")


def _of_kinds(opinion: Opinion, older: Exhibit, newer: Exhibit) -> Opinion:
    """Return the opinion; in the same words, but of two kinds, neither is the other's duplicate."""
    is_same = opinion.relation is Said.DUPLICATE and opinion.confidence == SAME_WORDS
    if is_same and older.kind != newer.kind:
        return _of_another_kind(older, newer)
    return opinion


def _of_another_kind(older: Exhibit, newer: Exhibit) -> Opinion:
    return keep(f"The same words, of two kinds: {older.kind} and {newer.kind}.")


def _without_rank(opinion: Opinion, older: Exhibit, newer: Exhibit) -> Opinion:
    """
    Return the opinion in a form in which it can retire nothing.

    Beside a provisional memory the policy acts at any confidence, and on a suspicion it must not.
    The same words in other punctuation are as good as proven.
    """
    if min(older.rank, newer.rank) > 0 or opinion.relation in (Said.COMPLEMENTARY, Said.UNRELATED):
        return opinion
    if opinion.relation is Said.DUPLICATE and opinion.confidence == SAME_WORDS:
        return opinion
    return replace(opinion, relation=Said.UNSURE)
