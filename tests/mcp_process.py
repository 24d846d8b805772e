"""An MCP process of the product's own, as `make up` starts it, and ways to call it."""

import asyncio
import http.client
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from deploy.up import BASE, mcp_command
from tests.people import Person
from tests.web_process import Web, _free_port, _wait_for

NEWEST = "2026-07-28"
MODES = ("legacy", NEWEST)
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Mcp(Web):
    """Where the process listens, and where it logs."""

    def __init__(self, port: int, log: Path) -> None:
        super().__init__(port, log)
        self.mcp_url = f"{self.url}/mcp"

    @contextmanager
    def _connection(self, wait: float = 30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=wait)
        try:
            yield connection
        finally:
            connection.close()

    def send(
        self,
        person: Person | None,
        body: Any,
        *,
        method: str = "POST",
        path: str = "/mcp",
        leave_out: tuple[str, ...] = (),
        **headers: Any,
    ):
        """Return status, headers and what the body says, for a request as it is given."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Accept": "application/json"}
        if person is not None:
            sent["Authorization"] = f"Bearer {person.token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        with self._connection() as connection:
            kept = {name: value for name, value in sent.items() if name not in leave_out}
            connection.request(method, path, data, kept)
            answer = connection.getresponse()
            text = answer.read()
        is_json = (answer.headers.get("Content-Type") or "").startswith("application/json")
        return answer.status, answer.headers, json.loads(text) if is_json and text else text

    def ask(self, person: Person | None, method: str, params: Any = None, **headers: Any):
        """Return what a request of the newest revision is answered."""
        params = {**(params or {}), "_meta": ENVELOPE}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        known: dict[str, Any] = {"MCP_Protocol_Version": NEWEST, "Mcp_Method": method}
        if method in NAMED:
            known["Mcp_Name"] = params[NAMED[method]]
        return self.send(person, body, **{**known, **headers})

    def call(self, person: Person | None, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool call that reached the tool."""
        status, _, said = self.ask(person, "tools/call", {"name": tool, "arguments": arguments})
        assert status == 200, (status, said)
        result: dict[str, Any] = said["result"]
        return result

    def told(self, person: Person, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool call that worked."""
        result = self.call(person, tool, **arguments)
        assert not result.get("isError"), result
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def refused(self, person: Person, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the problem that was in the way of a tool call."""
        result = self.call(person, tool, **arguments)
        assert result.get("isError"), result
        problem: dict[str, Any] = result["structuredContent"]
        return problem

    def legacy(self, person: Person, method: str, params: Any = None, **headers: Any):
        """Return what a request of an older revision is answered."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.send(person, body, **headers)

    def in_client(
        self, person: Person, mode: str, steps: Callable[[Client], Awaitable[Any]]
    ) -> Any:
        """Return what the steps return, taken with the official client and somebody's token."""
        return asyncio.run(self._in_client(person.token, mode, steps))

    async def _in_client(self, token: str, mode: str, steps: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
            transport = streamable_http_client(self.mcp_url, http_client=http_client)
            async with Client(transport, mode=mode) as client:
                return await steps(client)


@contextmanager
def mcp_process(folder: Path, **settings: str):
    """Have an MCP process run on the tests' database."""
    port = _free_port()
    environment = {**os.environ, "MCP_PORT": str(port), "HOST": "127.0.0.1", **settings}
    for name in ("OWNER_DATABASE_URL", "ADMIN_DATABASE_URL", "QUEUE_DATABASE_URL"):
        environment.pop(name, None)
    log = folder / "mcp.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            mcp_command(environment),
            cwd=BASE,
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            mcp = Mcp(port, log)
            _wait_for(mcp, process)
            yield mcp
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
