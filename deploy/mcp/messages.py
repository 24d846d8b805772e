"""
One JSON-RPC message a request, read as strictly as REST reads its bodies.

What is wrong with the arguments of a tool call is for the agent to know: it is cut out here, and
the tool says it. What is no message at all is for the client, as a JSON-RPC error.
"""

import json
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from tenants.parsing import DEEPEST, MalformedJson, read_json
from tenants.refusals import FieldError, Invalid, Refusal

# The arguments of a call stand two levels deep in the message, and may be as deep as a body.
DEEPEST_MESSAGE = DEEPEST + 2
_ARGUMENTS = "params.arguments."


class NotAMessage(Exception):
    """The body cannot be taken for a JSON-RPC message, or not for one that we serve."""

    def __init__(self, code: int, detail: str, message_id: str | int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.message_id = message_id


@dataclass
class Message:
    """
    The body to be handed on, once.

    :param refusal: why its arguments were cut out, if they were
    """

    body: bytes | None
    refusal: Refusal | None = None

    def take(self) -> bytes | None:
        """Return the body the first time."""
        body, self.body = self.body, None
        return body


def read_message(body: bytes) -> Message:
    """
    Return the message.

    :raises NotAMessage: if it is none
    """
    try:
        said = read_json(body, DEEPEST_MESSAGE)
    except (MalformedJson, Invalid) as error:
        return _without_arguments(body, error)
    _must_be_one(said)
    return Message(body)


def _without_arguments(body: bytes, error: Refusal) -> Message:
    """Return the call without its arguments, if it is one that could be answered."""
    unreadable = NotAMessage(types.PARSE_ERROR, error.detail)
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise unreadable from None
    if not isinstance(said, dict) or said.get("method") != "tools/call":
        raise unreadable
    _must_be_one(said)
    params = {**said.get("params", {}), "arguments": {}}
    try:
        rest = json.dumps({**said, "params": params}, allow_nan=False).encode("ascii")
        read_json(rest, DEEPEST_MESSAGE)
    except (ValueError, Refusal):
        raise unreadable from None
    return Message(rest, _about_arguments(error))


def _about_arguments(error: Refusal) -> Refusal:
    if not isinstance(error, Invalid):
        return error
    errors = [
        FieldError(one.field.removeprefix(_ARGUMENTS), one.code, one.message)
        for one in error.errors
    ]
    return Invalid(error.detail.removeprefix(_ARGUMENTS), errors)


def _must_be_one(said: Any) -> None:
    if not isinstance(said, dict):
        raise NotAMessage(
            types.INVALID_REQUEST, "Send one JSON-RPC request or notification, not a batch."
        )
    message_id = said.get("id")
    known_id = message_id if _is_id(message_id) else None
    if said.get("jsonrpc") != "2.0" or not isinstance(said.get("method"), str):
        raise NotAMessage(
            types.INVALID_REQUEST, 'A message says "jsonrpc": "2.0" and a method.', known_id
        )
    if "id" in said and known_id is None:
        raise NotAMessage(types.INVALID_REQUEST, "An id is a text or a whole number.")
    if not isinstance(said.get("params", {}), dict):
        raise NotAMessage(types.INVALID_PARAMS, "params must be an object.", known_id)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
