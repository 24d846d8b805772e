"""
What stands before the MCP server: who may come in, and in what form.

Host and Origin first, then the token, then the form of the request; only what passes reaches the
SDK. Nothing is kept between requests, and nobody without a token learns anything.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from http import HTTPStatus
from typing import Any

from anyio import move_on_after
from django.conf import settings
from django.http import HttpRequest
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from deploy import health
from deploy.mcp.calls import Asked, Threads
from deploy.mcp.messages import Message, NotAMessage, read_message
from deploy.mcp.server import ASKED
from deploy.mcp.visitors import must_be_for_us
from deploy.problems import DATABASE_DOWN, RETRY_AFTER, foreseen, request_id_from
from tenants.authentication import authenticate
from tenants.caller import Scope as TokenScope
from tenants.refusals import Refusal, Unauthenticated

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"
SLOWEST_BODY = 10  # seconds
REFUSED = -32000  # the code for what JSON-RPC has none for


class Gone(Exception):
    """The client went away before it had said all."""


class MethodNotOffered(Refusal):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    code = "method_not_allowed"
    title = "Method not allowed"


class WrongMediaType(Refusal):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "unsupported_media_type"
    title = "Unsupported media type"


class TooLarge(Refusal):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"
    title = "Too large"


class TooSlow(Refusal):
    status = HTTPStatus.REQUEST_TIMEOUT
    code = "too_slow"
    title = "The body took too long"


class Entrance:
    """The application that the server process runs, with the MCP server behind it."""

    def __init__(self, inner: App, threads: Threads) -> None:
        self._inner = inner
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = request_id_from(headers.get("x-request-id", ""))
        send = partial(_send_with, send, request_id)
        page = await self._page(scope["path"], scope["method"])
        if page is not None:
            await page(scope, receive, send)
            return
        try:
            caller = await self._caller(scope, headers, request_id)
            _must_be_posted_json(scope["method"], headers)
            message = read_message(await _body(receive, headers))
        except Gone:
            return
        except NotAMessage as error:
            await _unread(error)(scope, receive, send)
        except (Refusal, *DATABASE_DOWN) as error:
            await _turned_away(error, request_id)(scope, receive, send)
        else:
            scope = _with_accept(scope, headers)
            scope[ASKED] = Asked(caller, request_id, message.refusal)
            await self._inner(scope, partial(_replayed, message, receive), send)

    async def _page(self, path: str, method: str) -> Response | None:
        """Return what stands beside the MCP server; nothing if the request is for that."""
        if path == PATH:
            return None
        if method in ("GET", "HEAD"):
            if path == "/healthz":
                return JSONResponse({"status": "ok"})
            if path == "/readyz":
                ready = await self._threads.run(partial(health.readyz, HttpRequest()))
                return Response(ready.content, ready.status_code, media_type="application/json")
            if path in (METADATA, METADATA + PATH) and settings.MCP_AUTHORIZATION_SERVER:
                return JSONResponse(_resource_metadata())
        return JSONResponse({"detail": f"Nothing is here; MCP is at {PATH}."}, 404)

    async def _caller(self, scope: Scope, headers: Headers, request_id: str) -> Any:
        must_be_for_us(headers)
        request = HttpRequest()
        request.META = {
            "HTTP_AUTHORIZATION": ",".join(headers.getlist("authorization")),
            "HTTP_X_FORWARDED_FOR": ",".join(headers.getlist("x-forwarded-for")),
            "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        }
        request.request_id = request_id  # type: ignore[attr-defined]
        return await self._threads.run(partial(authenticate, request))


async def _send_with(send: Send, request_id: str, message: MutableMapping[str, Any]) -> None:
    if message["type"] == "http.response.start":
        message = {
            **message,
            "headers": [
                *message.get("headers", ()),
                (b"x-request-id", request_id.encode("ascii")),
                (b"cache-control", b"no-store"),
                (b"x-content-type-options", b"nosniff"),
            ],
        }
    await send(message)


def _must_be_posted_json(method: str, headers: Headers) -> None:
    if method != "POST":
        raise MethodNotOffered(
            "Send one JSON-RPC message with POST; no streams are kept open here."
        )
    media_type, *parameters = headers.get("content-type", "").lower().replace(" ", "").split(";")
    if media_type != "application/json":
        raise WrongMediaType("Send the message as application/json.")
    for name, _, value in (one.partition("=") for one in parameters):
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            raise WrongMediaType("Send the message in UTF-8.")
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise WrongMediaType("Send the message as it is, without Content-Encoding.")


async def _body(receive: Receive, headers: Headers) -> bytes:
    """
    Return the body.

    :raises TooLarge: if it is longer than we read
    :raises TooSlow: if it does not come in time
    :raises Gone: if it never comes whole
    """
    announced = headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > settings.LONGEST_BODY:
        raise TooLarge(_TOO_LARGE)
    body = bytearray()
    with move_on_after(SLOWEST_BODY):
        while True:
            part = await receive()
            if part["type"] == "http.disconnect":
                raise Gone
            body += part.get("body", b"")
            if len(body) > settings.LONGEST_BODY:
                raise TooLarge(_TOO_LARGE)
            if not part.get("more_body", False):
                return bytes(body)
    raise TooSlow(f"The message did not come within {SLOWEST_BODY} seconds.")


_TOO_LARGE = "The message is larger than 1 MiB (1,048,576 bytes)."


async def _replayed(message: Message, receive: Receive) -> MutableMapping[str, Any]:
    body = message.take()
    if body is None:
        return await receive()
    return {"type": "http.request", "body": body, "more_body": False}


def _with_accept(scope: Scope, headers: Headers) -> Scope:
    """Return the request as one that takes JSON, which is all that there is, if it says nothing."""
    if "accept" in headers:
        return {**scope}
    return {**scope, "headers": [*scope["headers"], (b"accept", b"application/json")]}


def _turned_away(error: Exception, request_id: str) -> Response:
    """Return what a request is answered that does not reach the MCP server."""
    body = foreseen(error, request_id)
    assert body is not None
    headers = {"Connection": "close"} if isinstance(error, TooSlow | TooLarge) else {}
    if body["status"] in (429, 503):
        headers["Retry-After"] = str(getattr(error, "retry_after", RETRY_AFTER))
    if isinstance(error, MethodNotOffered):
        headers["Allow"] = "POST"
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = _challenge()
    return _error(body["status"], REFUSED, body["detail"], headers=headers, data=body)


def _unread(error: NotAMessage) -> Response:
    return _error(400, error.code, error.detail, message_id=error.message_id)


def _error(
    status: int,
    code: int,
    message: str,
    *,
    message_id: str | int | None = None,
    headers: Mapping[str, str] | None = None,
    data: Any = None,
) -> Response:
    # In JSON-RPC's form, because it is that in which clients look for what to show.
    told: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    body = {"jsonrpc": "2.0", "id": message_id, "error": told}
    return JSONResponse(body, status, headers=headers)


def _challenge() -> str:
    challenge = 'Bearer realm="palimpsest"'
    if not settings.MCP_AUTHORIZATION_SERVER:
        return challenge
    where = settings.MCP_URL.removesuffix(PATH) + METADATA + PATH
    return f'{challenge}, resource_metadata="{where}"'


def _resource_metadata() -> dict[str, Any]:
    """Return what RFC 9728 has a resource say of itself."""
    return {
        "resource": settings.MCP_URL,
        "resource_name": "Palimpsest",
        "authorization_servers": [settings.MCP_AUTHORIZATION_SERVER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": [scope.value for scope in TokenScope],
    }
