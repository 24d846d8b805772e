"""What `make up` prints for agents is all that a new user needs."""

import json
import re

import pytest

from deploy.demo.welcome import client_entry, welcome
from deploy.up import BASE, mcp_command, mcp_url, web_command

URL = "http://127.0.0.1:8001/mcp"


@pytest.fixture
def printed(tmp_path):
    login = {"username": "x", "password": "y", "totp_secret": "CC5NUROPBV7DALKWLE64PYSYX2LTH7X6"}
    token = {"token": "plm_abc", "kind": "agent", "level": 30}
    demo = {
        "mcp_url": URL,
        "logins": {"admin": login, "reviewer": login},
        "tokens": {"agent": token, "senior": token},
    }
    (tmp_path / "demo.json").write_text(json.dumps(demo))
    return welcome(tmp_path / "demo.json", "http://127.0.0.1:8000")


def test_the_entry_can_be_pasted_as_it_is(printed):
    [line] = [line for line in printed.splitlines() if line.strip().startswith('{"mcpServers"')]
    assert json.loads(line) == client_entry(URL, "plm_abc")
    server = json.loads(line)["mcpServers"]["palimpsest"]
    assert server["url"] == URL
    assert server["headers"] == {"Authorization": "Bearer plm_abc"}


def test_the_command_for_claude_code_is_printed(printed):
    assert f'--transport http palimpsest {URL} --header "Authorization: Bearer plm_abc"' in printed


def test_the_process_listens_where_clients_are_told():
    environment = {"HOST": "::", "PORT": "8000", "MCP_PORT": "8001"}
    assert mcp_url(environment) == "http://[::1]:8001/mcp"
    command = mcp_command(environment)
    assert command[command.index("--port") + 1] == "8001"
    assert command[-1] == "deploy.mcp.asgi:application"
    assert web_command(environment)[-1] == "deploy.wsgi:application"


def test_the_document_has_an_entry_for_each_client_and_its_json_is_json():
    text = (BASE / "docs" / "agents.md").read_text("utf-8")
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "AGENTS.md"):
        assert client in text
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        json.loads(block)
    habit = text[text.index("```markdown") :]
    for word in ("recall", "supersedes", "challenge", "verify", "build_context", "report_change"):
        assert word in habit
