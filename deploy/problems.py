"""Every failure as application/problem+json (RFC 9457): what, why, and what to do about it."""

import logging
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import APIException, MethodNotAllowed, UnsupportedMediaType
from rest_framework.response import Response

from tenants.ids import new_id
from tenants.refusals import FieldError, Refusal, Unauthenticated

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 2  # seconds, where nobody knows better
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Not reachable, too many connections, out of time, waiting for a lock: try again later.
DATABASE_DOWN = (OperationalError, InterfaceError, PoolTimeout)


class RequestId:
    """Gives every request an id, in the answer, the problem and the events."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, with its id beside the answer."""
        request.request_id = request_id_from(request.headers.get("X-Request-Id", ""))  # type: ignore[attr-defined]
        response = self.get_response(request)
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        response["Server"] = "palimpsest"  # not which server it is
        return response


def request_id_from(sent: str) -> str:
    """Return the id that a request came with if it has the form of one, or else a new one."""
    return sent if _REQUEST_ID.fullmatch(sent) else str(new_id())


def problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[FieldError] = (),
) -> dict[str, Any]:
    """Return a failure in the contract's form."""
    return {
        "type": f"urn:palimpsest:problem:{code}",
        "title": title,
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": request_id,
        "errors": [vars(error) for error in errors],
    }


def foreseen(error: Exception, request_id: str) -> dict[str, Any] | None:
    """Return the failure in the contract's form, if it is one that may happen on any face."""
    if isinstance(error, Refusal):
        return problem(
            error.status, error.code, error.title, error.detail, request_id, errors=error.errors
        )
    if isinstance(error, DATABASE_DOWN):
        return problem(
            503,
            "unavailable",
            "Not available right now",
            "The database did not answer in time. Nothing was changed; send the request again, "
            "with an Idempotency-Key if it is a write.",
            request_id,
        )
    return None


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """
    Return what a failed API call is answered.

    Whatever is not foreseen here is a bug: it is answered by `server_error` and logged.
    """
    request = context["request"]
    request_id = getattr(request, "request_id", "")
    headers = {}
    body = foreseen(error, request_id)
    if body is not None:
        if body["status"] in (429, 503):
            headers["Retry-After"] = str(getattr(error, "retry_after", RETRY_AFTER))
        if isinstance(error, Unauthenticated):
            headers["WWW-Authenticate"] = 'Bearer realm="palimpsest"'
        if isinstance(error, DATABASE_DOWN):
            log.error("database not available", exc_info=error, extra={"request": request})
    elif isinstance(error, RequestDataTooBig):
        body = problem(413, "too_large", "Too large", "The body is over 1 MiB.", request_id)
    elif isinstance(error, APIException):
        body = _framework_problem(error, request_id)
        if isinstance(error, MethodNotAllowed):
            headers["Allow"] = ", ".join(context["view"].allowed_methods)
    else:
        return None
    if connection.in_atomic_block:
        connection.set_rollback(True)
    answer = Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)
    # Said above, as far as it is worth a line; Django would say it again.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return answer


def _framework_problem(error: APIException, request_id: str) -> dict[str, Any]:
    code = str(error.default_code)
    if isinstance(error, UnsupportedMediaType):
        detail = "Send the body as application/json, in UTF-8, without Content-Encoding."
    elif isinstance(error, MethodNotAllowed):
        detail = "This path does not offer that method."
    else:
        detail = str(error.detail)
    return problem(
        error.status_code, code, HTTPStatus(error.status_code).phrase, detail, request_id
    )


def _page_problem(status: HTTPStatus, code: str, detail: str) -> Callable[..., HttpResponse]:
    def answer(request: HttpRequest, *_args: Any, **_options: Any) -> HttpResponse:
        body = problem(status, code, status.phrase, detail, getattr(request, "request_id", ""))
        return JsonResponse(body, status=status, content_type=MEDIA_TYPE)

    return answer


bad_request = _page_problem(
    HTTPStatus.BAD_REQUEST, "validation_failed", "The request is malformed."
)
forbidden = _page_problem(HTTPStatus.FORBIDDEN, "forbidden", "Not allowed.")
not_found = _page_problem(
    HTTPStatus.NOT_FOUND, "not_found", "There is no such thing, or none that you may see."
)
server_error = _page_problem(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "internal_error",
    "Something went wrong on our side; the request id helps to find it in the log.",
)
