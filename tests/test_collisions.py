"""Transactions that PostgreSQL broke off in favour of another's are done over."""

import threading

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction

from memory.conflict import on_write
from memory.conflict.act import act
from memory.models import Memory
from tenants.again import MOST_RETRIES, retried
from tenants.context import acting_as
from tests.judging import branch, live, stating
from tests.memories import done, held, kept, memories_of, posting, replacing, row, seen, together

pytestmark = pytest.mark.rule("T114", "T115", "WR-02")


def breaking_off(error, times):
    """Return what is broken off so often before it goes well, and how often it was called."""
    calls = []

    def call():
        calls.append(1)
        if len(calls) <= times:
            try:
                raise error
            except psycopg.Error as cause:
                raise OperationalError("broken off") from cause
        return "done"

    return call, calls


@pytest.mark.parametrize(
    "error", [psycopg.errors.DeadlockDetected(), psycopg.errors.SerializationFailure()]
)
def test_it_is_done_over_a_few_times(error):
    call, calls = breaking_off(error, MOST_RETRIES)
    assert retried(call) == "done"
    assert len(calls) == MOST_RETRIES + 1


def test_in_the_end_it_is_given_up():
    call, calls = breaking_off(psycopg.errors.DeadlockDetected(), 100)
    with pytest.raises(OperationalError):
        retried(call)
    assert len(calls) == MOST_RETRIES + 1


@pytest.mark.parametrize(
    "error", [psycopg.errors.QueryCanceled(), psycopg.OperationalError(), None]
)
def test_what_failed_for_another_reason_is_not(error):
    call, calls = breaking_off(error or psycopg.errors.LockNotAvailable(), 100)
    with pytest.raises(OperationalError):
        retried(call)
    assert len(calls) == 1


def test_not_in_the_middle_of_a_transaction(office):
    with acting_as(office.senior.caller), pytest.raises(RuntimeError):
        retried(lambda: None)


@pytest.mark.rule("SU-16")
def test_a_write_that_meets_another_crosswise_ends_well(office):
    """
    Somebody holds the second row and wants the first, which the write holds already.

    The write waits first, so it is as a rule the one that finds out, and is broken off. Where the
    other was, the write had nothing to do over, and they meet again over two rows more.
    """
    for turn in range(10):
        ids = sorted(
            (kept(office.senior, f"Rule {name} {turn}.", project="apollo") for name in "ab"),
            key=lambda one: row(one).id,
        )
        write = posting(
            office.senior,
            "/memories",
            {"content": f"One rule {turn}.", "project": "apollo", "links": replacing(*ids)},
            **{"Idempotency-Key": f"cross-{turn}"},
        )
        got_through, answer = crossing(write, *(row(one).id for one in ids))

        assert sorted(done(answer)["superseded"]) == sorted(ids)
        assert memories_of(office) == 3 * (turn + 1)
        assert {seen(office.senior, one)["lifecycle"] for one in ids} == {"superseded"}
        assert done(write())["memory_id"] == done(answer)["memory_id"]
        if got_through:
            return
    pytest.fail("in ten meetings the write was never the one that was broken off")


def crossing(write, first, second):
    """Lock the second row, let the write lock the first, want that, too: did I get both?"""
    has_second = threading.Event()

    def cross():
        try:
            with transaction.atomic("owner"), connections["owner"].cursor() as cursor:
                list(Memory.objects.using("owner").filter(id=second).select_for_update())
                has_second.set()
                for _ in range(500):
                    cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                    if cursor.fetchone()[0]:
                        break
                    threading.Event().wait(0.01)
                list(Memory.objects.using("owner").filter(id=first).select_for_update())
        except OperationalError as error:
            if not isinstance(error.__cause__, psycopg.errors.DeadlockDetected):
                raise
            return False
        return True

    def write_then():
        has_second.wait(10)
        return write()

    return together(cross, write_then)


@pytest.mark.rule("DE-04", "SU-16")
@pytest.mark.parametrize("declared", [False, True])
def test_a_row_that_somebody_holds_for_long_is_a_503_that_says_so(office, declared):
    """Also where the write wanted it for a clash, in the middle of a step to another role."""
    there = branch(office.senior, "main")["memory_id"]
    said = {"content": "The branch is release.", "project": "apollo"}
    by_word = {"links": replacing(there)}
    by_value = {"components": stating("deploy.branch", "release")}

    with held(there, seconds=20):
        answer = office.senior.post("/memories", {**said, **(by_word if declared else by_value)})

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert memories_of(office) == 1


@pytest.mark.rule("DE-04", "SU-16")
def test_a_clash_that_is_broken_off_in_favour_of_another_is_done_over(office, monkeypatch):
    there = branch(office.senior, "main")["memory_id"]
    tried = []

    def act_at_last(*args, **options):
        tried.append(1)
        if len(tried) == 1:
            with connection.cursor() as cursor:
                cursor.execute("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")
        return act(*args, **options)

    monkeypatch.setattr(on_write, "act", act_at_last)
    answer = branch(office.senior, "release")

    assert (len(tried), answer["superseded"]) == (2, [there])
    assert memories_of(office) == 2


@pytest.mark.rule("DE-04", "SU-16", "T114")
def test_one_replaces_by_word_what_others_clash_with(office):
    """The one locks by declaration, the others by subject; nobody gets an error for it."""
    for turn in range(3):
        there = branch(office.senior, f"main-{turn}")["memory_id"]
        writes = [
            posting(
                office.senior,
                "/memories",
                {
                    "content": f"It is {name} in turn {turn}.",
                    "project": "apollo",
                    "components": stating("deploy.branch", f"{name}-{turn}"),
                    "links": replacing(there) if name == "declared" else [],
                },
            )
            for name in ("declared", "clashing", "third")
        ]
        with held(there):
            answers = together(*writes)

        assert [one.status_code for one in answers] == [201] * 3
        ids = [there, *(done(one)["memory_id"] for one in answers)]
        assert len(live(office.senior, ids)) == 1
