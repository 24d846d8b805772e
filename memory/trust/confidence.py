"""
Evidence confidence: how safe it is to rely on a memory, from stored rows alone.

    nobody vouches for it             0.2
    its author does                   0.5
    others wrote or said the same     between 0.5 and 0.75, nearer to 0.75 with each of them
    others verified it                between 0.75 and 1, nearer to 1 with each of both sorts
    while it is in conflict           0.4 at most

Others are members other than its owner; an agent speaks for its sponsor. Each of them counts once:
as having verified it if a verification of theirs weighs and they have not refuted it since; else as
having said the same, if they wrote it too or confirmed it without evidence. Who looked at one
component has not looked at the others: of several, the one counts of which least is known. Recalls,
importance, age and marks have no part in it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from memory.models import Outcome
from memory.trust.looked import Looked, Part

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
    owner_id: UUID,
    *,
    attested: bool,
    looked: Iterable[Looked],
    corroborating: Collection[UUID],
    parts: Iterable[Part] = (),
) -> Sources:
    """
    Return who speaks for a memory; of several components, for the one for which the fewest do.

    :param attested: its author wrote it deliberately, or a reviewer accepted it
    :param looked: all verifications, of anybody
    :param corroborating: the members who wrote the same
    :param parts: its components
    """
    in_order = sorted(looked, key=lambda one: (one.observed_at, one.created_at, one.id))
    each = [[one for one in in_order if one.covers(part)] for part in parts] or [in_order]
    said = [_speaking(owner_id, attested, found, corroborating) for found in each]
    return min(said, key=lambda spoken: confidence_of(spoken, conflicted=False))


def _speaking(
    owner_id: UUID, attested: bool, in_order: Iterable[Looked], corroborating: Collection[UUID]
) -> Sources:
    last_said = {
        one.by_member_id: one
        for one in in_order
        if one.by_member_id != owner_id and one.outcome != Outcome.INCONCLUSIVE
    }
    refuting = {member for member, one in last_said.items() if not one.confirms}
    verifying = {member for member, one in last_said.items() if one.confirms and one.weighs}
    same = (set(last_said) | set(corroborating)) - verifying - refuting - {owner_id}
    return Sources(attested, frozenset(verifying), frozenset(same))


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
