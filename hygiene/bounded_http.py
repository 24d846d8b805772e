"""
An HTTP client whose answers end: at a number of bytes, and at a time.

The timeouts of HTTP libraries bound the silence between two pieces, so a server that drips a byte
now and then holds its caller for as long as it likes. Here the connection is shut at the deadline.
"""

import contextlib
import heapq
import itertools
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import httpx2

MOST = 1024 * 1024
"""Bytes of an answer."""

KEPT = 60.0
"""Seconds that a connection is kept for the next request."""


class TooMuch(httpx2.ReadError):
    """The answer is longer than is read."""


def bounded_client() -> httpx2.Client:
    """
    Return a client whose requests end, as a whole, within the timeout that they have for reading.

    It follows no redirects, and asks by as many connections as there are questions at a time. Each
    serves one request after the other, as long as they end well. Threads may share it.
    """
    return httpx2.Client(headers={"Accept-Encoding": "identity"}, transport=_Lines())


class _Lines(httpx2.BaseTransport):
    def __init__(self) -> None:
        # The last one first: what nobody needs any more is left to grow old.
        self._idle: list[_Line] = []
        weakref.finalize(self, _close_all, self._idle)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            line = self._idle.pop()
        except IndexError:
            line = _Line()
        try:
            response = line.answer_to(request, request.extensions["timeout"]["read"])
        except BaseException:
            line.close()
            raise
        self._idle.append(line)
        return response

    def close(self) -> None:
        _close_all(self._idle)


class _Line:
    """One connection, known so that it can be shut: a library tells only of a new one."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._deadline: _Deadline | None = None
        self._client = httpx2.Client(
            verify=_trusted(),
            limits=httpx2.Limits(
                max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT
            ),
        )

    def answer_to(self, request: httpx2.Request, seconds: float) -> httpx2.Response:
        """
        Return what the server answers, whatever its status, with its content.

        :raises httpx2.HTTPError: if it does not within these seconds, or too much
        """
        self._deadline = deadline = _Deadline(self)
        _clock().cut_at(time.monotonic() + seconds, deadline)
        request.extensions = {**request.extensions, "trace": self._note}
        try:
            response = self._client.send(request, stream=True)
            with contextlib.closing(response):
                content = _bounded(response)
            if deadline.has_passed:  # a connection that is shut may look like an answer that ends
                raise httpx2.ReadTimeout("the time was up")
            return httpx2.Response(response.status_code, headers=response.headers, content=content)
        finally:
            deadline.is_over()

    def cut(self) -> None:
        """End whatever is going on, from another thread."""
        line = self._socket
        if line is not None:
            with contextlib.suppress(OSError):  # closed meanwhile: all the better
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._client.close()

    def _note(self, _event: str, about: Mapping[str, Any]) -> None:
        told_of = getattr(about.get("return_value"), "get_extra_info", None)
        if told_of is not None:
            self._socket = told_of("socket")
            if self._deadline is not None and self._deadline.has_passed:
                self.cut()


class _Deadline:
    """When a request must have ended, unless it has."""

    def __init__(self, line: _Line) -> None:
        self.has_passed = False
        self._line: _Line | None = line
        self._lock = threading.Lock()

    @property
    def is_needless(self) -> bool:
        return self._line is None

    def is_over(self) -> None:
        """Leave the line alone from now on: the next request may be on it."""
        with self._lock:
            self._line = None

    def pass_by(self) -> None:
        with self._lock:
            self.has_passed = True
            if self._line is not None:
                self._line.cut()


class _Clock(threading.Thread):
    """The one thread that shuts what has not ended in time."""

    def __init__(self) -> None:
        super().__init__(name="deadlines", daemon=True)
        self._due: list[tuple[float, int, _Deadline]] = []
        self._numbers = itertools.count()
        self._sooner = threading.Condition()

    def cut_at(self, moment: float, deadline: _Deadline) -> None:
        with self._sooner:
            heapq.heappush(self._due, (moment, next(self._numbers), deadline))
            if self._due[0][2] is deadline:
                self._sooner.notify()

    def run(self) -> None:
        while True:
            self._next().pass_by()

    def _next(self) -> _Deadline:
        """Return the next that has come, once it has."""
        with self._sooner:
            while True:
                # Most were met long ago, and nobody need wake up for them.
                while self._due and self._due[0][2].is_needless:
                    heapq.heappop(self._due)
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._due)[2]
                self._sooner.wait(left)


@lru_cache(maxsize=1)
def _clock() -> _Clock:
    clock = _Clock()
    clock.start()
    return clock


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    # Reading the certificates takes longer than a question.
    return httpx2.create_ssl_context()


def _close_all(lines: list[_Line]) -> None:
    while lines:
        lines.pop().close()


def _bounded(response: httpx2.Response) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise TooMuch("the answer is compressed, against what was asked for")
    length = response.headers.get("Content-Length", "0")
    if length.isdecimal() and int(length[:20]) > MOST:
        raise TooMuch(f"the answer is longer than {MOST} bytes")
    return b"".join(_up_to_the_most(response))


def _up_to_the_most(response: httpx2.Response) -> Iterator[bytes]:
    read = 0
    for part in response.iter_raw():
        read += len(part)
        if read > MOST:
            raise TooMuch(f"the answer is longer than {MOST} bytes")
        yield part
