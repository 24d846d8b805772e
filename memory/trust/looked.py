"""What was stated, and what somebody saw who looked: all that a memory is worth comes from it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.models import Method, Outcome, Verification


@dataclass(frozen=True)
class Look:
    """
    What somebody found when they looked.

    :param subjects: of which components; none where the memory states none
    :param stated_value: which value they saw, where the one component has several
    :param seen_at: when they looked; none: when the request came
    :param is_too_old: what they looked at was not stated yet: it is noted, and says nothing of it
    """

    outcome: str
    method: str
    subjects: tuple[str, ...]
    stated_value: str | None
    observed_value: str | None
    evidence: str
    seen_at: datetime | None
    is_too_old: bool

    @property
    def shows_evidence(self) -> bool:
        """Whether it says how it was looked at, and what was seen there."""
        return self.method != Method.SELF and self.observed_value is not None


@dataclass(frozen=True)
class Part:
    """A component as it counts: what is stated, and since when."""

    subject: str
    value: str | None
    stated_at: datetime


@dataclass(frozen=True)
class Repeat:
    """Somebody wrote the same."""

    by_member_id: UUID
    by_agent_id: UUID | None
    created_at: datetime


@dataclass(frozen=True)
class Looked:
    """
    A verification, as far as it bears on what a memory is worth.

    :param subjects: of what it looked at; none where nothing was stated, and it looked at the whole
    :param stated_value: which of several stated values it saw; none: all of them
    """

    id: UUID
    by_member_id: UUID
    by_agent_id: UUID | None
    outcome: str
    method: str
    weighs: bool
    subjects: tuple[str, ...]
    stated_value: str | None
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
            stated_value=row.stated_value,
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

    def covers(self, part: Part) -> bool:
        """Return whether it looked at this component; never at what was stated only later."""
        if part.stated_at > self.observed_at:
            return False
        if not self.subjects:
            return True
        # That there are several values is stated without one, and is seen with any of them.
        is_seen = None in (self.stated_value, part.value) or self.stated_value == part.value
        return part.subject in self.subjects and is_seen


def repeat_of(row: list[Any]) -> Repeat:
    """Return a repeat as the database tells of it."""
    member, agent, at = row
    return Repeat(UUID(member), UUID(agent) if agent else None, datetime.fromisoformat(at))


def looked_of(row: list[Any]) -> Looked:
    """Return a look as the database tells of it."""
    verification, member, agent, outcome, method, weighs, subjects, stated, value, *times = row
    seen_at, at = times
    return Looked(
        id=UUID(verification),
        by_member_id=UUID(member),
        by_agent_id=UUID(agent) if agent else None,
        outcome=outcome,
        method=method,
        weighs=weighs,
        subjects=tuple(subjects),
        stated_value=stated,
        observed_value=value,
        observed_at=datetime.fromisoformat(seen_at),
        created_at=datetime.fromisoformat(at),
    )
