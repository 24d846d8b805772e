"""
Every policy is needed: without it, or with its condition gone, a probe fails.

In a database of its own, because a changed policy locks its table. Changes to policies are undone
with their transaction, so one database is enough for all of them.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from deploy.database import prepare_cluster
from tests.promises.catalogue import faults, tenant_tables
from tests.promises.probe import Probe
from tests.promises.probes import battery
from tests.promises.probes_of_following import following
from tests.promises.raw import REFUSED, outcome
from tests.promises.world import build

TRUE_USING, TRUE_CHECK = "USING (true)", "WITH CHECK (true)"


@dataclass(frozen=True)
class Mutant:
    table: str
    policy: str
    change: str
    # What it is for: not a part of who it is.
    verb: str = field(default="", compare=False)

    @property
    def statement(self) -> str:
        if self.change == "dropped":
            return f"DROP POLICY {self.policy} ON {self.table}"
        return f"ALTER POLICY {self.policy} ON {self.table} {self.change}"


_WALLED_TWICE = (
    *("links", "components", "dependencies", "embeddings", "settled_pairs", "conflicts"),
    *("judgements", "signals", "marks", "verifications", "corroborations", "activations"),
    *("retirements", "acceptances", "dispute_periods", "changes", "attributions"),
)
# Of these no role behind the door has any right: their functions and triggers have.
SHUT = ("event_chain", "event_heads", "pairs_in_hand", "spent_in_vain", "unsealed_events")
# Which changes nobody could notice by what they may do, and why: reviewed, and kept exact.
HARMLESS = {
    # Who may is asked of the memories, which have the same wall; the lint of the catalogue notices.
    *(
        Mutant(table, "only_this_tenant", change)
        for table in (*_WALLED_TWICE, *SHUT)
        for change in ("dropped", TRUE_USING, TRUE_CHECK)
    ),
    # A principal is in one tenant alone; the lint notices.
    Mutant("idempotency_keys", "only_this_tenant", TRUE_USING),
    Mutant("transfers", "only_this_tenant", TRUE_USING),
    # No column may be updated that the condition reads, so a row that was let in stays as it was.
    Mutant("tenants", "only_this_tenant", TRUE_CHECK),
    Mutant("tenants", "administrators_configure_their_tenant", TRUE_CHECK),
    Mutant("jobs", "administrators_retry_and_discard_jobs", TRUE_CHECK),
    Mutant("sweeps", "the_judge_moves_its_members_sweeps_on", TRUE_CHECK),
    Mutant("judgements", "the_judge_concludes_what_it_kept", TRUE_CHECK),
    # Nobody behind the door gives one.
    Mutant("certificates", "only_this_tenant", TRUE_CHECK),
    Mutant("links", "who_writes_at_an_end_takes_the_link_away", TRUE_CHECK),
    Mutant("components", "who_writes_around_a_memory_takes_up_what_was_suggested", TRUE_CHECK),
    Mutant("activations", "who_reads_a_memory_counts_on", TRUE_CHECK),
    Mutant("push_sources", "administrators_change_where_pushes_come_from", TRUE_CHECK),
    Mutant("memories", "owners_change_what_is_theirs", TRUE_CHECK),
    # Hiding what is another's is refused by both lines, and each would do.
    Mutant("memories", "nobody_changes_what_is_out_of_reach", TRUE_CHECK),
    Mutant("memories", "writers_change_what_their_project_shares", TRUE_CHECK),
    Mutant("memories", "reviewers_change_what_they_review", TRUE_CHECK),
}


@pytest.fixture(scope="module")
def scratch() -> Iterator[psycopg.Connection]:
    """A superuser's connection to a database of this file's own, with all migrations run."""
    admin = os.environ.get("ADMIN_DATABASE_URL")
    if admin is None:
        pytest.skip("no administrative login to make a scratch database with")
    name = f"promises_{secrets.token_hex(4)}"
    prepare_cluster(admin, name)
    owner = os.environ["OWNER_DATABASE_URL"].replace("/palimpsest?", f"/{name}?")
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--database", "owner", "--verbosity", "0"],
        check=True,
        env={**os.environ, "OWNER_DATABASE_URL": owner},
    )
    with psycopg.connect(make_conninfo(admin, dbname=name), autocommit=True) as connection:
        yield connection
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def mutants(connection: psycopg.Connection) -> list[Mutant]:
    """Return every policy with each of its conditions gone, and without it."""
    policies = connection.execute(
        "SELECT tablename, policyname, qual, with_check, replace(cmd, 'ALL', '') FROM pg_policies"
        " WHERE tablename::text"
        " = ANY (%s)"
        " AND roles <> '{palimpsest_search}' ORDER BY 1, 2",
        [tenant_tables(connection)],
    ).fetchall()
    found = []
    for table, policy, using, check, verb in policies:
        found.append(Mutant(table, policy, "dropped", verb))
        if using is not None:
            found.append(Mutant(table, policy, TRUE_USING, verb))
        if check is not None:
            found.append(Mutant(table, policy, TRUE_CHECK, verb))
    return found


def noticed(
    connection: psycopg.Connection,
    probes: list[Probe],
    table: str,
    verbs: tuple[str, ...],
    *,
    is_reviewed: bool,
) -> bool:
    """
    Return whether a probe fails: those that do to the table what was changed are asked first.

    :param is_reviewed: it is known to be unnoticed, and the others need not be asked
    """
    near = [probe for probe in probes if any(probe.names(table, verb) for verb in verbs)]
    if any(probe.fault(connection) for probe in near):
        return True
    if is_reviewed:
        return False
    far = sorted((one for one in probes if one not in near), key=lambda one: not one.names(table))
    return any(probe.fault(connection) for probe in far)


@pytest.mark.rule("VI-01", "T045")
@pytest.mark.timeout(600)
def test_no_policy_can_be_weakened_unnoticed(scratch):
    probes = battery(build(scratch))
    assert [fault for probe in probes if (fault := probe.fault(scratch))] == []
    every = mutants(scratch)
    assert len(every) > 90

    survivors: set[Mutant] = set()
    for mutant in every:
        with scratch.transaction(force_rollback=True):
            scratch.execute(mutant.statement)
            reviewed = mutant in HARMLESS
            if not noticed(scratch, probes, mutant.table, (mutant.verb,), is_reviewed=reviewed):
                survivors.add(mutant)
                assert mutant.policy != "only_this_tenant" or faults(scratch) != []
    assert (survivors - HARMLESS, HARMLESS - survivors) == (set(), set())


@pytest.mark.rule("VI-01", "T045")
@pytest.mark.parametrize(
    "policy", ["writers_change_what_their_project_shares", "reviewers_change_what_they_review"]
)
def test_neither_of_two_lines_is_missed_as_long_as_the_other_stands(scratch, policy):
    """Both gone together are noticed: what is harmless alone is no licence to drop the other."""
    side = build(scratch).a
    who = side.reviewing("senior")
    hide = "UPDATE memories SET visibility = 'private'"
    assert outcome(scratch, who, hide) == REFUSED
    with scratch.transaction(force_rollback=True):
        for name in (policy, "nobody_changes_what_is_out_of_reach"):
            scratch.execute(f"ALTER POLICY {name} ON memories {TRUE_CHECK}")
        assert outcome(scratch, who, hide) != REFUSED


@pytest.mark.rule("VI-01", "T045")
def test_no_table_can_be_opened_unnoticed(scratch):
    probes = battery(build(scratch))
    for table in tenant_tables(scratch):
        with scratch.transaction(force_rollback=True):
            scratch.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
            nearest_first = sorted(probes, key=lambda probe: not probe.names(table))
            assert table in SHUT or any(probe.fault(scratch) for probe in nearest_first), table
        with scratch.transaction(force_rollback=True):
            scratch.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
            assert faults(scratch) == [f"{table}: row-level security is not enabled and forced"]


@pytest.mark.rule("VI-01", "T045")
@pytest.mark.timeout(600)
def test_no_trigger_can_be_dropped_unnoticed(scratch):
    """Each of them has a probe that fails without it."""
    world = build(scratch)
    own = list(following(world.a))
    assert [fault for probe in own if (fault := probe.fault(scratch))] == []
    probes = [*own, *battery(world)]
    triggers = scratch.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
        " AND tgrelid = ANY (%s::regclass[]) ORDER BY 1, 2",
        [tenant_tables(scratch)],
    ).fetchall()
    assert len(triggers) > 10
    unnoticed = set()
    for table, trigger in triggers:
        with scratch.transaction(force_rollback=True):
            scratch.execute(f"DROP TRIGGER {trigger} ON {table}")
            if not noticed(scratch, probes, table, ("UPDATE", "INSERT"), is_reviewed=False):
                unnoticed.add(f"{table}.{trigger}")
    assert unnoticed == set()
