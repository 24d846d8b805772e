"""
B13: what is retired wrongly and which contradictions are missed, on the open pair set.

Beside each other: "any near neighbour" (a cosine above 0.75, and the newer takes the older one's
place), the judge without a model, and the judge that JUDGE names, if it is a model. Always both
rates: whoever retires nothing retires nothing wrongly.

    JUDGE=openai:... JUDGE_BASE_URL=... JUDGE_API_KEY=... python -m bench.conflicts [--quick]
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.pair_set import LabelledPair, load, split
from hygiene.judge import Exhibit, Judge, Opinion, Said, judge_from
from hygiene.rules_judge import RulesJudge
from hygiene.selftest import LEAST_FOUND_BY_RULES, Report, Result, run
from memory.conflict.policy import Action, Age, Deed
from memory.finding.embedding.bundled import BundledEmbedder

NEAR = 0.75
EVERY = 6  # of the pairs, one is measured when it shall be quick

Measured = Callable[[Sequence[LabelledPair]], Report]


class SupersedesAlways:
    """A judge that is sure that the newer one replaces the older, whatever they say."""

    id = "supersedes-always"
    prompt_version = "none"
    likeness = ""

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """Return the worst that a judge can say."""
        return Opinion(Said.B_SUPERSEDES_A, 1.0, "Always.")


def measure(quick: bool) -> dict[str, Any]:
    """Return the fragment of B13 for the results."""
    pairs = load()[:: EVERY if quick else 1]
    judges: dict[str, Measured] = {
        "any near neighbour": near_neighbours,
        "rules": _by(RulesJudge()),
        "supersedes 1.0 always": _by(SupersedesAlways()),
    }
    setting = os.environ.get("JUDGE", "rules")
    if setting != "rules":
        address, key = os.environ.get("JUDGE_BASE_URL", ""), os.environ.get("JUDGE_API_KEY", "")
        judges[setting] = _by(judge_from(setting, address, key))
    measured = {name: _parts(judge, pairs) for name, judge in judges.items()}
    rules, nearest = measured["rules"]["all"], measured["any near neighbour"]["all"]
    return {
        "B13": {
            "value": rules["false_invalidations"],
            "against": nearest["false_invalidations"],
            "unit": f"missed {rules['missed_rate']:.1%} / {nearest['missed_rate']:.1%}",
            "ratio": None,
            "target": 0,
            "met": _is_met(measured),
            "sizes": {"pairs": len(pairs)},
            "judges": measured,
        }
    }


def near_neighbours(pairs: Sequence[LabelledPair]) -> Report:
    """Return what comes of letting the newer one replace whatever it is near to."""
    with tempfile.TemporaryDirectory() as folder:
        embedder = BundledEmbedder(models=Path(folder), threads=2)
        vectors = embedder.embed(
            [note.content for pair in pairs for note in (pair.older, pair.newer)]
        )
    results = []
    for pair, older, newer in zip(pairs, vectors[::2], vectors[1::2], strict=True):
        # The vectors have length one.
        near = sum(float(a) * float(b) for a, b in zip(older, newer, strict=True)) > NEAR
        said = Said.B_SUPERSEDES_A if near else Said.UNRELATED
        deed = Deed.SUPERSEDE if near else Deed.NOTHING
        action = Action(deed, "any near neighbour", winner=Age.NEWER if near else None)
        results.append(Result(pair, Opinion(said, 1.0, ""), action))
    return Report("any near neighbour", "none", tuple(results))


def _by(judge: Judge) -> Measured:
    return lambda pairs: run(judge, pairs)


def _parts(judge: Measured, pairs: Sequence[LabelledPair]) -> dict[str, dict[str, Any]]:
    """Return the figures for tuning, held out and all; each pair is judged once."""
    whole = judge(pairs)
    held_out = {pair.id for pair in split(pairs).held_out}
    parts = {
        "tuning": tuple(one for one in whole.results if one.pair.id not in held_out),
        "held_out": tuple(one for one in whole.results if one.pair.id in held_out),
        "all": whole.results,
    }
    return {
        name: _figures(Report(whole.judge, whole.prompt_version, results))
        for name, results in parts.items()
    }


def _figures(report: Report) -> dict[str, Any]:
    return {
        "pairs": len(report.results),
        "retired": report.retirements,
        "false_invalidations": report.false_invalidations,
        "false_rate": round(report.false_rate, 4),
        "protected_lost": report.protected_lost,
        "contradictions": report.clashing,
        "missed": report.missed,
        "missed_rate": round(1 - report.found_rate, 4),
        "found_rate": round(report.found_rate, 4),
        "needless_disputes": report.noise,
        "needless_rate": round(report.noise_rate, 4),
        "tokens": report.tokens_in + report.tokens_out,
    }


def _is_met(measured: dict[str, dict[str, dict[str, Any]]]) -> bool:
    rules = measured["rules"]["all"]
    through_the_policy = [one for name, one in measured.items() if name != "any near neighbour"]
    return (
        rules["false_invalidations"] == 0
        and rules["found_rate"] >= LEAST_FOUND_BY_RULES
        and all(one["all"]["protected_lost"] == 0 for one in through_the_policy)
    )


def table(judges: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the figures as lines to be read, both rates side by side."""
    columns = f"{'pairs':>6}{'wrongly retired':>17}{'protected':>10}{'missed':>15}{'needless':>10}"
    lines = [f"{'':24}{'part':10}{columns}"]
    for name, parts in judges.items():
        for part, one in parts.items():
            wrong = f"{one['false_invalidations']} ({one['false_rate']:.1%})"
            missed = f"{one['missed']}/{one['contradictions']} ({one['missed_rate']:.1%})"
            lines.append(
                f"{name:24}{part:10}{one['pairs']:>6}{wrong:>17}{one['protected_lost']:>10}"
                f"{missed:>15}{one['needless_disputes']:>10}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure(quick="--quick" in sys.argv)
    print(table(results["B13"]["judges"]))
    print(json.dumps(results, indent=1))
