"""A statement about a tenant's table outside the door is refused before the database sees it."""

import pytest
from django.db import connection, transaction

from memory.models import Memory
from tenants.context import acting_as
from tenants.guard import OutsideTheDoor, tenant_tables
from tenants.models import Tenant
from tests.promises import catalogue

pytestmark = pytest.mark.rule("VI-01", "T048")


def run(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM memories",
        "select * from memories",
        "Select 1 From  public.memories m",
        'SELECT * FROM "public"."memories"',
        'SELECT * FROM "memories" WHERE true',
        "SELECT * FROM ONLY memories",
        "SELECT * FROM users, memories",
        "SELECT * FROM users u JOIN members m ON true",
        "SELECT (SELECT count(*)\nFROM\n  links)",
        "INSERT INTO events (id) VALUES (NULL)",
        "UPDATE jobs SET state = 'done'",
        "UPDATE ONLY jobs SET state = 'done'",
        "DELETE FROM tokens",
        "TRUNCATE memories",
        "TRUNCATE TABLE memories",
        "COPY memories TO STDOUT",
        "LOCK TABLE memories",
        "LOCK memories",
        "TABLE memories",
        "MERGE INTO memories USING users ON true WHEN MATCHED THEN DO NOTHING",
        "WITH gone AS (DELETE FROM links RETURNING 1) SELECT 1",
    ],
)
def test_no_statement_names_a_table_of_tenants_outside(statement):
    with pytest.raises(OutsideTheDoor):
        run(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM count_jobs()",
        "SELECT state, jobs FROM count_jobs()",
        "SELECT 'memories', 'events'",
        "SELECT count(*) FROM users",
        "SELECT count(*) FROM django_session",
        "SELECT count(*) FROM auth_permission",
    ],
)
def test_what_is_nobodys_is_let_through(statement):
    run(statement)


def test_every_table_of_tenants_is_known_to_the_guard(owner):
    for table in catalogue.tenant_tables(owner):
        assert tenant_tables().search(f"SELECT * FROM {table}"), table


def test_a_queryset_that_left_the_door_is_not_evaluated(office):
    with acting_as(office.senior.caller):
        lazy = Memory.objects.all()
    with pytest.raises(OutsideTheDoor, match="memories"):
        list(lazy)


def test_an_iterator_that_left_the_door_gives_nothing_of_the_next_ones(office, other_office):
    for place in (office, other_office):
        place.senior.post("/memories", {"content": f"of {place.slug}", "project": "apollo"})
    with acting_as(office.senior.caller):
        kept = Memory.objects.iterator(chunk_size=1)
        first = next(kept)
    assert first.tenant_id == office.tenant.id
    with acting_as(other_office.senior.caller):
        assert all(memory.tenant_id == office.tenant.id for memory in kept)


def test_what_runs_after_the_commit_opens_a_door_of_its_own(office):
    def too_late():
        Tenant.objects.count()

    with pytest.raises(OutsideTheDoor), acting_as(office.senior.caller):
        transaction.on_commit(too_late)
