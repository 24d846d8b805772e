"""Log lines: one a record, with no token, no content and no parameter of a statement in them."""

import logging

import pytest
from django.db import OperationalError

from deploy.logs import OneLine, Reticent
from tests.people import new_office
from tests.web_process import HEAD, web_process

pytestmark = pytest.mark.rule("T066", "T172")

TOKEN = "plm_" + "Ab1" * 12
REMEMBERED = "the heron nests behind the boathouse"


@pytest.fixture
def line():
    """Return what turns a record into what is written, None if nothing is."""
    formatter, reticence = OneLine(), Reticent()

    def written(message, *arguments, level=logging.WARNING, name="memory.remember", error=None):
        trace = None if error is None else (type(error), error, error.__traceback__)
        record = logging.LogRecord(name, level, "x.py", 1, message, arguments, trace)
        return formatter.format(record) if reticence.filter(record) else None

    return written


@pytest.mark.parametrize(
    "hostile",
    [
        "a\r\n2026-01-01 INFO forged",
        "a\x1b[31mred",
        "a\x00b",
        "a\u2028b",
        "a\u202eb",
        "a\x85b",
        "a\u200bb",
        "a\ud800b",
        "a\x7fb",
    ],
)
def test_a_record_is_one_line_of_printable_text(line, hostile):
    written = line("user agent %s", hostile)

    assert written.isprintable(), repr(written)
    assert len(written.splitlines()) == 1
    written.encode()


@pytest.mark.parametrize(
    "said",
    [
        TOKEN,
        f"Authorization: Bearer {TOKEN}",
        f"/api/v1/whoami?token={TOKEN}",
        "basic dXNlcjpwYXNz",
        f"x{TOKEN}x",
    ],
)
def test_a_token_is_cut_out(line, said):
    written = line("got %s", said)

    assert TOKEN not in written
    assert "dXNlcjpwYXNz" not in written
    assert "[redacted]" in written


def _fail():
    try:
        int(REMEMBERED)
    except ValueError as cause:
        raise OperationalError(f"duplicate key: DETAIL: ({REMEMBERED})") from cause


def test_an_error_says_where_and_of_what_sort_but_nothing_of_what_it_says(line):
    with pytest.raises(OperationalError) as failure:
        _fail()
    written = line("a request failed", error=failure.value)

    assert "OperationalError" in written
    assert "ValueError" in written
    assert "test_logs.py:" in written
    assert "heron" not in written
    assert len(written.splitlines()) == 1


@pytest.mark.parametrize(
    "name",
    ["django.db.backends", "openai._base_client", "httpx", "httpcore.http11", "mcp", "psycopg"],
)
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_others_do_not_speak_below_a_warning(line, name, level):
    assert line("request options: %s", REMEMBERED, level=level, name=name) is None
    assert line("something is wrong", name=name) is not None
    assert line("done", level=level, name="memory.jobs") is not None


def test_a_process_that_logs_everything_tells_nothing_of_anybody(tmp_path):
    people = new_office()
    bearer = f"Authorization: Bearer {people.senior.token}\r\n".encode()
    body = f'{{"content": "{REMEMBERED}", "wrong": "{REMEMBERED}"}}'.encode()
    right = f'{{"content": "{REMEMBERED}"}}'.encode()
    searched = b"GET /api/v1/memories?q=heron&cursor=heron HTTP/1.1\r\n"

    with web_process(tmp_path, LOG_LEVEL="DEBUG") as web:
        for said in (body, right, right[:-1]):
            web.raw(
                b"POST /api/v1/memories HTTP/1.1\r\n"
                + HEAD
                + bearer
                + b"User-Agent: a\x1b[31mheron\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said) + said
            )
        web.raw(searched + HEAD + bearer + b"\r\n")
        web.raw(b"GET /api/v1/heron%0d%0aforged HTTP/1.1\r\n" + HEAD + bearer + b"\r\n")
        web.raw(
            b"GET /api/v1/whoami?token="
            + people.senior.token.encode()
            + b" HTTP/1.1\r\n"
            + HEAD
            + b"\r\n"
        )
        written = web.log.read_text()

    assert people.senior.token not in written
    assert people.senior.token[-8:] not in written
    assert "boathouse" not in written
    assert "cursor=" not in written
    assert "\nforged" not in written
    assert "SELECT" not in written
    assert "INSERT" not in written
