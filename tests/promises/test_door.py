"""The one door: what it says ends with it, on every way out and on every connection."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from psycopg_pool import ConnectionPool

from tenants.caller import Caller, Rank, Role
from tenants.context import acting_as, is_inside, must_be_outside, whose_door
from tenants.models import Member
from tests.promises.raw import Who, column, enter, login, outcome
from tests.promises.world import Side

SETTINGS = ("app.tenant_id", "app.member_id", "app.agent_id", "app.project_id", "app.personal")


class Broken(Exception):
    """Something goes wrong behind the door."""


def break_down() -> None:
    raise Broken


def caller_of(side: Side, name: str = "senior") -> Caller:
    return Caller(side.id, side.members[name], name, 10, Rank.HUMAN, frozenset())


def said() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user::text")
        found = [str(cursor.fetchone()[0])]
        for setting in SETTINGS:
            cursor.execute("SELECT coalesce(current_setting(%s, true), '')", [setting])
            found.append(cursor.fetchone()[0])
    return found


NOTHING = ["palimpsest_runtime", "", "", "", "", ""]


@pytest.mark.rule("VI-01")
def test_the_door_says_who_and_is_shut_afterwards(world):
    with acting_as(caller_of(world.a)):
        assert said() == [
            "palimpsest_member",
            str(world.a.id),
            str(world.a.members["senior"]),
            "",
            "",
            "on",
        ]
        assert whose_door() == caller_of(world.a)
    assert said() == NOTHING
    assert not is_inside()


@pytest.mark.rule("T027")
def test_inside_a_longer_transaction_the_door_shuts_too(world):
    """Releasing a savepoint keeps what was set in it, so the door takes it back by hand."""
    with transaction.atomic():
        with acting_as(caller_of(world.a)):
            pass
        assert said() == NOTHING
        with acting_as(caller_of(world.b)):
            assert {member.tenant_id for member in Member.objects.all()} == {world.b.id}
        assert said() == NOTHING
        with pytest.raises(Broken), acting_as(caller_of(world.a)):
            raise Broken
        assert said() == NOTHING


@pytest.mark.rule("T027")
def test_a_door_inside_a_door_is_for_the_same_caller_alone(world):
    with acting_as(caller_of(world.a)):
        with acting_as(caller_of(world.a)):
            pass
        assert said()[1] == str(world.a.id)
        for other in (
            caller_of(world.b),
            caller_of(world.a, "contractor"),
            caller_of(world.a).as_role(Role.REVIEWER),
            replace(caller_of(world.a), personal=False),
        ):
            with pytest.raises(RuntimeError, match="somebody else"), acting_as(other):
                pass
        assert said()[1] == str(world.a.id)
        assert whose_door() == caller_of(world.a)


@pytest.mark.rule("T027")
def test_savepoints_alone_would_keep_or_bring_back_a_tenant(runtime, world):
    """PostgreSQL's own ways, which the door must be wiser than."""
    with runtime.transaction(force_rollback=True):
        enter(runtime, world.a.who("senior"))
        with runtime.transaction(force_rollback=True):
            enter(runtime, world.b.who("senior"))
        assert column(runtime, "SELECT current_setting('app.tenant_id')") == [str(world.a.id)]
        with runtime.transaction():
            enter(runtime, world.b.who("senior"))
        assert column(runtime, "SELECT current_setting('app.tenant_id')") == [str(world.b.id)]


@pytest.mark.rule("VI-01")
@pytest.mark.parametrize(
    "why", ["exception", "sql error", "swallowed", "rollback wanted", "timeout"]
)
def test_the_door_shuts_however_one_leaves(world, why):
    try:
        with acting_as(caller_of(world.a)), connection.cursor() as cursor:
            if why == "exception":
                break_down()
            if why == "sql error":
                cursor.execute("SELECT 1/0")
            if why == "timeout":
                cursor.execute("SET LOCAL statement_timeout = 5")
                cursor.execute("SELECT pg_sleep(1)")
            if why == "rollback wanted":
                transaction.set_rollback(True)
            if why == "swallowed":
                try:
                    cursor.execute("SELECT 1/0")
                except DatabaseError:
                    transaction.set_rollback(True)
    except (Broken, DatabaseError):
        pass
    assert said() == NOTHING
    assert not is_inside()


def test_slow_work_is_refused_inside(world):
    must_be_outside("embedding")
    with (
        pytest.raises(RuntimeError, match="embedding must not run inside"),
        acting_as(caller_of(world.a)),
    ):
        must_be_outside("embedding")


@pytest.mark.rule("VI-01")
def test_a_door_is_for_one_thread(world):
    with acting_as(caller_of(world.a)), ThreadPoolExecutor(1) as pool:
        assert pool.submit(is_inside).result() is False


def _visit(pool: ConnectionPool, world, turn: random.Random) -> str | None:
    """Do one request on a pooled connection, in one of the ways in which they go; tell a fault."""
    side = turn.choice([world.a, world.b, None])
    way = turn.choice(["plain", "plain", "exception", "sql error", "cancelled", "killed"])
    try:
        with pool.connection() as connection:
            left = column(connection, "SELECT coalesce(current_setting('app.tenant_id', true), '')")
            if left != [""]:
                return f"found {left} on a connection that was given back"
            enter(connection, side.who("senior") if side else Who())
            seen = set(column(connection, "SELECT tenant_id FROM members"))
            if seen != ({side.id} if side else set()):
                return f"saw {seen}"
            if way == "exception":
                break_down()
            if way == "sql error":
                connection.execute("SELECT 1/0")
            if way == "cancelled":
                threading.Timer(0.002, connection.cancel).start()
                connection.execute("SELECT pg_sleep(0.05)")
            if way == "killed" and turn.random() < 0.2:
                connection.execute("SET LOCAL ROLE none")
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    except (Broken, psycopg.Error):
        pass
    return None


def alternate(url: str, world, requests: int) -> list[str]:
    """Return the faults in many requests of both tenants and of nobody on two connections."""
    with ConnectionPool(
        url,
        min_size=2,
        max_size=2,
        kwargs={"prepare_threshold": None},
        check=ConnectionPool.check_connection,
    ) as pool:
        pool.wait()
        turns = [random.Random(seed) for seed in range(4)]

        def visits(turn: random.Random) -> list[str]:
            return [fault for _ in range(requests // 4) if (fault := _visit(pool, world, turn))]

        with ThreadPoolExecutor(4) as threads:
            return [fault for faults in threads.map(visits, turns) for fault in faults]


@pytest.mark.rule("VI-01", "T029")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_two_connections_shared_by_all_mix_nobody_up(world):
    with login() as plain:
        url = plain.info.dsn
    assert alternate(url, world, 1000) == []


@pytest.mark.rule("VI-01", "T029")
def test_requests_over_the_products_own_pool_mix_nobody_up(world):
    """The same through acting_as and Django's pool."""

    def visit(number: int) -> str | None:
        side = (world.a, world.b)[number % 2]
        try:
            with acting_as(caller_of(side)):
                seen: set[UUID] = set(Member.objects.values_list("tenant_id", flat=True))
                if seen != {side.id}:
                    return f"{number} saw {seen}"
                if number % 5 == 0:
                    break_down()
                if number % 7 == 0:
                    with connection.cursor() as cursor:
                        cursor.execute("SET LOCAL ROLE none")
                        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        except (Broken, OperationalError, InterfaceError):
            pass
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(4) as threads:
        assert [fault for fault in threads.map(visit, range(400)) if fault] == []


def test_nothing_of_the_world_was_changed_by_all_that(runtime, world):
    assert outcome(runtime, world.a.who("viewer"), "SELECT id FROM members") == set(
        world.a.members.values()
    )
