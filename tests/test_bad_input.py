"""
Requests that say what cannot be.

What is wrong with a field is tried on every field of that sort in every body and query: they
are found in the declarations, so an operation that comes later is covered by being declared.
"""

import pytest
from django.conf import settings
from rest_framework import serializers

from memory.requests import MemoryOrSubject
from memory.trust.requests import Source
from tenants.fields import Body, Choice, Flag, Id, Moment, Number, Text, Whole
from tests.offered import ask, must_be_a_problem, offers, rows
from tests.people import new_office

pytestmark = pytest.mark.rule("WR-12", "SU-08", "T123", "T126", "T133", "T134", "T135")

SENDING = [one for one in offers() if one.operation.takes is not None and not one.by_query]
ASKING = [one for one in offers() if one.operation.takes is not None and one.by_query]
OTHERWISE = [5, 1.5, True, [], {}]
UNSTORABLE = ["a\x00b", "\x00", "\ud800", "x\udc00\ud800y"]
ALIKE = ["٣", "\N{FULLWIDTH DIGIT FIVE}", "1_0", " 1", "0x1", "1e0", ""]
ID = "01kb5ywzr4e6y8wq1m3p2n7x5a"
BAD_IDS = [
    "",
    "mem",
    "mem_",
    f"mem_{ID.upper()}",
    f"MEM_{ID}",
    f" mem_{ID}",
    f"mem_{ID}\n",
    f"xxx_{ID}",
    ID,
    f"mem_{ID}0",
    f"mem_8{ID[1:]}",
    f"mem_{ID[:-1]}\N{ARABIC-INDIC DIGIT FIVE}",
    "mem_" + "0" * 10_000,
    "A9B3C1D2-0000-7000-8000-000000000000",
    "{a9b3c1d2-0000-7000-8000-000000000000}",
    "urn:uuid:a9b3c1d2-0000-7000-8000-000000000000",
    "00000000-0000-0000-0000-000000000000",
]
BAD_TIMES = [
    "",
    "yesterday",
    "2026-05-04",
    "2026-05-04T12:00:00",
    "2026-05-04 12:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+10:00",
    "9999-12-31T23:59:59-10:00",
    "10000-01-01T00:00:00Z",
    "2026-05-04T25:00:00Z",
    "2026-06-30T23:59:60Z",
    "2026-02-30T00:00:00Z",
    "2026-05-04T12:00:00+25:00",
    "2026-W01-1T00:00:00Z",
    "20260504T120000Z",
    "\N{FULLWIDTH DIGIT TWO}026-05-04T12:00:00Z",
    "2026-05-04T12:00:00Z\n",
    "2026-05-04T12:00:00[UTC]",
]


def bad_values(field):
    """Return what no field of this sort may take, whatever else it allows."""
    if isinstance(field, Body):
        return ["x", 5, True, [], [{}], {"no_such": 1}, {"\x00": 1}]
    if isinstance(field, serializers.ListField):
        longest = field.max_length
        return ["x", 5, True, {}, [None], [[]], *([[0] * (longest + 1)] if longest else [])]
    if isinstance(field, Choice):
        return [*OTHERWISE, *UNSTORABLE, "", "nonsense", "x" * 10_000]
    if isinstance(field, Moment):
        return [*OTHERWISE, *UNSTORABLE, *BAD_TIMES]
    if isinstance(field, Id):
        return [*OTHERWISE, *UNSTORABLE, *BAD_IDS]
    if isinstance(field, Flag):
        return [5, 1.5, 0, 1, "true", "", [], {}]
    if isinstance(field, Whole):
        return [1.5, 1.0, True, [], {}, "5", "", 1 - 2**63, 2**63 - 1]
    if isinstance(field, Number):
        return [True, [], {}, "0.5", "", -1, 1e308]
    if isinstance(field, MemoryOrSubject):
        return [*OTHERWISE, *UNSTORABLE, "mem_x", f"mem_{ID.upper()}", "a..b", ".", "x" * 10_000]
    if isinstance(field, Text):
        # What may fill a whole body is too long only when the body is.
        too_long = [] if (field.max_bytes or 0) >= settings.LONGEST_BODY else ["x" * 40_000]
        return [*OTHERWISE, *UNSTORABLE, *too_long]
    if isinstance(field, Source):
        return [1.5, True, [], {"no_such": 1}, *UNSTORABLE]
    return [1.5, True, [], {}, *UNSTORABLE]


def places(body, path=""):
    """Return every field of a body with where it stands and what puts a value there."""
    for name, field in body.fields.items():
        where = f"{path}.{name}" if path else name
        yield where, field
        child = getattr(field, "child", None)
        if child is not None:
            yield f"{where}[0]", child
        inner = child if isinstance(child, Body) else field if isinstance(field, Body) else None
        if inner is not None:
            yield from places(inner, f"{where}[0]" if inner is child else where)


def put(where, value):
    """Return a body that says the value there, and nothing else."""
    for step in reversed(where.replace("[0]", ".0").split(".")):
        value = [value] if step == "0" else {step: value}
    return value


@pytest.fixture(scope="module")
def busy():
    """An office in which nothing may be stored by these tests."""
    office = new_office()
    # Whoever acts is seated before anything is counted.
    assert office.senior.token
    assert office.admin.token
    return office


@pytest.mark.parametrize("offer", SENDING, ids=lambda one: one.operation.name)
def test_a_body_with_an_impossible_value_is_refused_by_field_and_nothing_is_stored(busy, offer):
    admin = busy.admin
    before = rows(busy)
    wrong = []

    for where, field in places(offer.operation.takes()):
        values = bad_values(field) if field.allow_null else [*bad_values(field), None]
        for value in values:
            answer = ask(admin, offer.method, offer.path, put(where, value))
            said = answer.json()
            named = [error["field"] for error in said.get("errors", ())]
            if answer.status_code != 400 or not any(one.startswith(where) for one in named):
                wrong.append((where, str(value)[:40], answer.status_code, named))

    assert wrong == []
    assert rows(busy) == before


@pytest.mark.parametrize("offer", ASKING, ids=lambda one: one.operation.name)
def test_a_query_with_an_impossible_value_is_refused_by_field(busy, offer):
    wrong = []

    for name, field in offer.operation.takes().fields.items():
        values = [value for value in bad_values(field) if isinstance(value, str)]
        if isinstance(field, Flag | Whole | Number):
            values = [*ALIKE, "x", "None", "1" * 5000, "NaN", "Infinity", "1e999", "True", "yes"]
        # What UTF-8 cannot hold is percent-encoded away by no client.
        for value in values:
            if any("\ud800" <= character <= "\udfff" for character in value):
                continue
            answer = busy.admin.get(offer.path.removeprefix("/api/v1"), {name: value})
            said = answer.json()
            named = [error["field"] for error in said.get("errors", ())]
            if answer.status_code != 400 or not any(one.startswith(name) for one in named):
                wrong.append((name, value[:40], answer.status_code, named))

    assert wrong == []


@pytest.mark.parametrize("offer", ASKING, ids=lambda one: one.operation.name)
@pytest.mark.parametrize(
    "query",
    ["order_by=id", "owner__name=x", "_connector=OR", "id__gt=1", "%00=1", "%ff=1", "offset=1"],
)
def test_a_query_knows_its_own_names_alone(busy, offer, query):
    answer = ask(busy.admin, offer.method, f"{offer.path}?{query}")

    said = must_be_a_problem(answer, 400, "validation_failed")
    assert said["errors"][0]["code"] == "unknown_field"


@pytest.mark.parametrize("offer", ASKING, ids=lambda one: one.operation.name)
def test_a_query_says_each_thing_once(busy, offer):
    for name, field in offer.operation.takes().fields.items():
        if not isinstance(field, serializers.ListField):
            answer = ask(busy.admin, offer.method, f"{offer.path}?{name}=1&{name}=2")
            said = must_be_a_problem(answer, 400, "validation_failed")
            assert (said["errors"][0]["field"], said["errors"][0]["code"]) == (name, "repeated")


@pytest.mark.parametrize(
    "offer", [one for one in offers() if not one.by_query], ids=lambda one: one.operation.name
)
def test_what_is_no_body_at_all_is_refused(busy, offer):
    for body in (b"5", b'"text"', b"[1]", b'["content"]', b"true", b'{"no_such_field": 1}'):
        answer = ask(busy.admin, offer.method, offer.path, body)
        must_be_a_problem(answer, 400, "validation_failed")
    for body in (
        b"{",
        b"{]",
        b"nul",
        b"\xff",
        b"{'a': 1}",
        b'{"a": 1,}',
        b"{}{}",
        "\ufeff{}".encode(),
    ):
        answer = ask(busy.admin, offer.method, offer.path, body)
        must_be_a_problem(answer, 400, "malformed_json")


@pytest.mark.rule("T004", "WR-03")
@pytest.mark.parametrize("offer", SENDING, ids=lambda one: one.operation.name)
@pytest.mark.parametrize(
    "stamped",
    [
        "tenant",
        "tenant_id",
        "owner",
        "author",
        "id",
        "status",
        "created_at",
        "provenance_rank",
        "author_level",
        "embedding",
        "audit",
    ],
)
def test_what_the_server_says_itself_is_not_taken_from_anybody(busy, offer, stamped):
    bodies = [("", offer.operation.takes())]
    bodies += [
        (where, field)
        for where, field in places(offer.operation.takes())
        if isinstance(field, Body)
    ]
    for where, body in bodies:
        name = f"{where}.{stamped}" if where else stamped
        if stamped not in body.fields:
            answer = ask(busy.admin, offer.method, offer.path, put(name, "x"))
            said = must_be_a_problem(answer, 400, "validation_failed")
            assert (name, "unknown_field") in {
                (one["field"], one["code"]) for one in said["errors"]
            }


def test_an_unknown_field_is_answered_with_the_nearest_known_one(busy):
    said = ask(
        busy.senior, "POST", "/api/v1/memories", {"content": "x", "visibilty": "tenant"}
    ).json()
    inner = ask(
        busy.senior,
        "POST",
        "/api/v1/memories",
        {"content": "x", "links": [{"type": "derived_from", "dest": "x"}]},
    ).json()

    assert said["errors"][0]["field"] == "visibilty"
    assert "Did you mean visibility?" in said["errors"][0]["message"]
    assert inner["errors"][0]["field"] == "links[0].dest"
    assert "Did you mean dst?" in inner["errors"][0]["message"]


@pytest.mark.rule("T142")
@pytest.mark.parametrize("key", ["", "k" * 256, "schlüssel", "a\tb", "k\x7f"])
def test_an_idempotency_key_has_a_form(busy, key):
    before = rows(busy)

    answer = busy.senior.post("/memories", {"content": "Once."}, **{"Idempotency-Key": key})

    said = must_be_a_problem(answer, 400, "validation_failed")
    assert said["errors"][0]["field"] == "Idempotency-Key"
    assert rows(busy) == before


@pytest.mark.rule("T142")
def test_the_longest_idempotency_key_is_taken(office):
    key = {"Idempotency-Key": "k" * 255}

    assert office.senior.post("/memories", {"content": "Once."}, **key).status_code == 201
    again = office.senior.post("/memories", {"content": "Another."}, **key)
    must_be_a_problem(again, 409, "idempotency_mismatch")
    # The same key is another one elsewhere, and with somebody else.
    assert office.senior.post("/recall", {"query": "Once"}, **key).status_code == 200
    assert office.colleague.post("/memories", {"content": "Once."}, **key).status_code == 201


@pytest.mark.rule("T134", "T123")
@pytest.mark.parametrize(
    "offer", [one for one in offers() if one.operation.path_ids], ids=lambda one: one.operation.name
)
def test_what_is_no_id_in_the_path_is_not_found(busy, offer):
    for bad in (
        "x",
        "%00",
        "mem_%00",
        f"mem_{ID.upper()}",
        "%F0%9F%98%80",
        "mem_" + "0" * 5000,
        "%ff",
        "..",
        "1",
    ):
        before, _, after = offer.path.partition("_")
        head = before[: before.rindex("/")]
        tail = after.split("/", 1)[1:]
        path = "/".join([head, bad, *tail])
        answer = ask(busy.admin, offer.method, path)
        must_be_a_problem(answer, 404, "not_found")
