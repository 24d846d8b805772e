"""What the logins may do with PostgreSQL itself: nothing that leads around the policies."""

import psycopg
import pytest

from deploy.guards import role_settings
from tests.promises.catalogue import tenant_tables
from tests.promises.raw import DOOR_ROLES, REFUSED, Who, column, door, enter, login, outcome
from tests.promises.sight import readable

HERE = "palimpsest%"


@pytest.mark.rule("VI-01", "T020")
def test_no_role_of_ours_is_above_row_security_but_owner_and_backup(owner):
    above = column(
        owner,
        "SELECT rolname::text FROM pg_roles WHERE rolname LIKE %s AND (rolsuper OR"
        " rolbypassrls OR rolcreaterole"
        " OR rolcreatedb OR rolreplication) ORDER BY 1",
        [HERE],
    )
    assert above == ["palimpsest_backup", "palimpsest_owner"]


@pytest.mark.rule("T020")
def test_nobody_owns_anything_but_the_owner_and_the_search_role(owner):
    owners = column(
        owner,
        "SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relnamespace ="
        " 'public'::regnamespace",
    )
    assert owners == ["palimpsest_owner"]
    assert role_settings(owner) == []


@pytest.mark.rule("T020")
def test_the_runtime_login_has_only_these_rights_of_its_own(owner):
    """Global tables that log-ins and sessions need; not one row of a tenant."""
    granted = column(
        owner,
        "SELECT c.relname || ' ' || string_agg(DISTINCT lower(g.privilege_type), ' ' ORDER BY"
        " lower(g.privilege_type))"
        " FROM pg_class c, aclexplode(c.relacl) g WHERE g.grantee = 'palimpsest_runtime'::regrole"
        " AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname ORDER BY 1",
    )
    for line in granted:
        table, *rights = line.split()
        assert table not in tenant_tables(owner), line
        assert not {"truncate", "references", "trigger", "maintain"} & set(rights), line


@pytest.mark.rule("T036")
@pytest.mark.parametrize("role", [*DOOR_ROLES, "none"])
def test_no_other_way_of_reading_shows_another_tenants_rows(runtime, world, role):
    who = Who(world.a.id, world.a.members["senior"], role=role)
    mine = readable(world, who) if role != "none" else set()
    for statement in (
        "SELECT id FROM memories TABLESAMPLE SYSTEM (100)",
        "SELECT id FROM memories WHERE ctid >= '(0,1)'",
        "SELECT id FROM memories WHERE xmin IS NOT NULL AND tableoid = 'memories'::regclass",
        "WITH all_of_them AS MATERIALIZED (SELECT * FROM memories) SELECT id FROM all_of_them",
        "SELECT (m).id FROM (SELECT m FROM memories m) whole",
        "SELECT id FROM ONLY memories",
        "SELECT m.id FROM memories m FULL JOIN memories n ON false WHERE m.id IS NOT NULL",
    ):
        assert outcome(runtime, who, statement) in (mine, REFUSED), statement


@pytest.mark.rule("T036")
@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE memories",
        "TRUNCATE memories CASCADE",
        "LOCK TABLE memories IN ACCESS EXCLUSIVE MODE",
        "COPY memories (id) FROM STDIN",
        "CREATE INDEX ON memories (id)",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY only_this_tenant ON memories",
        "CREATE POLICY mine ON memories USING (true)",
        (
            "CREATE TRIGGER t BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION"
            " suppress_redundant_updates_trigger()"
        ),
        "CREATE RULE r AS ON SELECT TO memories DO INSTEAD NOTHING",
        "CREATE VIEW public.v AS SELECT * FROM memories",
        "COMMENT ON TABLE memories IS 'x'",
        "MERGE INTO memories m USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE",
        (
            "SELECT nearest_exactly('[1,0,0]', 'promises', 'everything', NULL, '{live}', true,"
            " NULL, 9)"
        ),
        "SELECT * FROM authenticate('x')",
        "SELECT * FROM seats_of(gen_random_uuid())",
        "SELECT take_job(gen_random_uuid(), '1 day')",
        "SELECT nextval('memories_sequence_seq')",
        "SELECT last_value FROM events_sequence_seq",
    ],
)
def test_what_is_not_for_callers_is_refused(runtime, world, statement):
    for role in DOOR_ROLES:
        assert outcome(
            runtime, Who(world.a.id, world.a.members["admin"], role=role), statement
        ) in (
            REFUSED,
            "0A000",  # COPY FROM is not there under row-level security
        )


@pytest.mark.rule("T036")
def test_copying_out_is_filtered_and_explaining_tells_no_more(runtime, world):
    who = world.a.who("senior")
    with (
        door(runtime, who),
        runtime.cursor().copy("COPY (SELECT id FROM memories) TO STDOUT") as copy,
    ):
        copied = {bytes(line).decode().strip() for line in copy}
    assert copied == {str(memory) for memory in readable(world, who)}
    with door(runtime, who), runtime.cursor().copy("COPY memories (tenant_id) TO STDOUT") as copy:
        assert {bytes(line).decode().strip() for line in copy} == {str(world.a.id)}
    with door(runtime, who):
        plan = "\n".join(column(runtime, "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM memories"))
    assert world.b.canary not in plan
    assert str(world.b.id) not in plan


@pytest.mark.rule("T038")
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TEMP TABLE memories (id uuid)",
        "CREATE TEMP VIEW memories AS SELECT 1",
        "CREATE FUNCTION pg_temp.current_tenant() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
        "CREATE FUNCTION public.current_tenant() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
        "CREATE TABLE public.mine (id uuid)",
        "CREATE SCHEMA mine",
        "CREATE EXTENSION dblink",
    ],
)
def test_nothing_can_be_put_in_front_of_ours(runtime, world, statement):
    for role in (*DOOR_ROLES, "none"):
        who = Who(world.a.id, world.a.members["admin"], role=role)
        assert outcome(runtime, who, statement) == REFUSED, role


@pytest.mark.rule("T039")
def test_a_role_that_changes_its_own_defaults_is_seen_and_healed(admin):
    with login(autocommit=True) as runtime:
        runtime.execute("ALTER ROLE palimpsest_runtime SET work_mem = '5MB'")
    try:
        assert any("work_mem" in str(one) for one in role_settings(admin))
    finally:
        admin.execute("ALTER ROLE palimpsest_runtime RESET ALL")
    assert role_settings(admin) == []


@pytest.mark.rule("T040")
@pytest.mark.parametrize(
    "probe",
    [
        "SELECT 1 / (CASE WHEN content LIKE '%%CANARY-B%%' THEN 0 ELSE 1 END) FROM memories",
        "SELECT content::int FROM memories WHERE content LIKE '%%CANARY-B%%'",
        "SELECT CAST(name AS uuid) FROM members WHERE name LIKE '%%CANARY-B%%'",
        "SELECT id FROM memories WHERE content::xml IS DOCUMENT AND content LIKE '%%CANARY-B%%'",
        (
            "SELECT id FROM memories WHERE pg_input_is_valid(content, 'int') AND content LIKE"
            " '%%CANARY-B%%'"
        ),
        "SELECT query_to_xml('SELECT content FROM memories', true, true, '')::text WHERE false",
    ],
)
def test_no_error_or_notice_tells_of_another_tenants_rows(runtime, world, probe):
    notices = []
    runtime.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    try:
        with door(runtime, world.a.who("senior")):
            runtime.execute(probe)
    except psycopg.Error as error:
        notices += [str(error), error.diag.message_detail or "", error.diag.context or ""]
    assert world.b.canary not in "".join(map(str, notices))


@pytest.mark.rule("T040")
def test_a_refused_row_is_not_quoted(runtime, world):
    a = world.a
    with pytest.raises(psycopg.Error) as refused, door(runtime, a.who("admin")):
        runtime.execute(
            "INSERT INTO projects (id, tenant_id, slug, name) VALUES (gen_random_uuid(), %s,"
            " 'apollo', 'secret name')",
            [world.b.id],
        )
    assert refused.value.diag.message_detail is None
    assert "secret name" not in str(refused.value)


@pytest.mark.rule("T041")
def test_statistics_hold_no_values_of_tenants(runtime, owner, world):
    owner.execute("ANALYZE members")
    for role in (*DOOR_ROLES, "none"):
        who = Who(world.a.id, world.a.members["senior"], role=role)
        tables = "(" + ", ".join(f"'{table}'" for table in tenant_tables(owner)) + ")"
        assert outcome(runtime, who, f"SELECT 1 FROM pg_stats WHERE tablename IN {tables}") == set()
        assert outcome(runtime, who, "SELECT 1 FROM pg_statistic") == REFUSED


@pytest.mark.rule("T041")
def test_behind_the_door_nobody_reads_what_others_are_asking(runtime, world):
    with login() as other:
        enter(other, world.b.who("senior"))
        other.execute(f"SELECT '{world.b.canary}'")
        for role in DOOR_ROLES:
            seen = outcome(runtime, Who(world.a.id, world.a.members["senior"], role=role),
                           "SELECT query FROM pg_stat_activity")  # fmt: skip
            assert isinstance(seen, set)
            assert not any(world.b.canary in (query or "") for query in seen)


@pytest.mark.rule("T043")
def test_locks_of_one_do_not_stop_the_others(runtime, world):
    """The keys of advisory locks hold the tenant and the member: see memory/absorb.py."""
    with login() as greedy:
        enter(greedy, world.a.who("senior"))
        greedy.execute("SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 200) n")
        greedy.execute("SELECT id FROM memories FOR UPDATE")
        runtime.execute("SET lock_timeout = 300")
        who = world.b.who("senior")
        assert outcome(runtime, who, "UPDATE memories SET importance = 0.4") != "55P03"
        assert (
            outcome(
                runtime,
                who,
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                [str(world.b.id)],
            )
            != "55P03"
        )


@pytest.mark.rule("T044")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "COPY (SELECT 1) TO '/tmp/x'",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_creat(-1)",
        "SET session_replication_role = replica",
        "SET ROLE palimpsest_owner",
        "SET ROLE palimpsest_search",
        "SET SESSION AUTHORIZATION palimpsest_owner",
        "ALTER SYSTEM SET fsync = off",
        "SELECT pg_reload_conf()",
        "CREATE ROLE mine",
        "ALTER ROLE palimpsest_runtime BYPASSRLS",
        "GRANT palimpsest_owner TO palimpsest_runtime",
    ],
)
def test_the_server_and_its_files_are_out_of_reach(runtime, world, statement):
    for role in (*DOOR_ROLES, "none"):
        who = Who(world.a.id, world.a.members["admin"], role=role)
        assert outcome(runtime, who, statement) in (REFUSED, "25001"), role
