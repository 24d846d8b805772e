"""The REST paths of pushes: where they come from, and where they arrive."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.pushes import sources, wire
from memory.pushes.receiving import must_be_awaited, take_push
from memory.trust.file_changes import report_files
from tenants.again import retried
from tenants.caller import Caller, Scope
from tenants.ids import MalformedId, Prefix, read_id
from tenants.once import Answer
from tenants.openapi import failures
from tenants.operations import Operation
from tenants.parsing import TooLarge
from tenants.refusals import Unauthenticated
from tenants.rest import JsonAlways, endpoint
from tenants.wire import Listing, pages_of

# GitHub sends no more; what is larger it does not deliver at all, and says so at the webhook.
LONGEST_PUSH = 25 * 1024 * 1024  # bytes
TOO_LARGE = (
    "The push is larger than 25 MiB (26,214,400 bytes). Nothing was marked: report a change at each"
    " subject that it may have touched."
)


def _what_was_seen(caller: Caller, answer: Answer) -> Answer:
    """Return what was reported, and not what it marks, to a token that may not read."""
    return answer if caller.reads else answer | {"marked": []}


_SOURCE = {"source_id": Prefix.PUSH_SOURCE}
_ADMIN: dict[str, Any] = {"scope": Scope.ADMIN, "path_ids": _SOURCE}

REPORT_FILES = Operation(
    report_files,
    Scope.WRITE,
    takes=wire.FilesBody,
    gives=wire.ChangedFilesAnswer,
    status=HTTPStatus.CREATED,
    hides=_what_was_seen,
)
CREATE = Operation(
    sources.create_push_source,
    Scope.ADMIN,
    takes=wire.CreatePushSource,
    gives=wire.NewPushSourceAnswer,
)
LIST = Operation(
    sources.list_push_sources,
    Scope.ADMIN,
    takes=Listing,
    gives=pages_of(wire.PushSourceAnswer),
    changes=False,
)
GET = Operation(sources.get_push_source, gives=wire.PushSourceAnswer, changes=False, **_ADMIN)
UPDATE = Operation(
    sources.update_push_source, takes=wire.UpdatePushSource, gives=wire.PushSourceAnswer, **_ADMIN
)
DEACTIVATE = Operation(sources.deactivate_push_source, gives=wire.PushSourceAnswer, **_ADMIN)
ROTATE = Operation(sources.rotate_push_source, gives=wire.NewPushSourceAnswer, **_ADMIN)


class Pushes(APIView):
    """Where a host sends pushes to: the one path that is opened by a signature and not a token."""

    authentication_classes = ()
    content_negotiation_class = JsonAlways
    metadata_class = None

    @extend_schema(
        operation_id="take_push",
        summary="Take in a push of GitHub's or GitLab's, signed with the push source's secret.",
        request={"application/json": {"type": "object"}},
        responses={200: wire.PushAnswer} | failures(400, 401, 403, 413, 415, 429, 500, 503),
        auth=[],
    )
    def post(self, request: Request, source_id: str) -> Response:
        """Take in a push."""
        try:
            source = read_id(Prefix.PUSH_SOURCE, source_id)
        except MalformedId:
            raise Unauthenticated("There is no such push source.") from None
        body = _body_as_signed(request, source)
        request_id = getattr(request._request, "request_id", "")  # noqa: SLF001  what DRF wraps
        answer = retried(lambda: take_push(source, request.headers, body, request_id=request_id))
        return Response(answer)


def _body_as_signed(request: Request, source: UUID) -> bytes:
    """
    Return the body of a push.

    How large a push is nobody chooses, and the large ones change most: so of a source that is known
    more is read than of anybody else.

    :raises Unauthenticated: if it is large, and there is no such source
    :raises TooLarge: if it is larger than any host sends
    """
    sent = request._request  # noqa: SLF001  what DRF wraps
    announced = int(sent.META.get("CONTENT_LENGTH") or 0)
    is_measured = announced or "chunked" not in sent.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if is_measured and announced <= settings.LONGEST_BODY:
        return sent.body
    must_be_awaited(source, request.headers)
    if announced > LONGEST_PUSH:
        raise TooLarge(TOO_LARGE)
    stream, body = sent if announced else sent.META["wsgi.input"], bytearray()
    while piece := stream.read(settings.LONGEST_BODY):
        body += piece
        if len(body) > LONGEST_PUSH:
            raise TooLarge(TOO_LARGE)
    return bytes(body)


urlpatterns = [
    endpoint("changes/files", post=REPORT_FILES),
    endpoint("push-sources", get=LIST, post=CREATE),
    endpoint("push-sources/<str:source_id>", get=GET, patch=UPDATE, delete=DEACTIVATE),
    endpoint("push-sources/<str:source_id>/rotate", post=ROTATE),
    path("push-sources/<str:source_id>/pushes", Pushes.as_view(), name="take_push"),
]
