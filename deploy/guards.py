"""What must hold of the database and of a login before a server process works with it."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

OLDEST_POSTGRES = 16  # its memberships tell INHERIT from SET
OLDEST_VECTOR = (0, 8, 4)  # its vacuum no longer damages an index under concurrent inserts

# Who may become it, has it: whatever the kind of membership, hence MEMBER.
_POWERS = """
SELECT role.rolname,
       array_remove(ARRAY[
           CASE WHEN role.rolsuper THEN 'is a superuser' END,
           CASE WHEN role.rolbypassrls THEN 'bypasses row-level security' END,
           CASE WHEN role.rolcreaterole OR role.rolcreatedb OR role.rolreplication
                THEN 'may create roles or databases, or replicate' END,
           CASE WHEN EXISTS (SELECT FROM pg_class WHERE relowner = role.oid)
                THEN 'owns tables, views or sequences' END,
           CASE WHEN EXISTS (SELECT FROM pg_namespace WHERE nspowner = role.oid)
                  OR EXISTS (SELECT FROM pg_database
                              WHERE datdba = role.oid AND datname = current_database())
                THEN 'owns the database or a schema in it' END,
           CASE WHEN role.rolname = 'palimpsest_search' OR role.rolname LIKE 'pg\\_%'
                THEN 'no server process may become' END
       ], NULL)
  FROM pg_roles role
  JOIN pg_roles login ON login.rolname = session_user
 WHERE pg_has_role(login.oid, role.oid, 'MEMBER')
   AND (role.oid = login.oid OR NOT login.rolsuper)  -- a superuser is a member of every role
 ORDER BY role.oid <> login.oid, role.rolname
"""
_INHERITED = """
SELECT rolname FROM pg_roles
 WHERE rolname LIKE 'palimpsest\\_%' AND rolname <> session_user
   AND pg_has_role(session_user, oid, 'USAGE')
   AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
 ORDER BY rolname
"""
_ROLE_SETTINGS = """
SELECT role.rolname, coalesce(pg_database.datname, 'every database'), setting
  FROM pg_db_role_setting stored
  JOIN pg_roles role ON role.oid = stored.setrole
  LEFT JOIN pg_database ON pg_database.oid = stored.setdatabase
 CROSS JOIN unnest(stored.setconfig) setting
 WHERE role.rolname LIKE 'palimpsest\\_%' OR role.rolname = session_user
 ORDER BY 1, 2, 3
"""


class Connection(Protocol):
    """What the guards use of a connection, psycopg's or Django's."""

    def cursor(self) -> AbstractContextManager[Any]: ...


class UnsafeLogin(SystemExit):
    """The process ends, not with success, and says why."""


def refuse_unsafe_login(connection: Connection) -> None:
    """
    End this process if it must not run with its database login.

    :raises UnsafeLogin: with all the reasons
    """
    reasons = unsafe_login(connection)
    if reasons:
        lines = "".join(f"\n- {reason}" for reason in reasons)
        raise UnsafeLogin(
            f"Refusing to start: this database login would not keep tenants apart.{lines}\n"
            "Give server processes the login palimpsest_runtime; palimpsest_owner only migrates."
        )


def unsafe_login(connection: Connection) -> list[str]:
    """Return why no server process may run with this login; nothing if it may."""
    reasons = unfit_server(connection)
    if _rows(connection, "SELECT current_setting('row_security')") == [("off",)]:
        reasons.append("row_security is off for this session")
    [(login,)] = _rows(connection, "SELECT session_user")
    for role, powers in _rows(connection, _POWERS):
        who = role if role == login else f"{login} is a member of {role}, which"
        reasons += [f"{who} {power}" for power in powers]
    for (name,) in _rows(connection, _INHERITED):
        reasons.append(f"{login} has the rights of {name} at all times, not only behind the door")
    return reasons


def unfit_server(connection: Connection) -> list[str]:
    """Return what makes this server and its pgvector too old for the product."""
    reasons = []
    [(number, version)] = _rows(
        connection,
        "SELECT current_setting('server_version_num')::int, current_setting('server_version')",
    )
    if number // 10000 < OLDEST_POSTGRES:
        reasons.append(f"PostgreSQL {version} found, {OLDEST_POSTGRES} or newer needed")
    needed = ".".join(map(str, OLDEST_VECTOR))
    found = _rows(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if not found:
        reasons.append(f"the extension vector is not installed, {needed} or newer needed")
    elif parsed(found[0][0]) < OLDEST_VECTOR:
        reasons.append(f"pgvector {found[0][0]} found, {needed} or newer needed")
    return reasons


def role_settings(connection: Connection) -> list[str]:
    """
    Return the settings stored for our roles, of which there must be none.

    A role may change its own defaults, which nothing can forbid: one statement by an intruder sets
    every later session's search_path. So readiness asks, and an operator heals with RESET ALL.
    """
    return [
        f"{role} has {setting.split('=', 1)[0]} set in {database}: "
        f"ALTER ROLE {role} {'' if database == 'every database' else f'IN DATABASE {database} '}"
        "RESET ALL"
        for role, database, setting in _rows(connection, _ROLE_SETTINGS)
    ]


def parsed(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as 0.8.6."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
