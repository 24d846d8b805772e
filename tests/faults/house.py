"""The whole product on a database of its own, as `make up` starts it, to be killed in pieces."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg

from deploy.embedded import EmbeddedPostgres
from deploy.embedded_processes import servers_in
from hygiene.judge import judge_from
from hygiene.stub import Model, answering

HERE = Path(__file__).resolve().parent.parent.parent
JUDGE = "openai:stub"
AT_IT = "web at it"
LEASE = 6  # seconds
SWEPT_EVERY = 5
STARTED_AGAIN = 20  # by the supervisor, on a machine that is busy


class House:
    """The database, the supervisor with its web process and worker, and where faults are armed."""

    def __init__(self, folder, server, env):
        self.folder, self.server, self.env = folder, server, env
        self.owner_url = server.url("palimpsest_owner")
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.supervisor = None

    @property
    def address(self):
        return "127.0.0.1", int(self.env["PORT"])

    @property
    def demo(self):
        return json.loads((self.folder / "demo.json").read_text())

    def ask(self, query, values=()):
        """Return the rows of a query, as the owner sees them."""
        with psycopg.connect(self.owner_url, autocommit=True) as owner:
            return owner.execute(query, values).fetchall()

    def one(self, query, values=()):
        [(value,)] = self.ask(query, values)
        return value

    def tell(self, statement, values=()):
        with psycopg.connect(self.owner_url, autocommit=True) as owner:
            owner.execute(statement, values)

    def victims(self, whom):
        """Return the processes that are the worker, the web (server first), or the database."""
        if whom == "database":
            postmaster = self.server.pid
            backends = [pid for pid in servers_in(self.server.data) if pid != postmaster]
            return [postmaster, *backends]
        web = b"deploy.wsgi:application"
        words = {"worker": b"deploy.worker", "web": web, AT_IT: web}
        assert self.supervisor is not None
        leaders = [pid for pid in children(self.supervisor.pid) if words[whom] in command(pid)]
        return sorted(pid for leader in leaders for pid in (leader, *children(leader)))

    def arm(self, point, whom):
        """
        Have them killed when any process comes to the point, and return their ids.

        The web that is "web at it", when it comes there itself: whoever waits is served by it.
        """
        wait_for(lambda: self.victims(whom), 2 * STARTED_AGAIN)
        victims = self.victims(whom)
        made = self.folder / f"{point}.armed"
        made.write_text(" ".join([*(["at"] if whom == AT_IT else []), *map(str, victims)]))
        made.rename(self.faults / point)
        return victims

    def has_a_worker(self):
        """Return whether the worker that runs now has come to work."""
        names = [f"{socket.gethostname()}:{pid}" for pid in self.victims("worker")]
        return self.one("SELECT count(*) FROM worker_beats WHERE worker = ANY(%s)", [names]) > 0

    def is_armed(self, point):
        return (self.faults / point).exists()

    def revive_database(self):
        self.server.stop()
        self.server.start()

    def open_jobs(self, attempts=0):
        """Return how many jobs are not over that were attempted so often at least."""
        return self.one(
            "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND attempts >= %s",
            [attempts],
        )

    def held(self):
        """Return which jobs are in somebody's hand, and by which lease."""
        return set(self.ask("SELECT id, lease FROM jobs WHERE state = 'running'"))

    def answers(self):
        try:
            with socket.create_connection(self.address, timeout=2) as line:
                line.sendall(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return b" 200 " in line.recv(100)
        except OSError:
            return False


def children(parent):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == parent and after_name[0] != "Z":
            found.append(int(entry.name))
    return found


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_gone(pid):
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def wait_for(condition, seconds):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds} s in vain"
        time.sleep(0.05)


@contextmanager
def opened():
    """Have all of it run, with a judge that may act."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    with answering(Model()) as model:
        server = EmbeddedPostgres(folder)
        server.start()
        try:
            house = House(folder, server, _environment(folder, server, model.base_url))
            with (folder / "up.log").open("wb") as log:
                house.supervisor = subprocess.Popen(
                    [sys.executable, "-m", "deploy.up"],
                    cwd=HERE, env=house.env, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            try:
                wait_for(house.answers, 120)
                judge = judge_from(JUDGE, model.base_url)
                told = [judge.id, judge.prompt_version, judge.likeness]
                house.tell(_LET_THE_JUDGE_ACT, told)
                yield house
            finally:
                house.supervisor.send_signal(signal.SIGINT)
                house.supervisor.wait(90)
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)


_LET_THE_JUDGE_ACT = """
INSERT INTO certificates (id, tenant_id, judge, prompt_version, likeness, passed, reason, report)
SELECT gen_random_uuid(), id, %s, %s, %s, true, 'for the tests', '{}'
FROM tenants WHERE slug = 'demo'
"""


def _environment(folder, server, judge_url):
    names = ("SECRET_KEY", "PATH", "HOME", "LANG", "PYTHONPATH")
    return {name: os.environ[name] for name in names if name in os.environ} | {
        "DJANGO_SETTINGS_MODULE": "deploy.settings",
        "DATA_DIR": str(folder),
        "DATABASE_URL": server.url("postgres"),
        "HOST": "127.0.0.1",
        "PORT": str(_free_port()),
        "RATE_LIMIT": "1000000",
        "EMBEDDER_THREADS": "1",
        "JUDGE": JUDGE,
        "JUDGE_BASE_URL": judge_url,
        "JOB_LEASE_SECONDS": str(LEASE),
        "JOB_BACKOFF_SECONDS": "1",
        "FAULT_POINTS_IN": str(folder / "faults"),
    }


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
