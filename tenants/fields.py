"""Fields of the wire: strict about types, clear about limits, and nothing unknown."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tenants.ids import MalformedId, Prefix, read_id
from tenants.parsing import text_problem


class Body(serializers.Serializer[Any]):
    """What a request may say; anything else is refused by name."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the values, once every name in the request is known."""
        if isinstance(data, Mapping):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                known = ", ".join(self.fields)
                raise serializers.ValidationError(
                    {
                        name: serializers.ErrorDetail(
                            f"Unknown field. Known here: {known}.", "unknown_field"
                        )
                        for name in unknown
                    }
                )
        if isinstance(data, QueryDict):
            repeated = [name for name in data if len(data.getlist(name)) > 1 and not _is_list(self, name)]
            if repeated:
                raise serializers.ValidationError(
                    {name: serializers.ErrorDetail("Given more than once.", "repeated") for name in repeated}
                )
        return super().to_internal_value(data)


def _is_list(body: Body, name: str) -> bool:
    return isinstance(body.fields.get(name), serializers.ListField)


class Text(serializers.CharField):
    """A text that is a text: no number turned into one, no NUL, no half characters."""

    def __init__(self, *, max_bytes: int | None = None, **options: Any) -> None:
        options.setdefault("trim_whitespace", False)
        self.max_bytes = max_bytes
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text as it was sent."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        problem = text_problem(data)
        if problem:
            raise serializers.ValidationError(f"It {problem}.", "unstorable_text")
        size = len(data.encode("utf-8"))
        if self.max_bytes is not None and size > self.max_bytes:
            raise serializers.ValidationError(
                f"{size:,} bytes of UTF-8; at most {self.max_bytes:,}.", "too_long"
            )
        return str(super().to_internal_value(data))


class Choice(serializers.ChoiceField):
    """One of a few words."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the word."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        if data not in self.choices:
            words = ", ".join(map(str, self.choices))
            raise serializers.ValidationError(f"{data[:80]!r} is none of: {words}.", "unknown_choice")
        return data


class Number(serializers.FloatField):
    """A number, and no text that looks like one unless it comes from a query string."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        if not _is_one_of(self, data, int, float):
            raise serializers.ValidationError("Must be a number.", "wrong_type")
        number = super().to_internal_value(data)
        if not math.isfinite(number):
            raise serializers.ValidationError("Must be a finite number.", "wrong_type")
        return number


class Whole(serializers.IntegerField):
    """A whole number."""

    def to_internal_value(self, data: Any) -> int:
        """Return the number."""
        if not _is_one_of(self, data, int):
            raise serializers.ValidationError("Must be a whole number.", "wrong_type")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """True or false."""

    def to_internal_value(self, data: Any) -> bool:
        """Return which."""
        if isinstance(data, bool):
            return data
        if _is_from_query(self) and data in ("true", "false"):
            return bool(data == "true")
        raise serializers.ValidationError("Must be true or false.", "wrong_type")


def _is_from_query(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    """Return whether the value comes from a query string, in which all is text."""
    return isinstance(getattr(field.root, "initial_data", None), QueryDict)


def _is_one_of(field: serializers.Field[Any, Any, Any, Any], data: Any, *kinds: type) -> bool:
    """Return whether the value is of these kinds, or may be said to be in a query string."""
    if isinstance(data, str):
        return _is_from_query(field)
    return isinstance(data, kinds) and not isinstance(data, bool)


class Moment(serializers.DateTimeField):
    """A time with its offset, RFC 3339."""

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["iso-8601"], **options)

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time."""
        if not isinstance(value, str):
            raise serializers.ValidationError("Must be a time as a text.", "wrong_type")
        try:
            said = datetime.fromisoformat(value) if "T" in value.upper() else None
        except ValueError:
            said = None
        if said is None or said.tzinfo is None:
            raise serializers.ValidationError(
                "Must be a time with its offset, such as 2026-05-04T12:00:00Z.", "wrong_format"
            )
        try:
            return super().to_internal_value(value)
        except OverflowError:
            raise serializers.ValidationError("Lies outside the years 1 to 9999.", "wrong_format") from None


@extend_schema_field({"type": "string"})
class Id(serializers.Field[UUID, str, str, Any]):
    """The id of one sort of thing, or of one of several sorts."""

    def __init__(self, prefix: Prefix, **options: Any) -> None:
        self.prefix = prefix
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> UUID:
        """Return what it names."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        try:
            return read_id(self.prefix, data)
        except MalformedId as error:
            raise serializers.ValidationError(f"{error}.", "malformed_id") from None

    def to_representation(self, value: Any) -> Any:
        """Return it as it is: answers hold ids in the form of the wire."""
        return value
