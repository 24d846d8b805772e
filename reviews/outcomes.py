"""What each button of a dispute's page would do, said before it is pressed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from memory.models import Conflict, ConflictState, Memory
from memory.specifics import Specific, specifics
from memory.text import visible
from reviews.deciding import Choice, Desk, decided
from tenants.caller import Caller, Scope
from tenants.ids import Prefix, wire_id
from tenants.refusals import NotAllowed, Refusal

MOST_SPECIFICS = 60


@dataclass(frozen=True)
class Outcome:
    """
    A button.

    :param name: of the form's field that it sends, with the value
    :param tells: what happens when it is pressed
    :param refused: why it cannot be pressed
    """

    name: str
    value: str
    label: str
    key: str
    choice: Choice
    tells: str
    refused: str = ""
    is_recommended: bool = False


def outcomes(desk: Desk, conflict: Conflict, sides: tuple[Memory, ...]) -> list[Outcome]:
    """Return the buttons of a dispute that waits, apart from merging. Belongs inside a door."""
    caller = desk.caller
    offered = _of_one(caller, sides[0]) if len(sides) == 1 else _of_a_pair(caller, conflict, sides)
    moot = {side.id: made_moot(conflict, [side]) for side in sides}
    return [_as_allowed(one, desk, conflict, sides, moot) for one in offered]


def _as_allowed(
    outcome: Outcome,
    desk: Desk,
    conflict: Conflict,
    sides: tuple[Memory, ...],
    moot: Mapping[UUID, str],
) -> Outcome:
    try:
        decision = decided(desk, conflict, sides, outcome.choice)
    except Refusal as refusal:
        # Of a wrong field the error says it without naming the field.
        why = refusal.errors[0].message if refusal.errors else refusal.detail
        return replace(outcome, refused=f"{why[0].upper()}{why[1:]}")
    more = "".join(moot[one.id] for one in decision.gone)
    return replace(outcome, tells=f"{outcome.tells}{more}")


def other_disputes(gone: Iterable[UUID], decided_too: Iterable[UUID]) -> int:
    """
    Return how many disputes more end with these memories, as far as they are in sight.

    Belongs inside a door.

    :param decided_too: the disputes whose decision retires the memories
    """
    ids = list(gone)
    waiting = Conflict.objects.filter(
        Q(memory_a__in=ids) | Q(memory_b__in=ids), state=ConflictState.PENDING
    )
    return waiting.exclude(id__in=list(decided_too)).count() if ids else 0


def made_moot(conflict: Conflict, gone: Sequence[Memory]) -> str:
    """Return what to say of the disputes that become moot; nothing if none does."""
    number = other_disputes([one.id for one in gone], [conflict.id])
    if not number:
        return ""
    what = "other dispute" if number == 1 else "other disputes"
    about = "it" if len(gone) == 1 else "them"
    return f" {number} {what} about {about} become{'s' if number == 1 else ''} moot."


def _of_a_pair(caller: Caller, conflict: Conflict, sides: Sequence[Memory]) -> list[Outcome]:
    a, b = sides
    recommended = conflict.recommended_winner_id
    return [
        _winning(caller, "A", a, "B", b, key="1", is_recommended=recommended == a.id),
        Outcome(
            "keep_both",
            "true",
            "Keep both",
            "b",
            Choice(keep_both=True),
            "Both stay live and count as compatible: no machine takes the pair up again.",
        ),
        _winning(caller, "B", b, "A", a, key="2", is_recommended=recommended == b.id),
    ]


def _winning(
    caller: Caller,
    letter: str,
    winner: Memory,
    other: str,
    loser: Memory,
    *,
    key: str,
    is_recommended: bool,
) -> Outcome:
    return Outcome(
        "winner",
        wire_id(Prefix.MEMORY, winner.id),
        f"{letter} wins",
        key,
        Choice(winner=winner.id),
        f"{letter} stays; {other} is retired with {letter} as its successor, and leaves recall. "
        f"{_told(caller, loser, other)}",
        is_recommended=is_recommended,
    )


def _of_one(caller: Caller, memory: Memory) -> list[Outcome]:
    return [
        Outcome(
            "keep_both",
            "true",
            "Keep it",
            "b",
            Choice(keep_both=True),
            "It is upheld: it stays live, and ranks as before the doubt at once. What speaks "
            "against it today never counts again.",
        ),
        Outcome(
            "retire",
            "true",
            "Retire it",
            "r",
            Choice(retire=True),
            "It is retired without a successor and leaves recall; its text and history stay. "
            f"{_told(caller, memory, 'it')}",
        ),
    ]


def _told(caller: Caller, loser: Memory, what: str) -> str:
    if loser.owner_id == caller.member_id:
        return f"You own {what}."
    whose = "its" if what == "it" else f"{what}'s"
    return f"{loser.owner.name}, {whose} owner, finds it in the history, with your note."


def may_decide(desk: Desk, conflict: Conflict, sides: Sequence[Memory]) -> bool:
    """Return whether the caller gets buttons at all. Belongs inside a door."""
    if Scope.REVIEW not in desk.caller.scopes:
        return False
    try:
        desk.must_decide(conflict, sides)
    except NotAllowed:
        return False
    return True


def merged(sides: Sequence[Memory]) -> str:
    """Return the text that a merge starts from: both, one under the other."""
    return "\n\n".join(visible(side.content) for side in sides)


def to_be_kept(sides: Sequence[Memory]) -> list[str]:
    """Return the specifics of all sides as they are written: what a merged text must not lose."""
    found: set[Specific] = set()
    for side in sides:
        found |= specifics(side.content)
    texts = {visible(one.text) for one in found if one.kind != "negation" and one.text.strip()}
    inner = {one for one in texts if any(one != other and one in other for other in texts)}
    return sorted(texts - inner)[:MOST_SPECIFICS]
