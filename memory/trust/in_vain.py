"""Looks that told nothing: of what, and whether there is anything left to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.models import Mark, Outcome
from memory.trust.looked import Looked, Part
from memory.trust.marks import lies_where_asked, meets

# Stands for the whole, where nothing is stated.
WHOLE = ""


@dataclass(frozen=True)
class Doubt:
    """
    Something that a look may settle.

    :param in_vain: for each subject on which it lies, whether whoever looked there last, and since
        it was raised, could not tell
    :param mark: what raised it, if a mark did
    """

    in_vain: Mapping[str, bool]
    mark: Mark | None = None

    def is_in_vain(self, asked: Sequence[str]) -> bool:
        """Return whether nothing is left to look at, of what was asked about if it lies there."""
        there = [known for subject, known in self.in_vain.items() if meets(subject, asked)]
        return all(there or self.in_vain.values())


def all_are_in_vain(doubts: Sequence[Doubt], asked: Sequence[str]) -> bool:
    """
    Return whether there are doubts about what was asked about, and nobody could settle any.

    :param asked: the subjects that the question is about; without them, all are meant
    """
    there = [one for one in doubts if one.mark is None or lies_where_asked(one.mark, asked)]
    return bool(there) and all(one.is_in_vain(asked) for one in there)


def doubt_of(
    parts: Sequence[Part],
    looked: Sequence[Looked],
    *,
    since: datetime | None = None,
    mark: Mark | None = None,
) -> Doubt:
    """
    Return a doubt, and where those who looked could not tell. A look counts where it looked alone.

    :param parts: what is stated, as far as the doubt may lie on it
    :param since: when what raised it was seen; none: it has always been there
    :param mark: what raised it; if that lies on a component, the doubt lies on that alone
    """
    if mark is not None and mark.component is not None:
        on = (mark.component.subject, mark.component.value)
        parts = [one for one in parts if (one.subject, one.value) == on] or parts
    if not parts:
        return Doubt({WHOLE: _could_not_tell(looked, since)}, mark)
    found: dict[str, bool] = {}
    for part in parts:
        told_nothing = _could_not_tell([one for one in looked if one.covers(part)], since)
        found[part.subject] = found.get(part.subject, True) and told_nothing
    return Doubt(found, mark)


def _could_not_tell(looked: Sequence[Looked], since: datetime | None) -> bool:
    last = max(looked, key=lambda one: (one.observed_at, one.created_at), default=None)
    if last is None or last.outcome != Outcome.INCONCLUSIVE:
        return False
    return since is None or since <= last.observed_at
