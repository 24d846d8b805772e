"""
Plots as shapes: where each bar, dot and label stands in a drawing of fixed size.

Pure. The template draws them; colours are the style sheet's, by the name of the series.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 538, 10, 190
WIDEST = 64
_STEPS = (1, 2, 5)
MOST_LABELS = 8


@dataclass(frozen=True)
class Bar:
    """A rectangle of a series, and what it says when it is pointed at."""

    series: str
    x: float
    y: float
    width: float
    height: float
    says: str


@dataclass(frozen=True)
class Dot:
    """A dot of a series."""

    series: str
    x: float
    y: float
    radius: float
    says: str


@dataclass(frozen=True)
class Label:
    """A text at a place of an axis."""

    text: str
    at: float


@dataclass(frozen=True)
class Plot:
    """A drawing."""

    bars: list[Bar] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)
    path: str = ""
    ideal: str = ""
    rows: list[Label] = field(default_factory=list)
    columns: list[Label] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    bottom: int = BOTTOM


def columns(
    names: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[int]]],
    *,
    stacked: bool = False,
    line: Sequence[int] = (),
) -> Plot:
    """
    Return bars for each name, of one series beside the other or on top of it.

    :param series: of each, the style's name, the name for people, and a number for each name
    :param line: numbers to draw as a line over the bars
    """
    sums = [sum(numbers) for numbers in zip(*(one[2] for one in series), strict=True)]
    highest = max([*(sums if stacked else (n for one in series for n in one[2])), *line, 1])
    step = _step(highest)
    top = step * -(-highest // step)
    room = (RIGHT - LEFT) / max(len(names), 1)
    beside = 1 if stacked else max(len(series), 1)
    share = min(room * 0.76, WIDEST) / beside
    bars = []
    for place, name in enumerate(names):
        begun, stack = LEFT + (place + 0.5) * room - share * beside / 2, 0
        for number, (style, label, numbers) in enumerate(series):
            x = begun if stacked else begun + number * share
            lower = stack if stacked else 0
            stack += numbers[place]
            if numbers[place]:
                y = _y(lower + numbers[place], top)
                height = _y(lower, top) - y
                says = f"{name}: {numbers[place]} {label}"
                bars.append(Bar(style, _short(x), _short(y), _short(share), _short(height), says))
    points = [f"{_short(LEFT + (i + 0.5) * room)},{_short(_y(n, top))}" for i, n in enumerate(line)]
    every = -(-len(names) // MOST_LABELS)
    return Plot(
        bars=bars,
        path=" ".join(points),
        rows=[Label(str(n), _short(_y(n, top))) for n in range(0, top + 1, step)],
        columns=[
            Label(name, _short(LEFT + (place + 0.5) * room))
            for place, name in enumerate(names)
            if place % every == 0
        ],
    )


def calibration(points: Sequence[tuple[float, float, int]]) -> Plot:
    """
    Return dots of what was expected and what came, and the line on which both would be equal.

    :param points: of each, how sure, how often right (both in [0, 1]), and of how many
    """
    most = max((number for *_, number in points), default=1)
    dots = [
        Dot(
            "calm",
            _short(_x(sure)),
            _short(_share_y(right)),
            _short(4 + 8 * (number / most) ** 0.5),
            f"{sure:.2f} sure: {right:.0%} agreed, of {number}",
        )
        for sure, right, number in points
    ]
    marks = (0.0, 0.25, 0.5, 0.75, 1.0)
    return Plot(
        dots=dots,
        ideal=f"{LEFT},{BOTTOM} {RIGHT},{TOP}",
        rows=[Label(f"{one:.0%}", _short(_share_y(one))) for one in marks],
        columns=[Label(f"{one:.2f}", _short(_x(one))) for one in marks],
    )


def _step(highest: int) -> int:
    """Return a round number of which some four reach as high."""
    power = 1
    while True:
        for one in _STEPS:
            if one * power * 5 >= highest:
                return one * power
        power *= 10


def _y(number: int, top: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * number / top


def _share_y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share


def _x(share: float) -> float:
    return LEFT + (RIGHT - LEFT) * share


def _short(number: float) -> float:
    return round(number, 2)
