"""The bridge for clients that speak over standard input and output, as they would start it."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from deploy.mcp.tools import TOOLS
from deploy.up import BASE
from tests.mcp_process import ENVELOPE, MODES, mcp_process

BRIDGE = BASE / "clients" / "palimpsest_mcp.py"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def mcp(tmp_path_factory):
    with mcp_process(tmp_path_factory.mktemp("mcp")) as running:
        yield running


def bridged(lines, **environment):
    """Return what the bridge wrote, and its exit status, for lines on its input."""
    data = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    done = subprocess.run(
        [sys.executable, "-I", str(BRIDGE)],
        input=data,
        capture_output=True,
        env={"PATH": os.environ["PATH"], **environment},
        timeout=60,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done


@pytest.mark.rule("T067")
@pytest.mark.parametrize("mode", [*MODES, "auto"])
def test_the_official_client_works_through_it(mcp, office, mode):
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", str(BRIDGE)],
        env={"PALIMPSEST_URL": mcp.mcp_url, "PALIMPSEST_TOKEN": office.agent.token},
    )

    async def steps():
        async with Client(server, mode=mode) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == list(TOOLS)
            content = f"Grüße aus {mode}: die Straße\u2028ist gesperrt."
            kept = await client.call_tool("remember", {"content": content})
            found = await asyncio.gather(
                *(client.call_tool("recall", {"query": "Straße", "k": 1}) for _ in range(12))
            )
            refused = await client.call_tool("get_memory", {"memory_id": "mem_x"})
            resource = await client.read_resource("palimpsest://rules")
            return content, kept, found, refused, resource

    content, kept, found, refused, resource = asyncio.run(steps())
    assert kept.structured_content["memory"]["content"] == content
    assert {one.structured_content["results"][0]["content"] for one in found} == {content}
    assert refused.is_error
    assert resource.contents[0].text.startswith("# Rules")


def test_only_messages_are_written_and_it_ends_with_its_input(mcp, office):
    initialize = {
        "jsonrpc": "2.0",
        "id": "a",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    said, done = bridged(
        [
            initialize,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            b"",
            b"{not json",
            [LIST],
            {"jsonrpc": "2.0", "id": 9, "result": {}},
            {**LIST, "id": 2},
        ],
        PALIMPSEST_URL=mcp.url,
        PALIMPSEST_TOKEN=office.agent.token,
    )
    assert done.returncode == 0
    assert done.stderr == b""
    answers = {one["id"]: one for one in said if one["id"] is not None}
    assert set(answers) == {"a", 2}
    assert answers["a"]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[2]["result"]["tools"]
    assert sorted(one["error"]["code"] for one in said if one["id"] is None) == [-32700, -32600]


@pytest.mark.rule("T069")
def test_of_the_newest_revision_the_headers_say_what_the_message_says(mcp, office):
    said, _ = bridged(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": "whoami", "arguments": {}, "_meta": ENVELOPE}},
            {"jsonrpc": "2.0", "id": 2, "method": "resources/read",
             "params": {"uri": "palimpsest://memories/ü\n", "_meta": ENVELOPE}},
        ],
        PALIMPSEST_URL=mcp.mcp_url, PALIMPSEST_TOKEN=office.agent.token,
    )  # fmt: skip
    answers = {one["id"]: one for one in said}
    assert answers[1]["result"]["structuredContent"]["level"] == 30
    assert answers[2]["error"]["code"] == -32602


def test_failures_come_back_as_errors_of_the_request(mcp, office):
    [said], _ = bridged([LIST], PALIMPSEST_URL=mcp.mcp_url, PALIMPSEST_TOKEN="plm_wrong")
    assert said["id"] == 1
    assert "valid token" in said["error"]["message"]
    [said], _ = bridged(
        [LIST], PALIMPSEST_URL="http://127.0.0.1:9/mcp", PALIMPSEST_TOKEN=office.agent.token
    )
    assert "does not answer at http://127.0.0.1:9/mcp" in said["error"]["message"]
    assert office.agent.token not in json.dumps(said)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, b"PALIMPSEST_TOKEN"),
        ({"PALIMPSEST_TOKEN": "plm_\n"}, b"does not answer"),
        ({"PALIMPSEST_TOKEN": "a\tb"}, b"PALIMPSEST_TOKEN"),
        ({"PALIMPSEST_TOKEN": "plm_x", "PALIMPSEST_URL": "file:///etc/passwd"}, b"PALIMPSEST_URL"),
        ({"PALIMPSEST_TOKEN": "plm_x", "PALIMPSEST_TIMEOUT": "soon"}, b"PALIMPSEST_TIMEOUT"),
    ],
)
def test_what_it_needs_is_said_where_people_look(environment, says):
    environment = {"PALIMPSEST_URL": "http://127.0.0.1:9/mcp", **environment}
    said, done = bridged([LIST], **environment)
    assert says in done.stderr + json.dumps(said).encode()
    assert done.returncode == (0 if said else 2)


class _Elsewhere(BaseHTTPRequestHandler):
    asked: list[str | None] = []

    def do_POST(self):
        self.asked.append(self.headers.get("Authorization"))
        self.send_response(307 if self.path == "/mcp" else 200)
        self.send_header("Location", "/other")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args):
        pass


def test_the_token_follows_no_redirect():
    server = HTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        [said], _ = bridged([LIST], PALIMPSEST_URL=url, PALIMPSEST_TOKEN="plm_secret")
    finally:
        server.shutdown()
        server.server_close()
    assert said["error"]["message"] == "Palimpsest answered with status 307."
    assert _Elsewhere.asked == ["Bearer plm_secret"]


def test_it_needs_nothing_but_python_3_9():
    source = BRIDGE.read_text("utf-8")
    assert "import django" not in source
    compile(source, str(BRIDGE), "exec")
    for python in _older_pythons():
        done = subprocess.run(
            [python, "-I", str(BRIDGE)], input=b"", capture_output=True, check=False,
            env={"PALIMPSEST_TOKEN": "plm_x"}, timeout=30,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b""), python


def _older_pythons():
    found = (Path(folder) / f"python3.{minor}" for folder in os.environ["PATH"].split(":")
             for minor in (9, 10))  # fmt: skip
    return [str(one) for one in found if one.exists() and _runs(one)]


def _runs(python):
    # One that is there may be a stand-in for a version that is not.
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0
