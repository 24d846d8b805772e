"""
Evidence confidence: how safe it is to rely on a memory, from stored rows alone.

    nobody vouches for it             0.2
    its author does                   0.5
    others wrote or said the same     between 0.5 and 0.75, nearer to 0.75 with each of them
    others verified it                between 0.75 and 1, nearer to 1 with each of both sorts
    while it is in conflict           0.4 at most

Others are members other than its owner; an agent speaks for its sponsor, for whom that was when it
first said something of the memory, and never of what it wrote itself. Each of them counts once: as
having verified it if a verification of theirs weighs and they have not refuted it since; else as
having said the same, if they wrote it too or confirmed it without evidence. What was seen before
the memory was there does not count. Who looked at one component has not looked at the others: of
several, the one counts of which least is known. Recalls, importance, age and marks have no part in
it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from memory.independence import is_independent
from memory.models import Memory, Outcome
from memory.trust.looked import Looked, Part, Repeat

UNATTESTED = 0.2
SELF_ATTESTED = 0.5
VERIFIED = 0.75
WHILE_CONFLICTED = 0.4
# How much nearer to the end of its range each source brings it.
OF_ONE_VERIFYING = 0.5
OF_ONE_SAYING_THE_SAME = 0.25


@dataclass(frozen=True)
class Sources:
    """Who speaks for a memory, each once."""

    attested: bool
    verifying: frozenset[UUID] = frozenset()
    saying_the_same: frozenset[UUID] = frozenset()


def sources(
    memory: Memory,
    *,
    attested: bool,
    looked: Iterable[Looked],
    repeats: Iterable[Repeat],
    parts: Iterable[Part] = (),
) -> Sources:
    """
    Return who speaks for a memory; of several components, for the one for which the fewest do.

    :param attested: its author wrote it deliberately, or a reviewer accepted it
    :param looked: all verifications, of anybody
    :param repeats: what others wrote that says the same
    :param parts: its components
    """
    spoken: list[Looked | Repeat] = [*looked, *repeats]
    others = [one for one in spoken if is_independent(memory, one.by_member_id, one.by_agent_id)]
    sponsors = _sponsors(others)
    repeating = {_source(one, sponsors) for one in others if isinstance(one, Repeat)}
    in_order = sorted(
        (one for one in others if isinstance(one, Looked) and one.observed_at >= memory.created_at),
        key=lambda one: (one.observed_at, one.created_at, one.id),
    )
    each = [[one for one in in_order if one.covers(part)] for part in parts] or [in_order]
    said = [_speaking(attested, found, repeating, sponsors) for found in each]
    return min(said, key=lambda spoken: confidence_of(spoken, conflicted=False))


def _sponsors(spoken: Iterable[Looked | Repeat]) -> dict[UUID, UUID]:
    """Return for whom each agent speaks: its sponsor when it first did, whoever that is now."""
    found: dict[UUID, UUID] = {}
    for one in sorted(spoken, key=lambda one: one.created_at):
        if one.by_agent_id is not None:
            found.setdefault(one.by_agent_id, one.by_member_id)
    return found


def _source(one: Looked | Repeat, sponsors: Mapping[UUID, UUID]) -> UUID:
    return one.by_member_id if one.by_agent_id is None else sponsors[one.by_agent_id]


def _speaking(
    attested: bool,
    in_order: Iterable[Looked],
    repeating: Collection[UUID],
    sponsors: Mapping[UUID, UUID],
) -> Sources:
    refuting: set[UUID] = set()
    verifying: set[UUID] = set()
    same = set(repeating)
    for one in (one for one in in_order if one.outcome != Outcome.INCONCLUSIVE):
        source = _source(one, sponsors)
        if not one.confirms:
            refuting.add(source)
            verifying.discard(source)
            continue
        refuting.discard(source)
        # A bare word takes back nothing of what the same source has shown before.
        (verifying if one.weighs else same).add(source)
    return Sources(attested, frozenset(verifying), frozenset(same - verifying - refuting))


def confidence_of(spoken: Sources, *, conflicted: bool) -> float:
    """Return the evidence confidence, in [0, 1]."""
    verifying, same = len(spoken.verifying), len(spoken.saying_the_same)
    left = (1 - OF_ONE_VERIFYING) ** verifying * (1 - OF_ONE_SAYING_THE_SAME) ** same
    if verifying:
        confidence = VERIFIED + (1 - VERIFIED) * (1 - left)
    elif same:
        confidence = SELF_ATTESTED + (VERIFIED - SELF_ATTESTED) * (1 - left)
    else:
        confidence = SELF_ATTESTED if spoken.attested else UNATTESTED
    return min(confidence, WHILE_CONFLICTED) if conflicted else round(confidence, 6)
