"""Keys carry the tenant: a row of another tenant's is no row, and does not stand in the way."""

import psycopg
import pytest

from tests.promises.raw import outcome


@pytest.mark.rule("T031")
@pytest.mark.parametrize("what", ["foreign", "missing"])
def test_a_key_to_another_tenants_row_is_a_key_to_nothing(owner, world, what):
    """Asked of the owner, whom no policy stops: the keys themselves carry the tenant."""
    a, b = world.a, world.b
    missing = "00000000-0000-7000-8000-000000000000"
    member = b.members["senior"] if what == "foreign" else missing
    memory = b.memories["senior", "project", "apollo"] if what == "foreign" else missing
    project = b.projects["apollo"] if what == "foreign" else missing
    own = a.memories["senior", "project", "apollo"]
    for statement, ids in (
        (("INSERT INTO agents (id, tenant_id, project_id, sponsor_id, name, level, active)"
         " VALUES (gen_random_uuid(), %s, %s, %s, 'x', 1, true)"),
         [a.id, project, a.members["senior"]]),
        (("INSERT INTO agents (id, tenant_id, project_id, sponsor_id, name, level, active)"
         " VALUES (gen_random_uuid(), %s, %s, %s, 'x', 1, true)"),
         [a.id, a.projects["apollo"], member]),
        (("INSERT INTO links (id, tenant_id, src_id, dst_id, type)"
         " VALUES (gen_random_uuid(), %s, %s, %s, 'depends_on')"), [a.id, own, memory]),
        (("INSERT INTO dependencies (id, tenant_id, memory_id, on_memory_id)"
         " VALUES (gen_random_uuid(), %s, %s, %s)"), [a.id, own, memory]),
        (("INSERT INTO components (id, tenant_id, memory_id, subject, multi)"
         " VALUES (gen_random_uuid(), %s, %s, 'x', false)"), [a.id, memory]),
        (("UPDATE memories SET invalidated_at = now(), invalidated_reason = 'superseded',"
         " superseded_at = now(),"
         " supersede_reason = 'manual', superseded_by_id = %s WHERE id = %s"), [memory, own]),
        (("INSERT INTO project_permissions (tenant_id, user_id, content_object_id, permission_id)"
         " SELECT %s, %s, %s, id FROM auth_permission WHERE codename = 'see_project'"),
         [a.id, a.users["senior"], project]),
    ):  # fmt: skip
        with (
            pytest.raises(psycopg.errors.ForeignKeyViolation),
            owner.transaction(force_rollback=True),
        ):
            owner.execute(statement, ids)


@pytest.mark.rule("T032", "T033")
def test_the_same_words_in_two_tenants_do_not_collide(runtime, world):
    """Every unique index but those of ids that the server makes has the tenant: the catalogue."""
    b = world.b
    for side in (world.a, world.b):
        who = side.who("admin")
        taken = outcome(
            runtime, who,
            "INSERT INTO projects (id, tenant_id, slug, name) VALUES (gen_random_uuid(), %s,"
            " 'only-there', 'x')",
            [side.id],
        )  # fmt: skip
        assert taken == 1
    key = (
        "INSERT INTO idempotency_keys (id, tenant_id, principal_id, endpoint, key, fingerprint)"
        " VALUES (gen_random_uuid(), %s, %s, 'remember', 'same key', '')"
        " ON CONFLICT (tenant_id, principal_id, endpoint, key) DO NOTHING"
    )
    assert outcome(runtime, b.who("viewer"), key, [b.id, b.members["viewer"]]) == 1


@pytest.mark.rule("T034")
def test_what_is_hidden_inside_the_tenant_does_not_swallow_a_write(runtime, world):
    """A job of another member's is hidden; a like one of one's own is taken all the same."""
    a = world.a
    job = (
        "INSERT INTO jobs (id, tenant_id, kind, dedup_key, member_id, arguments, state,"
        " attempts, last_error)"
        " VALUES (gen_random_uuid(), %s, 'sleep', %s, %s, '{}', 'queued', 0, '')"
        " ON CONFLICT (tenant_id, kind, dedup_key) WHERE state IN ('queued', 'running') DO NOTHING"
    )
    assert outcome(runtime, a.who("viewer"), job, [a.id, "mine", a.members["viewer"]]) == 1
    # One that has the very key of the hidden one is the same work, and is left to that.
    assert outcome(runtime, a.who("viewer"), job, [a.id, "job senior", a.members["viewer"]]) == 0
