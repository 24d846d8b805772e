"""A web process of the product's own, as `make up` starts it, and bytes sent to it as they are."""

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from deploy.up import BASE, web_command

HEAD = b"Host: localhost\r\nConnection: close\r\n"


class Web:
    """Where the process listens, and where it logs."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def raw(self, data: bytes, wait: float = 10) -> bytes:
        """Send bytes on a connection of their own, and return what comes back until it ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            answer = b""
            try:
                connection.sendall(data)
                while got := connection.recv(65536):
                    answer += got
            except (TimeoutError, ConnectionError):
                pass
            return answer

    def lives(self) -> bool:
        """Return whether a plain request is answered."""
        return b" 200 " in self.raw(b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n").split(b"\r\n")[0]


@contextmanager
def web_process(folder: Path, **settings: str):
    """Have a web process run on the tests' database."""
    port = _free_port()
    environment = {**os.environ, "PORT": str(port), "HOST": "127.0.0.1", **settings}
    for name in ("OWNER_DATABASE_URL", "ADMIN_DATABASE_URL", "QUEUE_DATABASE_URL"):
        environment.pop(name, None)
    log = folder / "web.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            web_command(environment),
            cwd=BASE,
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            web = Web(port, log)
            _wait_for(web, process)
            yield web
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(web: Web, process) -> None:
    for _ in range(300):
        assert process.poll() is None, web.log.read_text()
        try:
            if web.lives():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(web.log.read_text())
