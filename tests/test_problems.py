"""Failures: always in one form, never with a word too many."""

import logging

import pytest
from django.db import DataError, InterfaceError, OperationalError, connections
from django.test import Client
from psycopg_pool import PoolTimeout

from memory.models import Memory
from tenants.caller import Scope
from tenants.founding import OWNER
from tenants.operations import Operation
from tenants.rest import endpoint
from tenants.wire import ProjectAnswer
from tests.offered import ask, must_be_a_problem, offers
from tests.people import SEE

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
OFFERS = offers()
PATHS = sorted({one.path for one in OFFERS})


def nobody(method, where, **options):
    return Client().generic(method, where, **options)


@pytest.mark.rule("T049")
@pytest.mark.parametrize("where", PATHS)
def test_without_a_token_every_method_of_every_path_is_refused_alike(where):
    for method in METHODS:
        answer = nobody(method, where)
        said = must_be_a_problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="palimpsest"'
        assert said["errors"] == []


@pytest.mark.parametrize("where", PATHS)
def test_a_method_that_is_not_offered_is_refused_with_those_that_are(office, where):
    offered = {one.method for one in OFFERS if one.path == where}
    for method in set(METHODS) - offered:
        answer = ask(office.admin, method, where)
        must_be_a_problem(answer, 405, "method_not_allowed")
        assert set(answer.headers["Allow"].split(", ")) - {"HEAD"} == offered


@pytest.mark.parametrize(
    "offer", [one for one in OFFERS if one.operation.scope], ids=lambda one: one.operation.name
)
def test_a_missing_scope_is_told_before_the_body_is_read(office, offer):
    scopes = [scope for scope in Scope if scope != offer.operation.scope]
    narrow = office.person("narrow", scopes=scopes, grants=[(office.apollo, SEE)])

    said = must_be_a_problem(ask(narrow, offer.method, offer.path, b"{"), 403, "insufficient_scope")

    assert offer.operation.scope.value in said["detail"]


@pytest.mark.parametrize(
    "where",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v1/nothing",
        "/api/v2/memories",
        "/api/v1/memories/",
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_a_path_that_is_none_is_not_found(office, where, method):
    must_be_a_problem(ask(office.senior, method, where), 404, "not_found")
    must_be_a_problem(nobody(method, where), 404, "not_found")


def test_what_is_not_there_and_what_is_hidden_read_alike(office, other_office):
    hidden = other_office.senior.post("/memories", {"content": "Theirs."}).json()["memory_id"]
    missing = f"{hidden[:-1]}{'0' if hidden[-1] != '0' else '1'}"

    answers = [
        must_be_a_problem(office.senior.get(f"/memories/{one}"), 404, "not_found")
        for one in (hidden, missing)
    ]

    for one in answers:
        del one["request_id"]
    assert answers[0] == answers[1]


def test_conflicts_and_secrets_have_their_codes(office):
    kept = office.senior.post("/memories", {"content": "To be forgotten."}).json()["memory_id"]
    office.senior.post(f"/memories/{kept}/forget", {"reason": "wrong"})

    again = office.senior.post(f"/memories/{kept}/forget", {"reason": "wrong"})
    stale = office.senior.patch(f"/memories/{kept}", {"importance": 1}, **{"If-Match": "99"})
    secret = office.senior.post("/memories", {"content": f"Use {office.senior.token} for it."})

    must_be_a_problem(again, 409, "already_retired")
    must_be_a_problem(stale, 409, "stale_version")
    said = must_be_a_problem(secret, 422, "secret_content_rejected")
    assert office.senior.token not in secret.content.decode()
    assert said["errors"][0]["field"] == "content"


@pytest.mark.parametrize("field", ["dst", "src"])
def test_a_reference_to_nothing_names_its_place(office, field):
    there = office.senior.post("/memories", {"content": "There."}).json()["memory_id"]
    nothing = "mem_01kb5ywzr4e6y8wq1m3p2n7x5a"
    links = [{"type": "derived_from", "dst": one} for one in (there, there, nothing)]

    written = office.senior.post("/memories", {"content": "Linked.", "links": links})
    body = {"src": there, "dst": there, "type": "relates_to", field: nothing}
    drawn = office.senior.post("/links", body)

    assert (
        must_be_a_problem(written, 400, "validation_failed")["errors"][0]["field"] == "links[2].dst"
    )
    assert must_be_a_problem(drawn, 400, "validation_failed")["errors"][0]["field"] == field


@pytest.mark.rule("T063")
def test_too_many_requests_are_refused_with_the_time_to_wait(office, settings):
    settings.RATE_LIMIT = 0

    answer = office.senior.get("/whoami")

    said = must_be_a_problem(answer, 429, "rate_limited")
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert said["detail"]


@pytest.mark.rule("T122")
def test_a_slow_database_is_told_as_unavailable_and_the_connection_goes_on(office):
    office.senior.get("/whoami")

    with connections[OWNER].cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"LOCK TABLE {Memory._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        try:
            answer = office.senior.get("/memories")
        finally:
            cursor.execute("ROLLBACK")

    must_be_a_problem(answer, 503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert office.senior.get("/memories").status_code == 200


class Broken:
    """A path of the test's own, at which an operation fails as it is told to."""

    def __init__(self):
        self.error: Exception = AssertionError("not told yet")

    def __call__(self, caller):
        raise self.error


@pytest.fixture
def broken(settings, office):
    """Have one more path, behind which something is wrong."""
    fault = Broken()

    def fail(caller):
        """Fail."""
        return fault(caller)

    settings.ROOT_URLCONF = type(
        "Urls",
        (),
        {
            "urlpatterns": [
                endpoint("broken", get=Operation(fail, None, gives=ProjectAnswer, changes=False))
            ],
            "handler500": "deploy.problems.server_error",
        },
    )
    return fault


def _fail(office, fault, error):
    fault.error = error
    client = office.senior.client
    client.raise_request_exception = False
    return client.get(
        "/broken",
        headers={"Authorization": f"Bearer {office.senior.token}", "X-Request-Id": "my-request"},
    )


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, PoolTimeout])
def test_a_database_that_is_down_is_told_as_unavailable_and_logged_once(
    office, broken, caplog, error
):
    answer = _fail(office, broken, error("host db.internal refused user palimpsest_runtime"))

    said = must_be_a_problem(answer, 503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert "db.internal" not in str(said)
    (logged,) = caplog.records
    assert logged.request.request_id == "my-request"


@pytest.mark.parametrize(
    "error", [KeyError, DataError, ZeroDivisionError, RecursionError, MemoryError]
)
def test_a_fault_of_ours_is_told_without_details_and_logged_once(office, broken, caplog, error):
    with caplog.at_level(logging.DEBUG):
        answer = _fail(office, broken, error("the content of somebody's memory"))

    said = must_be_a_problem(answer, 500, "internal_error")
    assert said["request_id"] == "my-request"
    assert "somebody" not in answer.content.decode()
    assert "Traceback" not in answer.content.decode()
    logged = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert len(logged) == 1
    assert logged[0].request.request_id == "my-request"


@pytest.mark.parametrize("sent", ["a" * 65, "a b", "ä", "a\x1b[31m", "<b>", ""])
def test_a_request_id_that_could_do_harm_is_replaced(office, sent):
    answer = office.senior.get("/whoami", **{"X-Request-Id": sent})

    assert answer.headers["X-Request-Id"] != sent
    assert len(answer.headers["X-Request-Id"]) == 36


def test_a_request_id_is_kept(office):
    assert (
        office.senior.get("/nothing", **{"X-Request-Id": "abc-1.2_3"}).json()["request_id"]
        == "abc-1.2_3"
    )
