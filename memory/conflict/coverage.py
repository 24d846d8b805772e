"""
What would be lost if one text took another's place. Stands outside every judge, and asks none.

A replacement may change a value; it may not drop the command, path or number that stood beside it.
"""

from collections.abc import Iterable

from memory.specifics import Specific, differ, missing

MOST_TOLD = 20


def lost_with_duplicate(loser: str, winner: str) -> tuple[str, ...]:
    """Return what the loser holds and a text that is said to be its duplicate does not."""
    lost = tuple(one.text for one in missing(of=loser, within=winner))
    if not lost and differ(loser, winner):
        # The winner says more, or denies; then it is no duplicate.
        return tuple(one.text for one in missing(of=winner, within=loser))[:MOST_TOLD] or ("not",)
    return lost[:MOST_TOLD]


def lost_with_replaced(loser: str, winner: str) -> tuple[str, ...]:
    """Return what the loser holds and its replacement does not, the one value that changed apart."""
    lost = _outermost(one for one in missing(of=loser, within=winner) if one.kind != "negation")
    if len(lost) == 1:
        gained = {one.kind for one in missing(of=winner, within=loser)}
        if lost[0].kind in gained:
            return ()
    return tuple(one.text for one in lost)[:MOST_TOLD]


def _outermost(found: Iterable[Specific]) -> list[Specific]:
    """Return those that stand in no other: a number inside a command is lost with the command."""
    all_of_them = list(found)
    return [
        one
        for one in all_of_them
        if not any(one.text in other.text and one.text != other.text for other in all_of_them)
    ]
