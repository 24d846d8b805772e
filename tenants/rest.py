"""The REST face of operations: translate, one call, translate back."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from django.http import QueryDict
from django.urls import URLPattern, path
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ValidationError
from rest_framework.views import APIView

from tenants.again import retried
from tenants.authentication import authenticate
from tenants.caller import Caller, Once
from tenants.fields import Query
from tenants.ids import MalformedId, read_id
from tenants.once import AnsweredBefore
from tenants.openapi import LONGEST_KEY, described
from tenants.operations import Operation
from tenants.parsing import SHOWN, take_unmeasured_body
from tenants.refusals import FieldError, Invalid, NotFound


class JsonAlways(BaseContentNegotiation):
    """Answer in JSON, whatever the client says it would rather have."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Return the parser for the body's media type."""
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """Return the first renderer."""
        return renderers[0], renderers[0].media_type


class Endpoint(APIView):
    """One path: an operation for each method that it offers."""

    authentication_classes = ()
    content_negotiation_class = JsonAlways
    metadata_class = None
    operations: dict[str, Operation] = {}
    caller: Caller

    @property
    def allowed_methods(self) -> list[str]:
        """The methods that the path offers, for the header Allow."""
        methods = {method.upper() for method in self.operations}
        return sorted(methods | {"HEAD"} if "GET" in methods else methods)

    def initial(self, request: Request, *args: Any, **options: Any) -> None:
        """Ask who it is before anything else, even before whether the path offers the method."""
        super().initial(request, *args, **options)
        self.caller = authenticate(request._request)  # noqa: SLF001  what DRF wraps

    def answer(self, request: Request, operation: Operation, ids: dict[str, str]) -> Response:
        """Translate the request, do what it asks, and translate the answer back."""
        caller = self.caller
        if operation.scope is not None:
            caller.needs(operation.scope)
        arguments = _ids(operation, ids) | _arguments(operation, request)
        try:
            caller = _once(caller, operation, request, ids)
            answer = retried(partial(operation, caller, **arguments))
        except AnsweredBefore as before:
            answer = before.answer
            answer = answer if operation.hides is None else operation.hides(caller, answer)
        return Response(answer, status=operation.status_of(answer))


def endpoint(route: str, **operations: Operation) -> URLPattern:
    """Return the path at which each HTTP method (get, post, ...) does its operation."""
    methods: dict[str, Any] = {"operations": operations}
    for method, operation in operations.items():
        methods[method] = _method(method, operation)
    view: type[Endpoint] = type("Endpoint", (Endpoint,), methods)
    name = next(iter(operations.values())).name
    return path(route, view.as_view(), name=name)


def _method(method: str, operation: Operation) -> Callable[..., Response]:
    def handle(self: Endpoint, request: Request, **ids: str) -> Response:
        return self.answer(request, operation, ids)

    handle.__doc__ = operation.run.__doc__
    described_handle: Callable[..., Response] = described(method, operation)(handle)
    return described_handle


def _ids(operation: Operation, ids: dict[str, str]) -> dict[str, Any]:
    try:
        return {name: read_id(operation.path_ids[name], text) for name, text in ids.items()}
    except MalformedId:
        raise NotFound from None


def _arguments(operation: Operation, request: Request) -> dict[str, Any]:
    try:
        said = _said(operation, request)
        if operation.takes is None:
            if said:
                field = next(iter(said)) if isinstance(said, Mapping) else "body"
                raise Invalid.field(str(field)[:SHOWN], "nothing is taken here", "unknown_field")
            return {}
        body = operation.takes(data=said)
        body.is_valid(raise_exception=True)
    except ValidationError as error:
        raise invalid_fields(error) from None
    arguments = dict(body.validated_data)
    version = request.headers.get("If-Match")
    if version is not None and "if_match" in signature(operation.run).parameters:
        arguments["if_match"] = _version(version)
    return arguments


def _said(operation: Operation, request: Request) -> Any:
    """Return what the request says: in its query if it has no body, else in its body alone."""
    if request.method in ("GET", "DELETE", "HEAD"):
        return Query.of(request.query_params, operation.takes)
    if request.query_params:
        raise Invalid.field(
            next(iter(request.query_params))[:SHOWN],
            "say it in the body, not in the query",
            "unknown_field",
        )
    take_unmeasured_body(request)
    # Without a body some clients call it a form, of which the framework makes an empty QueryDict.
    return {} if isinstance(request.data, QueryDict) else request.data


def _version(header: str) -> int:
    text = header.strip().strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Invalid.field("If-Match", "must be a version, a whole number")
    return int(text)


def _once(caller: Caller, operation: Operation, request: Request, ids: dict[str, str]) -> Caller:
    """Return the caller with the idempotency key of the request, if it has one."""
    key = request.headers.get("Idempotency-Key")
    if key is None or request.method != "POST":
        return caller
    return once(caller, operation, key, said=request.data, ids=ids.values())


def once(
    caller: Caller,
    operation: Operation,
    key: str,
    *,
    said: Any,
    ids: Iterable[str],
    field: str = "Idempotency-Key",
) -> Caller:
    """
    Return the caller with an idempotency key: every face means the same by the same key.

    :param said: the request's body, as it was sent
    :param ids: what stands in the path, as it was sent
    :param field: what this face calls the key
    :raises Invalid: if the key has not the form of one
    """
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Invalid.field(field, f"must have 1 to {LONGEST_KEY} printable ASCII characters")
    text = json.dumps(said, sort_keys=True, ensure_ascii=True)
    fingerprint = hashlib.sha256(text.encode("ascii")).digest()
    where = ":".join((operation.name, *ids))
    return replace(caller, once=Once(endpoint=where, key=key, fingerprint=fingerprint))


def invalid_fields(error: ValidationError) -> Invalid:
    """Return the refusal that names every field in which something is wrong."""
    errors = list(_field_errors(error.detail, ""))
    detail = "; ".join(f"{found.field}: {found.message}" for found in errors[:5])
    return Invalid(detail, errors)


def _field_errors(detail: Any, path: str) -> Any:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            if name == "non_field_errors":
                yield from _field_errors(inner, path)
            elif isinstance(name, int):
                yield from _field_errors(inner, f"{path}[{name}]")
            else:
                yield from _field_errors(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            if isinstance(inner, dict | list):
                yield from _field_errors(inner, f"{path}[{index}]")
            else:
                yield FieldError(path or "body", inner.code, str(inner))
    else:
        yield FieldError(path or "body", detail.code, str(detail))
