"""
The product's database on a server: its roles, logins and extensions, made by an administrator.

Where DATABASE_URL names an administrative login, the product makes its own logins and keeps their
passwords in DATA_DIR/database.json. Where it names palimpsest_runtime, somebody else prepared the
database, and it is only checked. The embedded server needs no passwords at all.
"""

import argparse
import logging
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deploy.embedded import EmbeddedPostgres
from deploy.guards import OLDEST_POSTGRES, OLDEST_VECTOR, parsed, unfit_server
from deploy.secrets_store import keep_secrets, read_secrets

logger = logging.getLogger(__name__)

LOGINS = ("palimpsest_owner", "palimpsest_runtime", "palimpsest_queue", "palimpsest_backup")
EXTENSIONS = ("vector", "pg_trgm", "ltree", "unaccent", "btree_gin")
SAFE_MINORS = {16: 16, 17: 12, 18: 7}  # the first without known holes; older ones are warned of
READ_ONLY = "-c default_transaction_read_only=on"
_ONE_AT_A_TIME = 7_285_465_137  # an advisory lock's number, any that nobody else takes
_LEAVE_THE_OWNERS_PLACE = """
DO $$ BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('REVOKE palimpsest_owner FROM %I', current_user);
    END IF;
END $$
"""  # where roles.sql puts an administrator who is no superuser
_CREDENTIALS = ("user", "password", "dbname", "passfile", "sslcert", "sslkey", "options")


class UnfitDatabase(RuntimeError):
    """The database cannot be used as it is; the message says what to do."""


@dataclass(frozen=True)
class Logins:
    """The product's logins as libpq URLs; those that nobody told us of are None."""

    owner_url: str | None
    runtime_url: str
    queue_url: str | None
    backup_url: str | None


def prepare(admin_url: str, data_dir: Path, *, new_passwords: bool = False) -> Logins:
    """
    Prepare the database of DATABASE_URL, and return the product's own logins to it.

    If the URL's login is palimpsest_runtime already, nothing can be prepared: the database is only
    checked, the URL returned as it is, and the other logins only if DATA_DIR knows them.

    :param new_passwords: take over logins whose passwords another DATA_DIR keeps, and change them
    :raises UnfitDatabase: if something is missing that this login cannot provide
    """
    database = _database_of(admin_url)
    passwords_file = data_dir / "database.json"
    passwords = read_secrets(passwords_file)
    with _connect_anywhere(admin_url, database) as connection:
        is_runtime = connection.execute("SELECT session_user").fetchone() == ("palimpsest_runtime",)
        known = connection.execute(
            "SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s)", [list(LOGINS)]
        ).fetchone()
    if is_runtime:
        _check(admin_url)
        urls = {
            login: _url(admin_url, login, database, passwords.get(login)) for login in passwords
        }
        return _logins(urls | {"palimpsest_runtime": admin_url})
    if known != (0,) and not passwords and not new_passwords:
        raise UnfitDatabase(
            "the server has our logins already, but their passwords are not in "
            f"{passwords_file}: copy that file from where it was made, or give the URL of "
            "palimpsest_runtime, or run python -m deploy.database --new-passwords, which locks out "
            "whoever uses the old ones"
        )
    if not passwords or new_passwords:
        passwords = {login: secrets.token_urlsafe(32) for login in LOGINS}
        keep_secrets(passwords_file, passwords)
    prepare_cluster(admin_url, database)
    _set_passwords(admin_url, database, passwords)
    return _logins({login: _url(admin_url, login, database, passwords[login]) for login in LOGINS})


def prepare_embedded(server: EmbeddedPostgres) -> Logins:
    """Prepare the database of the running embedded server, and return the logins to it."""
    # Its version comes with our own lock, and nobody but this machine's user reaches it.
    prepare_cluster(server.url("postgres", "postgres"), known=True)
    return _logins({login: server.url(login) for login in LOGINS})


def prepare_cluster(admin_url: str, database: str = "palimpsest", *, known: bool = False) -> None:
    """
    Create the roles, the database and its extensions, or bring them back to what they should be.

    :param admin_url: an administrative login: a superuser, or one with CREATEROLE, CREATEDB and
        BYPASSRLS on a server where a superuser has created the extension vector
    :param known: say nothing about a version that is not the newest
    :raises UnfitDatabase: if the server is too old, or the login may not do all that
    """
    with _connect_anywhere(admin_url, database) as connection:
        _check_version(connection, known=known)
        _check_vector_is_offered(connection)
        connection.execute("SELECT pg_advisory_lock(%s)", [_ONE_AT_A_TIME])
        if not connection.execute(
            "SELECT FROM pg_database WHERE datname = %s", [database]
        ).fetchall():
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(
                    sql.Identifier(database)
                )
            )
    with psycopg.connect(make_conninfo(admin_url, dbname=database)) as inside:
        inside.execute("SELECT pg_advisory_lock(%s)", [_ONE_AT_A_TIME])
        _prepare_inside(inside)


def _prepare_inside(connection: psycopg.Connection) -> None:
    connection.add_notice_handler(lambda notice: logger.warning("%s", notice.message_primary))
    connection.execute("SET client_min_messages = warning")
    try:
        connection.execute(Path(__file__).with_name("roles.sql").read_bytes())
    except psycopg.errors.InsufficientPrivilege as refusal:
        raise UnfitDatabase(
            f"the login {connection.info.user} may not prepare the database "
            f"({refusal.diag.message_primary}): run this once as a superuser, or as a role with "
            "CREATEROLE, CREATEDB and BYPASSRLS that owns the database"
        ) from refusal
    connection.commit()
    try:
        for extension in EXTENSIONS:
            _install(connection, extension)
    finally:
        connection.execute(_LEAVE_THE_OWNERS_PLACE)
        connection.commit()
    if connection.execute(
        "SELECT FROM pg_database WHERE datname = current_database() AND datctype IN ('C', 'POSIX')"
    ).fetchall():
        logger.warning(
            "the database's LC_CTYPE is C: searching Chinese, Japanese, Korean or accented text "
            "for parts of words will find nothing"
        )


def _check_version(connection: psycopg.Connection, *, known: bool) -> None:
    number = connection.info.server_version
    major, minor = divmod(number, 10000)
    if major < OLDEST_POSTGRES:
        raise UnfitDatabase(
            f"this server is PostgreSQL {major}.{minor}; {OLDEST_POSTGRES} or newer is needed"
        )
    if not known and minor < SAFE_MINORS.get(major, 0):
        logger.warning(
            "PostgreSQL %d.%d has known security holes: upgrade to %d.%d",
            *(major, minor, major, SAFE_MINORS[major]),
        )


def _check_vector_is_offered(connection: psycopg.Connection) -> None:
    needed = ".".join(map(str, OLDEST_VECTOR))
    offered = connection.execute(
        "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if offered is None:
        raise UnfitDatabase(
            f"this server has no pgvector: install {needed} or newer on its machine"
        )
    if parsed(offered[0]) < OLDEST_VECTOR:
        raise UnfitDatabase(f"this server has pgvector {offered[0]}; {needed} or newer is needed")


def _install(connection: psycopg.Connection, extension: str) -> None:
    name = sql.Identifier(extension)
    try:
        with connection.transaction():
            connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {} SCHEMA public").format(name)
            )
            found = connection.execute(
                "SELECT extversion FROM pg_extension WHERE extname = %s", [extension]
            ).fetchone()
            if extension == "vector" and found is not None and parsed(found[0]) < OLDEST_VECTOR:
                connection.execute(sql.SQL("ALTER EXTENSION {} UPDATE").format(name))
    except psycopg.errors.InsufficientPrivilege as refusal:
        raise UnfitDatabase(
            f"the login {connection.info.user} may not install {extension}: let a superuser run "
            f"CREATE EXTENSION {extension} SCHEMA public; in {connection.info.dbname}, "
            "then start again"
        ) from refusal


def _check(url: str) -> None:
    """Make sure that a database which others prepared is fit."""
    with psycopg.connect(url) as connection:
        _check_version(connection, known=False)
        missing = unfit_server(connection)
    if missing:
        raise UnfitDatabase("; ".join(missing) + ": let its administrator prepare the database")


def _set_passwords(admin_url: str, database: str, passwords: dict[str, str]) -> None:
    with psycopg.connect(make_conninfo(admin_url, dbname=database)) as connection:
        for login, password in passwords.items():
            # Hashed here, for the server's log might keep the statement.
            verifier = connection.pgconn.encrypt_password(
                password.encode(), login.encode(), b"scram-sha-256"
            )
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                    sql.Identifier(login), sql.Literal(verifier.decode())
                )
            )


def _connect_anywhere(admin_url: str, database: str) -> psycopg.Connection:
    """Connect to the database, or to the server's own one as long as ours does not exist."""
    try:
        return psycopg.connect(make_conninfo(admin_url, dbname=database), autocommit=True)
    except psycopg.OperationalError as refusal:
        elsewhere = conninfo_to_dict(admin_url).get("dbname") or "postgres"
        if elsewhere == database:
            elsewhere = "postgres"
        try:
            return psycopg.connect(make_conninfo(admin_url, dbname=elsewhere), autocommit=True)
        except psycopg.OperationalError:
            raise UnfitDatabase(f"no connection with DATABASE_URL: {refusal}") from refusal


def _database_of(url: str) -> str:
    """Return the database's name in the URL; the server's own ones are not for our tables."""
    named = conninfo_to_dict(url).get("dbname")
    return "palimpsest" if named in (None, "", "postgres", "template1") else str(named)


def _url(admin_url: str, login: str, database: str, password: str | None) -> str:
    """Return the administrator's URL with another login, and none of his credentials."""
    place = {
        key: str(value)
        for key, value in conninfo_to_dict(admin_url).items()
        if key not in _CREDENTIALS
    }
    secret = "" if password is None else f":{quote(password, safe='')}"
    query = urlencode(place, quote_via=quote)
    return f"postgresql://{login}{secret}@/{quote(database, safe='')}" + (query and f"?{query}")


def _logins(urls: dict[str, str]) -> Logins:
    backup = urls.get("palimpsest_backup")
    if backup is not None:
        # In the URL, since a setting stored for the role would count as sabotage.
        joined = "&" if "?" in backup else "?"
        backup += f"{joined}options={quote(READ_ONLY)}"
    return Logins(
        owner_url=urls.get("palimpsest_owner"),
        runtime_url=urls["palimpsest_runtime"],
        queue_url=urls.get("palimpsest_queue"),
        backup_url=backup,
    )


def _main() -> None:
    """Prepare the database of DATABASE_URL by hand."""
    parser = argparse.ArgumentParser(description=_main.__doc__)
    parser.add_argument("--new-passwords", action="store_true")
    chosen = parser.parse_args()
    data_dir = Path(os.environ.get("DATA_DIR", "var"))
    try:
        prepare(os.environ["DATABASE_URL"], data_dir, new_passwords=chosen.new_passwords)
    except KeyError:
        sys.exit("DATABASE_URL is not set")
    except UnfitDatabase as unfit:
        sys.exit(str(unfit))


if __name__ == "__main__":
    _main()
