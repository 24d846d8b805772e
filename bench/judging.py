"""
B6: a queue of pairs for the judge, against the perfect overlap of its waiting.

The judge is the stub of a model that takes 50 ms for an answer, and eight threads of one worker ask
it. Perfect is pairs * 50 ms / 8: nothing but the stub's own time, on all threads all the time.

    python -m bench.judging [--pairs 1500]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import psycopg

LATENCY = 50  # milliseconds
THREADS = 8
LEAST = 0.8  # of the perfect overlap
NEIGHBOURS = 9  # of each memory that is to be judged; see bench.world
JUDGE = "openai:stub"

_QUEUE = """
INSERT INTO jobs (id, tenant_id, kind, subject_id, dedup_key, member_id, arguments, state, attempts,
                  last_error)
SELECT gen_random_uuid(), m.tenant_id, 'judge_memory', m.id, m.id::text, m.owner_id, '{}', 'queued',
       0, ''
FROM memories m WHERE m.tenant_id = %s AND m.content = ANY(%s)
"""
_OPEN = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
_ENDS = """
SELECT count(*) FILTER (WHERE state = 'done'), count(*), max(attempts), max(finished_at) FROM jobs
"""
_JUDGED = """
SELECT count(*), count(DISTINCT (least(older_id, newer_id), greatest(older_id, newer_id)))
FROM judgements
"""


def measure(pairs: int) -> dict[str, Any]:
    """Return the measurement B6, taken in a process of its own: Django is set up but once."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.judging", "--pairs", str(pairs)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def judged(pairs: int) -> dict[str, Any]:
    """
    Have so many pairs judged, and return what the results say of it.

    :raises AssertionError: if a pair was asked about or judged twice, or a job did not end well
    """
    from bench.instance import started  # noqa: PLC0415  the judge is named before
    from hygiene.stub import Model, answering  # noqa: PLC0415

    class Asked(Model):
        """The stub, which also counts, and notes when it was first asked."""

        count, since = 0, 0.0

        def rule_for(self, request: dict[str, Any], question: str) -> Any:
            rule = super().rule_for(request, question)
            with self._lock:
                self.since = self.since or time.time()
                self.count += 1
            return rule

    asking = Asked(latency_ms=LATENCY)
    with answering(asking) as model:
        os.environ.update(JUDGE=JUDGE, JUDGE_BASE_URL=model.base_url, WORKER_THREADS=str(THREADS))
        # Ten thousand pairs cost more than a day may, and the rest would wait for tomorrow.
        os.environ["JUDGE_TOKENS_PER_DAY"] = "0"
        with started() as instance, psycopg.connect(instance.owner_url, autocommit=True) as owner:
            jobs = _queue(owner, instance.owner_url, pairs)
            ended = _wait_for_the_end(owner)
            judgements, distinct = owner.execute(_JUDGED).fetchall()[0]
            done, every, attempts, _ = owner.execute(_ENDS).fetchall()[0]
        asked = asking.count
        took = ended - asking.since
    if not asked == judgements == distinct:
        raise AssertionError(f"{asked} questions, {judgements} judgements of {distinct} pairs")
    if not (done == every == jobs and attempts == 1):
        raise AssertionError(f"of {every} jobs {done} are done, after {attempts} attempts")
    perfect = asked * LATENCY / 1000 / THREADS
    return {
        "unit": "s",
        "value": round(took, 2),
        "against": round(perfect, 2),
        "ratio": round(perfect / took, 3),
        "target": LEAST,
        "met": perfect / took >= LEAST,
        "pairs_per_second": round(asked / took, 1),
        "sizes": {"pairs": asked, "jobs": jobs, "threads": THREADS, "latency_ms": LATENCY},
    }


def _queue(owner: "psycopg.Connection[Any]", owner_url: str, pairs: int) -> int:
    """Leave the jobs, all in one moment, and return how many there are."""
    from bench.world import EMBEDDED_SHARE, built  # noqa: PLC0415  needs Django

    count = -(-pairs // NEIGHBOURS)
    world = built(owner_url, count * EMBEDDED_SHARE)
    # Those in whose place the model's own vectors stand; their neighbours lie around them.
    owner.execute(_QUEUE, [world.tenant_id, world.notes[::EMBEDDED_SHARE]])
    return count


def _wait_for_the_end(owner: "psycopg.Connection[Any]") -> float:
    """Return when the last job was done."""
    while owner.execute(_OPEN).fetchone() != (0,):
        time.sleep(0.2)
    *_, finished = owner.execute(_ENDS).fetchall()[0]
    return float(finished.timestamp())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.judging", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1500)
    print(json.dumps(judged(parser.parse_args().pairs)))
