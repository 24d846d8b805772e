#!/usr/bin/env python3
"""
A bridge to Palimpsest for agents whose MCP client speaks over standard input and output alone.

Reads JSON-RPC messages from standard input, one a line, sends each to Palimpsest's MCP endpoint,
and writes the answers to standard output, one a line. Nothing else is ever written there. It ends
when standard input does.

    PALIMPSEST_URL      where Palimpsest's MCP endpoint is: http://127.0.0.1:8001/mcp by default
    PALIMPSEST_TOKEN    the agent's token: plm_...
    PALIMPSEST_TIMEOUT  seconds to wait for an answer: 120 by default

Needs Python 3.9 or newer, and nothing besides.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO
from urllib.parse import urlsplit, urlunsplit

URL = "http://127.0.0.1:8001/mcp"
TIMEOUT = 120.0
AT_ONCE = 8  # requests under way; more of them wait

PARSE_ERROR, INVALID_REQUEST, OUT_OF_REACH = -32700, -32600, -32000
# Since 2026-07-28 every request names its revision itself; before, the first exchange settled it.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Message = dict[str, Any]


class Unusable(Exception):
    """The environment does not say how to reach Palimpsest."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nowhere: the token is for the address that was named, and for no other."""

    def redirect_request(self, *_args: Any) -> None:
        """Follow no redirect."""
        return


class Bridge:
    """Hands messages on, and writes what comes back."""

    def __init__(self, url: str, token: str, timeout: float, out: BinaryIO) -> None:
        self._url = url
        self._token = token
        self._timeout = timeout
        self._out = out
        self._writing = threading.Lock()
        self._version: str | None = None  # what initialize settled
        self._opener = urllib.request.build_opener(NoRedirects)

    def hand_on(self, line: bytes) -> None:
        """Send one line's message, and write the answer if it is owed one."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._write(_failure(None, PARSE_ERROR, f"This line is not JSON: {error}"))
            return
        if not isinstance(message, dict):
            text = "Send one JSON-RPC message a line, and no batches."
            self._write(_failure(None, INVALID_REQUEST, text))
            return
        if "method" not in message:
            return  # an answer, and Palimpsest asks nothing
        answer = self._sent(message, line)
        if "id" not in message:
            return  # a notification: nothing is ever answered to it, not even a failure
        if message["method"] == "initialize":
            self._version = _settled(answer) or self._version
        self._write(answer)

    def _sent(self, message: Message, line: bytes) -> Message:
        """Return the answer, or the failure in its place."""
        message_id = message.get("id")
        request = urllib.request.Request(  # noqa: S310  http and https alone, by _configured
            self._url, data=line, headers=self._headers(message), method="POST"
        )
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return _read(response.read(), response.status, message_id)
        except urllib.error.HTTPError as error:
            with error:
                return _read(error.read(), error.code, message_id)
        except (OSError, http.client.HTTPException) as error:
            # Refused, unreachable, out of time, broken off.
            text = f"Palimpsest does not answer at {self._url}: {getattr(error, 'reason', error)}"
            return _failure(message_id, OUT_OF_REACH, text)

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": "palimpsest-mcp",
        }
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
        if isinstance(version, str):
            # Of this revision on, headers say again what the message says.
            headers["MCP-Protocol-Version"] = _header(version)
            if isinstance(method, str):
                headers["Mcp-Method"] = _header(method)
                name = params.get(NAMED.get(method, ""))
                if isinstance(name, str):
                    headers["Mcp-Name"] = _header(name)
        elif self._version is not None and method != "initialize":
            headers["MCP-Protocol-Version"] = _header(self._version)
        return headers

    def _write(self, message: Message) -> None:
        # Escaped to ASCII, so that no text in it can end the line.
        line = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        with self._writing:
            self._out.write(line)
            self._out.flush()


def _header(text: str) -> str:
    """Return the text as a header can carry it: as it is, or in base 64."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    packed = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"=?base64?{packed}?="


def _read(body: bytes, status: int, message_id: Any) -> Message:
    """Return what the server answered as the answer to this message."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if isinstance(said, dict) and ("result" in said or "error" in said):
        # Turned away before it was read, a request is answered without its id.
        return {**said, "id": message_id}
    if isinstance(said, dict) and "detail" in said:
        return _failure(message_id, OUT_OF_REACH, str(said["detail"]))
    return _failure(message_id, OUT_OF_REACH, f"Palimpsest answered with status {status}.")


def _failure(message_id: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def _settled(answer: Message) -> str | None:
    """Return the revision that an answer to initialize settles."""
    result = answer.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def _configured(environment: Mapping[str, str]) -> tuple[str, str, float]:
    token = environment.get("PALIMPSEST_TOKEN", "").strip()
    if not token:
        raise Unusable("Set PALIMPSEST_TOKEN to the agent's token (plm_...).")
    if not (token.isascii() and token.isprintable()):
        raise Unusable("PALIMPSEST_TOKEN has characters in it that no token has.")
    parts = urlsplit(environment.get("PALIMPSEST_URL", "").strip() or URL)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unusable(f"PALIMPSEST_URL must be an address such as {URL}.")
    path = parts.path if parts.path.strip("/") else "/mcp"
    try:
        timeout = float(environment.get("PALIMPSEST_TIMEOUT", "") or TIMEOUT)
    except ValueError:
        raise Unusable("PALIMPSEST_TIMEOUT must be a number of seconds.") from None
    return urlunsplit((parts.scheme, parts.netloc, path, "", "")), token, timeout


def main() -> int:
    """Hand on every line until there are no more."""
    try:
        url, token, timeout = _configured(os.environ)
    except Unusable as error:
        sys.stderr.write(f"palimpsest-mcp: {error}\n")
        return 2
    bridge = Bridge(url, token, timeout, sys.stdout.buffer)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for line in sys.stdin.buffer:
            if b'"initialize"' in line:
                bridge.hand_on(line)  # it settles how the others are sent, so none overtakes it
            elif line.strip():
                pool.submit(bridge.hand_on, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
