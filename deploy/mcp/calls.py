"""Doing what a tool call asks: in a thread, as REST does it, and answered as REST answers."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from django.conf import settings
from django.db import connection
from mcp_types import CallToolResult, TextContent
from rest_framework.serializers import ValidationError

from deploy.mcp.text import as_text, problem_text
from deploy.mcp.tools import KEY, Tool
from deploy.problems import DATABASE_DOWN, foreseen, problem
from tenants.again import retried
from tenants.caller import Caller
from tenants.ids import wire_id
from tenants.once import Answer, AnsweredBefore
from tenants.refusals import Refusal
from tenants.rest import invalid_fields, once

log = logging.getLogger(__name__)

# No more threads than connections: each holds one while it works.
THREADS = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]

Given = TypeVar("Given")


@dataclass(frozen=True)
class Asked:
    """Who asks, under which request id, and what was wrong with the words of the call, if any."""

    caller: Caller
    request_id: str
    refusal: Refusal | None = None


class Threads:
    """
    The threads that operations run in.

    One tenant has at most half of them at once, so that a slow one leaves room for the others.
    """

    def __init__(self, number: int = THREADS) -> None:
        self._all = CapacityLimiter(number)
        self._share = max(1, number // 2)
        self._of_tenant: dict[UUID, CapacityLimiter] = {}
        self._waiting: dict[UUID, int] = defaultdict(int)

    async def run(self, call: Callable[[], Given]) -> Given:
        """Return what the call returns."""
        return await to_thread.run_sync(partial(_closing, call), limiter=self._all)

    async def run_for(self, tenant_id: UUID, call: Callable[[], Given]) -> Given:
        """Return what the call returns, once it is the tenant's turn."""
        turns = self._of_tenant.setdefault(tenant_id, CapacityLimiter(self._share))
        self._waiting[tenant_id] += 1
        try:
            async with turns:
                return await self.run(call)
        finally:
            self._waiting[tenant_id] -= 1
            if not self._waiting[tenant_id]:
                del self._waiting[tenant_id], self._of_tenant[tenant_id]


def _closing(call: Callable[[], Given]) -> Given:
    try:
        return call()
    finally:
        # Nobody else ends a request here: without this the pool runs dry.
        connection.close()


def called(tool: Tool, said: Mapping[str, Any], asked: Asked) -> CallToolResult:
    """Return the result of a tool call; what fails is a result too, for the agent to read."""
    try:
        answer = _answer(tool, said, asked)
    except (Refusal, *DATABASE_DOWN) as error:
        body = foreseen(error, asked.request_id)
        assert body is not None
        if not isinstance(error, Refusal):
            log.exception("database not available", exc_info=error, extra=_about(asked))
        return _failed(body)
    except Exception as error:
        # Whatever it is, it costs this one call and tells nothing of our insides.
        log.exception("the tool %s failed", tool.name, exc_info=error, extra=_about(asked))
        return _failed(internal_error(asked.request_id))
    text = TextContent(type="text", text=as_text(tool.name, answer))
    return CallToolResult(content=[text], structured_content=answer)


def _answer(tool: Tool, said: Mapping[str, Any], asked: Asked) -> Answer:
    """
    Do what is asked, exactly as REST does.

    :raises Refusal: if it is refused, by the wire or by the operation
    """
    operation, caller = tool.operation, asked.caller
    if operation.scope is not None:
        caller.needs(operation.scope)
    if asked.refusal is not None:
        raise asked.refusal
    arguments = tool.takes(data=said)
    try:
        arguments.is_valid(raise_exception=True)
    except ValidationError as error:
        raise invalid_fields(error) from None
    given = dict(arguments.validated_data)
    key = given.pop(KEY, None)
    if key is not None:
        ids = [wire_id(prefix, given[name]) for name, prefix in operation.path_ids.items()]
        beside = {*operation.path_ids, KEY}
        body = {name: value for name, value in said.items() if name not in beside}
        caller = once(caller, operation, key, said=body, ids=ids, field=KEY)
    try:
        return retried(partial(operation, caller, **given))
    except AnsweredBefore as before:
        answer = before.answer
        return answer if operation.hides is None else operation.hides(caller, answer)


def internal_error(request_id: str) -> dict[str, Any]:
    """Return what is told of a fault of ours."""
    return problem(
        500,
        "internal_error",
        "Internal Server Error",
        "Something went wrong on our side; the request id helps to find it in the log.",
        request_id,
    )


def _about(asked: Asked) -> dict[str, Any]:
    return {"request": SimpleNamespace(request_id=asked.request_id)}


def _failed(body: dict[str, Any]) -> CallToolResult:
    text = TextContent(type="text", text=problem_text(body))
    # `type` says nothing that `code` does not, and answers have a `type` of their own.
    told = {name: value for name, value in body.items() if name != "type"}
    return CallToolResult(content=[text], structured_content=told, is_error=True)
