"""
`kill -9` of worker, web and database at every named point, while people write.

FAULT_ROUNDS=30 adds so many rounds at points and of victims that chance picks; FAULT_SEED repeats
a run.
"""

import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenants.fault_points import FAULT_POINTS, IN_A_JOB, IN_A_WRITE
from tests.faults.findings import MUST_FIND_NOTHING
from tests.faults.house import (
    AT_IT,
    HERE,
    LEASE,
    STARTED_AGAIN,
    SWEPT_EVERY,
    is_gone,
    opened,
    wait_for,
)
from tests.faults.writers import Writers, get, post

pytestmark = pytest.mark.timeout(2700 + 120 * int(os.environ.get("FAULT_ROUNDS") or 0))

SEED = int(os.environ.get("FAULT_SEED") or random.randrange(10**6))
ROUNDS = int(os.environ.get("FAULT_ROUNDS") or 0)
# Eight clients at once, some of them of one principal.
WRITERS = ("senior", "agent", "reviewer", "contractor", "agent2", "senior", "agent", "reviewer")
MOMENT = 12  # seconds, for a sweep to come round on cores that are very busy
WORKED_OFF = 300  # seconds, for all that was written meanwhile


def rounds(chance):
    """
    Return who is killed where: every point with its own process, and with the database.

    A job is done by a worker, or by the web process in which somebody waits for it.
    """
    in_a_job = chance.sample(IN_A_JOB, len(IN_A_JOB))
    in_a_write = chance.sample(IN_A_WRITE, len(IN_A_WRITE))
    yield from ({point: "worker"} for point in in_a_job[len(in_a_write) :])
    yield from (
        {job: "worker", write: "web"} for job, write in zip(in_a_job, in_a_write, strict=False)
    )
    yield from ({point: AT_IT} for point in in_a_job)
    yield from ({point: "database"} for point in (*in_a_job, *in_a_write))
    for _ in range(ROUNDS):
        point = chance.choice(FAULT_POINTS)
        yield {point: chance.choice(("worker", "web", "database"))}


@pytest.fixture(scope="module")
def aftermath():
    """The house after all the killing, what was acknowledged, and who was killed where."""
    print(f"FAULT_SEED={SEED} FAULT_ROUNDS={ROUNDS}")
    chance = random.Random(SEED)
    hit: Counter[str] = Counter()
    with opened() as house:
        tokens = [house.demo["tokens"][name]["token"] for name in WRITERS]
        with Writers(house.address, tokens, SEED) as writers:
            for killing in rounds(chance):
                kill(house, writers, killing)
                hit.update(killing.items())
        wait_for(house.answers, 2 * STARTED_AGAIN)
        wait_for(lambda: house.open_jobs() == 0, WORKED_OFF)
        print(f"{len(writers.acknowledged)} writes in {writers.tries} tries; killed: {dict(hit)}")
        yield house, writers, hit


def kill(house, writers, killing):
    """Arm the points, write until they are reached, and let the house come up again."""
    wait_for(house.has_a_worker, 3 * STARTED_AGAIN)
    wait_for(house.answers, 3 * STARTED_AGAIN)
    victims = {point: house.arm(point, whom) for point, whom in killing.items()}
    writers.writing.set()
    for point, pids in victims.items():
        wait_for(lambda point=point: not house.is_armed(point), 180)
        wait_for(lambda pids=pids: all(is_gone(pid) for pid in pids), 10)
    writers.writing.clear()
    if "database" in killing.values():
        house.revive_database()
    must_be_taken_up(house, killing)
    # Three attempts are all that a job has, so nobody is hit a third time.
    wait_for(lambda: house.open_jobs(attempts=2) == 0, WORKED_OFF)


def must_be_taken_up(house, killing):
    """
    See that no job of whoever was killed is stuck for longer than its lease.

    Its lease runs out, a worker is there, and with that worker's next sweep it is free.
    """
    killed_at = time.monotonic()
    held = house.held()
    wait_for(house.has_a_worker, 3 * STARTED_AGAIN)
    since = max(time.monotonic(), killed_at + LEASE)
    wait_for(lambda: not held & house.held(), since + SWEPT_EVERY + MOMENT - time.monotonic())
    print(f"{killing}: {len(held)} jobs free after {time.monotonic() - killed_at:.1f} s")


def test_every_named_point_is_in_the_code():
    reached: Counter[str] = Counter()
    for app in ("tenants", "memory", "hygiene", "reviews", "deploy"):
        for path in Path(HERE, app).rglob("*.py"):
            reached.update(re.findall(r'reach_fault_point\("(\w+)"\)', path.read_text()))

    assert reached == Counter(FAULT_POINTS)


@pytest.mark.rule("T087", "T090", "T108", "WR-02", "JU-03")
def test_somebody_was_killed_at_every_point(aftermath):
    _, _, hit = aftermath

    assert {point for point, whom in hit if whom == "database"} == set(FAULT_POINTS)
    assert {point for point, whom in hit if whom in ("web", "worker")} == set(FAULT_POINTS)
    assert {point for point, whom in hit if whom == AT_IT} == set(IN_A_JOB)


@pytest.mark.rule("T108", "T162", "WR-02")
def test_every_acknowledged_write_is_there(aftermath):
    house, writers, _ = aftermath

    def kept(one):
        status, text = get(house.address, one.token, one.memory_id)
        return status == 200 and one.body["content"].encode() in text

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(kept, writers.acknowledged))

    assert not writers.refused
    assert len(found) > 50
    assert all(found)


@pytest.mark.rule("T109", "T162")
def test_every_key_has_had_one_effect(aftermath):
    house, writers, _ = aftermath
    told = writers.acknowledged

    for one in told[-5:]:
        status, text = post(house.address, one.token, one.key, one.body)
        assert status in (200, 201)
        assert one.memory_id.encode() in text

    written = Counter(content for (content,) in house.ask("SELECT content FROM memories"))
    assert written == Counter(one.body["content"] for one in told)
    assert len({one.memory_id for one in told}) == len(told)
    assert house.one("SELECT count(*) FROM idempotency_keys") == len(told)


@pytest.mark.rule("T162", "T108")
def test_nobody_was_answered_with_an_internal_error(aftermath):
    _, writers, _ = aftermath

    assert writers.broken == []


@pytest.mark.rule("T162", "WR-02")
def test_the_record_of_what_was_done_holds(aftermath):
    house, writers, _ = aftermath
    env = {name: said for name, said in house.env.items() if name != "DATABASE_URL"}
    verified = subprocess.run(
        [sys.executable, "-m", "deploy.here", "verify_audit", "--tenant", "demo"],
        cwd=HERE, env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    print(verified.stdout)
    assert verified.returncode == 0, verified.stderr
    sealed = house.one("SELECT count(*) FROM event_chain")
    assert sealed + house.one("SELECT count(*) FROM unsealed_events") >= len(writers.acknowledged)
    assert sealed > 0


@pytest.mark.rule("T087", "T162", "PO-15", "JU-03", "WR-02")
@pytest.mark.parametrize("what", MUST_FIND_NOTHING)
def test_nothing_is_half_done_or_done_twice(aftermath, what):
    house, _, _ = aftermath

    assert house.ask(MUST_FIND_NOTHING[what])[:5] == []


@pytest.mark.rule("T087")
def test_something_was_judged_and_retired_meanwhile(aftermath):
    house, _, _ = aftermath

    for what in (
        "SELECT count(*) FROM judgements",
        "SELECT count(*) FROM judgements WHERE deed = 'supersede'",
        "SELECT count(*) FROM memories WHERE superseded_by_id IS NOT NULL",
        "SELECT count(*) FROM jobs WHERE attempts > 1",
    ):
        print(what, house.one(what))
        assert house.one(what) > 0


@pytest.mark.rule("T111", "T120")
def test_the_files_of_the_database_are_sound(aftermath):
    house, _, _ = aftermath
    indexes = house.ask("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid")

    assert indexes == []
    assert "PANIC" not in house.server.log.read_text(errors="replace")
