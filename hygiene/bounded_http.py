"""
An HTTP client whose answers end: at a number of bytes, and at a time.

The timeouts of HTTP libraries bound the silence between two pieces, so a server that drips a byte
now and then holds its caller for as long as it likes. Here the connection is shut at the deadline.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import httpx2

MOST = 1024 * 1024
"""Bytes of an answer."""


class TooMuch(httpx2.ReadError):
    """The answer is longer than is read."""


class _Line:
    """The connection that a request is on, once it is known."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def note(self, event: str, about: Mapping[str, Any]) -> None:
        told_of = getattr(about.get("return_value"), "get_extra_info", None)
        if event.startswith("connection.") and told_of is not None:
            with self._lock:
                self._socket = told_of("socket")
                is_over = self._is_over
            if is_over:
                self.cut()

    def cut(self) -> None:
        with self._lock:
            self._is_over = True
            line = self._socket
        if line is not None:
            with contextlib.suppress(OSError):  # closed meanwhile: all the better
                line.shutdown(socket.SHUT_RDWR)


_line: ContextVar[_Line] = ContextVar("line")


@contextlib.contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Cut the connection of the request that is made in the block when the time is up."""
    line = _Line()
    entered = _line.set(line)
    clock = threading.Timer(seconds, line.cut)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        _line.reset(entered)


def bounded_client() -> httpx2.Client:
    """
    Return a client for requests inside `ending_within`; it follows no redirects.

    Each request has a connection of its own: only of a new one is it told which it is.
    """
    return httpx2.Client(
        headers={"Accept-Encoding": "identity"},
        limits=httpx2.Limits(max_keepalive_connections=0),
        event_hooks={"request": [_watch], "response": [_bound]},
    )


def _watch(request: httpx2.Request) -> None:
    request.extensions["trace"] = _line.get().note


def _bound(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise TooMuch("the answer is compressed, against what was asked for")
    length = response.headers.get("Content-Length", "0")
    if length.isdecimal() and int(length[:20]) > MOST:
        raise TooMuch(f"the answer is longer than {MOST} bytes")
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for part in self._stream:
            read += len(part)
            if read > MOST:
                raise TooMuch(f"the answer is longer than {MOST} bytes")
            yield part

    def close(self) -> None:
        self._stream.close()
