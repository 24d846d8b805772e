"""Keys carry the tenant: a row of another tenant's is no row, and does not stand in the way."""

import psycopg
import pytest

from tenants.ids import new_id
from tests.promises.disagreeing import NOTE, noted
from tests.promises.raw import REFUSED, outcome
from tests.promises.trusting import (
    ACCEPTANCE,
    ATTRIBUTE,
    CHANGE,
    CORROBORATE,
    COUNT,
    MARK,
    PUSH_SOURCE,
    RETIREMENT,
    SIGNAL,
    VERIFY,
    said,
)


@pytest.mark.rule("T031")
@pytest.mark.parametrize("what", ["foreign", "missing"])
def test_a_key_to_another_tenants_row_is_a_key_to_nothing(owner, world, what):
    """Asked of the owner, whom no policy stops: the keys themselves carry the tenant."""
    a, b = world.a, world.b
    missing = "00000000-0000-7000-8000-000000000000"
    member = b.members["senior"] if what == "foreign" else missing
    memory = b.memories["senior", "project", "apollo"] if what == "foreign" else missing
    project = b.projects["apollo"] if what == "foreign" else missing
    report = b.rows["signal shared"] if what == "foreign" else missing
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
        (("INSERT INTO components (id, tenant_id, memory_id, subject, multi, suggested)"
         " VALUES (gen_random_uuid(), %s, %s, 'x', false, false)"), [a.id, memory]),
        *_keys_of_trust(a, own, memory, member, project),
        (ATTRIBUTE, [new_id(), a.id, report, "x"]),
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


def _keys_of_trust(a, own, memory, member, project):
    """Return rows that tell of what is another tenant's, or name it."""
    mine = a.members["senior"]
    words = {"subject": "x", "summary": "x", "member": mine}
    yield CHANGE, said(a, **words, project=project)
    yield CHANGE, said(a, **{**words, "member": member}, project=a.projects["apollo"])
    yield CHANGE, said(a, **words, project=a.projects["apollo"], memory=memory)
    yield MARK, [new_id(), a.id, memory, None, [], True]
    yield MARK, [new_id(), a.id, own, memory, [], True]
    yield VERIFY, said(a, memory=memory, member=mine)
    yield VERIFY, said(a, memory=own, member=member)
    yield CORROBORATE, [new_id(), a.id, own, mine, memory]
    yield CORROBORATE, [new_id(), a.id, own, member, a.memories["contractor", "tenant", None]]
    yield COUNT, [new_id(), a.id, memory]
    yield RETIREMENT, [new_id(), a.id, memory]
    yield ACCEPTANCE, [new_id(), a.id, memory]
    yield SIGNAL, said(a, memory=memory, kind="misled", member=mine)
    yield SIGNAL, said(a, memory=own, kind="misled", member=member)
    yield PUSH_SOURCE, [new_id(), a.id, project, "x", mine]
    yield PUSH_SOURCE, [new_id(), a.id, a.projects["apollo"], "x", member]
    yield NOTE, noted(a, memory, None)
    yield NOTE, noted(a, own, None, assigned_to=member)


@pytest.mark.rule("T033", "T034")
@pytest.mark.parametrize("name", ["viewer", "contractor"])
def test_no_upsert_tells_whether_there_is_something_about_what_is_hidden(runtime, world, name):
    """Refused alike, whether a row would stand in the way or not."""
    a = world.a
    who, member = a.who(name), a.members[name]
    taken, free = (
        a.memories["outsider", "project", "hermes"],
        a.memories["outsider", "private", None],
    )
    shared = a.memories["senior", "project", "apollo"]
    for hidden in (taken, free):
        pair = sorted((shared, hidden))
        for statement, params in (
            (COUNT, [new_id(), a.id, hidden]),
            (NOTE, noted(a, hidden, None, kind="challenged", raised_by=member)),
            (("INSERT INTO settled_pairs (id, tenant_id, low_id, high_id, why)"
              " VALUES (%s, %s, %s, %s, '')"), [new_id(), a.id, *pair]),
            (("INSERT INTO links (id, tenant_id, src_id, dst_id, type)"
              " VALUES (%s, %s, %s, %s, 'relates_to')"), [new_id(), a.id, shared, hidden]),
        ):  # fmt: skip
            upsert = f"{statement} ON CONFLICT DO NOTHING"
            assert outcome(runtime, who, upsert, params) == REFUSED, upsert


@pytest.mark.rule("T033")
def test_recalls_are_added_up_by_all_who_read(runtime, world):
    a = world.a
    add = (
        "INSERT INTO activations AS n (id, tenant_id, memory_id, recalls, last_recalled_at)"
        " VALUES (%s, %s, %s, 3, now()) ON CONFLICT (tenant_id, memory_id)"
        " DO UPDATE SET recalls = n.recalls + excluded.recalls RETURNING recalls"
    )
    for name in ("viewer", "contractor", "agent"):
        counted = [new_id(), a.id, a.memories["contractor", "project", "apollo"]]
        assert outcome(runtime, a.who(name), add, counted) == {4}


@pytest.mark.rule("T032", "T033")
def test_the_same_words_in_two_tenants_do_not_collide(runtime, world):
    """Every unique index but those of ids that the server makes has the tenant: the catalogue."""
    b = world.b
    for side in (world.a, world.b):
        who = side.who("admin")
        taken = outcome(
            runtime, who,
            "INSERT INTO projects (id, tenant_id, slug, name, review_intervals, path_subjects)"
            " VALUES (gen_random_uuid(), %s, 'only-there', 'x', '{}', '[]')",
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
