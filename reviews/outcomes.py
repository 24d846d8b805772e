"""What each button of a dispute's page would do, said before it is pressed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.models import Conflict, Memory
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
    return [_as_allowed(one, desk, conflict, sides) for one in offered]


def _as_allowed(
    outcome: Outcome, desk: Desk, conflict: Conflict, sides: tuple[Memory, ...]
) -> Outcome:
    try:
        decided(desk, conflict, sides, outcome.choice)
    except Refusal as refusal:
        # Of a wrong field the error says it without naming the field.
        why = refusal.errors[0].message if refusal.errors else refusal.detail
        return replace(outcome, refused=f"{why[0].upper()}{why[1:]}")
    return outcome


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
