"""
What would be lost if one text took another's place. Stands outside every judge, and asks none.

A replacement may change a value; it may not drop the command, path or number that stood beside it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from memory.conflict.environments import environment_lost
from memory.specifics import Specific, differ, every_place_missing, missing, specifics
from memory.values import same_value

MOST_TOLD = 20
# Another command does another thing; it is not the old one with a new value.
_NO_VALUES = frozenset({"command", "code"})


class Declared(Protocol):
    """A declared component: a subject and its value."""

    @property
    def subject(self) -> str: ...

    @property
    def value(self) -> str | None: ...


def what_is_lost(
    loser: str,
    winner: str,
    mine: Sequence[Declared],
    said: Sequence[Declared],
    *,
    is_duplicate: bool,
    several: Collection[str],
) -> tuple[str, ...]:
    """
    Return what the loser holds and the winner does not, the value that changed apart.

    :param mine: what is declared beside the loser's text
    :param said: what is declared beside the winner's
    :param several: the subjects of which the loser knows that they have several values
    """
    if is_duplicate:
        changed: list[str] = []
        lost = lost_with_duplicate(loser, winner)
    else:
        changed = changed_values(mine, said, several=several)
        lost = lost_with_replaced(loser, winner, changed=changed)
        lost += uncovered(mine, said) if changed else ()
        lost += unsaid_values(mine, said, several=several)
    return lost + environment_lost(_all_said(loser, mine), _all_said(winner, said), changed=changed)


def _all_said(text: str, declared: Iterable[Declared]) -> str:
    return "\n".join([text, *(one.value or "" for one in declared)])


def lost_with_duplicate(loser: str, winner: str) -> tuple[str, ...]:
    """Return what the loser holds and a text that is said to be its duplicate does not."""
    lost = tuple(one.text for one in missing(of=loser, within=winner))
    if not lost and differ(loser, winner):
        # The winner says more, or denies; then it is no duplicate.
        return tuple(one.text for one in missing(of=winner, within=loser))[:MOST_TOLD] or ("not",)
    return lost[:MOST_TOLD]


def lost_with_replaced(loser: str, winner: str, *, changed: Sequence[str] = ()) -> tuple[str, ...]:
    """
    Return what the loser holds and its replacement does not, the value that changed apart.

    :param changed: the loser's values that are known to have changed, where they were declared;
        without them one lost specific is taken for it, if the winner brings another of its kind
    """
    lost = every_place_missing(of=loser, within=winner)
    left = _but_for(lost, changed)
    if len(left) == len(lost) == 1 and not any(specifics(value) for value in changed):
        gained = {one.kind for one in missing(of=winner, within=loser)}
        if lost[0].kind in gained - _NO_VALUES:
            return ()
    return tuple(dict.fromkeys(one.text for one in left))[:MOST_TOLD]


def _but_for(lost: Iterable[Specific], changed: Iterable[str]) -> list[Specific]:
    """
    Return what is lost beside the values that changed.

    A value that changed excuses one place at which it stood. What stands at a second may be
    another thing of the same number: who keeps 14 days and tries 14 times changed one of the two.
    """
    left = list(lost)
    for value in changed:
        for known in specifics(value) or {Specific("", value, value)}:
            places = [one for one in left if one.text == value or _is_that(one, known)]
            # Where it was said of what, that comes before the bare number.
            exactly = [one for one in places if one.value == known.value and " " in one.value]
            for one in (exactly or places)[:1]:
                left.remove(one)
    return left


def _is_that(one: Specific, known: Specific) -> bool:
    """Return whether they say the same; a declared 14 may be the text's "14 days"."""
    if one.kind != "number" or known.kind != "number":
        return one.value == known.value
    number, *unit = one.value.split()
    same, *of_what = known.value.split()
    return number == same and (unit == of_what or not (unit and of_what))


def uncovered(loser: Iterable[Declared], winner: Iterable[Declared]) -> tuple[str, ...]:
    """
    Return the loser's components whose subjects the winner does not speak of.

    Of several values of one subject all are covered only if the winner says as many; a clash of one
    of them says nothing about the others.
    """
    said: dict[str, set[str | None]] = {}
    for one in winner:
        said.setdefault(one.subject, set()).add(one.value)
    mine: dict[str, set[str | None]] = {}
    for one in loser:
        mine.setdefault(one.subject, set()).add(one.value)
    return tuple(
        subject
        for subject, values in mine.items()
        if subject not in said or len(values) > len(said[subject])
    )[:MOST_TOLD]


def changed_values(
    loser: Iterable[Declared], winner: Iterable[Declared], *, several: Collection[str] = ()
) -> list[str]:
    """
    Return the loser's values of subjects for which the winner has another value.

    :param several: subjects that have several values: of these another one changes none
    """
    said: dict[str, list[str | None]] = {}
    for one in winner:
        said.setdefault(one.subject, []).append(one.value)
    return [
        mine.value
        for mine in loser
        if mine.value is not None
        and mine.subject in said
        and mine.subject not in several
        and not any(same_value(mine.value, other) for other in said[mine.subject])
    ]


def unsaid_values(
    loser: Iterable[Declared], winner: Iterable[Declared], *, several: Collection[str]
) -> tuple[str, ...]:
    """Return the loser's values of subjects that have several, if the winner has them not."""
    said = [(one.subject, one.value) for one in winner if one.value is not None]
    return tuple(
        mine.value
        for mine in loser
        if mine.value is not None
        and mine.subject in several
        and not any(
            mine.subject == subject and same_value(mine.value, value) for subject, value in said
        )
    )[:MOST_TOLD]
