"""
A PostgreSQL of the tests' own, started before Django's settings are read.

The processes under test log in as production does, with the unprivileged login. Nothing is rolled
back or wiped between tests: every test founds tenants of its own, and the wall between tenants
keeps them apart, as it must. Of a parallel run each process has a PostgreSQL of its own, or the
workers that a test starts would do the jobs of another's tenants while it looks.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def _wait_for_no_disk(url: str) -> None:
    # What a test commits is there for all to see at once, as ever; it need not outlive the machine.
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_commit = off")
        connection.execute("SELECT pg_reload_conf()")


def _start() -> None:
    from deploy.database import prepare, prepare_embedded
    from deploy.embedded import EmbeddedPostgres

    folder = Path(tempfile.mkdtemp(prefix="palimpsest-tests-"))
    folder.chmod(0o755)
    (folder / "static").mkdir()
    os.environ["DATA_DIR"] = str(folder)
    os.environ.setdefault("SECRET_KEY", "for-the-tests-only-" * 3)
    os.environ.setdefault("FAILED_LOGIN_LIMIT", "100000")
    os.environ.setdefault("RATE_LIMIT", "100000")
    external = os.environ.get("TEST_DATABASE_URL")
    if external:
        logins = prepare(external, folder)
    else:
        server = EmbeddedPostgres(folder)
        server.start()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(server.stop)
        logins = prepare_embedded(server)
        os.environ["ADMIN_DATABASE_URL"] = server.url("postgres")
        _wait_for_no_disk(server.url("postgres"))
    os.environ["DATABASE_URL"] = logins.runtime_url
    for name, url in (
        ("OWNER_DATABASE_URL", logins.owner_url),
        ("QUEUE_DATABASE_URL", logins.queue_url),
        ("BACKUP_DATABASE_URL", logins.backup_url),
    ):
        assert url is not None, name
        os.environ[name] = url
    subprocess.run(
        [
            sys.executable,
            "manage.py",
            "migrate",
            "--database",
            "owner",
            "--verbosity",
            "0",
            "--skip-checks",
        ],
        check=True,
    )


# The first process of a parallel run starts one, too: it reads the settings, and runs no test. A
# server that was named is shared: preparing it again would change the passwords under the others.
_PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "alone")
_STARTED = os.environ.get("TEST_CLUSTER")
if _STARTED is None or (_STARTED != _PROCESS and "TEST_DATABASE_URL" not in os.environ):
    _start()
    os.environ["TEST_CLUSTER"] = _PROCESS
