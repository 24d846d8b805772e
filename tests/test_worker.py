"""
Workers, woken by real brokers, and killed.

They run on a PostgreSQL of this file's own, since they do whatever job they find. Run as a program,
this file is such a worker, or somebody who leaves a job.
"""

import ctypes
import os
import pickle
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import dramatiq
import psycopg
import pytest
import redis

from deploy.broker import prepare_queue
from deploy.database import prepare_embedded
from deploy.embedded import EmbeddedPostgres

HERE = Path(__file__).resolve().parent.parent


class Site:
    """A database of its own, and processes on it."""

    def __init__(self, server, logins, env):
        self.server, self.logins, self.env = server, logins, env
        self.processes = []
        self.connect()

    def connect(self):
        self.owner = psycopg.connect(self.logins.owner_url, autocommit=True)

    def tenant(self, state="active"):
        """Return the ids of a new tenant and of its one member."""
        tenant, user, member = uuid4(), uuid4(), uuid4()
        self.owner.execute(
            "INSERT INTO tenants (id, slug, name, state, levels) VALUES (%s, %s, 'T', %s, '{}')",
            [tenant, tenant.hex, state],
        )
        self.owner.execute(
            """INSERT INTO users (id, username, email, password, first_name, last_name, is_staff,
                                  is_active, is_superuser, date_joined)
               VALUES (%s, %s, '', '!', '', '', true, true, false, now())""",
            [user, user.hex],
        )
        self.owner.execute(
            """INSERT INTO members (id, tenant_id, user_id, username, name, role, level, active)
               VALUES (%s, %s, %s, %s, 'M', 'member', 30, true)""",
            [member, tenant, user, user.hex],
        )
        return tenant, member

    def job(self, whose, kind, *, seconds=0):
        """Return a job that nobody was woken for."""
        job = uuid4()
        self.owner.execute(
            """INSERT INTO jobs (id, tenant_id, member_id, kind, dedup_key, arguments,
                                 state, attempts, last_error)
               VALUES (%s, %s, %s, %s, %s, jsonb_build_object('seconds', %s::float),
                       'queued', 0, '')""",
            [job, *whose, kind, job.hex, seconds],
        )
        return job

    def row(self, job):
        """Return state, attempts and last error of a job."""
        return self.owner.execute(
            "SELECT state, attempts, last_error FROM jobs WHERE id = %s", [job]
        ).fetchone()

    def state(self, job):
        return self.row(job)[0]

    def let_leases_run_out(self):
        self.owner.execute("UPDATE jobs SET lease_until = now() WHERE state = 'running'")

    def one(self, query, values=()):
        """Return the one value that the query gives."""
        [(value,)] = self.owner.execute(query, values).fetchall()
        return value

    def effects(self, job):
        """Return how often the job has had its effect."""
        return self.one(
            "SELECT count(*) FROM events WHERE command = 'noted' AND object_id = %s", [job]
        )

    def start(self, *arguments, **settings):
        """Start this file as a program, with the settings in its environment."""
        env = self.env | {name: str(value) for name, value in settings.items()}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.test_worker", *map(str, arguments)],
            cwd=HERE, env=env, text=True, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def worker(self, **settings):
        """Start a worker; by default it sweeps often, and its leases are short."""
        return self.start("work", **{"SWEPT_EVERY": 0.5, "JOB_LEASE_SECONDS": 2} | settings)

    def woken_worker(self, **settings):
        """Return a worker that has swept for the last time: from now on it must be woken."""
        worker = self.begun_worker(SWEPT_EVERY=600, **settings)
        time.sleep(0.5)  # and its consumers listen
        return worker

    def begun_worker(self, **settings):
        """Return a worker that has swept once, and with that taken away the beats of dead ones."""
        before = self.beats()
        worker = self.worker(**settings)
        wait_for(lambda: self.beats() - before)
        return worker

    def beats(self):
        """Return the names of the workers that have given a sign of life."""
        return {name for (name,) in self.owner.execute("SELECT worker FROM worker_beats")}

    def alive(self):
        return self.one("SELECT workers_alive('30 s')")

    def leave(self, whose, *, messages=1, **settings):
        """Leave a job as a request does, and return its id."""
        key = uuid4().hex
        process = self.start("leave", *whose, key, messages, **settings)
        code = process.wait(30)
        [(job,)] = self.owner.execute("SELECT id FROM jobs WHERE dedup_key = %s", [key]).fetchall()
        return job, code

    def stop(self, process, sig=signal.SIGTERM):
        process.send_signal(sig)
        code = process.wait(30)
        return code, process.stderr.read()


def killed_at(point, folder):
    """Return the settings of a process that is killed when it comes to the point."""
    armed = folder / point
    armed.mkdir()
    (armed / point).touch()
    return {"FAULT_POINTS_IN": armed}


def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def house():
    folder = Path(tempfile.mkdtemp(prefix="workers-"))
    folder.chmod(0o755)
    server = EmbeddedPostgres(folder / "var")
    server.start()
    logins = prepare_embedded(server)
    assert logins.owner_url
    assert logins.queue_url
    names = ("SECRET_KEY", "PATH", "HOME", "LANG", "COVERAGE_PROCESS_START")
    env = {name: os.environ[name] for name in names if name in os.environ} | {
        "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "DATA_DIR": str(folder),
        "DATABASE_URL": logins.runtime_url,
        "OWNER_DATABASE_URL": logins.owner_url,
        "QUEUE_DATABASE_URL": logins.queue_url,
        "LOG_LEVEL": "INFO",
        "WORKER_THREADS": "2",
        "WORKER_GRACE_SECONDS": "10",
    }
    migrate = [sys.executable, "manage.py", "migrate", "--database", "owner", "--verbosity", "0"]
    subprocess.run(migrate, cwd=HERE, env=env, check=True)
    for _ in range(2):
        prepare_queue(logins.owner_url)
    yield server, logins, env
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(house):
    made = Site(*house)
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        process.stderr.close()
    made.owner.execute("UPDATE jobs SET state = 'obsolete' WHERE state IN ('queued', 'running')")
    made.owner.execute("DELETE FROM queue.queue")
    made.owner.close()


@pytest.mark.rule("JU-03")
def test_a_worker_is_woken_by_the_message_in_postgres(site):
    worker = site.woken_worker()

    job, code = site.leave(site.tenant())

    assert code == 0
    wait_for(lambda: site.state(job) == "done")
    assert site.effects(job) == 1
    assert site.stop(worker)[0] == 0


@pytest.mark.rule("JU-03", "T092")
def test_one_effect_however_often_a_message_comes(site):
    site.woken_worker()
    site.woken_worker()

    job, _ = site.leave(site.tenant(), messages=10)

    wait_for(lambda: site.state(job) == "done")
    wait_for(lambda: site.one("SELECT count(*) FROM queue.queue") == 0)
    assert (site.effects(job), site.row(job)[1]) == (1, 1)


@pytest.mark.rule("JU-03", "T087")
def test_one_effect_wherever_workers_are_killed(site, tmp_path):
    points = ("claimed", "before_effects", "before_commit", "after_commit")
    jobs = [site.job(site.tenant(), "note") for _ in points]

    killed = [
        site.worker(**killed_at(point, tmp_path), WORKER_THREADS=1, JOB_LEASE_SECONDS=60)
        for point in points
    ]
    assert [worker.wait(60) for worker in killed] == [-signal.SIGKILL] * 4
    site.let_leases_run_out()
    assert [site.state(job) for job in jobs].count("done") == 1  # of whoever died after the commit
    site.worker()

    wait_for(lambda: all(site.state(job) == "done" for job in jobs))
    assert [site.effects(job) for job in jobs] == [1, 1, 1, 1]
    assert sorted(site.row(job)[1] for job in jobs) == [1, 2, 2, 2]


@pytest.mark.rule("T090")
def test_a_job_whose_leaver_died_before_waking_anybody_is_found(site, tmp_path):
    site.begun_worker(SWEPT_EVERY=5)

    job, code = site.leave(site.tenant(), **killed_at("before_wake", tmp_path))

    assert code == -signal.SIGKILL
    wait_for(lambda: site.state(job) == "done", 15)
    assert site.effects(job) == 1


@pytest.mark.rule("T088")
def test_a_job_that_kills_workers_fails_after_three_attempts(site):
    poison = site.job(site.tenant(), "die")

    for _ in range(3):
        # On a slow machine a short lease could run out between the claim and the death.
        assert site.worker(JOB_LEASE_SECONDS=60).wait(60) == -signal.SIGKILL
        site.let_leases_run_out()
    last = site.worker()
    wait_for(lambda: site.state(poison) == "failed")
    other = site.job(site.tenant(), "note")
    wait_for(lambda: site.state(other) == "done")

    assert site.row(poison) == ("failed", 3, "the worker died, or took too long")
    assert last.poll() is None


@pytest.mark.rule("T104")
def test_a_worker_whose_log_finds_the_disk_full_works_on(site):
    worker = site.worker(LOGS_ON="/dev/full")
    good, bad = (site.job(site.tenant(), kind) for kind in ("note", "hungry"))

    wait_for(lambda: site.state(good) == "done")
    # What would be logged of this one cannot be, either.
    wait_for(lambda: "MemoryError" in site.row(bad)[2])

    assert site.effects(good) == 1
    assert worker.poll() is None


@pytest.mark.rule("T104")
def test_a_job_that_finds_no_memory_is_tried_three_times_and_others_go_on(site):
    worker = site.worker(JOB_BACKOFF_SECONDS=0)
    hungry = site.job(site.tenant(), "hungry")

    wait_for(lambda: site.state(hungry) == "failed", 30)
    other = site.job(site.tenant(), "note")
    wait_for(lambda: site.state(other) == "done")

    state, attempts, error = site.row(hungry)
    assert (state, attempts, site.effects(hungry)) == ("failed", 3, 0)
    assert error.startswith("MemoryError")
    assert worker.poll() is None


@pytest.mark.rule("T093")
def test_a_paused_worker_does_not_finish_what_another_took_over(site):
    job = site.job(site.tenant(), "note", seconds=1)
    paused = site.worker(SWEPT_EVERY=600)
    wait_for(lambda: site.state(job) == "running")
    paused.send_signal(signal.SIGSTOP)

    site.worker(JOB_LEASE_SECONDS=10)
    wait_for(lambda: site.state(job) == "done")
    paused.send_signal(signal.SIGCONT)
    time.sleep(1.5)
    _, said = site.stop(paused)

    assert "somebody else's by now" in said
    assert (site.effects(job), site.row(job)[1]) == (1, 2)


@pytest.mark.rule("T097", "T098", "T157")
def test_tenants_take_turns_and_a_suspended_one_waits(site):
    crowd, others = site.tenant(), [site.tenant() for _ in range(4)]
    suspended = site.tenant("suspended")
    waiting = site.job(suspended, "note")
    for _ in range(900):
        site.job(crowd, "note")
    few = [site.job(whose, "note") for whose in others for _ in range(25)]

    site.worker(JOB_LEASE_SECONDS=50)
    wait_for(lambda: all(site.state(job) == "done" for job in few), 60)

    first = site.one(
        "SELECT count(*) FROM jobs WHERE tenant_id = %s AND state = 'done'", [crowd[0]]
    )
    assert 10 <= first <= 60
    strangers = site.one(
        "SELECT count(*) FROM events e JOIN jobs j ON j.id = e.object_id "
        "WHERE e.tenant_id <> j.tenant_id OR e.member_id <> j.member_id"
    )
    assert strangers == 0
    assert site.row(waiting)[:2] == ("queued", 0)


@pytest.mark.rule("T095")
def test_a_worker_that_is_told_to_stop_finishes_or_gives_back(site):
    whose = site.tenant()
    short = site.job(whose, "note", seconds=1)
    patient = site.worker()
    wait_for(lambda: site.state(short) == "running")
    assert site.stop(patient)[0] == 0
    assert (site.state(short), site.effects(short)) == ("done", 1)

    long = site.job(whose, "note", seconds=60)
    hasty = site.worker(WORKER_GRACE_SECONDS=1)
    wait_for(lambda: site.state(long) == "running")
    assert site.stop(hasty)[0] == 0
    assert site.row(long)[:2] == ("queued", 0)


@pytest.mark.rule("JU-09")
def test_workers_that_are_gone_are_alive_no_more(site):
    site.owner.execute("DELETE FROM worker_beats")
    elsewhere = f"some-other-host:{os.getpid()}"
    site.owner.execute("SELECT beat(%s)", [elsewhere])
    told_to_stop, killed = site.worker(), site.worker()
    wait_for(lambda: site.alive() == 3)

    assert site.stop(told_to_stop)[0] == 0
    assert site.alive() == 2
    site.stop(killed, signal.SIGKILL)
    # Whoever comes next on the host says so of those it finds dead, and of nobody else.
    site.worker()
    wait_for(lambda: len(site.beats()) == 2 and not any(str(killed.pid) in n for n in site.beats()))

    assert site.alive() == 2
    assert elsewhere in site.beats()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"JUDGE": "foo"}, "JUDGE is 'foo'; choose rules, openai:<model>"),
        ({"JUDGE": "openai:gpt-x"}, "needs JUDGE_API_KEY; or JUDGE_BASE_URL"),
        ({"JUDGE": "anthropic:x", "JUDGE_BASE_URL": "http://x"}, "needs JUDGE_API_KEY"),
    ],
)
@pytest.mark.rule("JU-05")
def test_no_process_starts_with_a_judge_that_there_cannot_be(site, settings, said):
    for command in (
        ["-m", "deploy.worker"],
        ["-c", "import deploy.wsgi"],
        ["-c", "import deploy.mcp.asgi"],
        ["manage.py", "check"],
    ):
        ended = subprocess.run(
            [sys.executable, *command], cwd=HERE, env=site.env | settings, text=True,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert ended.returncode != 0, command
        assert said in ended.stderr, command


@pytest.mark.rule("JU-05")
@pytest.mark.parametrize("judge", ["", "off", "rules", "openai:mine"])
def test_processes_start_with_a_judge_that_may_be(site, judge):
    settings = {"JUDGE": judge, "JUDGE_BASE_URL": "http://127.0.0.1:9/v1", "JUDGE_API_KEY": ""}

    worker = site.woken_worker(**settings)

    assert site.stop(worker)[0] == 0


def test_a_worker_goes_when_whoever_started_it_is_killed(site):
    before = site.beats()
    supervisor = site.start("supervise", SWEPT_EVERY=0.5)
    wait_for(lambda: site.beats() - before)
    worker = site.one(
        "SELECT split_part(worker, ':', 2)::int FROM worker_beats"
        " ORDER BY beat_at DESC, worker LIMIT 1"
    )
    supervisor.kill()

    wait_for(lambda: not Path(f"/proc/{worker}").exists() or is_zombie(worker))


def is_zombie(pid):
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


@pytest.mark.rule("T096", "T103")
def test_a_worker_survives_a_restart_of_the_database(site):
    whose = site.tenant()
    job = site.job(whose, "note", seconds=2)
    worker = site.worker(JOB_LEASE_SECONDS=3)
    wait_for(lambda: site.state(job) == "running")

    site.owner.close()
    site.server.stop()
    site.server.start()
    site.connect()

    wait_for(lambda: site.state(job) == "done", 30)
    assert site.effects(job) == 1
    woken, _ = site.leave(whose)
    wait_for(lambda: site.state(woken) == "done", 10)
    assert worker.poll() is None


@pytest.mark.rule("T089")
def test_without_a_broker_the_sweeper_does_the_work(site):
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    worker = site.worker(BROKER_URL=nowhere)

    job, code = site.leave(site.tenant(), BROKER_URL=nowhere)

    assert code == 0
    wait_for(lambda: site.state(job) == "done")
    assert worker.poll() is None


@pytest.mark.rule("T099")
def test_forged_messages_are_refused(site):
    worker = site.woken_worker()
    for kwargs in ("{}", '{"tenant_id": "x", "job_id": 1}', '{"tenant_id": {}, "job_id": []}'):
        send_by_hand(site, kwargs)

    wait_for(lambda: site.one("SELECT count(*) FROM queue.queue") == 0)
    _, said = site.stop(worker)

    assert said.count("was refused") == 3


def send_by_hand(site, kwargs):
    message = uuid4()
    site.owner.execute(
        """INSERT INTO queue.queue (message_id, queue_name, state, message)
           VALUES (%s, 'jobs', 'queued', jsonb_build_object(
               'queue_name', 'jobs', 'actor_name', 'work', 'args', '[]'::jsonb,
               'kwargs', %s::jsonb, 'options', '{}'::jsonb, 'message_id', %s::text,
               'message_timestamp', 0))""",
        [message, kwargs, message],
    )
    site.owner.execute("SELECT pg_notify('dramatiq.jobs.enqueue', '')")


UNREADABLE = (pickle.dumps({"job_id": "1"}), b"[]", b"{}", b"\xff" * 2**20)


@pytest.mark.rule("T099")
def test_messages_forged_in_redis_are_refused_and_the_worker_goes_on(site):
    own, other = site.tenant(), site.tenant()
    port = free_port()
    with redis_server(port):
        url = f"redis://127.0.0.1:{port}/0"
        worker = site.woken_worker(BROKER_URL=url)
        job = site.job(own, "note")
        site.owner.execute("UPDATE jobs SET state = 'failed' WHERE id = %s", [job])
        known = {"tenant_id": str(own[0]), "job_id": str(job)}
        crossed = {"tenant_id": str(other[0]), "job_id": str(job)}
        # What is not due is not done, whoever says so; and nothing is done as another tenant's.
        for kwargs in (known, crossed, {"tenant_id": "x", "job_id": 1}, {}):
            send_to_redis(port, kwargs=kwargs)
        send_to_redis(port, kwargs={**known, "more": "x" * 2**20})
        send_to_redis(port, kwargs=known, actor_name="delete_everything")
        for body in (*UNREADABLE, message_to("work", known).encode()):
            put_into_redis(port, body)

        with redis.Redis(port=port) as client:
            wait_for(lambda: client.llen("dramatiq:jobs") == 0, 60)
        left, _ = site.leave(other, BROKER_URL=url)
        wait_for(lambda: site.state(left) == "done", 60)
        assert worker.poll() is None
        _, said = site.stop(worker)

    assert (site.effects(job), site.state(job), site.effects(left)) == (0, "failed", 1)
    # Each once, and not again and again.
    assert said.count("something in Redis that is no message was refused") == len(UNREADABLE)
    assert said.count("nobody could acknowledge was refused") == 1
    assert said.count("without the ids of a tenant and a job was refused") == 2
    assert said.count("undefined actor 'delete_everything'") == 1
    assert "Restarting consumer" not in said


def send_to_redis(port, *, kwargs, actor_name="work"):
    """Leave a message as Dramatiq itself would."""
    name = uuid4().hex
    message = message_to(actor_name, kwargs).copy(options={"redis_message_id": name})
    put_into_redis(port, message.encode(), name)


def message_to(actor_name, kwargs):
    return dramatiq.Message(
        queue_name="jobs", actor_name=actor_name, args=(), kwargs=kwargs, options={}
    )


def put_into_redis(port, body, name=None):
    """Put something among the messages, as whoever reaches the broker can."""
    name = name or uuid4().hex
    with redis.Redis(port=port) as client:
        client.hset("dramatiq:jobs.msgs", name, body)
        client.rpush("dramatiq:jobs", name)


def test_a_worker_refuses_the_login_of_the_owner(site):
    process = site.worker(DATABASE_URL=site.logins.owner_url)

    assert process.wait(20) == 1
    assert "Refusing to start" in process.stderr.read()


@pytest.mark.rule("T089")
def test_a_worker_is_woken_by_redis_and_redis_may_forget(site):
    port = free_port()
    with redis_server(port) as redis:
        url = f"redis://127.0.0.1:{port}/0"
        worker = site.woken_worker(BROKER_URL=url)
        job, _ = site.leave(site.tenant(), BROKER_URL=url)
        wait_for(lambda: site.state(job) == "done")
        site.stop(worker)
        forgotten, _ = site.leave(site.tenant(), BROKER_URL=url)
        redis.kill()
        redis.wait(10)

    with redis_server(port):
        site.worker(BROKER_URL=url)
        wait_for(lambda: site.state(forgotten) == "done")
        assert (site.effects(job), site.effects(forgotten)) == (1, 1)


def test_a_worker_is_woken_by_rabbitmq(site):
    port = free_port()
    with rabbitmq_server(port):
        url = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
        site.woken_worker(BROKER_URL=url)
        job, _ = site.leave(site.tenant(), BROKER_URL=url)
        wait_for(lambda: site.state(job) == "done")
        assert site.effects(job) == 1


def program(name):
    """Return where the program is; without it the test is skipped, but fails in CI."""
    # Debian's own rabbitmq-server first changes its user and drops its environment; not this one.
    found = shutil.which(name, path="/usr/lib/rabbitmq/bin") or shutil.which(name)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def redis_server(port):
    command = [program("redis-server"), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(lambda: answers(port))
            yield server
        finally:
            server.kill()


@contextmanager
def rabbitmq_server(port):
    folder = Path(tempfile.mkdtemp(prefix="rabbit-"))
    env = os.environ | {
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"test{port}@localhost",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "ERL_EPMD_PORT": str(free_port()),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_RELAXED_COMMAND_CHECK": "1",  # it may be killed while a node is listed
    }
    server = subprocess.Popen(
        [program("rabbitmq-server")], env=env, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: answers(port), 60)
        yield
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(10)
        subprocess.run(["epmd", "-kill"], env=env, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def _register_kinds():
    from tenants.audit import record
    from tenants.jobs import finishing, job_kind

    @job_kind("note")
    def note(caller, job):
        time.sleep(job.arguments.get("seconds", 0))
        with finishing(caller, job) as done:
            record("noted", "job", job.id)
            done()

    @job_kind("hungry")
    def eat(_caller, job):
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(
            resource.RLIMIT_AS, (pages * resource.getpagesize() + 64 * 1024**2, hard)
        )
        try:
            record("noted", "job", job.id, after={"eaten": len(bytearray(1024**3))})
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    @job_kind("die")
    def die(_caller, _job):
        os.kill(os.getpid(), signal.SIGKILL)


def _work():
    from deploy import worker

    worker.SWEPT_EVERY = float(os.environ["SWEPT_EVERY"])
    if worker.run():
        os._exit(0)


def _leave(tenant, member, key, messages):
    from deploy import broker
    from tenants.caller import Caller, Rank
    from tenants.context import acting_as
    from tenants.jobs import leave_job

    broker.wake_workers()
    caller = Caller(UUID(tenant), UUID(member), "M", 30, Rank.HUMAN, frozenset())
    with acting_as(caller):
        job = leave_job("note", dedup_key=key)
        assert job
    for _ in range(int(messages) - 1):
        broker.messenger().wake(caller.tenant_id, job)
    broker.messenger().flush()


def _supervise():
    """Start a worker as a supervisor does that wants it gone when it is gone itself."""
    die_with_parent = partial(ctypes.CDLL(None).prctl, 1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    worker = [sys.executable, "-m", "tests.test_worker", "work"]
    subprocess.run(worker, preexec_fn=die_with_parent, check=True)


def _as_program(role, *arguments):
    import django
    from django.conf import settings

    if "LOGS_ON" in os.environ:
        os.dup2(os.open(os.environ["LOGS_ON"], os.O_WRONLY), sys.stderr.fileno())
    django.setup()
    settings.WORKER_THREADS = int(os.environ["WORKER_THREADS"])
    settings.WORKER_GRACE_SECONDS = int(os.environ["WORKER_GRACE_SECONDS"])
    settings.JOB_LEASE_SECONDS = float(os.environ.get("JOB_LEASE_SECONDS", "50"))
    settings.JOB_BACKOFF_SECONDS = int(os.environ.get("JOB_BACKOFF_SECONDS", "5"))
    _register_kinds()
    if role == "work":
        _work()
    elif role == "leave":
        _leave(*arguments)
    else:
        _supervise()


if __name__ == "__main__":
    _as_program(*sys.argv[1:])
