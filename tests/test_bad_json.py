"""Bodies that JSON allows, or nearly, and nobody needs."""

import time
from operator import itemgetter

import pytest

from tests.offered import ask, must_be_a_problem
from tests.people import new_office

pytestmark = pytest.mark.rule("T124", "T125", "T126", "T127")


@pytest.fixture(scope="module")
def busy():
    """An office in which nothing may be stored by these tests."""
    office = new_office()
    # Whoever acts is seated before anything is counted.
    assert office.senior.token
    assert office.admin.token
    return office


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
        (
            b"{" + b",".join(b'"%d": 1' % number for number in range(90_000)) + b"}",
            "malformed_json",
        ),
    ],
    ids=[
        "twice",
        "twice inside",
        "twice by escape",
        "proto",
        "constructor",
        "empty",
        "nul",
        "surrogate",
        "long",
        "many",
    ],
)
def test_keys_that_nobody_needs_are_refused(busy, body, code):
    answer = ask(busy.senior, "POST", "/api/v1/memories", body)

    must_be_a_problem(answer, 400, code)
    assert len(answer.content) < 20_000


@pytest.mark.rule("T126")
@pytest.mark.parametrize(
    "number",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "9" * 4000,
        "9" * 5000,
        "9223372036854775808",
        "1e-400",
        "0.1234567890123456789",
        "0." + "3" * 100_000,
        "1e99999999999999999999",
    ],
)
def test_a_number_that_would_be_rounded_is_refused(busy, number):
    body = f'{{"content": "x", "importance": {number}}}'.encode()

    must_be_a_problem(ask(busy.senior, "POST", "/api/v1/memories", body), 400, "malformed_json")


@pytest.mark.rule("T126")
@pytest.mark.parametrize(
    "number", ["0", "1", "-0", "0.0", "1e-7", "0.30000000000000004", "0.1", "1.0"]
)
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
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")],
    ids=["arrays", "objects", "mixed"],
)
def test_deep_nesting_is_refused_at_once(busy, depth, opening, closing):
    body = nested(depth, opening, closing).encode()

    started = time.thread_time()
    answer = ask(busy.senior, "POST", "/api/v1/memories", body)
    took = time.thread_time() - started

    said = must_be_a_problem(answer, 400, "malformed_json")
    assert "32" in said["detail"]
    assert took < 3.0, took


@pytest.mark.rule("T125")
def test_32_levels_are_read_and_then_judged_as_fields(busy):
    answer = ask(busy.senior, "POST", "/api/v1/memories", nested(32, "[", "]").encode())

    must_be_a_problem(answer, 400, "validation_failed")


BIG = 1024 * 1024


RUBBISH = {
    "opening": lambda size: b"[" * size,
    "closing": lambda size: b"]" * size,
    "braces": lambda size: b"{" * size,
    "digits": lambda size: b"9" * size,
    "quotes": lambda size: b'"' * size,
    "escaped quotes": lambda size: b'\\"' * (size // 2),
    "open text": lambda size: b'"' + b'\\"' * (size // 2 - 1),
    "backslashes": lambda size: b'"' + b"\\" * (size - 1),
    "nuls": lambda size: b'"' + b"\\u0000" * (size // 6),
    "lists": lambda size: b"[" + b"[]," * (size // 3 - 1) + b"1]",
    "numbers": lambda size: b"[" + b"1," * (size // 2 - 2) + b"1]",
    "minus": lambda size: b"-" * size,
    "spaces": lambda size: b" " * size,
    "lines": lambda size: b"\n" * size,
    "fraction": lambda size: b"1." + b"1" * (size - 2),
    "surrogates": lambda size: b'["' + b"\\ud83d" * (size // 6 - 2) + b'"]',
    "no utf-8": lambda size: b"\xf0" * size,
}


@pytest.mark.rule("T125", "T137")
@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH)
def test_a_mebibyte_of_rubbish_is_refused_fast(busy, rubbish):
    eighth, _ = asked(busy, rubbish(BIG // 8))
    whole, answer = asked(busy, rubbish(BIG))

    assert answer.status_code == 400, answer.content[:300]
    assert len(answer.content) < 20_000
    # Were the time to grow with the square, this would be 64 times as long; below that is noise.
    assert whole < max(24 * eighth, 1.0), (eighth, whole)


def asked(office, body):
    """Return the processor's seconds that a refusal takes at best, and the refusal."""
    tries = []
    for _ in range(3):
        started = time.thread_time()
        answer = ask(office.senior, "POST", "/api/v1/memories", body)
        tries.append((time.thread_time() - started, answer))
    return min(tries, key=itemgetter(0))
