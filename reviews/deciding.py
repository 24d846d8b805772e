"""What a reviewer chooses, who may choose it, and what follows for the sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from memory.authority import settles, stands_where
from memory.conflict.policy import ConflictKind, Resolution
from memory.models import Conflict, Memory, Signal
from memory.place import reviewable_projects
from memory.winning import keeps_its_readers, leaves_nothing
from tenants.caller import Caller, Role
from tenants.ids import Prefix, wire_id
from tenants.refusals import FieldError, Invalid, NotAllowed

CHOICES = ("winner", "keep_both", "retire", "merge")
ONE_OF_THEM = "say exactly one of winner, keep_both: true, retire: true and merge"


@dataclass(frozen=True)
class Choice:
    """
    What a reviewer wants done about a dispute: exactly one of the four.

    :param merge: the text that is to take the place of both
    """

    winner: UUID | None = None
    keep_both: bool = False
    retire: bool = False
    merge: str | None = None
    note: str = ""

    def must_be_one(self) -> None:
        """
        Refuse none, and two at once.

        :raises Invalid: naming the fields
        """
        said = [
            name
            for name, is_said in zip(
                CHOICES,
                (self.winner is not None, self.keep_both, self.retire, self.merge is not None),
                strict=True,
            )
            if is_said
        ]
        if len(said) == 1:
            return
        what = "nothing was chosen" if not said else f"{' and '.join(said)} were said at once"
        errors = [FieldError(name, "invalid", ONE_OF_THEM) for name in said or CHOICES]
        raise Invalid(f"{what}: {ONE_OF_THEM}", errors)


@dataclass(frozen=True)
class Decision:
    """
    What is to become of a dispute.

    :param gone: the sides that are retired by it
    :param successor_id: what takes their place; nothing if they go without a successor
    """

    conflict: Conflict
    sides: tuple[Memory, ...]
    resolution: Resolution
    winner_id: UUID | None
    gone: tuple[Memory, ...]
    successor_id: UUID | None
    note: str


@dataclass(frozen=True)
class Desk:
    """Somebody who reviews, and the projects in which they may. Belongs inside the door."""

    caller: Caller
    projects: frozenset[UUID]

    @classmethod
    def of(cls, caller: Caller) -> "Desk":
        """Return the desk of whoever's door is open."""
        return cls(caller, reviewable_projects())

    def reviews(self, memory: Memory) -> bool:
        """Return whether it stands in a project that they review, or is in none and theirs."""
        return stands_where(self.caller, memory, self.projects)

    def settles(self, memory: Memory) -> bool:
        """Return whether they decide about it: who reviews it, and of what is private its owner."""
        return settles(self.caller, memory, self.projects)

    def must_decide(self, conflict: Conflict, sides: Sequence[Memory]) -> None:
        """
        Refuse who may see a dispute and not decide it.

        :raises NotAllowed: if no side is theirs to settle; and to an agent about its own affairs
        """
        if not any(self.settles(side) for side in sides):
            raise NotAllowed(
                "Only who reviews the project of one of its sides may do this, or the owner of "
                "what is private or in no project."
            )
        if not self.caller.is_agent:
            return
        # Its sponsor may have been another when it wrote something, or raised it.
        mine, itself = self.caller.member_id, self.caller.agent_id
        raised = conflict.raised_by_member_id == mine or conflict.raised_by_agent_id == itself
        if raised or _is_suspected_by(conflict, mine, itself):
            raise NotAllowed("An agent decides nothing that its own side raised.")
        if any(side.owner_id == mine or side.author_agent_id == itself for side in sides):
            raise NotAllowed("An agent decides nothing about a memory of its own side.")

    def must_retire(self, gone: Sequence[Memory]) -> None:
        """
        Refuse who may not review what would be taken out of use.

        :raises NotAllowed: if one of them is beyond their review
        """
        for memory in gone:
            if not self.settles(memory):
                raise NotAllowed(
                    f"{wire_id(Prefix.MEMORY, memory.id)} would be retired, and you do not review "
                    "it. Keep both, or leave it to who does."
                )


def _is_suspected_by(conflict: Conflict, member: UUID, agent: UUID | None) -> bool:
    """Return whether one of the reports that make the suspicion is theirs, though not the last."""
    return (
        conflict.kind == ConflictKind.STALE_SUSPECT
        and Signal.objects.filter(
            Q(by_member=member) | Q(by_agent=agent, by_agent__isnull=False),
            memory=conflict.memory_a_id,
            weighed_by=None,
        ).exists()
    )


def reviewing(caller: Caller) -> Caller:
    """Return the caller with a reviewer's reach; the scope has been asked for already."""
    return caller.as_role(Role.REVIEWER)


def decided(desk: Desk, conflict: Conflict, sides: tuple[Memory, ...], choice: Choice) -> Decision:
    """
    Return what the choice means for this dispute. A merge still lacks its successor.

    :raises Invalid: if the choice does not fit it
    :raises NotAllowed: if something would be retired that is not the caller's to review
    """
    decision = (
        _about_one(conflict, sides, choice)
        if conflict.memory_b_id is None
        else _about_a_pair(conflict, sides, choice)
    )
    desk.must_retire(decision.gone)
    return decision


def _about_one(conflict: Conflict, sides: tuple[Memory, ...], choice: Choice) -> Decision:
    (memory,) = sides
    if choice.merge is not None:
        raise Invalid.field(
            "merge",
            "one memory alone is in dispute, so there is nothing to merge; keep it, retire it, or "
            "remember a text that supersedes it",
        )
    if choice.retire:
        return Decision(conflict, sides, Resolution.RETIRED, None, sides, None, choice.note)
    if choice.keep_both:
        return Decision(conflict, sides, Resolution.KEEP_BOTH, None, (), None, choice.note)
    if choice.winner != memory.id:
        raise Invalid.field("winner", _no_side(sides))
    return Decision(conflict, sides, Resolution.MANUAL, memory.id, (), None, choice.note)


def _about_a_pair(conflict: Conflict, sides: tuple[Memory, ...], choice: Choice) -> Decision:
    if choice.retire:
        raise Invalid.field(
            "retire",
            "two memories are in dispute, and one of them would win; name the winner, keep both "
            "or merge them",
        )
    if choice.keep_both:
        return Decision(conflict, sides, Resolution.KEEP_BOTH, None, (), None, choice.note)
    if choice.merge is not None:
        return Decision(conflict, sides, Resolution.MERGED, None, sides, None, choice.note)
    winner = next((side for side in sides if side.id == choice.winner), None)
    if winner is None:
        raise Invalid.field("winner", _no_side(sides))
    (loser,) = (side for side in sides if side.id != winner.id)
    if not keeps_its_readers(winner, loser):
        raise Invalid.field(
            "winner",
            "some who read the other one may not read this one, and would be left with nothing; "
            "keep both, or merge them where all may read it",
            "narrower_audience",
        )
    if leaves_nothing(winner, loser, timezone.now()):
        raise Invalid.field(
            "winner",
            "has ended by its own word, and what would be retired has not: neither would be told "
            "any more; keep both, or merge them",
            "ended",
        )
    return Decision(conflict, sides, Resolution.MANUAL, winner.id, (loser,), winner.id, choice.note)


def _no_side(sides: Sequence[Memory]) -> str:
    ids = " nor ".join(wire_id(Prefix.MEMORY, side.id) for side in sides)
    return f"must be a side of this dispute, and is {'neither' if len(sides) > 1 else 'not'} {ids}"
