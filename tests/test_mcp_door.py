"""What stands before the MCP server: whom it lets in, and in what form."""

import base64
import json
import socket
import time

import pytest

from tests.mcp_process import ENVELOPE, NEWEST, mcp_process

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
def mcp(tmp_path_factory):
    with mcp_process(tmp_path_factory.mktemp("mcp")) as running:
        yield running


@pytest.fixture(scope="module")
def with_oauth(tmp_path_factory):
    with mcp_process(
        tmp_path_factory.mktemp("oauth"),
        MCP_AUTHORIZATION_SERVER="https://login.example.com",
        MCP_URL="https://memory.example.com/mcp",
    ) as running:
        yield running


class TestWho:
    @pytest.mark.rule("T085", "T076")
    @pytest.mark.parametrize("method", ["server/discover", "tools/list", "initialize"])
    def test_nobody_learns_anything_without_a_token(self, mcp, method):
        status, headers, said = mcp.ask(None, method)
        assert status == 401
        assert headers["WWW-Authenticate"] == 'Bearer realm="palimpsest"'
        assert said["error"]["data"]["code"] == "unauthenticated"
        for inner in ("python", "django", "starlette", "/work", "site-packages", "mcp 2"):
            assert inner not in json.dumps(said).lower()

    @pytest.mark.rule("T078")
    @pytest.mark.parametrize(
        "token",
        ["plm_", "Bearer", "eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0.", "x" * 5000, "plm_\N{DIGIT ONE}"],
    )
    def test_what_is_no_token_of_ours_is_turned_away(self, mcp, with_oauth, token):
        for process in (mcp, with_oauth):
            status, _, _ = process.send(None, LIST, Authorization=f"Bearer {token}")
            assert status in (400, 401)

    @pytest.mark.rule("T078")
    def test_with_an_authorisation_server_the_way_to_it_is_shown(self, with_oauth, office):
        status, headers, _ = with_oauth.send(None, LIST)
        assert status == 401
        where = "https://memory.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in headers["WWW-Authenticate"]
        for resource in ("", "/mcp"):
            path = f"/.well-known/oauth-protected-resource{resource}"
            status, _, said = with_oauth.send(None, b"", method="GET", path=path)
            assert status == 200
            assert said["resource"] == "https://memory.example.com/mcp"
            assert said["authorization_servers"] == ["https://login.example.com"]
        assert with_oauth.send(office.agent, LIST)[0] == 200

    def test_without_one_there_is_no_such_page(self, mcp):
        path = "/.well-known/oauth-protected-resource"
        assert mcp.send(None, b"", method="GET", path=path)[0] == 404

    @pytest.mark.rule("T068")
    @pytest.mark.parametrize(
        "origin",
        [
            *("https://evil.example", "null", "http://localhost.evil.example", "http://evil:8001"),
            *("http://127.0.0.1.evil.example:80", "file://", "http://localhost@evil.example", ""),
        ],
    )
    def test_a_page_of_another_site_may_not_call(self, mcp, office, origin):
        status, headers, said = mcp.send(office.agent, LIST, Origin=origin)
        assert status == 403
        assert said["error"]["data"]["code"] == "forbidden"
        assert not [name for name in headers if name.lower().startswith("access-control")]

    @pytest.mark.rule("T068")
    @pytest.mark.parametrize("origin", ["http://localhost", "http://127.0.0.1:6274"])
    def test_a_page_of_this_machine_and_a_program_may(self, mcp, office, origin):
        assert mcp.send(office.agent, LIST, Origin=origin)[0] == 200
        assert mcp.send(office.agent, LIST)[0] == 200

    @pytest.mark.rule("T068")
    @pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254"])
    def test_another_name_is_not_answered(self, mcp, office, host):
        status, _, said = mcp.send(office.agent, LIST, Host=host)
        assert status == 421
        assert said["error"]["data"]["code"] == "foreign_host"

    @pytest.mark.rule("T082")
    def test_no_other_site_is_let_in_by_a_preflight(self, mcp):
        for origin in ("https://evil.example", "http://localhost"):
            status, headers, _ = mcp.send(
                None, b"", method="OPTIONS", Origin=origin,
                Access_Control_Request_Method="POST",
                Access_Control_Request_Headers="authorization",
            )  # fmt: skip
            assert status in (401, 403)
            assert not [name for name in headers if name.lower().startswith("access-control")]


class TestForm:
    @pytest.mark.rule("T070")
    @pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
    def test_only_posts_are_taken(self, mcp, office, method):
        status, headers, _ = mcp.send(
            office.agent, b"", method=method, Last_Event_ID="7", Accept="text/event-stream"
        )
        assert status == 405
        assert headers["Allow"] == "POST"

    @pytest.mark.rule("T070")
    def test_forged_sessions_and_event_ids_mean_nothing(self, mcp, office):
        status, headers, said = mcp.legacy(
            office.agent, "tools/list", Mcp_Session_Id="f" * 32, Last_Event_ID="1"
        )
        assert (status, "error" in said) == (200, False)
        assert "mcp-session-id" not in headers

    @pytest.mark.rule("T070", "T067")
    @pytest.mark.parametrize("version", OLDER)
    def test_older_revisions_are_served(self, mcp, office, version):
        status, _, said = mcp.legacy(office.agent, "initialize", _opening(version))
        assert status == 200
        assert said["result"]["protocolVersion"] == version
        assert "recall" in said["result"]["instructions"]
        status, _, said = mcp.legacy(office.agent, "tools/list", MCP_Protocol_Version=version)
        assert [tool["name"] for tool in said["result"]["tools"]]

    @pytest.mark.rule("T070")
    def test_an_unknown_revision_is_negotiated_down_or_refused_with_the_list(self, mcp, office):
        _, _, said = mcp.legacy(office.agent, "initialize", _opening("1999-01-01"))
        assert said["result"]["protocolVersion"] == OLDER[-1]
        meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2199-01-01"}
        body = {**LIST, "params": {"_meta": meta}}
        status, _, said = mcp.send(
            office.agent, body, MCP_Protocol_Version="2199-01-01", Mcp_Method="tools/list"
        )
        assert status == 400
        assert said["error"]["code"] == -32022
        assert NEWEST in said["error"]["data"]["supported"]

    @pytest.mark.rule("T069")
    @pytest.mark.parametrize(
        ("headers", "leave_out"),
        [
            ({"Mcp_Method": "tools/call"}, ()),
            ({}, ("Mcp-Method",)),
            ({"Mcp_Name": "forget"}, ()),
            ({}, ("Mcp-Name",)),
            ({"Mcp_Name": "=?base64?!!!?="}, ()),
            ({"MCP_Protocol_Version": NEWEST, "_version": "2025-11-25"}, ()),
        ],
    )
    def test_headers_must_say_what_the_message_says(self, mcp, office, headers, leave_out):
        meta = {**ENVELOPE}
        if headers.get("_version"):
            meta["io.modelcontextprotocol/protocolVersion"] = headers["_version"]
        headers = {name: value for name, value in headers.items() if name[0] != "_"}
        method = "prompts/get"
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"name": "brief", "arguments": {}, "_meta": meta},
        }
        right = {"MCP_Protocol_Version": NEWEST, "Mcp_Method": method, "Mcp_Name": "brief"}
        status, _, said = mcp.send(office.agent, body, leave_out=leave_out, **right | headers)
        assert status == 400
        assert said["error"]["code"] == -32020

    @pytest.mark.rule("T069")
    def test_a_name_in_base_64_is_the_same_name(self, mcp, office):
        packed = base64.b64encode(b"whoami").decode()
        status, _, said = mcp.ask(
            office.agent, "tools/call", {"name": "whoami", "arguments": {}},
            Mcp_Name=f"=?base64?{packed}?=",
        )  # fmt: skip
        assert status == 200
        assert said["result"]["structuredContent"]["level"] == 30

    @pytest.mark.rule("T069")
    def test_a_header_that_comes_twice_is_refused(self, mcp, office):
        body = json.dumps({**LIST, "params": {"_meta": ENVELOPE}}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {office.agent.token}\r\nContent-Type: application/json\r\n"
            f"MCP-Protocol-Version: {NEWEST}\r\n"
            "Mcp-Method: tools/list\r\nMcp-Method: tools/list\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        answer = mcp.raw(head.encode() + body)
        assert b" 400 " in answer.split(b"\r\n")[0]
        assert b"-32020" in answer

    @pytest.mark.rule("T074")
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            json.dumps([PING, PING]).encode(),
            b"null",
            b'"ping"',
            b"{}",
            b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
            b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 99999999999999999999999, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}',
            b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
            json.dumps(PING).encode() + json.dumps(PING).encode(),
            b"\xef\xbb\xbf" + json.dumps(PING).encode(),
            b"\xff\xfe{}",
            b"{" * 5000,
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"a": NaN}}}',
            b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
        ],
    )
    def test_what_is_no_message_is_refused(self, mcp, office, body):
        for headers in ({}, {"MCP_Protocol_Version": NEWEST, "Mcp_Method": "ping"}):
            status, _, said = mcp.send(office.agent, body, **headers)
            assert status == 400, (body, said)
            assert said["error"]["code"] in (-32700, -32600, -32602)
            assert "pydantic" not in json.dumps(said)
        assert mcp.lives()

    @pytest.mark.rule("T074")
    def test_a_notification_is_taken_and_not_answered(self, mcp, office):
        for headers in ({}, {"MCP_Protocol_Version": NEWEST}):
            body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            status, _, said = mcp.send(office.agent, body, **headers)
            assert (status, said) == (202, b"")

    @pytest.mark.rule("T074")
    def test_ids_come_back_as_they_were_sent(self, mcp, office):
        for message_id in (0, -1, 2**53 + 1, "", "é" * 200, "1"):
            body = {**LIST, "id": message_id}
            for _ in range(2):
                status, _, said = mcp.send(office.agent, body)
                assert (status, said["id"]) == (200, message_id)

    @pytest.mark.parametrize(
        "headers",
        [
            {"Content_Type": "text/plain"},
            {"Content_Type": "application/json; charset=latin-1"},
            {"Content_Encoding": "gzip"},
        ],
    )
    @pytest.mark.rule("T075")
    def test_only_plain_json_is_read(self, mcp, office, headers):
        status, _, said = mcp.send(office.agent, LIST, **headers)
        assert status == 415
        assert said["error"]["data"]["code"] == "unsupported_media_type"

    def test_who_does_not_say_what_is_accepted_gets_json(self, mcp, office):
        assert mcp.send(office.agent, LIST, leave_out=("Accept",))[0] == 200

    @pytest.mark.rule("T075")
    def test_more_than_1_mib_is_refused_measured_or_not(self, mcp, office):
        body = json.dumps({**LIST, "params": {"_meta": {"x": "y" * 1024 * 1024}}}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {office.agent.token}\r\nContent-Type: application/json\r\n"
        )
        measured = head + f"Content-Length: {len(body)}\r\n\r\n"
        assert b" 413 " in mcp.raw(measured.encode() + body[:1000]).split(b"\r\n")[0]
        chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        chunked = (head + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk
        assert b" 413 " in mcp.raw(chunked).split(b"\r\n")[0]

    @pytest.mark.rule("T075")
    def test_a_body_that_does_not_come_is_not_waited_for(self, mcp, office):
        head = (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {office.agent.token}\r\nContent-Length: 100\r\n\r\n{{"
        )
        started = time.monotonic()
        with socket.create_connection(("127.0.0.1", mcp.port), timeout=20) as slow:
            slow.sendall(head.encode())
            answer = slow.recv(65536)
            assert b" 408 " in answer.split(b"\r\n")[0]
            while slow.recv(65536):
                pass
        assert 8 < time.monotonic() - started < 15
        assert mcp.lives()

    def test_every_answer_says_which_request_it_was(self, mcp, office):
        _, headers, _ = mcp.send(office.agent, LIST, X_Request_Id="mine-1")
        assert headers["X-Request-Id"] == "mine-1"
        assert headers["Cache-Control"] == "no-store"
        _, headers, said = mcp.send(None, LIST, X_Request_Id="<script>")
        assert said["error"]["data"]["request_id"] == headers["X-Request-Id"] != "<script>"

    def test_elsewhere_is_nothing(self, mcp, office):
        assert mcp.send(None, b"", method="GET", path="/healthz")[2] == {"status": "ok"}
        assert mcp.send(None, b"", method="GET", path="/readyz")[0] == 200
        for path in ("/", "/mcp/", "/mcp/x", "/sse", "/api/v1/whoami", "/..%2fmcp"):
            assert mcp.send(office.agent, LIST, path=path)[0] == 404


def _opening(version):
    return {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
