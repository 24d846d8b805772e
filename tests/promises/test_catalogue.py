"""No table, view or function stands outside the wall, and one that did would be noticed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises.catalogue import DEFINER_PATH, faults, tenant_tables
from tests.promises.raw import DOOR_ROLES, column

# Whoever adds one reviews it: it runs with the rights of its owner, whoever calls it.
DEFINERS = {
    "acceptances_are_kept()",
    "accepting_vouches()",
    "accepting_vouches_no_more()",
    "administers()",
    "audit_heads()",
    "authenticate(bytea)",
    "beat(text)",
    "beat_no_more(text[])",
    "claim_job(uuid,interval,integer)",
    "claim_next_job(uuid,interval,integer)",
    "clear_marks_by(uuid)",
    "close_marks_caused_by(uuid[],text[])",
    "confirmed_what_it_replaced(uuid)",
    "corroborate(uuid,uuid,uuid)",
    "corroborate_no_more(uuid,uuid,uuid)",
    "count_jobs()",
    "came_into_sight(timestamp with time zone)",
    "count_request(text,integer)",
    "current_member()",
    "dependents_are_told_of_the_dispute()",
    "dependents_are_told_of_their_memory()",
    "dispute_periods_are_kept()",
    "disputes_come_back_with_their_memory()",
    "disputes_end_with_their_memory()",
    "embedding_takes_after_its_memory()",
    "embeddings_follow_their_memory()",
    "ends_are_lifted()",
    "ends_are_told_before()",
    "enrol(text,text)",
    "events_wait_for_their_seal()",
    "give_back_what_it_won(uuid)",
    "has_at_most_today(integer)",
    "held_by_the_tenant(uuid[])",
    "hold_what_replaced(uuid)",
    "holds_more_than(integer,text)",
    "hygiene_facts(timestamp with time zone,timestamp with time zone,text)",
    "hygiene_facts_of_all(timestamp with time zone,timestamp with time zone,text)",
    "job_is_put_off(text,text[])",
    "judge_tokens_since(timestamp with time zone,text)",
    "judged_lately(timestamp with time zone)",
    "let_it_end(uuid,uuid)",
    "leave_to_its_owners_judge(uuid[],text[],jsonb)",
    "let_pairs_go(uuid)",
    "mark_dependents_of(uuid[],text,uuid[])",
    "mark_what_changed(uuid)",
    "mark_what_expired(integer)",
    "marks_go_with_their_edge()",
    "nearest_along_the_graph(halfvec,text,text,uuid,text[],boolean,text[],integer)",
    "nearest_around(halfvec,text,uuid,integer,integer,integer)",
    "nearest_exactly(halfvec,text,text,uuid,text[],boolean,text[],integer)",
    "nearest_memories(halfvec,text,text,uuid,text[],boolean,text[],integer,integer)",
    "neighbours_along_the_graph(uuid[],text,integer)",
    "neighbours_of(uuid[],text,double precision,integer,integer)",
    "note_push(uuid)",
    "projects_with(text)",
    "push_source(uuid)",
    "release_overdue_jobs(integer)",
    "resting_on_what_ended(timestamp with time zone)",
    "retired_by_policy(timestamp with time zone)",
    "retirements_are_kept()",
    "seal_events(integer)",
    "seats_of(uuid)",
    "several_valued(uuid[])",
    "spend_in_vain(text,integer,integer)",
    "sweeps_due(interval,integer,text,text)",
    "take_back_end(uuid)",
    "take_job(uuid,interval)",
    "take_pairs_in_hand(uuid,uuid[],uuid[],uuid[],text,text)",
    "take_second_factor(uuid)",
    "tenant_has_room(uuid,integer)",
    "to_be_judged_again(text,text,boolean)",
    "try_failed_jobs_again()",
    "what_comes_back_goes_on()",
    "what_is_said_late_is_marked()",
    "what_is_shown_to_all_is_marked()",
    "worded_memories(tsquery,text,uuid,text[],boolean,text[],integer)",
    "who_comes_back_is_told()",
    "who_is_let_in_is_told()",
    "workers_alive(interval)",
    "workers_that_beat()",
    "with_many_pairs_in(uuid,integer)",
}
_OURS = (
    "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace ="
    " 'public'::regnamespace AND NOT"
    " EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
)


@pytest.mark.rule("VI-01", "T019", "T037")
def test_nothing_in_the_catalogue_lets_anything_through(owner):
    assert faults(owner) == []


@pytest.mark.rule("T019")
def test_every_table_that_says_whose_a_row_is_counts_as_a_tenants(owner):
    assert {"memories", "embeddings", "jobs", "events", "tokens", "project_permissions"} <= set(
        tenant_tables(owner)
    )
    assert not {"users", "django_session", "auth_permission"} & set(tenant_tables(owner))


@pytest.mark.rule("T019")
def test_functions_that_run_with_their_owners_rights_are_these(owner):
    assert set(column(owner, f"{_OURS} AND p.prosecdef")) == DEFINERS


@pytest.mark.rule("T019")
def test_candidate_functions_belong_to_a_role_that_nobody_logs_in_as(owner):
    found = column(owner, f"{_OURS} AND p.proowner = 'palimpsest_search'::regrole")
    become = column(
        owner,
        "SELECT rolname::text FROM pg_roles WHERE rolcanlogin AND NOT rolsuper"
        " AND pg_has_role(oid, 'palimpsest_search', 'MEMBER')",
    )

    assert len(found) == 8
    searching = ("nearest_", "neighbours_", "holds_more_than(")
    assert all("memories(" in one or one.startswith(searching) for one in found)
    assert become == ["palimpsest_owner"]


@pytest.mark.rule("T019")
def test_the_search_role_reads_no_content(owner):
    readable = column(
        owner,
        "SELECT attname::text FROM pg_attribute WHERE attrelid = 'memories'::regclass AND"
        " attnum > 0"
        " AND has_column_privilege('palimpsest_search', attrelid, attnum, 'SELECT')",
    )

    assert "words" in readable
    assert not {"content", "tags", "source", "session"} & set(readable)
    tables = column(
        owner,
        "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
        " AND c.relkind = 'r' AND has_any_column_privilege('palimpsest_search', c.oid, 'SELECT')",
    )
    assert set(tables) == {"memories", "embeddings"}


@pytest.mark.rule("T019", "T031")
@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("memories", "memory_is_owned_in_the_tenant"),
        ("links", "link_ends_in_the_tenant"),
    ],
)
def test_a_key_without_the_tenant_would_be_noticed(owner, table, fault):
    with owner.transaction(force_rollback=True):
        owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT {fault}")
        column_of = {"memories": "owner_id", "links": "dst_id"}[table]
        other = {"memories": "members", "links": "memories"}[table]
        owner.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {fault} FOREIGN KEY ({column_of}) REFERENCES"
            f" {other} (id)"
            " NOT VALID"
        )
        assert faults(owner) == [f"{table}: {fault} does not carry the tenant"]


@pytest.mark.rule("T046")
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE scratch (id uuid PRIMARY KEY, tenant_id uuid REFERENCES tenants)",
        "CREATE TABLE scratch (id uuid PRIMARY KEY, whose uuid REFERENCES tenants)",
        "CREATE TABLE scratch (id uuid PRIMARY KEY, tenant_id uuid)",
        "CREATE TABLE scratch (id uuid PRIMARY KEY, memory_id uuid REFERENCES memories)",
        "CREATE TABLE scratch () INHERITS (memories)",
        "CREATE VIEW scratch AS SELECT * FROM memories",
        "CREATE POLICY scratch ON memories FOR SELECT TO palimpsest_member USING (true)",
        (
            "CREATE POLICY scratch ON memories FOR SELECT TO palimpsest_search, palimpsest_member"
            " USING (true)"
        ),
        "CREATE POLICY scratch ON memories FOR SELECT USING (owner_id = current_member())",
        (
            "CREATE MATERIALIZED VIEW scratch AS SELECT * FROM memories; GRANT SELECT ON scratch"
            " TO palimpsest_member"
        ),
        "CREATE FUNCTION scratch() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
        "CREATE UNIQUE INDEX scratch ON projects (slug, id)",
        "GRANT TRUNCATE ON memories TO palimpsest_member",
        "GRANT DELETE ON memories TO palimpsest_reviewer",
        "GRANT SELECT ON memories TO palimpsest_runtime",
        "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "ALTER POLICY only_this_tenant ON memories TO public",
        "ALTER POLICY only_this_tenant ON memories TO palimpsest_member, palimpsest_judge",
        "ALTER POLICY only_this_tenant ON memories USING (tenant_id IS NOT NULL)",
        "DROP POLICY only_this_tenant ON events",
    ],
)
def test_what_somebody_forgot_is_noticed(owner, statement):
    with owner.transaction(force_rollback=True):
        owner.execute(statement)
        assert faults(owner) != []


def test_a_new_table_as_it_should_be_is_let_stand(owner):
    with owner.transaction(force_rollback=True):
        owner.execute(
            f"CREATE TABLE scratch (id uuid PRIMARY KEY, tenant_id uuid REFERENCES tenants);"
            "ALTER TABLE scratch ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
            f"CREATE POLICY only_this_tenant ON scratch AS RESTRICTIVE TO {', '.join(DOOR_ROLES)}"
            " USING (tenant_id = (SELECT current_tenant())) WITH CHECK (tenant_id = (SELECT"
            " current_tenant()));"
            "CREATE FUNCTION scratch() RETURNS int LANGUAGE sql SECURITY DEFINER"
            f" SET {DEFINER_PATH.replace('=', ' = ')} AS 'SELECT 1';"
            "REVOKE ALL ON FUNCTION scratch() FROM PUBLIC"
        )
        assert faults(owner) == []


# What a linter that does not know us finds, and why it may: each reviewed.
_GLOBAL_TABLES = (
    "SEC001"  # log-ins, sessions, permissions' names: nothing of a tenant stands in them
)
# Restrictive policies alone: what only functions and triggers of the owner's touch.
_DENIES_ALL = "SEC012"
SHUT = {f"public.{one}" for one in ("event_chain", "event_heads", "pairs_in_hand",
                                    "spent_in_vain", "unsealed_events")}  # fmt: skip
_SEARCH_ROLE = {"SEC005", "SEC008", "SEC038"}  # the one USING (true), for a role nobody logs in as
_MAY_BE = {
    "SEC005",  # administrators administer the whole tenant: the wall is a policy of its own
    "SEC013", "SEC014",  # functions with their owner's rights: DEFINERS, above
    "SEC016",  # the owner migrates, the backup dumps
    "SEC027",
    "PERF003",  # every index begins with the tenant
}  # fmt: skip


@pytest.mark.rule("T019")
def test_a_linter_that_does_not_know_us_finds_nothing_else(owner, tmp_path):
    pgrls = Path(sys.executable).with_name("pgrls")
    if not pgrls.exists() and shutil.which("pgrls") is None:
        pytest.skip("pgrls is not installed")
    report = subprocess.run(
        [pgrls, "lint", "--schemas", "public", "--format", "json", "--database-url",
         os.environ["OWNER_DATABASE_URL"]],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    found = json.loads(report.stdout)["violations"]
    assert len(found) > 20
    tables = {f"public.{table}" for table in tenant_tables(owner)}
    unexpected = [
        one
        for one in found
        if not (one["rule_id"] == _GLOBAL_TABLES and one["location"] not in tables)
        and not (
            one["rule_id"] in _SEARCH_ROLE
            and one["location"].endswith(".candidate_functions_search_all")
        )
        and not (one["rule_id"] == _DENIES_ALL and one["location"] in SHUT)
        and one["rule_id"] not in _MAY_BE
    ]
    assert unexpected == []
