"""Ten thousand disputes at the desk: as many statements as for ten, and no slow page."""

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from tenants.ids import Prefix, wire_id
from tests.admin_login import logged_in
from tests.desk import DESK
from tests.people import new_office

MANY = 10_000
# Of a page, those of the session and of the seat among them.
MOST_STATEMENTS = 24

PAGES = (
    "",
    "?state=challenges",
    "?state=automatic",
    "?state=decided",
    "?state=proposals",
    "?state=deferred",
    "?sort=oldest&p=300",
    "?sort=confident",
    "?kind=stale&age=week&whose=nobody&confidence=low&verdict=contradiction",
    "?q=service",
    "statistics/",
)
_MEMORIES = """
    INSERT INTO memories (id, tenant_id, owner_id, author_level, provenance_rank, project_id,
                          visibility, kind, content, text_key, words, subjects, tags, importance,
                          version)
    SELECT md5(%(tenant)s || n)::uuid, %(tenant)s::uuid, %(owner)s::uuid, 30, 2,
           %(project)s::uuid, 'project', 'fact', 'Service ' || n || ' listens.',
           sha256(n::text::bytea), 'service:1'::tsvector, '{}', '{}', 0.5, 1
    FROM generate_series(1, %(many)s * 2) n
"""
_CONFLICTS = """
    INSERT INTO conflicts (id, tenant_id, memory_a_id, memory_b_id, low_id, high_id, kind, state,
                           level_a, level_b, via, "row", missing_specifics, verdict, reason,
                           evidence, note, created_at, resolved_at, resolution, winner_id,
                           resolved_by_member_id)
    SELECT md5(%(tenant)s || 'c' || n)::uuid, %(tenant)s::uuid, a, b, least(a, b), greatest(a, b),
           CASE WHEN n %% 3 = 0 THEN 'stale' ELSE 'contradiction' END,
           CASE WHEN n %% 4 = 0 THEN 'resolved' ELSE 'pending' END, 30, 30,
           'vector', 'not sure enough', '{}',
           jsonb_build_object('relation', 'contradiction', 'confidence', 0.5 + (n %% 50) / 100.0,
                              'reasoning', 'Two ports.'), '', '', '',
           now() - n * interval '5 minutes',
           CASE WHEN n %% 4 = 0 THEN now() - n * interval '4 minutes' END,
           CASE WHEN n %% 4 = 0 THEN 'manual' END,
           CASE WHEN n %% 4 = 0 THEN a END,
           CASE WHEN n %% 8 = 0 THEN %(owner)s::uuid END
    FROM generate_series(1, %(many)s) n,
         LATERAL (SELECT md5(%(tenant)s || n)::uuid AS a,
                         md5(%(tenant)s || (n + %(many)s))::uuid AS b) ids
"""


def fill(office, many):
    """Give the office so many disputes, three quarters of which wait."""
    said = {
        "tenant": str(office.tenant.id),
        "owner": str(office.senior.member.id),
        "project": str(office.apollo.id),
        "many": many,
    }
    with connections["owner"].cursor() as cursor:
        cursor.execute(_MEMORIES, said)
        cursor.execute(_CONFLICTS, said)
        cursor.execute("ANALYZE memories, conflicts, dispute_periods")


@pytest.fixture(scope="module")
def full(django_db_blocker):
    with django_db_blocker.unblock():
        office = new_office()
        fill(office, MANY)
        return office


def cost(client, path):
    """Return how many statements a page takes. What takes too long is answered with 503."""
    with CaptureQueriesContext(connection) as said:
        answer = client.get(f"{DESK}{path}")
    assert answer.status_code == 200, path
    return len(said)


@pytest.fixture
def clients(full, office):
    """Reviewers of an office with ten disputes, and of one with ten thousand."""
    fill(office, 10)
    few, many = logged_in(office.reviewer), logged_in(full.reviewer)
    for client in (few, many):
        client.get(DESK)  # the first page after log-in writes the session
    return few, many


@pytest.mark.rule("DI-10")
@pytest.mark.parametrize("path", PAGES)
def test_ten_thousand_disputes_are_listed_as_ten_are(clients, path):
    few, many = clients
    statements = cost(many, path)
    # Where a filter finds nothing among ten, what would be looked up for each line is spared.
    assert cost(few, path) <= statements <= MOST_STATEMENTS, path


@pytest.mark.rule("DI-10")
def test_one_of_ten_thousand_is_shown_as_one_of_ten_is(clients, full, office):
    few, many = clients
    costs = [
        cost(client, f"{waiting(of)}/change/?sort=confident")
        for client, of in ((few, office), (many, full))
    ]
    assert costs[0] == costs[1]


def waiting(office):
    """Return the id of a dispute that waits, with others before and after it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT id FROM conflicts WHERE tenant_id = %s AND state = 'pending'"
            " ORDER BY created_at, id OFFSET 3 LIMIT 1",
            [office.tenant.id],
        )
        return wire_id(Prefix.CONFLICT, cursor.fetchone()[0])
