"""
`make up`: everything that the product needs, on this machine, until Ctrl-C.

PostgreSQL (the embedded one, unless DATABASE_URL names another), roles, migrations, a demo
tenant, the web process, the MCP process for agents, and a worker. What is in DATA_DIR stays, so the
next start goes on where this one ended.
"""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.error import URLError

from django.core.exceptions import ImproperlyConfigured

from deploy.database import Logins, UnfitDatabase, prepare, prepare_embedded
from deploy.embedded import EmbeddedPostgres, EmbeddedPostgresError
from deploy.embedded_processes import dies_with_us
from hygiene.judge import RULES, must_name_a_judge

BASE = Path(__file__).resolve().parent.parent
READY_WITHIN = 90  # seconds
# Many more than cores: a write may wait for the judge, and a slow sender holds one.
WEB_THREADS = "16"
GRACE = 30  # seconds for a process to end by itself
RESTARTED_AFTER = 2  # seconds, so that a broken process does not spin


class CannotStart(SystemExit):
    """Ends the start with a message; nothing that was started stays."""


class Stopped(Exception):
    """Somebody pressed Ctrl-C, or told us to end."""


def main() -> None:
    """Start everything, say where it is, and keep it going until told to stop."""
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    try:
        with running(os.environ) as environment:
            _say(_welcome(environment))
            _supervise(environment)
    except Stopped:
        _say("Stopped. Your data stays in DATA_DIR.")
    except (EmbeddedPostgresError, UnfitDatabase) as error:
        raise CannotStart(f"Cannot start: {error}") from None


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not interrupt the stopping.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


@contextmanager
def running(given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """
    Have the database, web, MCP and worker processes run while this is open, and give their
    environment.

    :raises CannotStart: if a port is taken, a setting is wrong, or something does not come up
    """
    _must_name_a_judge(given)
    data_dir = Path(given.get("DATA_DIR") or BASE / "var").resolve()
    port = int(given.get("PORT") or 8000)
    mcp_port = int(given.get("MCP_PORT") or port + 1)
    host = given.get("HOST") or "127.0.0.1"
    _must_be_free(host, port, "PORT")
    _must_be_free(host, mcp_port, "MCP_PORT")
    data_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        **given,
        "DATA_DIR": str(data_dir),
        "PORT": str(port),
        "MCP_PORT": str(mcp_port),
        "HOST": host,
        "DJANGO_SETTINGS_MODULE": "deploy.settings",
        "SECRET_KEY": given.get("SECRET_KEY") or kept_secret(data_dir / "secret_key"),
    }
    with _database(given, data_dir) as logins:
        urls = {
            "DATABASE_URL": logins.runtime_url,
            "OWNER_DATABASE_URL": logins.owner_url,
            "QUEUE_DATABASE_URL": logins.queue_url,
        }
        environment |= {name: url for name, url in urls.items() if url}
        if logins.owner_url:
            _say("Preparing the database ...")
            _manage(environment, "prepare")
        # Server processes must not know the owner's login.
        environment.pop("OWNER_DATABASE_URL", None)
        with (
            _process(web_command(environment), environment) as web,
            _process(mcp_command(environment), environment) as mcp,
        ):
            _wait_until_ready(f"{base_url(environment)}/readyz", web, "web")
            _wait_until_ready(f"{mcp_url(environment).removesuffix('/mcp')}/healthz", mcp, "MCP")
            with _process(WORKER, environment):
                yield environment


def web_command(environment: Mapping[str, str]) -> list[str]:
    """Return how the web process is started."""
    threads = environment.get("WEB_THREADS") or WEB_THREADS
    return [
        *_granian("wsgi", environment["HOST"], environment["PORT"]),
        *("--blocking-threads", threads, "deploy.wsgi:application"),
    ]


def mcp_command(environment: Mapping[str, str]) -> list[str]:
    """Return how the process that agents' clients talk to is started."""
    return [
        *_granian("asgi", environment["HOST"], environment["MCP_PORT"]),
        "deploy.mcp.asgi:application",
    ]


def _granian(interface: str, host: str, port: str) -> list[str]:
    return [
        *(sys.executable, "-m", "granian", "--interface", interface, "--http", "1"),
        *("--host", host, "--port", port, "--workers", "1", "--backlog", "1024"),
        *("--log-level", "error", "--respawn-failed-workers", "--no-ws"),
    ]


WORKER = [sys.executable, "-m", "deploy.worker"]


@contextmanager
def _database(given: Mapping[str, str], data_dir: Path) -> Iterator[Logins]:
    if given.get("DATABASE_URL"):
        yield prepare(given["DATABASE_URL"], data_dir)
        return
    _say("Starting PostgreSQL ...")
    with EmbeddedPostgres(data_dir) as server:
        yield prepare_embedded(server)


@contextmanager
def _process(
    command: list[str], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    process = _spawn(command, environment)
    try:
        yield process
    finally:
        _end(_current.pop(tuple(command), process))


# What runs now for a command; the supervisor puts a new process here when one has died.
_current: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}


def _spawn(command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C in the terminal reaches us alone, and we end them in order.
    process = subprocess.Popen(  # noqa: S603  our own commands
        command,
        cwd=BASE,
        env=dict(environment),
        start_new_session=True,
        preexec_fn=dies_with_us(),  # noqa: PLW1509  we have no other threads
    )
    _current[tuple(command)] = process
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    _kill_what_is_left_of(process)


def _kill_what_is_left_of(process: subprocess.Popen[bytes]) -> None:
    """End a process with its own children, which would go on serving without it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _supervise(environment: Mapping[str, str]) -> None:
    while True:
        time.sleep(0.5)
        for command, process in list(_current.items()):
            if process.poll() is not None:
                name = _name_of(command)
                _say(f"The {name} process ended with {process.returncode}; starting it again.")
                _kill_what_is_left_of(process)
                time.sleep(RESTARTED_AFTER)
                _spawn(list(command), environment)


def _name_of(command: tuple[str, ...]) -> str:
    names = {"deploy.worker": "worker", "deploy.mcp.asgi:application": "MCP"}
    return names.get(command[-1], "web")


def _manage(environment: Mapping[str, str], *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, str(BASE / "manage.py"), *arguments], env=dict(environment), check=False
    )
    if done.returncode != 0:
        raise CannotStart(f"Cannot start: `manage.py {' '.join(arguments)}` failed, see above.")


def _must_name_a_judge(given: Mapping[str, str]) -> None:
    """Say what is wrong before anything is started: every process would refuse to start."""
    asked = [given.get(name) or "" for name in ("JUDGE_BASE_URL", "JUDGE_API_KEY")]
    try:
        must_name_a_judge(given.get("JUDGE") or RULES, *asked)
    except ImproperlyConfigured as error:
        raise CannotStart(f"Cannot start: {error}.") from None


def _must_be_free(host: str, port: int, setting: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Cannot start: port {port} on {host} is not free ({error.strerror}). "
                f"Stop what uses it, or choose another: `make up {setting}=8010`."
            ) from None


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], name: str) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise CannotStart(
                f"Cannot start: the {name} process ended with {process.returncode}, see above."
            )
        with (
            contextlib.suppress(URLError, OSError),
            urllib.request.urlopen(url, timeout=5) as answer,  # noqa: S310  our own address
        ):
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise CannotStart(f"Cannot start: {url} was not ready within {READY_WITHIN} seconds.")


def base_url(environment: Mapping[str, str]) -> str:
    """Return where the web process answers."""
    return _url(environment["HOST"], environment["PORT"])


def mcp_url(environment: Mapping[str, str]) -> str:
    """Return where agents' clients connect to."""
    return f"{_url(environment['HOST'], environment['MCP_PORT'])}/mcp"


def _url(host: str, port: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104  compared, not bound
    return f"http://{shown}:{port}"


def kept_secret(path: Path) -> str:
    """Return the secret in the file; it is made, for our eyes alone, if there is none."""
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text(encoding="ascii").strip()


def _welcome(environment: Mapping[str, str]) -> str:
    from deploy.demo.welcome import welcome  # noqa: PLC0415  not needed by who only runs the parts

    return welcome(Path(environment["DATA_DIR"]) / "demo.json", base_url(environment))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
