"""Timing two things in turns, and what the times say."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Timed = Callable[[Any], Any]


@dataclass
class Pair:
    """Milliseconds of the thing measured and of what it is measured against, request by request."""

    ours: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)


def in_turns(
    ours: Timed,
    floor: Timed,
    tasks: Sequence[Any],
    *,
    warm_up: int,
    compare: Callable[[Any, Any, Any], None] = lambda _task, _ours, _floor: None,
) -> Pair:
    """
    Time both on each task, each of them first as often as second, so that drift cancels.

    :param warm_up: how many of the first tasks are done and not counted
    :param compare: is shown each task and both answers, outside the timed part
    """
    found = Pair()
    for number, task in enumerate(tasks):
        first, second = (ours, floor) if number % 2 else (floor, ours)
        answers, times = {}, {}
        for one in (first, second):
            started = time.perf_counter()
            answers[one] = one(task)
            times[one] = (time.perf_counter() - started) * 1000
        compare(task, answers[ours], answers[floor])
        if number >= warm_up:
            found.ours.append(times[ours])
            found.floor.append(times[floor])
    return found


def percentile(times: Sequence[float], share: float) -> float:
    """Return the time that this share of the requests stays under (nearest rank)."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def compared(pair: Pair, *, target: float, target_p95: float | None = None) -> dict[str, Any]:
    """Return what the results file says of a pair: medians, 95th percentiles, and the ratios."""
    ours, floor = statistics.median(pair.ours), statistics.median(pair.floor)
    ours_p95, floor_p95 = percentile(pair.ours, 0.95), percentile(pair.floor, 0.95)
    ratio, ratio_p95 = ours / floor, ours_p95 / floor_p95
    return {
        "unit": "ms",
        "value": round(ours, 3),
        "against": round(floor, 3),
        "ratio": round(ratio, 3),
        "target": target,
        "value_p95": round(ours_p95, 3),
        "against_p95": round(floor_p95, 3),
        "ratio_p95": round(ratio_p95, 3),
        "target_p95": target_p95,
        "met": ratio <= target and (target_p95 is None or ratio_p95 <= target_p95),
        "requests": len(pair.ours),
        "times": {
            "ours": [round(one, 3) for one in pair.ours],
            "floor": [round(one, 3) for one in pair.floor],
        },
    }
