"""
Requests that say what cannot be.

What is wrong with a field is tried on every field of that sort in every body and query there is: they
are found in the declarations, so an operation that comes later is covered by being declared.
"""

import json
import time

import pytest
from rest_framework import serializers

from memory.finding.words import tsquery, tsvector
from memory.requests import MemoryOrSubject
from memory.secret_content import find_secret
from memory.text import is_blank, same_text_key
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
    "", "mem", "mem_", f"mem_{ID.upper()}", f"MEM_{ID}", f" mem_{ID}", f"mem_{ID}\n", f"xxx_{ID}",
    ID, f"mem_{ID}0", f"mem_8{ID[1:]}", f"mem_{ID[:-1]}\N{ARABIC-INDIC DIGIT FIVE}", "mem_" + "0" * 10_000,
    "A9B3C1D2-0000-7000-8000-000000000000", "{a9b3c1d2-0000-7000-8000-000000000000}",
    "urn:uuid:a9b3c1d2-0000-7000-8000-000000000000", "00000000-0000-0000-0000-000000000000",
]  # fmt: skip
BAD_TIMES = [
    "", "yesterday", "2026-05-04", "2026-05-04T12:00:00", "2026-05-04 12:00:00Z",
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00",
    "10000-01-01T00:00:00Z", "2026-05-04T25:00:00Z", "2026-06-30T23:59:60Z", "2026-02-30T00:00:00Z",
    "2026-05-04T12:00:00+25:00", "2026-W01-1T00:00:00Z", "20260504T120000Z",
    "\N{FULLWIDTH DIGIT TWO}026-05-04T12:00:00Z", "2026-05-04T12:00:00Z\n", "2026-05-04T12:00:00[UTC]",
]  # fmt: skip


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
        return [*OTHERWISE, *UNSTORABLE, "x" * 40_000]
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
    return new_office()


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
    "query", ["order_by=id", "owner__name=x", "_connector=OR", "id__gt=1", "%00=1", "%ff=1", "offset=1"]
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


@pytest.mark.parametrize("offer", [one for one in offers() if not one.by_query], ids=lambda one: one.operation.name)
def test_what_is_no_body_at_all_is_refused(busy, offer):
    for body in (b"5", b'"text"', b"[1]", b'["content"]', b"true", b'{"no_such_field": 1}'):
        answer = ask(busy.admin, offer.method, offer.path, body)
        must_be_a_problem(answer, 400, "validation_failed")
    for body in (b"{", b"{]", b"nul", b"\xff", b"{'a': 1}", b'{"a": 1,}', b"{}{}", "\ufeff{}".encode()):
        answer = ask(busy.admin, offer.method, offer.path, body)
        must_be_a_problem(answer, 400, "malformed_json")


@pytest.mark.rule("T004", "WR-03")
@pytest.mark.parametrize("offer", SENDING, ids=lambda one: one.operation.name)
@pytest.mark.parametrize(
    "stamped",
    ["tenant", "tenant_id", "owner", "author", "id", "status", "created_at", "provenance_rank",
     "author_level", "embedding", "audit"],
)  # fmt: skip
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
            assert (name, "unknown_field") in {(one["field"], one["code"]) for one in said["errors"]}


def test_an_unknown_field_is_answered_with_the_nearest_known_one(busy):
    said = ask(
        busy.senior, "POST", "/api/v1/memories", {"content": "x", "visibilty": "tenant"}
    ).json()
    inner = ask(
        busy.senior, "POST", "/api/v1/memories", {"content": "x", "links": [{"type": "derived_from", "dest": "x"}]}
    ).json()

    assert said["errors"][0]["field"] == "visibilty"
    assert "Did you mean visibility?" in said["errors"][0]["message"]
    assert inner["errors"][0]["field"] == "links[0].dest"
    assert "Did you mean dst?" in inner["errors"][0]["message"]


@pytest.mark.rule("T127")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"content": "a", "content": "b"}', "malformed_json"),
        (b'{"content": "a", "source": {"uri": "x", "uri": "y"}}', "malformed_json"),
        (b'{"content": "a", "\\u0063ontent": "b"}', "malformed_json"),
        (b'{"content": "a", "__proto__": {}}', "validation_failed"),
        (b'{"content": "a", "constructor": {"prototype": {}}}', "validation_failed"),
        (b'{"content": "a", "": 1}', "validation_failed"),
        (b'{"content": "a", "\\u0000": 1}', "validation_failed"),
        (b'{"content": "a", "\\ud800": 1}', "validation_failed"),
        (b'{"content": "a", "' + b"k" * 1_000_000 + b'": 1}', "validation_failed"),
        (b"{" + b",".join(b'"%d": 1' % number for number in range(90_000)) + b"}", "malformed_json"),
    ],
    ids=["twice", "twice inside", "twice by escape", "proto", "constructor", "empty", "nul", "surrogate", "long", "many"],
)
def test_keys_that_nobody_needs_are_refused(busy, body, code):
    answer = ask(busy.senior, "POST", "/api/v1/memories", body)

    must_be_a_problem(answer, 400, code)
    assert len(answer.content) < 20_000


@pytest.mark.rule("T126")
@pytest.mark.parametrize(
    "number",
    ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 4000, "9" * 5000, "9223372036854775808",
     "1e-400", "0.1234567890123456789", "0." + "3" * 100_000, "1e99999999999999999999"],
)  # fmt: skip
def test_a_number_that_would_be_rounded_is_refused(busy, number):
    body = f'{{"content": "x", "importance": {number}}}'.encode()

    must_be_a_problem(ask(busy.senior, "POST", "/api/v1/memories", body), 400, "malformed_json")


@pytest.mark.rule("T126")
@pytest.mark.parametrize("number", ["0", "1", "-0", "0.0", "1e-7", "0.30000000000000004", "0.1", "1.0"])
def test_a_number_is_kept_exactly(office, number):
    body = f'{{"content": "The number is {number}.", "importance": {number}}}'.encode()

    answer = ask(office.senior, "POST", "/api/v1/memories", body)

    assert answer.status_code == 201, answer.content
    kept = office.senior.get(f"/memories/{answer.json()['memory_id']}").json()
    assert kept["importance"] == float(number)


def nested(depth, opening, closing):
    return opening * depth + "1" + closing * depth


@pytest.mark.rule("T125")
@pytest.mark.parametrize("depth", [33, 900, 7_000, 100_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")], ids=["arrays", "objects", "mixed"]
)
def test_deep_nesting_is_refused_at_once(busy, depth, opening, closing):
    body = nested(depth, opening, closing).encode()

    started = time.thread_time()
    answer = ask(busy.senior, "POST", "/api/v1/memories", body)
    took = time.thread_time() - started

    said = must_be_a_problem(answer, 400, "malformed_json")
    assert "32" in said["detail"]
    assert took < 0.05, took


@pytest.mark.rule("T125")
def test_32_levels_are_read_and_then_judged_as_fields(busy):
    answer = ask(busy.senior, "POST", "/api/v1/memories", nested(32, "[", "]").encode())

    must_be_a_problem(answer, 400, "validation_failed")


BIG = 1024 * 1024


@pytest.mark.rule("T125", "T137")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * BIG, b"]" * BIG, b"{" * BIG, b"9" * BIG, b'"' * BIG, b'\\"' * (BIG // 2), b'"' + b'\\"' * (BIG // 2 - 1),
        b'"' + b"\\" * (BIG - 1), b'"' + b"\\u0000" * (BIG // 6), b"[" + b"[]," * (BIG // 3 - 1) + b"1]",
        b"[" + b"1," * (BIG // 2 - 2) + b"1]", b"-" * BIG, b" " * BIG, b"\n" * BIG, b"1." + b"1" * (BIG - 2),
        b'["' + b"\\ud83d" * (BIG // 6 - 2) + b'"]', b"\xf0" * BIG,
    ],
    ids=["opening", "closing", "braces", "digits", "quotes", "escaped quotes", "open text", "backslashes", "nuls",
         "lists", "numbers", "minus", "spaces", "lines", "fraction", "surrogates", "no utf-8"],
)  # fmt: skip
def test_a_mebibyte_of_rubbish_is_refused_fast(busy, body):
    started = time.thread_time()
    answer = ask(busy.senior, "POST", "/api/v1/memories", body)
    took = time.thread_time() - started

    assert answer.status_code == 400, answer.content[:300]
    assert took < 1.0, took
    assert len(answer.content) < 20_000


NASTY = [
    "a", " ", "\t", "\n", ".", "-", "_", "/", "\\", "`", "``", '"', "'", "((", "[[", "a.", "a-", "a_", "a/", "1.", "1,", "1 ",
    "0", "aA", "A", "=", "password=", "password: ", "key", "token ", "sk-", "eyJ", "eyJa.", "plm_", "http://a:", "http://",
    "://@", "-----BEGIN ", "BEGIN PRIVATE KEY", "--", "$ ", "```\n", "not ", "n't ", "1st ", "May ", "12:00 ", "2026-", "€",
    "é", "e\u0301", "\u0301", "漢", "한", "\u200b", "\ufe0f", "😀", "hours ", "x" * 50 + " ", "&", "%", "\\n", "\r\n", "v1.2.",
]  # fmt: skip


def _longest(unit):
    room = 32 * 1024 - 4
    return unit * (room // len(unit.encode())) + " \n."


def test_no_expression_on_the_way_of_a_memory_takes_more_than_linear_time():
    slow = []

    for unit in NASTY:
        for step in (find_secret, tsvector, tsquery, is_blank, same_text_key):
            started = time.thread_time()
            step(_longest(unit))
            took = time.thread_time() - started
            if took > 0.5:
                slow.append((unit, step.__name__, round(took, 2)))

    assert slow == []


@pytest.mark.parametrize("unit", ["a", "\n", "password=", "eyJa.", "http://a:", "v1.2.", "漢", "e\u0301"])
def test_repeats_up_to_the_limit_are_taken_in_without_delay(office, unit):
    started = time.thread_time()
    answer = office.agent.post("/memories", {"content": _longest(unit)})
    took = time.thread_time() - started

    assert answer.status_code in (201, 422), answer.content[:300]
    assert took < 1.0, took


def _limited(office, name):
    memory = office.senior.post("/memories", {"content": f"A target for {name}."}).json()["memory_id"]
    made = {
        "links": lambda n: [{"type": "derived_from", "dst": memory}] * n,
        "components": lambda n: [{"subject": f"part.{i}", "value": "1"} for i in range(n)],
        "subjects": lambda n: [f"subject.s{i}" for i in range(n)],
        "depends_on": lambda n: [f"place.p{i}" for i in range(n)],
        "tags": lambda n: [f"tag{i}" for i in range(n)],
    }
    return made[name]


@pytest.mark.rule("T129")
@pytest.mark.parametrize(
    ("name", "most"),
    [("links", 50), ("components", 50), ("subjects", 50), ("depends_on", 50), ("tags", 20)],
)
def test_lists_are_taken_up_to_their_limit(office, name, most):
    make = _limited(office, name)

    full = office.senior.post("/memories", {"content": f"Full {name}.", name: make(most)})
    over = office.senior.post("/memories", {"content": f"Over {name}.", name: make(most + 1)})

    assert full.status_code == 201, full.content
    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == name
    assert str(most) in said["errors"][0]["message"]


@pytest.mark.rule("T129", "SU-08")
def test_ten_memories_may_be_superseded_at_once_and_repeats_count_once(office):
    ids = [
        office.senior.post("/memories", {"content": f"Version {number} of the plan: go to {word}."}).json()["memory_id"]
        for number, word in enumerate(["Rome", "Oslo", "Lima", "Baku", "Kyiv", "Bonn", "Graz", "Lyon", "Nice", "Pisa", "Turin"])
    ]
    links = [{"type": "supersedes", "dst": one} for one in ids]

    over = office.senior.post("/memories", {"content": "Eleven.", "links": links})
    repeated = office.senior.post("/memories", {"content": "Ten.", "links": [*links[:10], links[0]]})

    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == "links"
    assert "10" in said["errors"][0]["message"]
    assert repeated.status_code == 201, repeated.content
    assert len(repeated.json()["superseded"]) == 10


@pytest.mark.rule("T129", "T130")
@pytest.mark.parametrize("unit", ["x", "é", "漢", "😀", "e\u0301"], ids=["ascii", "two", "three", "four", "combining"])
def test_content_is_limited_by_its_bytes(office, unit):
    limit = 32 * 1024
    repeats, rest = divmod(limit, len(unit.encode()))
    full = unit * repeats + "." * rest

    taken = office.senior.post("/memories", {"content": full})
    over = office.senior.post("/memories", {"content": full + "."})

    assert taken.status_code == 201, taken.content[:300]
    said = must_be_a_problem(over, 400, "validation_failed")
    assert said["errors"][0]["field"] == "content"
    assert "32,768" in said["errors"][0]["message"]


@pytest.mark.rule("T129")
@pytest.mark.parametrize(
    ("path", "full", "over", "field", "limit"),
    [
        ("/memories", {"content": "Deep.", "subjects": [".".join("a" * 16)]},
         {"content": "Deeper.", "subjects": [".".join("a" * 17)]}, "subjects[0]", "16"),
        ("/recall", {"query": "x", "k": 100}, {"query": "x", "k": 101}, "k", "100"),
        ("/recall", {"query": "x" * 8192}, {"query": "x" * 8193}, "query", "8,192"),
        ("/memories", {"content": "Soon.", "wait": 0}, {"content": "Soon.", "wait": 61}, "wait", "60"),
        ("/memories", {"content": "Weighty.", "importance": 1}, {"content": "Weighty.", "importance": 1.01},
         "importance", "1"),
    ],
    ids=["depth", "k", "query", "wait", "importance"],
)  # fmt: skip
def test_values_are_taken_up_to_their_limit(office, path, full, over, field, limit):
    assert office.senior.post(path, full).status_code in (200, 201)
    said = must_be_a_problem(office.senior.post(path, over), 400, "validation_failed")
    assert said["errors"][0]["field"] == field
    assert limit in said["errors"][0]["message"]


@pytest.mark.rule("T137")
def test_a_body_is_limited_to_a_mebibyte(office):
    full = json.dumps({"content": "Padded."}).encode()
    full += b" " * (BIG - len(full))

    assert ask(office.senior, "POST", "/api/v1/memories", full).status_code == 201
    said = must_be_a_problem(ask(office.senior, "POST", "/api/v1/memories", full + b" "), 413, "too_large")
    assert "1 MiB" in said["detail"]


@pytest.mark.rule("T130")
@pytest.mark.parametrize(
    "blank", ["", " ", "\n\t ", "\u200b\u200d", "\u202e\u2066", "\x01\x02", "\U000e0041\U000e0042", "\ufe0f", "\U000e0fff"]
)
def test_what_nobody_can_read_is_empty(busy, blank):
    before = rows(busy)

    said = must_be_a_problem(busy.senior.post("/memories", {"content": blank}), 400, "validation_failed")

    assert said["errors"][0]["field"] == "content"
    assert rows(busy) == before


@pytest.mark.rule("T131")
@pytest.mark.parametrize(
    "hostile",
    ["<script>alert(1)</script>", "'; DROP TABLE memories; --", "{{ 7*7 }} {% debug %} ${7*7}", "*)(uid=*))(|(uid=*",
     "=cmd|' /C calc'!A0", "$(rm -rf /) `id` | sh", "../../../../etc/passwd", "%s%n%x {0} %(name)s", "a\r\nSet-Cookie: x=1",
     "İstanbul ß ς ΣΑΣ ı", "🏳️‍🌈 שלום עולם مرحبا", "\x1b[31mred\x1b[0m text"],
)  # fmt: skip
def test_hostile_text_is_kept_as_it_is(office, hostile):
    answer = office.senior.post("/memories", {"content": hostile})

    assert answer.status_code == 201, answer.content
    kept = office.senior.get(f"/memories/{answer.json()['memory_id']}").json()
    assert kept["content"] == hostile


@pytest.mark.rule("T129")
def test_two_ways_to_compose_a_letter_are_the_same_text_and_the_same_tag(office):
    first = office.senior.post("/memories", {"content": "Caf\u00e9 at nine", "tags": ["caf\u00e9"]})
    second = office.senior.post("/memories", {"content": "Cafe\u0301 at nine", "tags": ["cafe\u0301"]})

    assert first.status_code == 201
    assert second.status_code == 200
    assert second.json()["absorbed"]
    assert second.json()["memory"]["tags"] == ["caf\u00e9"]


@pytest.mark.rule("T136", "T140")
@pytest.mark.parametrize(
    "query",
    ["", " ", "\u200b", "& | ! <-> ( )", '"unbalanced', "'", ":*", "a:*", "!!!", "(" * 4000, "* " * 4000, "a " * 4000,
     "\\", "^$.*+?{}[]|", "😀" * 2000, "漢字" * 1300, "שלום", "\u202eabc", "İ ß ς", "x" * 8192, "a & !a", "-" * 8000,
     " ".join(f"w{number}" for number in range(1300))],
)  # fmt: skip
def test_a_search_for_anything_is_answered_in_time(office, query):
    office.senior.post("/memories", {"content": "Something to be found."})

    started = time.thread_time()
    recalled = office.senior.post("/recall", {"query": query})
    listed = office.senior.get("/memories", {"q": query[:2000]})
    took = time.thread_time() - started

    assert recalled.status_code in (200, 400), recalled.content
    assert listed.status_code in (200, 400), listed.content
    assert took < 1.0, took


@pytest.mark.rule("T133")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("2026-05-04T14:00:00+02:00", "2026-05-04T12:00:00.000000Z"),
        ("2026-05-04t12:00:00z", "2026-05-04T12:00:00.000000Z"),
        ("2026-05-04T12:00:00.123456789Z", "2026-05-04T12:00:00.123456Z"),
        ("2026-05-04T12:00Z", "2026-05-04T12:00:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ("2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59.000000Z"),
    ],
)
def test_a_time_is_kept_in_utc(office, said, kept):
    answer = office.senior.post("/memories", {"content": "Timed.", "review_after": said})

    assert answer.status_code == 201, answer.content
    assert answer.json()["memory"]["review_after"] == kept


@pytest.mark.rule("T133")
@pytest.mark.parametrize(
    ("until", "status"),
    [("2026-05-04T12:00:00.000001Z", 201), ("2026-05-04T12:00:00Z", 400), ("2026-05-04T11:59:59Z", 400)],
)
def test_validity_ends_after_it_begins(office, until, status):
    answer = office.senior.post(
        "/memories", {"content": "For a while.", "valid_from": "2026-05-04T12:00:00Z", "valid_until": until}
    )

    assert answer.status_code == status, answer.content
    if status == 400:
        assert answer.json()["errors"][0]["field"] == "valid_until"


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
@pytest.mark.parametrize("offer", [one for one in offers() if one.operation.path_ids], ids=lambda one: one.operation.name)
def test_what_is_no_id_in_the_path_is_not_found(busy, offer):
    for bad in ("x", "%00", "mem_%00", f"mem_{ID.upper()}", "%F0%9F%98%80", "mem_" + "0" * 5000, "%ff", "..", "1"):
        before, _, after = offer.path.partition("_")
        head = before[: before.rindex("/")]
        tail = after.split("/", 1)[1:]
        path = "/".join([head, bad, *tail])
        answer = ask(busy.admin, offer.method, path)
        must_be_a_problem(answer, 404, "not_found")
