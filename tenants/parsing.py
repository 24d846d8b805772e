"""
Reading a request's body, strictly.

Whatever JSON allows and we cannot keep faithfully is refused with the place named: repeated keys,
numbers that would be rounded, NUL, lone surrogates, more nesting than anybody needs.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from tenants.refusals import FieldError, Invalid, Refusal

DEEPEST = 32
MOST_KEYS = 256
LARGEST_INTEGER = 2**63 - 1
LONGEST_NUMBER = 40  # characters
SHOWN = 80  # characters of a name that somebody sent


class MalformedJson(Refusal):
    status = Invalid.status
    code = "malformed_json"
    title = "The body is not the JSON that we read"


class TooLarge(APIException):
    status_code = 413
    default_code = "too_large"
    default_detail = "The body is larger than 1 MiB (1,048,576 bytes)."


class StrictJSONParser(BaseParser):
    """JSON in UTF-8, at most 1 MiB and 32 levels deep."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """
        Return what the body says.

        :raises TooLarge: over 1 MiB
        :raises UnsupportedMediaType: if it is compressed, or in another encoding than UTF-8
        :raises MalformedJson: if it is not JSON, or nested too deeply
        :raises Invalid: if a text or number in it cannot be kept
        """
        request = (parser_context or {}).get("request")
        if request is not None:
            _must_be_plain_utf8(request)
        announced = request.META.get("CONTENT_LENGTH") if request is not None else None
        if announced and announced.isdigit() and int(announced) > settings.LONGEST_BODY:
            raise TooLarge
        body = stream.read(settings.LONGEST_BODY + 1)
        if len(body) > settings.LONGEST_BODY:
            raise TooLarge
        return read_json(body)


def take_unmeasured_body(request: Request) -> None:
    """Read a body sent in chunks, without its length: the framework takes it for an empty one."""
    meta = request._request.META  # noqa: SLF001  what DRF wraps
    if (
        meta.get("CONTENT_LENGTH")
        or "chunked" not in meta.get("HTTP_TRANSFER_ENCODING", "").lower()
    ):
        return
    body = meta["wsgi.input"].read(settings.LONGEST_BODY + 1)
    meta["CONTENT_LENGTH"] = str(len(body))
    request._request._stream = BytesIO(body)  # noqa: SLF001


def _must_be_plain_utf8(request: Request) -> None:
    packed = request.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise UnsupportedMediaType(packed, "Send the body as it is, without Content-Encoding.")
    parameters = request.content_type.lower().replace(" ", "").replace('"', "").split(";")[1:]
    for name, _, value in (one.partition("=") for one in parameters):
        if name == "charset" and value not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(request.content_type, "Send the body in UTF-8.")


def read_json(body: bytes, deepest: int = DEEPEST) -> Any:
    """
    Return what a JSON document says.

    :param deepest: how many levels it may be nested
    :raises MalformedJson: if it is none, or nested too deeply
    :raises Invalid: if a text or number in it cannot be kept
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8 at byte {error.start}.") from None
    _must_not_be_deep(text, deepest)
    try:
        said = json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_int=_whole_number,
            parse_float=_fraction,
        )
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    _must_be_keepable(said)
    return said


# A text that does not end matches too, up to the end: looking again from every quote in it would
# take a minute for a body of 1 MiB.
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+\\?"?|[\[\]{}]', re.DOTALL)


def _must_not_be_deep(text: str, deepest: int) -> None:
    # Before parsing: the parser itself recurses.
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth > deepest:
                raise MalformedJson(f"The body is nested deeper than {deepest} levels.")
        elif found[0] in "]}":
            depth -= 1


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_KEYS:
        raise MalformedJson(f"An object in the body has more than {MOST_KEYS} keys.")
    said = dict(pairs)
    if len(said) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MalformedJson(f"A key stands twice in one object: {repeated[:SHOWN]!r}.")
    return said


def _refuse_constant(name: str) -> Any:
    raise MalformedJson(f"{name} is not JSON.")


def _whole_number(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > LARGEST_INTEGER:
        raise MalformedJson(f"A whole number is larger than {LARGEST_INTEGER}.")
    return int(digits)


def _fraction(digits: str) -> float:
    with suppress(InvalidOperation):  # an exponent beyond all use
        if len(digits) <= LONGEST_NUMBER and Decimal(digits) == Decimal(repr(float(digits))):
            return float(digits)
    raise MalformedJson(f"The number {digits[:LONGEST_NUMBER]} cannot be kept exactly.")


def _must_be_keepable(said: Any) -> None:
    for path, text in _texts(said, ""):
        problem = text_problem(text)
        if problem:
            field = path or "body"
            raise Invalid(f"{field}: {problem}", [FieldError(field, "unstorable_text", problem)])


def text_problem(text: str) -> str | None:
    """Return why a text cannot be kept, if it cannot."""
    if "\x00" in text:
        return f"holds a NUL character at position {text.index(chr(0))}; take it out"
    # Only a text that UTF-8 cannot hold has a lone surrogate; isascii() spares the common case.
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return f"holds half a surrogate pair at position {error.start}; take it out"
    return None


def _texts(said: Any, path: str) -> Any:
    if isinstance(said, str):
        yield path, said
    elif isinstance(said, dict):
        for key, value in said.items():
            # A key that cannot be kept is named by where it stands.
            yield path or "body", key
            yield from _texts(value, f"{path}.{key}" if path else key)
    elif isinstance(said, list):
        for index, value in enumerate(said):
            yield from _texts(value, f"{path}[{index}]")
