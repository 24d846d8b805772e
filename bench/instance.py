"""An instance of the product, started for measuring and taken away again, and a client of it."""

import http.client
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

LONGEST_WORK = 300.0  # seconds

# Whatever would lead the instance elsewhere than to a database and a model of its own.
_NOT_OURS = (
    "DATABASE_URL", "OWNER_DATABASE_URL", "QUEUE_DATABASE_URL", "BROKER_URL", "SECRET_KEY",
    "EMBEDDER", "PORT", "MCP_PORT", "DATA_DIR",
)  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """Where the started product answers, and the login of its tables' owner."""

    base_url: str
    mcp_url: str
    owner_url: str
    runtime_url: str


@contextmanager
def started() -> Iterator[Instance]:
    """Have database, web process and worker run while this is open; Django is set up on them."""
    from deploy.embedded import EmbeddedPostgres  # noqa: PLC0415  started with a cleaned environment
    from deploy.up import base_url, mcp_url, running  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="palimpsest-bench-"))
    folder.chmod(0o755)  # the server's own account must reach its files
    for name in _NOT_OURS:
        os.environ.pop(name, None)
    given = {
        **os.environ,
        "DATA_DIR": str(folder),
        "PORT": str(free_port()),
        "MCP_PORT": str(free_port()),
        "RATE_LIMIT": "1000000000",
        # What is measured is not to be disturbed by what the worker begins by itself.
        "SWEEP_EVERY": "0",
    }
    try:
        with running(given) as environment:
            owner_url = EmbeddedPostgres(folder).url("palimpsest_owner")
            os.environ.update(environment, OWNER_DATABASE_URL=owner_url)
            _set_django_up()
            yield Instance(
                base_url(environment),
                mcp_url(environment),
                owner_url,
                environment["DATABASE_URL"],
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def await_idle_workers(instance: Instance) -> None:
    """
    Wait until the workers have done what was left to them: they would change what is compared.

    :raises TimeoutError: if that takes longer than LONGEST_WORK
    """
    open_jobs = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
    until = time.monotonic() + LONGEST_WORK
    with psycopg.connect(instance.owner_url, autocommit=True) as owner:
        while owner.execute(open_jobs).fetchone() != (0,):
            if time.monotonic() > until:
                raise TimeoutError("the workers do not come to an end")
            time.sleep(0.5)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _set_django_up() -> None:
    import django  # noqa: PLC0415

    django.setup()


class Client:
    """One client on one kept connection, as an agent's own would be."""

    def __init__(self, base_url: str, token: str) -> None:
        address = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=60
        )
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """
        Return the answer to a POST.

        :raises RuntimeError: if it is no success
        """
        return self._asked("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> dict[str, Any]:
        """
        Return the answer to a GET.

        :raises RuntimeError: if it is no success
        """
        return self._asked("GET", path, b"")

    def _asked(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        self._connection.request(method, f"/api/v1{path}", body, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
        said: dict[str, Any] = json.loads(text)
        return said
