"""
`python -m deploy.here COMMAND ...`: a management command on the database of DATA_DIR.

If an instance runs on DATA_DIR, its PostgreSQL is used; else one is started for the command.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from deploy.database import Logins, UnfitDatabase, prepare, prepare_embedded
from deploy.embedded import LOGINS, EmbeddedPostgres, EmbeddedPostgresError
from deploy.up import BASE, kept_secret


def main() -> int:
    """Run the command, and return its exit status."""
    given = os.environ
    data_dir = Path(given.get("DATA_DIR") or BASE / "var").resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        **given,
        "DATA_DIR": str(data_dir),
        "SECRET_KEY": given.get("SECRET_KEY") or kept_secret(data_dir / "secret_key"),
    }
    try:
        with database_of(given, data_dir) as (logins, is_new):
            environment["DATABASE_URL"] = logins.runtime_url
            if logins.owner_url:
                environment["OWNER_DATABASE_URL"] = logins.owner_url
            if is_new and logins.owner_url:
                _manage(environment, ["migrate", "--database", "owner", "--verbosity", "0"])
            return _manage(environment, sys.argv[1:])
    except (EmbeddedPostgresError, UnfitDatabase) as error:
        sys.stderr.write(f"The database cannot be used: {error}\n")
        return 1


@contextmanager
def database_of(given: Mapping[str, str], data_dir: Path) -> Iterator[tuple[Logins, bool]]:
    """Have the database answer while this is open; tell the logins, and whether we started it."""
    if given.get("DATABASE_URL"):
        yield prepare(given["DATABASE_URL"], data_dir), True
        return
    server = EmbeddedPostgres(data_dir)
    if _answers(server):
        owner, runtime, queue, backup = (server.url(login) for login in LOGINS[1:])
        yield Logins(owner, runtime, queue, backup), False
        return
    with server:
        yield prepare_embedded(server), True


def _answers(server: EmbeddedPostgres) -> bool:
    """Return whether somebody's server, prepared for the product, runs on these files."""
    try:
        with psycopg.connect(server.url("palimpsest_owner"), connect_timeout=3):
            return True
    except psycopg.OperationalError:
        return False


def _manage(environment: Mapping[str, str], arguments: list[str]) -> int:
    command = [sys.executable, str(BASE / "manage.py"), *arguments]
    return subprocess.run(command, env=dict(environment), check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
