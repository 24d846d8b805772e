"""How operations stand in the OpenAPI document."""

from collections.abc import Callable
from http import HTTPStatus
from inspect import getdoc, signature
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers

from tenants.ids import Prefix
from tenants.operations import Operation

LONGEST_KEY = 255
PROBLEM = "application/problem+json"


class FieldProblem(serializers.Serializer[Any]):
    field = serializers.CharField(help_text='where in the request, such as "links[2].dst"')
    code = serializers.CharField()
    message = serializers.CharField(help_text="what is wrong, the limit, and the way out")


class Problem(serializers.Serializer[Any]):
    """Why a request failed (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="for programs: validation_failed, not_found, ...")
    detail = serializers.CharField()
    request_id = serializers.CharField(help_text="finds the request in the log")
    errors = FieldProblem(many=True)  # type: ignore[assignment]  # the wire's name


_ALWAYS = (400, 401, 403, 405, 429, 500, 503)
_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="Sent again with the same body, the first answer is given again, for 24 hours.",
)
_VERSION = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": '^"?[0-9]{1,9}"?$'},
    OpenApiParameter.HEADER,
    description="The version that you saw; if there is a newer one, the answer is 409.",
)
_RETRY = OpenApiParameter(
    "Retry-After", int, OpenApiParameter.HEADER, description="seconds", response=[429, 503]
)


def described(method: str, operation: Operation) -> Callable[[Any], Any]:
    """Return what puts an operation, offered by an HTTP method, into the document."""
    by_query = method in ("get", "delete")
    scope = operation.scope
    needs = "Any valid token will do." if scope is None else f"Needs the scope `{scope.value}`."
    return extend_schema(
        operation_id=operation.name,
        summary=operation.summary,
        description=f"{getdoc(operation.run) or ''}\n\n{needs}".strip(),
        parameters=_parameters(method, operation),
        request=None if by_query else operation.takes,
        responses=_answers(operation) | _failures(method, operation),
        auth=[{"bearer": [] if scope is None else [scope.value]}],  # type: ignore[list-item]
    )


def _parameters(method: str, operation: Operation) -> list[Any]:
    parameters: list[Any] = [_id(name, prefix) for name, prefix in operation.path_ids.items()]
    if method in ("get", "delete") and operation.takes is not None:
        parameters.append(operation.takes)
    if method == "post" and operation.changes:
        parameters.append(_KEY)
    if "if_match" in signature(operation.run).parameters:
        parameters.append(_VERSION)
    return [*parameters, _RETRY]


def _id(name: str, prefix: Prefix) -> OpenApiParameter:
    form = {"type": "string", "pattern": f"^{prefix.value}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$"}
    return OpenApiParameter(name, form, OpenApiParameter.PATH)


def _answers(operation: Operation) -> dict[Any, Any]:
    fixed = operation.status
    statuses = [fixed] if isinstance(fixed, HTTPStatus) else [HTTPStatus.OK, HTTPStatus.CREATED]
    return {int(status): operation.gives for status in statuses}


def _failures(method: str, operation: Operation) -> dict[Any, Any]:
    statuses = set(_ALWAYS)
    if operation.path_ids:
        statuses.add(404)
    if operation.changes:
        statuses |= {409, 422}
    if method not in ("get", "delete"):
        statuses |= {413, 415}
    return failures(*statuses)


def failures(*statuses: int) -> dict[Any, Any]:
    """Return how the document tells of answers that are problems."""
    return {(status, PROBLEM): Problem for status in sorted(statuses)}


def close_bodies(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """Say in the finished document that bodies take no other fields than theirs."""
    for name, component in result["components"]["schemas"].items():
        if name.endswith("Request") and component.get("type") == "object":
            component["additionalProperties"] = False
    return result
