"""What settles a doubt about a memory: which call does, and who can make it so that it counts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from memory.authority import owns, settles, word_counts
from memory.conflict.policy import ConflictKind
from memory.independence import is_author, is_independent
from memory.models import Cause, Conflict, Memory, Visibility
from memory.place import reviewable_projects, writable_projects
from memory.trust.looked import Part
from memory.trust.standing import Standing
from memory.trust.state import TrustState
from memory.trust.temporal import marked_subjects
from memory.winning import decision_of
from tenants.caller import Caller, Scope
from tenants.context import whose_door
from tenants.ids import Prefix, moment, wire_id
from tenants.once import Answer

OUTCOMES = "confirmed | refuted | inconclusive"
METHODS = "command | file | api | document | person | external_recheck | other"
VALUE, ONE_OF_SEVERAL = "what it is now", "one of its values that is there now"


@dataclass(frozen=True)
class Step:
    """
    The next thing to do about a doubt.

    :param who: who can do it
    :param yours: whether whoever's door is open can
    :param looks_at: what is looked at, if it is not the whole memory: components, or the memory on
        which it rests
    :param decides: the dispute that it decides
    :param more: what else takes a call of its own
    """

    memory_id: UUID
    who: str
    yours: bool
    tool: str | None = None
    path: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    looks_at: tuple[str, ...] = ()
    decides: UUID | None = None
    more: str | None = None

    def wire(self, standing: Standing) -> Answer:
        """Return it as it is told outside."""
        told: Answer = {
            "tool": self.tool,
            "method": None if self.path is None else "POST",
            "path": None if self.path is None else f"/api/v1{self.path}",
            "memory_id": wire_id(Prefix.MEMORY, self.memory_id),
            "arguments": self.arguments,
            "who": self.who,
            "yours": self.yours,
            "more": self.more,
            "what_changed": standing.dirty_reason,
        }
        if self.decides is not None:
            told["dispute_id"] = wire_id(Prefix.CONFLICT, self.decides)
        return told


class Asker:
    """Whoever's door is open, and what they can do about a doubt. Belongs inside the door."""

    def __init__(self) -> None:
        self.caller: Caller = whose_door()

    @cached_property
    def _writes_in(self) -> frozenset[UUID]:
        return writable_projects()

    @cached_property
    def _reviews_in(self) -> frozenset[UUID]:
        return reviewable_projects()

    def may_look(self, memory: Memory) -> bool:
        """Return whether they may write down that they looked at it."""
        if Scope.WRITE not in self.caller.scopes:
            return False
        return owns(self.caller, memory) or (
            memory.project_id is not None and memory.project_id in self._writes_in
        )

    def is_taken_at_their_word(self, memory: Memory) -> bool:
        """Return whether it counts that they confirm it, whatever they show for it."""
        return self.may_look(memory) and word_counts(self.caller, memory)

    def reviews(self, memory: Memory) -> bool:
        """Return whether they decide what becomes of it."""
        return Scope.REVIEW in self.caller.scopes and settles(self.caller, memory, self._reviews_in)

    def decides(self, dispute: Conflict, sides: Sequence[Memory]) -> bool:
        """Return whether they decide a dispute; an agent none in which it has a part."""
        if not any(self.reviews(side) for side in sides):
            return False
        if not self.caller.is_agent:
            return True
        mine, itself = self.caller.member_id, self.caller.agent_id
        raised = mine == dispute.raised_by_member_id or itself == dispute.raised_by_agent_id
        # Who reported what it is suspected of is not told here; so an agent leaves it to others.
        is_suspicion = dispute.kind == ConflictKind.STALE_SUSPECT
        involved = any(mine == side.owner_id or itself == side.author_agent_id for side in sides)
        return not (raised or is_suspicion or involved)


def deciding(memory: Memory, dispute: Conflict, other: Memory | None, asker: Asker) -> Step:
    """
    Return the call that decides what holds: looking alone ends no dispute.

    :param other: the other side, if there is one in sight
    """
    memory_id, dispute_id = wire_id(Prefix.MEMORY, memory.id), wire_id(Prefix.CONFLICT, dispute.id)
    sides = [memory] if other is None else [memory, other]
    yours = asker.decides(dispute, sides)
    decision: dict[str, Any] = {
        "winner": f"{memory_id} if it holds; otherwise retire: true instead of winner"
    }
    if other is not None:
        decision = decision_of((memory, other), asker.reviews if yours else None)
    return Step(
        memory.id,
        tool="resolve_conflict",
        path=f"/conflicts/{dispute_id}/resolve",
        arguments={**decision, "note": "what you saw"},
        who="Who reviews the project of a side, or owns what is private or in no project; no agent "
        "whose own side has raised it or written one of them.",
        yours=yours,
        decides=dispute.id,
    )


def looking(
    memory: Memory, standing: Standing, subjects: Sequence[str], asker: Asker, *, high: bool
) -> Step:
    """
    Return the call that settles what is not in dispute: that somebody looked, and what they saw.

    :param subjects: what the question is about
    :param high: whether all of it has to be settled
    """
    if standing.state == TrustState.PROPOSED:
        return _lifting(memory, standing, asker)
    marked = _marked(standing, () if high else subjects)
    word, shown = asker.is_taken_at_their_word(memory), asker.may_look(memory)
    step = _look(memory, standing, marked, word=word, shown=shown)
    return Step(**{**vars(step), "looks_at": tuple(marked), "who": _who_looks(memory, standing)})


def _marked(standing: Standing, asked: Sequence[str]) -> list[str]:
    """Return the components that are to be looked at; none if it is the whole."""
    direct = [mark for mark in standing.marks if mark.direct]
    if not direct or any(mark.component is None for mark in direct):
        return []
    return marked_subjects(standing, asked) or marked_subjects(standing, ())


def _lifting(memory: Memory, standing: Standing, asker: Asker) -> Step:
    """Return what makes something of a capture: others look, or a reviewer accepts it."""
    caller = asker.caller
    wrote_it = is_author(memory, caller.member_id, caller.agent_id)
    is_other = is_independent(memory, caller.member_id, caller.agent_id)
    step = _look(
        memory,
        standing,
        [],
        word=is_other and asker.is_taken_at_their_word(memory),
        shown=asker.may_look(memory) and not wrote_it,
    )
    accept = f"/memories/{wire_id(Prefix.MEMORY, memory.id)}/accept"
    who = (
        f"Whoever it is not of, at level {memory.author_level} or above"
        f"{_or_shows(standing)}; or who reviews its project and accepts it (POST /api/v1{accept})."
    )
    is_own = memory.owner_id == caller.member_id or (
        caller.is_agent and memory.author_agent_id == caller.agent_id
    )
    if not step.yours and not is_own and asker.reviews(memory):
        arguments = {"reason": "what you saw"}
        return Step(memory.id, path=accept, arguments=arguments, who=who, yours=True)
    return Step(**{**vars(step), "who": who})


def _look(
    memory: Memory, standing: Standing, marked: Sequence[str], *, word: bool, shown: bool
) -> Step:
    """
    Return the call that clears what is marked, or the whole.

    :param word: whether the caller's word is enough
    :param shown: whether what they saw is, of each component
    """
    values = _values(standing.parts)
    named = list(marked) or _not_seen_since(standing)
    several = [one for one in named if len(values[one]) > 1]
    arguments: dict[str, Any] = {"outcome": OUTCOMES, "method": METHODS, "evidence": "what you saw"}
    more = None
    by_value = shown and not word and bool(named)
    if by_value:
        first, *rest = named
        seen = ONE_OF_SEVERAL if first in several else VALUE
        arguments |= {"components": [first], "observed_value": seen}
        more = _one_call_each(rest, several)
    else:
        if marked or len(named) == 1:
            arguments["components"] = named
        if len(named) == 1 and not several:
            arguments["observed_value"] = VALUE
        if several:
            more = (
                f"It confirms every value of {', '.join(several)}; with observed_value that alone."
            )
    return Step(
        memory.id,
        tool="verify",
        path=f"/memories/{wire_id(Prefix.MEMORY, memory.id)}/verify",
        arguments=arguments,
        who="",
        yours=word or by_value,
        more=more,
    )


def _one_call_each(rest: Sequence[str], several: Sequence[str]) -> str | None:
    said = []
    if rest:
        said.append(f"A call each for {', '.join(rest)}.")
    if several:
        said.append(f"A call for each value of {', '.join(several)}.")
    return " ".join(said) or None


def _values(parts: Sequence[Part]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        if part.value is not None:
            found[part.subject].add(part.value)
    return found


def _not_seen_since(standing: Standing) -> list[str]:
    """Return what it states and nobody has seen since it is in doubt, the longest ago first."""
    stated = dict.fromkeys(part.subject for part in standing.parts)
    never = [one for one in stated if one not in standing.verified]
    if standing.state == TrustState.PROPOSED:
        return never
    of_the_whole = [mark.observed_at for mark in standing.marks if mark.component is None]
    since = max(of_the_whole, default=None)
    before = [
        one
        for one in sorted(standing.verified, key=lambda one: standing.verified[one])
        if since is None or standing.verified[one] < since
    ]
    return never + before


def _who_looks(memory: Memory, standing: Standing) -> str:
    if memory.project_id is None or memory.visibility == Visibility.PRIVATE:
        return "Its owner."
    return (
        f"Its author, or who writes in its project at level {memory.author_level} or above"
        f"{_or_shows(standing)}."
    )


def _or_shows(standing: Standing) -> str:
    if not standing.parts:
        return ""
    return ", or whoever writes there and says the method and the value seen of each component"


def without_a_call(memory: Memory, *, still_to_come: bool) -> Step:
    """Return why nothing can be done about it: it has yet to begin, or has been decided since."""
    who = "Nobody any more: that was so then, and was decided since. Ask without as_of."
    if still_to_come:
        who = f"Nobody yet: it holds from {moment(memory.valid_from)} on."
    return Step(memory.id, who=who, yours=False)


def roots_of(standing: Standing) -> list[UUID]:
    """
    Return the memories that the world has overtaken, and by which that came to this one alone.

    Nothing that this one says itself is marked; the nearest doubt comes first.
    """
    if any(mark.direct for mark in standing.marks):
        return []
    found = [mark.path[0] for mark in standing.marks if mark.cause == Cause.CHANGE and mark.path]
    return [one for one in dict.fromkeys(found) if one in standing.causes]
