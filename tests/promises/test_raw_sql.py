"""SQL alone gets nobody through the wall."""

import psycopg
import pytest

from tests.promises.catalogue import tenant_tables
from tests.promises.probes import battery
from tests.promises.raw import (
    DOOR_ROLES,
    JUDGE,
    NOBODY,
    REFUSED,
    Who,
    column,
    door,
    enter,
    leave,
    outcome,
)
from tests.promises.sight import callers, readable
from tests.promises.world import SPACE, WORD

VALID_FORMS = [str, lambda id_: str(id_).upper(), lambda id_: f"{{{id_}}}", lambda id_: id_.hex]
GARBAGE = [
    "",
    " ",
    "x",
    "0",
    "null",
    "' OR true --",
    "00000000-0000-0000-0000-00000000000g",
    "é" * 100,
    "1" * 10_000,
]


@pytest.mark.rule("VI-01", "VI-03", "VI-05", "T022", "T023")
def test_everybody_may_do_what_they_may_and_nothing_else(runtime, world):
    faults = [fault for probe in battery(world) if (fault := probe.fault(runtime))]

    assert "\n".join(faults) == ""


@pytest.mark.rule("VI-01", "T021")
@pytest.mark.parametrize("role", DOOR_ROLES)
def test_without_a_tenant_nothing_is_there_and_nothing_can_be_put(runtime, owner, world, role):
    for table in tenant_tables(owner):
        key = "id" if table == "tenants" else "tenant_id"
        assert outcome(runtime, Who(role=role), f"SELECT 1 FROM {table}") in (set(), REFUSED)
        for statement in (
            f"INSERT INTO {table} ({key}) VALUES ('{world.a.id}')",
            f"UPDATE {table} SET {key} = NULL",
            f"DELETE FROM {table}",
        ):
            assert outcome(runtime, Who(role=role), statement) in (0, REFUSED), statement


@pytest.mark.rule("VI-01", "T021")
def test_outside_the_door_the_login_reads_no_table_of_tenants(runtime, owner, world):
    for table in tenant_tables(owner):
        for statement in (f"SELECT 1 FROM {table}", f"DELETE FROM {table}", f"TRUNCATE {table}"):
            assert outcome(runtime, Who(role="none"), statement) == REFUSED


@pytest.mark.rule("VI-01", "T022", "T023")
@pytest.mark.parametrize("name", ["admin", "senior", "agent", "viewer", "reviewer"])
def test_nothing_of_another_tenant_is_there(runtime, owner, world, name):
    for role in DOOR_ROLES:
        who = world.a.who(name)
        who = Who(who.tenant, who.member, who.agent, who.project, who.personal, role)
        for table in tenant_tables(owner):
            key = "id" if table == "tenants" else "tenant_id"
            theirs = f"FROM {table} WHERE {key} = %s"
            assert outcome(runtime, who, f"SELECT {key} FROM {table}") in (
                set(),
                {world.a.id},
                REFUSED,
            )
            assert outcome(runtime, who, f"SELECT {key} {theirs}", [world.b.id]) in (set(), REFUSED)
            assert outcome(runtime, who, f"DELETE {theirs}", [world.b.id]) in (0, REFUSED)


@pytest.mark.rule("VI-01", "T024")
def test_row_security_cannot_be_switched_off(runtime, world):
    with door(runtime, world.a.who("senior")):
        runtime.execute("SET LOCAL row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            runtime.execute("SELECT * FROM memories")


@pytest.mark.rule("VI-01", "T025")
@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("setting", ["tenant", "member", "agent", "project"])
def test_what_is_no_id_shows_no_more_than_nothing_said(runtime, world, setting, text):
    a = world.a
    said = {"tenant": a.id, "member": a.members["senior"], setting: text}
    found = outcome(runtime, Who(**said), "SELECT id FROM memories")

    if setting in ("agent", "project") and text == "":
        assert found == readable(world, a.who("senior"))
    elif setting == "project":
        # Confined to nothing: what is for the whole tenant, and the personal layer, and no
        # project's.
        personal = {
            m for (who, how, where), m in a.memories.items() if who == "senior" and where is None
        }
        wide = {m for (_, how, _), m in a.memories.items() if how == "tenant"}
        assert found == personal | wide
    else:
        assert found == set()


@pytest.mark.rule("VI-01", "T025")
@pytest.mark.parametrize("form", VALID_FORMS)
def test_an_id_counts_however_it_is_written(runtime, world, form):
    a = world.a
    who = Who(form(a.id), form(a.members["senior"]))

    assert outcome(runtime, who, "SELECT id FROM memories") == readable(world, a.who("senior"))


@pytest.mark.rule("VI-01", "T025")
def test_a_tenant_that_was_set_is_gone_with_its_transaction(runtime, world):
    with runtime.transaction():
        enter(runtime, world.a.who("senior"))
    for setting in (
        "app.tenant_id",
        "app.member_id",
        "app.agent_id",
        "app.project_id",
        "app.personal",
    ):
        assert column(runtime, "SELECT coalesce(current_setting(%s, true), '')", [setting]) == [""]
    assert column(runtime, "SELECT current_user::text") == ["palimpsest_runtime"]
    with runtime.transaction():
        runtime.execute("SET LOCAL ROLE palimpsest_member")
        assert column(runtime, "SELECT id FROM memories") == []


@pytest.mark.rule("VI-03")
def test_an_agent_is_in_only_where_it_works_and_for_its_sponsor(runtime, world):
    a = world.a
    for who in (
        Who(a.id, a.members["senior"], a.agents["agent"]),
        Who(a.id, a.members["senior"], a.agents["agent"], a.projects["hermes"]),
        Who(a.id, a.members["contractor"], a.agents["agent"], a.projects["apollo"]),
        Who(a.id, a.members["senior"], world.b.agents["agent"], world.b.projects["apollo"]),
        a.who("retired"),
    ):
        assert outcome(runtime, who, "SELECT id FROM memories") == set()


@pytest.mark.rule("VI-01")
@pytest.mark.parametrize(
    "undo",
    [
        "UPDATE members SET active = false WHERE id = %(member)s",
        "UPDATE users SET is_active = false WHERE id = %(user)s",
        "UPDATE tenants SET state = 'suspended' WHERE id = %(tenant)s",
        "UPDATE tenants SET state = 'deleting' WHERE id = %(tenant)s",
    ],
)
def test_whoever_is_out_is_out_at_once(owner, world, undo):
    a = world.a
    ids = {"member": a.members["senior"], "user": a.users["senior"], "tenant": a.id}
    with owner.transaction(force_rollback=True):
        owner.execute(undo, ids)
        for function, nothing in (
            ("current_member()", None),
            ("visible_projects()", []),
            ("writable_projects()", []),
            ("administers()", False),
        ):
            enter(owner, Who(a.id, a.members["senior"], role="none"))
            assert column(owner, f"SELECT {function}") == [nothing]


@pytest.mark.rule("VI-01", "VI-02", "VI-03", "RC-13")
def test_policies_search_and_the_rules_agree_on_who_sees_what(runtime, world):
    vectors = (
        "SELECT memory_id FROM nearest_memories('[1,0,0]', %s, 'everything', NULL,"
        " '{live,superseded,retired}', true, NULL, 1000, %s)"
    )
    words = (
        "SELECT memory_id FROM worded_memories(%s, 'everything', NULL, '{live}', true, NULL, 1000)"
    )
    around = "SELECT memory_id FROM nearest_around('[1,0,0]', %s, NULL, 1000, 1000, %s)"
    every = [*world.a.memories.values(), *world.b.memories.values()]
    for side in (world.a, world.b):
        for name, who in callers(side).items():
            told = readable(world, who)
            assert outcome(runtime, who, "SELECT id FROM memories") == told, name
            assert outcome(runtime, who, vectors, [SPACE, 1000]) == told, name
            assert outcome(runtime, who, words, [WORD]) == told, name
            for bound in (1000, 1):  # all compared, and along the graph
                found = outcome(runtime, who, around, [SPACE, bound])
                assert isinstance(found, set), name
                assert found <= told, name
            for end in ("memory_id", "neighbour_id"):
                near = f"SELECT {end} FROM neighbours_of(%s, %s, -1, 1000, %s)"
                compared = outcome(runtime, who, near, [every, SPACE, 1000])
                assert isinstance(compared, set), name
                assert compared <= told, name
                assert outcome(runtime, who, near, [every, SPACE, 1]) == compared, name
    assert outcome(runtime, NOBODY, words, [WORD]) == set()
    assert outcome(runtime, NOBODY, vectors, [SPACE, 1000]) == set()
    assert outcome(runtime, NOBODY, around, [SPACE, 1000]) == set()


@pytest.mark.rule("VI-02", "RC-13")
def test_the_graph_shows_nobody_more_than_the_policies(runtime, owner, world):
    for name, who in callers(world.a).items():
        found = outcome(
            runtime, who,
            "SELECT memory_id FROM nearest_memories('[1,0,0]', %s, 'everything', NULL,"
            " '{live}', true, NULL, 7, 1)",
            [SPACE],
        )  # fmt: skip
        told = readable(world, who)
        assert isinstance(found, set)
        assert found <= told, name
        assert len(found) == min(7, len(told)), name


@pytest.mark.rule("T028")
def test_a_cursor_that_is_carried_over_shows_the_first_ones_rows(runtime, world):
    """PostgreSQL does that: which is why the door of one is never opened inside another's."""
    with runtime.transaction(force_rollback=True):
        enter(runtime, world.a.who("senior"))
        runtime.execute("DECLARE kept CURSOR FOR SELECT tenant_id FROM memories")
        leave(runtime)
        enter(runtime, world.b.who("senior"))
        assert set(column(runtime, "FETCH ALL FROM kept")) <= {world.a.id, world.b.id}
        assert set(column(runtime, "SELECT tenant_id FROM memories")) == {world.b.id}


@pytest.mark.rule("T042")
def test_a_generic_plan_shows_everybody_their_own(runtime, world):
    runtime.execute("SET plan_cache_mode = force_generic_plan")
    runtime.execute("PREPARE mine AS SELECT id FROM memories")
    for who in (
        world.a.who("senior"),
        world.b.who("senior"),
        NOBODY,
        world.a.who("agent"),
        world.a.judge("viewer"),
    ):
        assert outcome(runtime, who, "EXECUTE mine") == readable(world, who)
    runtime.execute("DEALLOCATE mine")


@pytest.mark.rule("T035")
def test_a_new_row_is_given_back_to_its_writer(runtime, world):
    side = world.a
    answer = outcome(
        runtime, side.who("senior"),
        "INSERT INTO idempotency_keys (id, tenant_id, principal_id, endpoint, key, fingerprint)"
        " VALUES (gen_random_uuid(), %s, %s, 'x', 'x', '') RETURNING key",
        [side.id, side.members["senior"]],
    )  # fmt: skip
    assert answer == {"x"}
    assert outcome(runtime, side.judge("senior"), "SELECT id FROM idempotency_keys") == REFUSED
    assert JUDGE in DOOR_ROLES
