"""What HTTP allows and clients seldom send, against a real web process over raw sockets."""

import json
import socket
import time

import pytest

from tests.people import new_office
from tests.web_process import HEAD, web_process

pytestmark = pytest.mark.rule("T137", "T049", "T058", "T211")


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with web_process(tmp_path_factory.mktemp("web")) as running:
        yield running
        assert running.lives()


@pytest.fixture(scope="module")
def people():
    return new_office()


@pytest.fixture
def bearer(people):
    return f"Authorization: Bearer {people.senior.token}\r\n".encode()


def parts(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1]) if head else 0
    names = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
    return (
        status,
        {name.decode().lower(): value.decode("latin-1") for name, _, value in names},
        body,
    )


def problem(answer):
    status, headers, body = parts(answer)
    assert headers["content-type"] == "application/problem+json", answer[:500]
    said = json.loads(body)
    assert said["status"] == status
    return status, said["code"], headers


def post(
    path=b"/api/v1/memories", *, headers=b"", body=b"", kind=b"application/json", version=b"1.1"
):
    return (
        b"POST "
        + path
        + b" HTTP/"
        + version
        + b"\r\n"
        + HEAD
        + b"Content-Type: "
        + kind
        + b"\r\n"
        + headers
        + b"\r\n"
        + body
    )


def sized(body):
    return b"Content-Length: %d\r\n" % len(body)


def chunked(*pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


CHUNKED = b"Transfer-Encoding: chunked\r\n"


def test_a_body_in_chunks_is_read(web, bearer):
    body = chunked(b'{"content": ', b'"Sent in pieces."}')

    status, _, said = parts(web.raw(post(headers=bearer + CHUNKED, body=body)))

    assert status == 201, said
    assert json.loads(said)["memory"]["content"] == "Sent in pieces."


def test_a_body_in_chunks_over_the_limit_is_refused(web, bearer):
    body = chunked(b'{"content": "x"', *[b" " * 65536] * 17, b"}")

    assert problem(web.raw(post(headers=bearer + CHUNKED, body=body)))[:2] == (413, "too_large")


def test_a_body_over_the_limit_is_refused_by_its_length_alone(web, bearer):
    started = time.monotonic()
    answer = web.raw(post(headers=bearer + b"Content-Length: 99999999999\r\n"), wait=5)

    assert problem(answer)[:2] == (413, "too_large")
    assert time.monotonic() - started < 4


def test_a_length_and_chunks_together_smuggle_nothing_in(web, bearer):
    inner = b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\n" + bearer + b"\r\n"
    body = chunked(b'{"content": "x", "no_such": 1}') + inner

    answer = web.raw(post(headers=bearer + b"Content-Length: 5\r\n" + CHUNKED, body=body), wait=3)

    status, _, _ = parts(answer)
    assert status == 400
    assert answer.count(b"HTTP/1.1 ") <= 2
    assert b" 201 " not in answer


@pytest.mark.parametrize("length", [b"-1", b"abc", b"1, 2", b"+5", b"0x10", b"9" * 400])
def test_a_length_that_is_none_is_refused(web, bearer, length):
    status, _, _ = parts(
        web.raw(post(headers=bearer + b"Content-Length: " + length + b"\r\n", body=b"{}"), wait=3)
    )

    assert status in (400, 413)


@pytest.mark.parametrize("packing", [b"gzip", b"deflate", b"br", b"gzip, identity"])
def test_a_compressed_body_is_refused(web, bearer, packing):
    import gzip

    body = gzip.compress(b'{"content": "' + b"x" * 10_000_000 + b'"}')
    headers = bearer + sized(body) + b"Content-Encoding: " + packing + b"\r\n"

    assert problem(web.raw(post(headers=headers, body=body)))[:2] == (415, "unsupported_media_type")


@pytest.mark.rule("T128")
@pytest.mark.parametrize(
    "kind",
    [
        b"text/plain",
        b"application/x-www-form-urlencoded",
        b"multipart/form-data; boundary=x",
        b"application/xml",
        b"",
        b"application/json; charset=latin-1",
        b"application/json; charset=utf-16",
        b"text/json",
        b"*/*",
        b"\xff",
    ],
)
def test_another_kind_of_body_is_refused(web, bearer, kind):
    body = b'{"content": "x"}'

    answer = web.raw(post(headers=bearer + sized(body), body=body, kind=kind))

    assert problem(answer)[:2] == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind", [b"application/json; charset=UTF-8", b'Application/JSON;charset="utf-8"']
)
def test_json_by_any_of_its_names_is_taken(web, bearer, kind):
    body = b'{"query": "x"}'

    assert (
        parts(web.raw(post(b"/api/v1/recall", headers=bearer + sized(body), body=body, kind=kind)))[
            0
        ]
        == 200
    )


@pytest.mark.rule("T128")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_another_encoding_is_refused(web, bearer, encoding):
    body = '{"content": "é"}'.encode(encoding)

    assert problem(web.raw(post(headers=bearer + sized(body), body=body)))[:2] == (
        400,
        "malformed_json",
    )


def get(path=b"/api/v1/whoami", headers=b"", method=b"GET", version=b"1.1"):
    return method + b" " + path + b" HTTP/" + version + b"\r\n" + HEAD + headers + b"\r\n"


def test_many_or_long_headers_are_answered_or_refused(web, bearer):
    many = b"".join(b"X-H%d: a\r\n" % number for number in range(200))

    assert parts(web.raw(get(headers=bearer + many)))[0] in (200, 431)
    assert parts(web.raw(get(headers=bearer + b"X-H: " + b"a" * 65536 + b"\r\n")))[0] in (200, 431)
    assert parts(web.raw(get(headers=b"Authorization: Bearer " + b"a" * 65536 + b"\r\n")))[0] in (
        401,
        431,
    )
    assert web.lives()


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        b"Authorization:\r\n",
        b"Authorization: Basic YTpi\r\n",
        b"Authorization: Bearer\r\n",
        b"Authorization: Bearer \xff\xfe\r\n",
        b"Cookie: token={token}\r\n",
        b"X-Authorization: Bearer {token}\r\n",
        b"Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n",
        b"Authorization: Bearer Bearer {token}\r\n",
        b"Authorization: Bearer {token},{token}\r\n",
        b"Authorization: Token {token}\r\n",
        b"Authorization: {token}\r\n",
        b"Authorization: Bearer {token}\xd9\xa3\r\n",
        b"Authorization: Bearer " + b"plm_" + b"a" * 10_000 + b"\r\n",
    ],
)
def test_without_one_token_in_its_place_nobody_is_let_in(web, people, headers):
    sent = headers.replace(b"{token}", people.senior.token.encode())

    status, code, answered = problem(web.raw(get(headers=sent)))

    assert (status, code) == (401, "unauthenticated")
    assert answered["www-authenticate"].startswith("Bearer")


def test_a_token_in_the_query_lets_nobody_in_and_is_in_no_log(web, people):
    token = people.senior.token.encode()

    assert (
        problem(web.raw(get(b"/api/v1/whoami?token=" + token + b"&access_token=" + token)))[0]
        == 401
    )
    assert problem(web.raw(get(b"/api/v1/" + token)))[0] == 404
    assert token not in web.log.read_bytes()


@pytest.mark.parametrize(
    "method", [b"TRACE", b"PROPFIND", b"OPTIONS", b"PUT", b"LINK", b"CONNECT", b"X" * 300]
)
def test_a_method_that_a_path_does_not_offer_is_refused(web, bearer, method):
    answer = web.raw(get(b"/api/v1/memories", headers=bearer, method=method))

    status, headers, body = parts(answer)
    if method == b"CONNECT":
        assert 400 <= status < 500
        return
    assert status == 405, answer[:300]
    assert json.loads(body)["code"] == "method_not_allowed"
    assert headers["allow"] == "GET, HEAD, POST"


def test_head_is_get_without_the_body(web, bearer):
    status, headers, body = parts(web.raw(get(headers=bearer, method=b"HEAD")))

    assert (status, body) == (200, b"")
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "header", [b"X-HTTP-Method-Override", b"X-Method-Override", b"X-HTTP-Method"]
)
def test_no_header_makes_another_method_of_a_get(web, bearer, header):
    answer = web.raw(get(b"/api/v1/memories", headers=bearer + header + b": POST\r\n"))

    assert parts(answer)[0] == 200
    assert b"results" in answer


def test_http_1_0_is_answered(web, bearer):
    assert parts(web.raw(get(headers=bearer, version=b"1.0")))[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 100,
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET /api/v1/whoami HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/v1/whoami HTTP/1.1\r\n" + HEAD + b"X-A: a\r\n b\r\n\r\n",
        b"GET /api/v1/whoami HTTP/1.1\r\nBad Header: x\r\n\r\n",
    ],
)
def test_what_is_hardly_http_is_refused_or_left(web, data):
    status, _, _ = parts(web.raw(data, wait=2))

    assert status == 0 or 400 <= status < 500
    assert web.lives()


@pytest.mark.rule("T123")
@pytest.mark.parametrize(
    "path",
    [
        b"/api/v1/memories/%00",
        b"/api/v1/memories?q=%00",
        b"/api/v1/memories?%00=1",
        b"/api/v1/memories?q=%ff%fe",
        b"/api/v1/%ff",
        b"/api/v1/memories?q=%",
        b"/api/v1/memories?" + b"a=1&" * 2000,
        b"/api/v1/" + b"a" * 60_000,
        b"/api/v1/memories?q=" + b"a" * 60_000,
        b"/api/v1/../../etc/passwd",
        b"/static/../deploy/settings.py",
        b"/static/%2e%2e/%2e%2e/etc/passwd",
        b"/static/..%5c..%5cetc",
        b"/api/",
        b"/api/v2/memories",
        b"/api/v1/memories/",
    ],
    ids=lambda path: path[:30].decode(),
)
def test_a_strange_path_is_refused_without_a_trace(web, bearer, path):
    status, headers, body = parts(web.raw(get(path, headers=bearer)))

    assert status in (200, 400, 404, 414, 431), body[:300]
    assert b"Traceback" not in body
    assert b"root:" not in body
    if path.startswith(b"/api") and status >= 400 and body:
        assert headers["content-type"] == "application/problem+json"
    if b"q=%00" in path:
        assert json.loads(body)["errors"][0]["field"] == "q"


def test_a_null_in_a_header_is_refused_before_us(web, bearer):
    assert parts(web.raw(get(headers=bearer + b"X-Request-Id: a\x00b\r\n"), wait=3))[0] in (0, 400)


SLOW = b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"


def test_whoever_sends_a_body_slowly_without_a_token_holds_nothing_up(web):
    slow = []
    try:
        for _ in range(20):
            one = socket.create_connection(("127.0.0.1", web.port))
            one.sendall(SLOW)
            slow.append(one)
        started = time.monotonic()
        assert web.lives()
        assert time.monotonic() - started < 2
    finally:
        for one in slow:
            one.close()


def told(answer):
    status, headers, _ = parts(answer)
    return status, headers.get("connection")


def kept_alive(request):
    """Return the request from a client that would send its next one on the same connection."""
    return request.replace(b"Connection: close\r\n", b"")


def test_whoever_is_refused_unread_is_told_that_the_connection_ends(web, bearer):
    body = b'{"query": "x"}'
    refused = kept_alive(post(b"/api/v1/recall", headers=sized(body), body=body))
    in_chunks = kept_alive(post(b"/api/v1/recall", headers=CHUNKED, body=chunked(body)))
    nowhere = kept_alive(post(b"/api/v1/no", headers=bearer + sized(body), body=body))

    assert told(web.raw(refused, wait=2)) == (401, "close")
    assert told(web.raw(in_chunks, wait=2)) == (401, "close")
    assert told(web.raw(nowhere, wait=2)) == (404, "close")


def test_whoever_was_heard_out_keeps_the_connection(web, bearer):
    body = b'{"query": ""}'
    answered = kept_alive(post(b"/api/v1/recall", headers=bearer + sized(body), body=body))
    without = kept_alive(get(b"/api/v1/whoami"))

    assert told(web.raw(answered, wait=1)) == (400, None)
    assert told(web.raw(without, wait=1)) == (401, None)


def test_nothing_of_the_inside_is_shown_to_anybody(web):
    for path in (b"/healthz", b"/readyz", b"/metrics", b"/api/schema", b"/api/docs", b"/nowhere"):
        _, headers, body = parts(web.raw(get(path)))
        assert b"Traceback" not in body
        assert b"/site-packages/" not in body
        assert b"postgresql://" not in body
        assert "x-powered-by" not in headers
