"""
Ending a connection on which part of a request was left unread.

Whoever is refused is refused before the body is read. What is left of it stands in the way of the
next request, so the server gives the connection up, sometimes without a word. A client that keeps
connections would send its next request into one that is gone; told, it opens another.
"""

from collections.abc import Callable, Iterable
from typing import Any

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class _Body:
    """A request's body that knows whether it was read to its end."""

    def __init__(self, stream: Any, length: int | None) -> None:
        self._stream = stream
        self._left = length  # None: sent in chunks, its end is not known before it comes
        self.is_read = length == 0

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or the rest."""
        return self._seen(self._stream.read(size), whole=size < 0, wanted=size)

    def readline(self, size: int = -1) -> bytes:
        """Return a line, or so much of it."""
        return self._seen(self._stream.readline(size))

    def _seen(self, data: bytes, *, whole: bool = False, wanted: int = 1) -> bytes:
        if self._left is not None:
            self._left -= len(data)
        self.is_read = self.is_read or whole or len(data) < wanted or self._left == 0
        return data


def closing_where_unread(application: Application) -> Application:
    """Return the application, which says `Connection: close` where it has not read all."""

    def answered(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        body = _Body(environ["wsgi.input"], _length(environ))
        environ["wsgi.input"] = body

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if not body.is_read:
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, *more)

        return application(environ, start)

    return answered


def _length(environ: dict[str, Any]) -> int | None:
    if environ.get("HTTP_TRANSFER_ENCODING"):
        return None
    announced = environ.get("CONTENT_LENGTH") or "0"
    return int(announced) if announced.isdecimal() else None
