"""Nothing that a request says to PostgreSQL outlives its transaction, also behind a pooler."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tenants.context import is_inside
from tenants.guard import tenant_tables
from tests.promises.raw import Who, column, enter, outcome
from tests.promises.test_door import alternate

_FOR_THE_SESSION = re.compile(
    r"^\s*(?:SET\s+(?!LOCAL|CONSTRAINTS|TRANSACTION)|RESET|LISTEN|PREPARE|DECLARE\b.*\bWITH HOLD|"
    r"CREATE\s+TEMP|"
    r"DISCARD|LOAD)|set_config\([^)]*,\s*false\s*\)|pg_advisory_lock\(",
    re.IGNORECASE,
)


@contextmanager
def recorded() -> Iterator[list[tuple[str, bool]]]:
    """Keep every statement of the requests inside, and whether the door was open."""
    said: list[tuple[str, bool]] = []

    def note(execute, sql, params, many, context):
        said.append((sql, is_inside()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield said


@pytest.mark.rule("VI-01", "T048")
def test_no_statement_of_a_request_is_for_the_session_or_outside_the_door(office):
    with recorded() as said:
        written = office.agent.post(
            "/memories", {"content": f"Ports {uuid.uuid4()}", "project": "apollo", "kind": "task"}
        )
        memory = written.json()["memory_id"]
        office.senior.get(f"/memories/{memory}")
        office.senior.get(f"/memories/{memory}/history")
        office.senior.get("/memories", {"q": "ports"})
        office.colleague.post("/recall", {"query": "ports", "project": "apollo"})
        office.senior.patch(f"/memories/{memory}", {"tags": ["x"]})
        office.outsider.get(f"/memories/{memory}")
        office.senior.post("/links", {"src": memory, "dst": memory, "type": "relates_to"})
        office.senior.post(f"/memories/{memory}/forget", {"reason": "done"})
        office.senior.post(f"/memories/{memory}/restore", {})
        office.admin.post("/projects", {"slug": f"s-{uuid.uuid4().hex[:8]}", "name": "S"})
        office.admin.get("/members")
        office.admin.get("/tokens")
        office.viewer.get("/whoami")
    assert len(said) > 60
    for statement, inside in said:
        assert not _FOR_THE_SESSION.search(statement), statement
        assert inside or not tenant_tables().search(statement), statement


@pytest.mark.parametrize(
    "statement",
    [
        "SET app.tenant_id = 'x'",
        "set search_path to x",
        "SELECT set_config('app.tenant_id', 'x', false)",
        "LISTEN x",
        "SELECT pg_advisory_lock(1)",
        "CREATE TEMP TABLE x ()",
    ],
)
def test_what_would_outlive_a_transaction_is_recognised(statement):
    assert _FOR_THE_SESSION.search(statement)
    assert not _FOR_THE_SESSION.search("SET LOCAL app.tenant_id = 'x'")
    assert not _FOR_THE_SESSION.search("SELECT set_config('role', %s, true)")


@pytest.fixture(scope="module")
def pgbouncer() -> Iterator[str]:
    """A PgBouncer in transaction mode with one connection, in front of the tests' cluster."""
    binary = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if binary is None:
        if os.environ.get("CI") == "true":
            pytest.fail("pgbouncer is not installed: apt-get install pgbouncer")
        pytest.skip("pgbouncer is not installed")
    with psycopg.connect(os.environ["DATABASE_URL"]) as direct:
        host, port, dbname = direct.info.host, direct.info.port, direct.info.dbname
    if not host.startswith("/"):
        pytest.skip("the tests' cluster is not on a socket of ours")
    folder = Path(tempfile.mkdtemp(prefix="pgb-"))
    account = Path(host).stat()
    shutil.chown(folder, account.st_uid, account.st_gid)
    (folder / "users.txt").write_text('"palimpsest_runtime" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{dbname} = host={host} port={port} user=palimpsest_runtime\n"
        f"[pgbouncer]\nlisten_addr =\nunix_socket_dir = {folder}\nlisten_port ="
        " 6432\nauth_type = any\n"
        "pool_mode = transaction\ndefault_pool_size = 1\nmin_pool_size = 0\nserver_reset_query =\n"
        "ignore_startup_parameters = options,extra_float_digits\n"
        f"pidfile = {folder}/pid\nlogfile = {folder}/log\n"
    )
    process = subprocess.Popen(
        [binary, "-q", str(folder / "pgbouncer.ini")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        user=account.st_uid if os.getuid() == 0 else None,
        group=account.st_gid if os.getuid() == 0 else None,
        extra_groups=[] if os.getuid() == 0 else None,
    )  # fmt: skip
    try:
        _wait_for(folder / ".s.PGSQL.6432", process)
        yield f"host={folder} port=6432 user=palimpsest_runtime dbname={dbname}"
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(100):
        if socket.exists():
            return
        assert process.poll() is None, (socket.parent / "log").read_text()
        time.sleep(0.05)
    pytest.fail("pgbouncer did not come up")


@pytest.mark.rule("VI-01", "T030")
def test_behind_a_pooler_with_one_connection_nobody_is_mixed_up(pgbouncer, world):
    assert alternate(pgbouncer, world, 400) == []


@pytest.mark.rule("T030")
def test_behind_a_pooler_the_door_says_nothing_to_the_next_one(pgbouncer, world):
    with (
        psycopg.connect(pgbouncer, prepare_threshold=None, autocommit=True) as one,
        psycopg.connect(pgbouncer, prepare_threshold=None, autocommit=True) as two,
    ):
        pids = set()
        for _ in range(20):
            with one.transaction():
                enter(one, world.a.who("senior"))
                pids |= set(column(one, "SELECT pg_backend_pid()"))
            assert column(two, "SELECT coalesce(current_setting('app.tenant_id', true), '')") == [
                ""
            ]
            assert column(two, "SELECT current_user::text") == ["palimpsest_runtime"]
            assert outcome(two, Who(), "SELECT id FROM memories") == set()
            pids |= set(column(two, "SELECT pg_backend_pid()"))
        assert len(pids) == 1
