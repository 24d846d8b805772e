"""
Evidence confidence: how safe it is to rely on a memory, from stored rows alone.

    nobody vouches for it             0.2
    its author does                   0.5
    others wrote or said the same     between 0.5 and 0.75, nearer to 0.75 with each of them
    others verified it                between 0.75 and 1, nearer to 1 with each of both sorts
    while it is in conflict           0.4 at most

Others are members other than its owner; an agent speaks for its sponsor. Each of them counts once:
as having verified it if a verification of theirs weighs and they have not refuted it since; else as
having said the same, if they wrote it too or confirmed it without evidence. Recalls, importance,
age and marks have no part in it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.models import Method, Outcome, Verification

UNATTESTED = 0.2
SELF_ATTESTED = 0.5
VERIFIED = 0.75
WHILE_CONFLICTED = 0.4
# How much nearer to the end of its range each source brings it.
OF_ONE_VERIFYING = 0.5
OF_ONE_SAYING_THE_SAME = 0.25


@dataclass(frozen=True)
class Looked:
    """A verification, as far as it bears on what a memory is worth."""

    id: UUID
    by_member_id: UUID
    by_agent_id: UUID | None
    outcome: str
    method: str
    weighs: bool
    subjects: tuple[str, ...]
    observed_value: str | None
    observed_at: datetime
    created_at: datetime

    @classmethod
    def from_row(cls, row: Verification) -> "Looked":
        """Return what a stored verification says."""
        return cls(
            id=row.id,
            by_member_id=row.by_member_id,
            by_agent_id=row.by_agent_id,
            outcome=row.outcome,
            method=row.method,
            weighs=row.weighs,
            subjects=tuple(row.subjects),
            observed_value=row.observed_value,
            observed_at=row.observed_at,
            created_at=row.created_at,
        )

    @property
    def confirms(self) -> bool:
        return self.outcome == Outcome.CONFIRMED

    @property
    def shows_evidence(self) -> bool:
        return self.method != Method.SELF and self.observed_value is not None


@dataclass(frozen=True)
class Sources:
    """Who speaks for a memory, each once."""

    attested: bool
    verifying: frozenset[UUID] = frozenset()
    saying_the_same: frozenset[UUID] = frozenset()


def sources(
    owner_id: UUID, *, attested: bool, looked: Iterable[Looked], corroborating: Collection[UUID]
) -> Sources:
    """
    Return who speaks for a memory.

    :param attested: its author wrote it deliberately, or a reviewer accepted it
    :param looked: all verifications, of anybody
    :param corroborating: the members who wrote the same
    """
    last_said: dict[UUID, Looked] = {}
    for one in sorted(looked, key=lambda one: (one.observed_at, one.created_at, one.id)):
        if one.by_member_id != owner_id and one.outcome != Outcome.INCONCLUSIVE:
            last_said[one.by_member_id] = one
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
