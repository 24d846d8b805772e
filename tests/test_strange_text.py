"""Texts, times and searches that are strange and yet allowed."""

import time

import pytest

from memory.finding.words import tsquery, tsvector
from memory.secret_content import find_secret
from memory.text import is_blank, same_text_key
from tests.offered import must_be_a_problem, rows
from tests.people import new_office

pytestmark = pytest.mark.rule("T130", "T131", "T133")


@pytest.fixture(scope="module")
def busy():
    """An office in which nothing may be stored by these tests."""
    office = new_office()
    # Whoever acts is seated before anything is counted.
    assert office.senior.token
    assert office.admin.token
    return office


NASTY = [
    "a",
    " ",
    "\t",
    "\n",
    ".",
    "-",
    "_",
    "/",
    "\\",
    "`",
    "``",
    '"',
    "'",
    "((",
    "[[",
    "a.",
    "a-",
    "a_",
    "a/",
    "1.",
    "1,",
    "1 ",
    "0",
    "aA",
    "A",
    "=",
    "password=",
    "password: ",
    "key",
    "token ",
    "sk-",
    "eyJ",
    "eyJa.",
    "plm_",
    "http://a:",
    "http://",
    "://@",
    "-----BEGIN ",
    "BEGIN PRIVATE KEY",
    "--",
    "$ ",
    "```\n",
    "not ",
    "n't ",
    "1st ",
    "May ",
    "12:00 ",
    "2026-",
    "€",
    "é",
    "e\u0301",
    "\u0301",
    "漢",
    "한",
    "\u200b",
    "\ufe0f",
    "😀",
    "hours ",
    "x" * 50 + " ",
    "&",
    "%",
    "\\n",
    "\r\n",
    "v1.2.",
]


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


@pytest.mark.parametrize(
    "unit", ["a", "\n", "password=", "eyJa.", "http://a:", "v1.2.", "漢", "e\u0301"]
)
def test_repeats_up_to_the_limit_are_taken_in_without_delay(office, unit):
    office.agent.post("/memories", {"content": "The model is loaded now."})

    started = time.thread_time()
    answer = office.agent.post("/memories", {"content": _longest(unit)})
    took = time.thread_time() - started

    assert answer.status_code in (201, 422), answer.content[:300]
    assert took < 3.0, took


@pytest.mark.rule("T130")
@pytest.mark.parametrize(
    "blank",
    [
        "",
        " ",
        "\n\t ",
        "\u200b\u200d",
        "\u202e\u2066",
        "\x01\x02",
        "\U000e0041\U000e0042",
        "\ufe0f",
        "\U000e0fff",
    ],
)
def test_what_nobody_can_read_is_empty(busy, blank):
    before = rows(busy)

    said = must_be_a_problem(
        busy.senior.post("/memories", {"content": blank}), 400, "validation_failed"
    )

    assert said["errors"][0]["field"] == "content"
    assert rows(busy) == before


@pytest.mark.rule("T131")
@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "'; DROP TABLE memories; --",
        "{{ 7*7 }} {% debug %} ${7*7}",
        "*)(uid=*))(|(uid=*",
        "=cmd|' /C calc'!A0",
        "$(rm -rf /) `id` | sh",
        "../../../../etc/passwd",
        "%s%n%x {0} %(name)s",
        "a\r\nSet-Cookie: x=1",
        "İstanbul ß ς ΣΑΣ ı",
        "🏳️‍🌈 שלום עולם مرحبا",
        "\x1b[31mred\x1b[0m text",
    ],
)
def test_hostile_text_is_kept_as_it_is(office, hostile):
    answer = office.senior.post("/memories", {"content": hostile})

    assert answer.status_code == 201, answer.content
    kept = office.senior.get(f"/memories/{answer.json()['memory_id']}").json()
    assert kept["content"] == hostile


@pytest.mark.rule("T129")
def test_two_ways_to_compose_a_letter_are_the_same_text_and_the_same_tag(office):
    first = office.senior.post("/memories", {"content": "Caf\u00e9 at nine", "tags": ["caf\u00e9"]})
    second = office.senior.post(
        "/memories", {"content": "Cafe\u0301 at nine", "tags": ["cafe\u0301"]}
    )

    assert first.status_code == 201
    assert second.status_code == 200
    assert second.json()["absorbed"]
    assert second.json()["memory"]["tags"] == ["caf\u00e9"]


@pytest.mark.rule("T136", "T140")
@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\u200b",
        "& | ! <-> ( )",
        '"unbalanced',
        "'",
        ":*",
        "a:*",
        "!!!",
        "(" * 4000,
        "* " * 4000,
        "a " * 4000,
        "\\",
        "^$.*+?{}[]|",
        "😀" * 2000,
        "漢字" * 1300,
        "שלום",
        "\u202eabc",
        "İ ß ς",
        "x" * 8192,
        "a & !a",
        "-" * 8000,
        " ".join(f"w{number}" for number in range(1300)),
    ],
)
def test_a_search_for_anything_is_answered_in_time(office, query):
    office.senior.post("/memories", {"content": "Something to be found."})

    started = time.thread_time()
    recalled = office.senior.post("/recall", {"query": query})
    listed = office.senior.get("/memories", {"q": query[:2000]})
    took = time.thread_time() - started

    assert recalled.status_code in (200, 400), recalled.content
    assert listed.status_code in (200, 400), listed.content
    assert took < 3.0, took


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
    [
        ("2026-05-04T12:00:00.000001Z", 201),
        ("2026-05-04T12:00:00Z", 400),
        ("2026-05-04T11:59:59Z", 400),
    ],
)
def test_validity_ends_after_it_begins(office, until, status):
    answer = office.senior.post(
        "/memories",
        {"content": "For a while.", "valid_from": "2026-05-04T12:00:00Z", "valid_until": until},
    )

    assert answer.status_code == status, answer.content
    if status == 400:
        assert answer.json()["errors"][0]["field"] == "valid_until"
