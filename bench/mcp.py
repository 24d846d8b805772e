"""
MCP: a tool call over HTTP against the same call over REST.

The same operation, the same token, one kept connection each. What MCP adds is its envelope, its
schemas and its text; it shows most where there is least to do.
"""

import http.client
import json
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bench.instance import Client, Instance
from bench.measuring import compared, in_turns
from bench.world import World, fresh_notes

TARGET = 2.0

_REVISION = "2026-07-28"
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# What the tool is asked, and what REST is.
Task = tuple[dict[str, Any], dict[str, Any]]


class McpClient:
    """One client on one kept connection, as an agent's own would be."""

    def __init__(self, mcp_url: str, token: str) -> None:
        address = urlsplit(mcp_url)
        self._path = address.path
        self._connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=60
        )
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _REVISION,
            "Mcp-Method": "tools/call",
        }

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """
        Return the structured content of a call.

        :raises RuntimeError: if it failed
        """
        params = {"name": tool, "arguments": arguments, "_meta": _ENVELOPE}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**self._headers, "Mcp-Name": tool}
        self._connection.request("POST", self._path, json.dumps(body).encode(), headers)
        text = self._connection.getresponse().read()
        result = json.loads(text).get("result", {"isError": True})
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text[:500]!r}")
        told: dict[str, Any] = result["structuredContent"]
        return told


def against_rest(instance: Instance, world: World, requests: int) -> dict[str, Any]:
    """
    Return the measurement MCP: that of the tool which MCP makes dearer than any other.

    :raises AssertionError: if both faces do not answer alike
    """
    mcp, rest = McpClient(instance.mcp_url, world.token), Client(instance.base_url, world.token)
    count = requests + requests // 10
    notes = fresh_notes(world, 2 * count, seed=5)  # none that another benchmark has written
    pairs = list(zip(notes[::2], notes[1::2], strict=True))
    tasks: dict[str, list[Task]] = {
        "whoami": [({}, {})] * count,
        "recall": [(_question(one), _question(one)) for one, _ in pairs],
        "remember": [(_note(one), _note(other)) for one, other in pairs],
    }
    faces = {
        "whoami": lambda _arguments: rest.get("/whoami"),
        "recall": lambda arguments: rest.post("/recall", arguments),
        "remember": lambda arguments: rest.post("/memories", arguments),
    }
    found = {}
    for tool, some in tasks.items():
        pair = in_turns(
            partial(_called, mcp, tool),
            partial(_asked, faces[tool]),
            some,
            warm_up=requests // 10,
            compare=COMPARED[tool],
        )
        found[tool] = compared(pair, target=TARGET)
    dearest = max(found.values(), key=lambda one: one["ratio"])
    return {
        **dearest,
        "tools": {tool: one["ratio"] for tool, one in found.items()},
        "sizes": {"memories": world.size},
    }


def _called(mcp: McpClient, tool: str, task: Task) -> dict[str, Any]:
    return mcp.call(tool, task[0])


def _asked(face: Callable[[Any], dict[str, Any]], task: Task) -> dict[str, Any]:
    return face(task[1])


def _question(note: str) -> dict[str, Any]:
    return {"query": note[:200], "k": 10, "project": "notes"}


def _note(note: str) -> dict[str, Any]:
    return {"content": note, "project": "notes"}


def must_be_equal(_task: Task, ours: dict[str, Any], floor: dict[str, Any]) -> None:
    """
    Refuse to compare what is not the same.

    :raises AssertionError: if it is not
    """
    if ours != floor:
        raise AssertionError(f"the faces say different things: {ours} {floor}")


def must_find_the_same(_task: Task, ours: dict[str, Any], floor: dict[str, Any]) -> None:
    """
    Refuse to compare recalls of different memories.

    :raises AssertionError: if one found what the other did not
    """
    found = [[one["memory_id"] for one in answer["results"]] for answer in (ours, floor)]
    if found[0] != found[1]:
        raise AssertionError(f"the faces found different memories: {found}")


def must_both_be_kept(task: Task, ours: dict[str, Any], floor: dict[str, Any]) -> None:
    """
    Refuse to compare a write that did not write.

    :raises AssertionError: if a note was absorbed
    """
    if ours["absorbed"] or floor["absorbed"]:
        raise AssertionError(f"not kept: {task}")


COMPARED = {
    "whoami": must_be_equal,
    "recall": must_find_the_same,
    "remember": must_both_be_kept,
}
