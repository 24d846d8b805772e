"""What each database login may do, and which of them no server process may use."""

import shutil
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deploy import database
from deploy.database import UnfitDatabase, prepare, prepare_cluster, prepare_embedded
from deploy.embedded import EmbeddedPostgres
from deploy.guards import UnsafeLogin, refuse_unsafe_login, role_settings, unsafe_login

DOOR_ROLES = ["palimpsest_member", "palimpsest_judge", "palimpsest_reviewer"]


@pytest.fixture(scope="module")
def server():
    """An embedded server of this file's own."""
    folder = Path(tempfile.mkdtemp(prefix="roles-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(folder / "var") as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def logins(server):
    return prepare_embedded(server)


@pytest.fixture
def admin(server, logins):
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(logins):
    with psycopg.connect(logins.owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def runtime(logins):
    with psycopg.connect(logins.runtime_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def backup(logins):
    with psycopg.connect(logins.backup_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def notes(owner):
    """A table as ours are: one row, forced row-level security, readable by members."""
    owner.execute("CREATE TABLE notes (text text)")
    owner.execute("INSERT INTO notes VALUES ('one')")
    owner.execute("ALTER TABLE notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    owner.execute("GRANT SELECT ON notes TO palimpsest_member")
    owner.execute("CREATE POLICY all_read ON notes FOR SELECT TO palimpsest_member USING (true)")
    yield "notes"
    owner.execute("DROP TABLE notes")


@pytest.fixture
def login_as(server, admin):
    """Make a login with the given attributes and memberships, and log in as it."""
    made: list[str] = []
    connections: list[psycopg.Connection] = []

    def log_in(name, attributes="", *grants):
        admin.execute(f"CREATE ROLE {name} LOGIN {attributes}")
        made.append(name)
        for grant in grants:
            admin.execute(f"GRANT {grant.replace('TO', f'TO {name}')}")
        admin.execute(f"GRANT CONNECT ON DATABASE palimpsest TO {name}")
        opened = psycopg.connect(server.url("postgres"), autocommit=True)
        opened.execute(f"SET SESSION AUTHORIZATION {name}")
        connections.append(opened)
        return opened

    yield log_in
    for connection in connections:
        connection.close()
    for name in made:
        admin.execute(f"DROP OWNED BY {name} CASCADE")
        admin.execute(f"DROP ROLE {name}")


def rows(connection, query, *params):
    return connection.execute(query, params).fetchall()


@pytest.mark.rule("T020")
def test_roles_have_the_attributes_they_need_and_no_others(admin):
    found = rows(
        admin,
        "SELECT substr(rolname, 12), rolcanlogin, rolbypassrls FROM pg_roles "
        "WHERE rolname LIKE 'palimpsest%%' AND NOT (rolsuper OR rolcreaterole OR rolcreatedb "
        "OR rolreplication OR rolinherit) ORDER BY rolname",
    )

    assert found == [
        ("backup", True, True),
        ("judge", False, False),
        ("member", False, False),
        ("owner", True, True),
        ("queue", True, False),
        ("reviewer", False, False),
        ("runtime", True, False),
        ("search", False, False),
    ]


@pytest.mark.rule("T020")
def test_roles_are_members_of_exactly_these(admin):
    found = rows(
        admin,
        "SELECT member::regrole::text, roleid::regrole::text, admin_option, inherit_option, "
        "set_option FROM pg_auth_members WHERE member::regrole::text LIKE 'palimpsest%%' "
        "OR roleid::regrole::text LIKE 'palimpsest%%' ORDER BY 1, 2",
    )

    assert found == [
        ("palimpsest_backup", "pg_read_all_data", False, True, False),
        ("palimpsest_owner", "palimpsest_search", False, True, True),
        ("palimpsest_runtime", "palimpsest_judge", False, False, True),
        ("palimpsest_runtime", "palimpsest_member", False, False, True),
        ("palimpsest_runtime", "palimpsest_reviewer", False, False, True),
    ]


@pytest.mark.rule("T020")
def test_only_the_owner_creates_anything(admin):
    found = rows(
        admin,
        "SELECT rolname, has_database_privilege(rolname, current_database(), 'TEMPORARY'), "
        "has_database_privilege(rolname, current_database(), 'CREATE'), "
        "has_schema_privilege(rolname, 'public', 'CREATE') "
        "FROM pg_roles WHERE rolname LIKE 'palimpsest%%'",
    )

    assert {name for name, *may in found if any(may)} == {"palimpsest_owner"}
    assert len(found) == 8
    assert (
        rows(
            admin,
            "SELECT * FROM pg_database WHERE datname = current_database() "
            "AND array_to_string(datacl, ' ') ~ '(^| )='",
        )
        == []
    )


def test_a_role_that_is_not_ours_does_not_get_in(server, admin):
    admin.execute("CREATE ROLE stranger LOGIN")
    found = rows(admin, "SELECT has_database_privilege('stranger', 'palimpsest', 'CONNECT')")
    admin.execute("DROP ROLE stranger")

    assert found == [(False,)]


def test_runtime_reads_nothing_itself_and_as_member_what_the_policy_shows(runtime, notes):
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="table notes"):
        runtime.execute("SELECT * FROM notes")

    runtime.execute("SET ROLE palimpsest_member")
    assert rows(runtime, "SELECT * FROM notes") == [("one",)]

    runtime.execute("SET ROLE palimpsest_judge")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="table notes"):
        runtime.execute("SELECT * FROM notes")


@pytest.mark.parametrize("name", ["owner", "search", "backup", "queue"])
def test_runtime_does_not_become_what_row_security_does_not_bind(runtime, name):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        runtime.execute(f"SET ROLE palimpsest_{name}")


@pytest.mark.rule("T038")
@pytest.mark.parametrize("role", ["none", *DOOR_ROLES])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TEMP TABLE notes (text text)",
        "CREATE TEMP VIEW notes AS SELECT 1",
        "CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE TABLE public.notes (text text)",
        "CREATE SCHEMA evil",
    ],
)
def test_nothing_can_be_put_before_the_real_tables(runtime, role, statement):
    runtime.execute(f"SET ROLE {role}")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        runtime.execute(statement)


@pytest.mark.rule("T044")
@pytest.mark.parametrize("role", ["none", *DOOR_ROLES])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('.')",
        "COPY (SELECT 1) TO PROGRAM 'cat'",
        "COPY (SELECT 1) TO '/tmp/out'",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_create(0)",
        "SELECT lo_creat(-1)",
        "SELECT lo_from_bytea(0, 'x')",
        "CREATE EXTENSION dblink",
        "CREATE EXTENSION hstore",
        "SET session_replication_role = replica",
        "ALTER SYSTEM SET fsync = off",
        "ALTER DATABASE palimpsest SET search_path = evil",
        "ALTER ROLE palimpsest_runtime BYPASSRLS",
        "SELECT rolpassword FROM pg_authid",
        "SELECT pg_reload_conf()",
    ],
)
def test_files_programs_and_the_server_are_out_of_reach(runtime, role, statement):
    runtime.execute(f"SET ROLE {role}")

    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFile)) as why:
        runtime.execute(statement)

    # The wheel has not all of contrib; where it has, the right is what is missing.
    assert why.type is psycopg.errors.InsufficientPrivilege or "EXTENSION" in statement


def test_backup_reads_all_rows_and_writes_none(backup, notes):
    assert rows(backup, "SELECT * FROM notes") == [("one",)]

    backup.execute("SET default_transaction_read_only = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        backup.execute("INSERT INTO notes VALUES ('two')")


def test_backup_logs_in_read_only(backup):
    assert rows(backup, "SHOW transaction_read_only") == [("on",)]


def test_the_owner_replaces_a_function_that_search_owns(owner):
    define = "CREATE OR REPLACE FUNCTION found() RETURNS int LANGUAGE sql AS 'SELECT {}'"
    owner.execute(define.format(1))
    owner.execute("GRANT CREATE ON SCHEMA public TO palimpsest_search")
    owner.execute("ALTER FUNCTION found() OWNER TO palimpsest_search")
    owner.execute("REVOKE CREATE ON SCHEMA public FROM palimpsest_search")

    owner.execute(define.format(2))

    assert rows(owner, "SELECT found()") == [(2,)]
    owner.execute("DROP FUNCTION found()")


@pytest.mark.rule("T119")
def test_a_forgotten_transaction_ends_after_fifteen_seconds(runtime):
    assert rows(runtime, "SHOW idle_in_transaction_session_timeout") == [("15s",)]


@pytest.mark.rule("T039")
@pytest.mark.parametrize("role", ["none", *DOOR_ROLES])
def test_a_role_that_changed_its_own_defaults_is_named_until_it_is_healed(runtime, admin, role):
    assert role_settings(runtime) == []
    runtime.execute(f"SET ROLE {role}")
    victim = "palimpsest_runtime" if role == "none" else role

    runtime.execute("ALTER ROLE CURRENT_USER SET search_path = evil")
    runtime.execute(f"ALTER ROLE {victim} IN DATABASE palimpsest SET row_security = off")
    found = role_settings(runtime)

    assert [setting.split(":")[0] for setting in found] == [
        f"{victim} has search_path set in every database",
        f"{victim} has row_security set in palimpsest",
    ]
    for setting in found:
        admin.execute(setting.split(": ")[1])
    assert role_settings(runtime) == []


@pytest.mark.rule("T047")
def test_runtime_may_start_a_server_process(runtime):
    assert unsafe_login(runtime) == []
    refuse_unsafe_login(runtime)


@pytest.mark.rule("T047")
@pytest.mark.parametrize(
    ("attributes", "grants", "reason"),
    [
        ("SUPERUSER", [], "guest is a superuser"),
        ("BYPASSRLS", [], "guest bypasses row-level security"),
        ("CREATEROLE", [], "guest may create roles or databases, or replicate"),
        ("", ["palimpsest_owner TO WITH INHERIT FALSE, SET TRUE"],
         "guest is a member of palimpsest_owner, which bypasses row-level security"),
        ("", ["palimpsest_owner TO WITH INHERIT FALSE, SET FALSE, ADMIN TRUE"],
         "guest is a member of palimpsest_owner, which owns the database or a schema in it"),
        ("", ["palimpsest_search TO WITH INHERIT FALSE, SET TRUE"],
         "guest is a member of palimpsest_search, which no server process may become"),
        ("", ["pg_read_server_files TO"],
         "guest is a member of pg_read_server_files, which no server process may become"),
        ("", ["palimpsest_member TO WITH INHERIT TRUE"],
         "guest has the rights of palimpsest_member at all times, not only behind the door"),
    ],
)  # fmt: skip
def test_a_login_that_row_security_does_not_bind_may_not(login_as, attributes, grants, reason):
    guest = login_as("guest", attributes, *grants)

    assert reason in unsafe_login(guest)
    with pytest.raises(UnsafeLogin, match=reason) as end:
        refuse_unsafe_login(guest)
    assert end.value.code not in (0, None)


@pytest.mark.rule("T047")
def test_a_login_that_owns_a_table_may_not(login_as, admin):
    guest = login_as("guest")
    assert unsafe_login(guest) == []

    admin.execute("CREATE TABLE theirs ()")
    admin.execute("ALTER TABLE theirs OWNER TO guest")

    assert unsafe_login(guest) == ["guest owns tables, views or sequences"]


@pytest.mark.rule("T047")
def test_the_owner_and_the_backup_may_not(owner, backup):
    assert "palimpsest_owner bypasses row-level security" in unsafe_login(owner)
    assert "palimpsest_backup bypasses row-level security" in unsafe_login(backup)


@pytest.mark.rule("T047")
def test_a_session_with_row_security_off_may_not(runtime):
    runtime.execute("SET row_security = off")

    assert unsafe_login(runtime) == ["row_security is off for this session"]


def test_a_role_that_was_set_does_not_hide_the_login(login_as):
    guest = login_as("guest", "", "palimpsest_owner TO", "palimpsest_member TO")
    guest.execute("SET ROLE palimpsest_member")

    assert any("palimpsest_owner, which bypasses" in reason for reason in unsafe_login(guest))


def test_preparing_again_heals_a_drift_and_keeps_the_data(server, admin, notes, runtime):
    admin.execute("ALTER ROLE palimpsest_runtime SUPERUSER INHERIT")
    admin.execute("GRANT TEMPORARY ON DATABASE palimpsest TO PUBLIC")
    admin.execute("GRANT palimpsest_member TO palimpsest_runtime WITH INHERIT TRUE")
    assert unsafe_login(runtime) != []

    prepare_embedded(server)

    assert unsafe_login(runtime) == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        runtime.execute("CREATE TEMP TABLE t ()")
    assert rows(admin, "SELECT * FROM notes") == [("one",)]


def test_two_may_prepare_at_once(server, logins):
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(prepare_embedded, [server] * 4)) == [logins] * 4


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OLDEST_POSTGRES", 99, r"PostgreSQL 18\.\d+; 99 or newer is needed"),
        ("OLDEST_VECTOR", (9, 1), r"pgvector 0\.8\.\d; 9\.1 or newer is needed"),
    ],
)
def test_too_old_a_server_is_refused_with_both_versions(server, monkeypatch, name, value, message):
    monkeypatch.setattr(database, name, value)

    with pytest.raises(UnfitDatabase, match=message):
        prepare_cluster(server.url("postgres", "postgres"))


@pytest.fixture(scope="module")
def foreign():
    """A server as others run it: our logins and an administrator come with passwords."""
    folder = Path(tempfile.mkdtemp(prefix="foreign-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(folder / "var") as running:
        with psycopg.connect(running.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(
                "CREATE ROLE dba LOGIN CREATEROLE CREATEDB BYPASSRLS PASSWORD 'dba''s own'"
            )
            (running.data / "pg_hba.conf").write_text(
                "local all postgres peer map=palimpsest\nlocal all all scram-sha-256\n"
            )
            connection.execute("SELECT pg_reload_conf()")
        yield running
    shutil.rmtree(folder)


@pytest.fixture
def fresh(foreign):
    """The same server before anybody prepared it."""
    yield foreign
    with psycopg.connect(foreign.url("postgres", "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS palimpsest WITH (FORCE)")
        for (role,) in rows(
            connection, "SELECT rolname FROM pg_roles WHERE rolname LIKE 'palimpsest%%'"
        ):
            connection.execute(f"DROP OWNED BY {role} CASCADE")
            connection.execute(f"DROP ROLE {role}")


def test_on_a_foreign_server_the_logins_get_passwords_that_only_we_read(fresh, tmp_path):
    first = prepare(fresh.url("postgres", "postgres"), tmp_path)
    kept = tmp_path / "database.json"

    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for url in (first.owner_url, first.runtime_url, first.queue_url, first.backup_url):
        assert url is not None
        with psycopg.connect(url) as connection:
            assert connection.info.password in kept.read_text()
            assert connection.info.dbname == "palimpsest"
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(make_conninfo(first.runtime_url, password="guess"))
    assert prepare(fresh.url("postgres", "postgres"), tmp_path) == first


def test_another_data_dir_does_not_change_passwords_that_others_use(fresh, tmp_path):
    first = prepare(fresh.url("postgres", "postgres"), tmp_path / "one")

    with pytest.raises(UnfitDatabase, match="already"):
        prepare(fresh.url("postgres", "postgres"), tmp_path / "two")
    psycopg.connect(first.runtime_url).close()

    second = prepare(fresh.url("postgres", "postgres"), tmp_path / "two", new_passwords=True)
    psycopg.connect(second.runtime_url).close()
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(first.runtime_url)


def test_the_runtime_login_is_taken_as_it_is(fresh, tmp_path):
    prepared = prepare(fresh.url("postgres", "postgres"), tmp_path / "one")

    here = prepare(prepared.runtime_url, tmp_path / "two")

    assert here.runtime_url == prepared.runtime_url
    assert (here.owner_url, here.queue_url, here.backup_url) == (None, None, None)
    assert not (tmp_path / "two").exists()


def test_an_administrator_who_is_no_superuser_needs_one_for_vector_only(fresh, tmp_path):
    as_dba = make_conninfo(fresh.url("dba", "postgres"), password="dba's own")

    with pytest.raises(UnfitDatabase, match="let a superuser run CREATE EXTENSION vector"):
        prepare(as_dba, tmp_path)
    with psycopg.connect(fresh.url("postgres")) as superuser:
        superuser.execute("CREATE EXTENSION vector SCHEMA public")
    found = prepare(as_dba, tmp_path)

    with psycopg.connect(found.runtime_url) as runtime:
        assert unsafe_login(runtime) == []
    assert conninfo_to_dict(found.runtime_url)["user"] == "palimpsest_runtime"
    with (
        psycopg.connect(make_conninfo(as_dba, dbname="palimpsest")) as dba,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        dba.execute("SET ROLE palimpsest_owner")
