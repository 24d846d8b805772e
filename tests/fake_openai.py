"""A small HTTP server that speaks the OpenAI embeddings protocol, and fails on demand."""

import hashlib
import json
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server sends instead of its proper answer; an empty body is the proper one."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    drip: float = 0.0
    """Seconds between the bytes of the body."""
    hang_up: bool = False
    """Close the connection without a word."""


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class FakeOpenAI:
    """
    What the server answers and what it was asked.

    Replies in `script` are used up one by one; then every answer is proper: one vector a text,
    the same for the same text, neighbours of nobody.
    """

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.model: str | None = None
        self.script: deque[Reply] = deque()
        self.always: Reply | None = None
        self.requests: list[Request] = []
        self.alter: Callable[[dict[str, Any]], object] = lambda answer: answer
        self.base_url = ""

    def next_reply(self) -> Reply:
        return self.script.popleft() if self.script else self.always or Reply()

    def answer(self, body: dict[str, Any]) -> bytes:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [
            {"object": "embedding", "index": place, "embedding": self.vector(text)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        proper = {
            "object": "list",
            "data": data,
            "model": self.model or body["model"],
            "usage": usage,
        }
        return json.dumps(self.alter(proper)).encode()

    def vector(self, text: str) -> list[float]:
        seed = hashlib.sha256(text.encode()).digest()
        numbers = random.Random(seed)
        return [numbers.gauss(0, 1) for _ in range(self.dimension)]


@contextmanager
def serving(fake: FakeOpenAI) -> Iterator[FakeOpenAI]:
    """Serve the fake on a free port of this machine while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    server.daemon_threads = True
    fake.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(fake: FakeOpenAI) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            fake.requests.append(Request(self.path, dict(self.headers), body))
            reply = fake.next_reply()
            time.sleep(reply.delay)
            if not reply.hang_up:
                self._send(reply, reply.body or (fake.answer(body) if reply.status == 200 else b""))

        def _send(self, reply: Reply, content: bytes) -> None:
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                for start in range(0, len(content), 1 if reply.drip else max(len(content), 1)):
                    self.wfile.write(content[start : start + 1] if reply.drip else content)
                    time.sleep(reply.drip)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    return Handler
