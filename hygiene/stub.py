"""
A model's server for demonstrations, benchmarks and tests: `python -m hygiene.stub --port 8090`.

It speaks chat/completions (and Anthropic's messages), and needs no model: it reads the two quoted
texts with simple eyes, or answers by a script, a JSON list of rules. The first rule all of whose
`if_contains` stand in the question is followed, `times` times if it says so:

    [{"if_contains": ["port 8080", "port 9090"], "answer": {"relation": "contradiction"}},
     {"if_contains": [], "fault": "429", "retry_after": 1, "times": 2}]

`answer` need hold only what differs from the default. The faults are in `FAULTS`.
"""

import argparse
import json
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hygiene.stub_reading import PLAIN, obey, read_simply

REMEMBERED = 1000
"""Requests, the last ones."""


@dataclass
class Rule:
    """One line of a script; see the module."""

    if_contains: Sequence[str] = ()
    answer: dict[str, Any] | None = None
    fault: str = ""
    retry_after: str | int | None = None
    seconds: float = 60.0
    """How long a fault of time takes: until the answer, or in all for one that drips."""
    times: int | None = None


class Model:
    """What the server answers, and what it was asked."""

    def __init__(self, script: Sequence[Rule] = (), latency_ms: int = 0) -> None:
        for rule in script:
            if rule.fault and rule.fault not in FAULTS:
                raise ValueError(f"no fault {rule.fault!r}; there are {', '.join(FAULTS)}")
        self.script = list(script)
        self.latency = latency_ms / 1000
        self.requests: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
        self.base_url = ""
        self._lock = threading.Lock()

    def rule_for(self, request: dict[str, Any], question: str) -> Rule:
        """Return what to follow, and count it."""
        with self._lock:
            self.requests.append(request)
            for rule in self.script:
                if rule.times != 0 and all(text in question for text in rule.if_contains):
                    rule.times = rule.times - 1 if rule.times is not None else None
                    return rule
        return Rule()


def script_from(text: str) -> list[Rule]:
    """
    Return the rules of a script.

    :raises ValueError: if it is no list of rules
    """
    try:
        return [Rule(**rule) for rule in json.loads(text)]
    except TypeError as error:
        raise ValueError(f"the script is no list of rules: {error}") from None


# What a model says instead of its answer; a number is a status that the server answers with.
_SAID = {
    "invalid JSON": '{"reasoning": "cut off in the mid',
    "not JSON": "They look like duplicates to me.",
    "wrong schema": '{"verdict": "duplicate", "score": 1}',
    "out of range": json.dumps(PLAIN | {"confidence": 1.5}),
    "unknown relation": json.dumps(PLAIN | {"relation": "delete_both"}),
    "extra fields": json.dumps(PLAIN | {"memory_id": "1", "action": "forget"}),
    "empty": "",
}
_STATUSES = ("400", "401", "403", "404", "413", "422", "429", "500", "503")
_OTHERS = ("timeout", "drip", "drip headers", "reset", "10 MB", "10 MB unannounced", "no envelope")
FAULTS = (*_STATUSES, *_SAID, *_OTHERS, "obeys", "refuses response_format", "refuses temperature")


@contextmanager
def answering(model: Model, port: int = 0) -> Iterator[Model]:
    """Serve the model on this machine while the block runs; its `base_url` says where."""
    server = _Server(("127.0.0.1", port), _handler(model))
    model.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        server.hang_up()
        thread.join()


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        asked = model

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End what callers have kept: a server that is gone answers nobody."""
        for line in list(self._open):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    # Callers keep their connections, as they do with real servers.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    asked: Model

    def handle(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the caller has gone
            super().handle()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked_of = body
        question = str(body["messages"][-1]["content"])
        request = {
            "path": self.path,
            "connection": self.client_address[1],
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "body": body,
        }
        rule = self.asked.rule_for(request, question)
        time.sleep(self.asked.latency)
        with suppress(BrokenPipeError, ConnectionResetError):  # the caller has given up
            self._follow(rule, question)

    def _follow(self, rule: Rule, question: str) -> None:
        refused = rule.fault.removeprefix("refuses ")
        if rule.fault in _STATUSES:
            self._refuse(int(rule.fault), "scripted", rule.retry_after)
        elif refused != rule.fault and refused in self.asked_of:
            self._refuse(400, f"Unsupported parameter: {refused}")
        elif rule.fault in _OTHERS:
            self._fail(rule, question)
        elif rule.fault == "obeys":
            self._say(obey(question))
        elif rule.fault in _SAID:
            self._say(_SAID[rule.fault])
        else:
            self._say(self._opinion(rule, question))

    def _fail(self, rule: Rule, question: str) -> None:
        if rule.fault == "reset":
            self._reset()
        elif rule.fault == "timeout":
            time.sleep(rule.seconds)
            self._say(self._opinion(rule, question))
        elif rule.fault == "no envelope":
            self._send(200, b'{"object": "list"}')
        elif rule.fault.startswith("10 MB"):
            self._send(200, b" " * 10 * 1024**2, is_announced=rule.fault == "10 MB")
        else:
            self._drip(rule)

    def _opinion(self, rule: Rule, question: str) -> str:
        return json.dumps(PLAIN | rule.answer if rule.answer is not None else read_simply(question))

    def _say(self, text: str) -> None:
        asked = sum(len(str(message["content"]).split()) for message in self.asked_of["messages"])
        said = len(text.split())
        answer: dict[str, Any] = {"id": "stub", "model": self.asked_of["model"]}
        if self.path.endswith("/messages"):
            asked += len(str(self.asked_of.get("system", "")).split())
            content = [{"type": "text", "text": text}]
            answer |= {"type": "message", "role": "assistant", "content": content}
            answer["usage"] = {"input_tokens": asked, "output_tokens": said}
        else:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer |= {"object": "chat.completion", "choices": [choice]}
            answer["usage"] = {"prompt_tokens": asked, "completion_tokens": said}
        self._send(200, json.dumps(answer).encode())

    def _refuse(self, status: int, why: str, retry_after: str | int | None = None) -> None:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self._send(status, json.dumps({"error": {"message": why}}).encode(), headers)

    def _send(
        self,
        status: int,
        content: bytes,
        headers: dict[str, str] | None = None,
        *,
        is_announced: bool = True,
    ) -> None:
        self.send_response(status)
        length = {"Content-Length": str(len(content))} if is_announced else {"Connection": "close"}
        for name, value in (
            {"Content-Type": "application/json"} | length | (headers or {})
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _drip(self, rule: Rule) -> None:
        self.close_connection = True
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        if rule.fault == "drip":
            self.wfile.write(head)
            head = b""
        ends_at = time.monotonic() + rule.seconds
        for byte in head + b" " * 1000:
            if time.monotonic() > ends_at:
                return
            self.wfile.write(bytes([byte]))
            time.sleep(0.05)

    def _reset(self) -> None:
        # Closing with nothing lingering sends a reset instead of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m hygiene.stub", description=__doc__.split("\n")[1]
    )
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="a JSON list of rules")
    parser.add_argument("--latency-ms", type=int, default=50)
    chosen = parser.parse_args()
    script = script_from(chosen.script.read_text(encoding="utf-8")) if chosen.script else []
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with answering(Model(script, chosen.latency_ms), chosen.port) as model:
        sys.stdout.write(f"JUDGE_BASE_URL={model.base_url}\n")
        sys.stdout.flush()
        stop.wait()


if __name__ == "__main__":
    main()
