"""Fields of the wire: strict about types, clear about limits, and nothing unknown."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tenants.ids import MalformedId, Prefix, read_id
from tenants.parsing import SHOWN, text_problem

MOST_NAMED = 20  # unknown fields named in one refusal
# Said by the server, never by a client.
STAMPED = frozenset(
    {
        *("id", "tenant", "tenant_id", "owner", "owner_id", "author", "author_id", "author_level"),
        *("status", "lifecycle", "created_at", "provenance_rank", "trust_state", "version"),
        *("embedding", "invalidated_at", "superseded_by", "superseded_at", "audit"),
    }
)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class Query(dict[str, Any]):
    """What a query string says: all of it is text, so numbers are read from text here."""

    @classmethod
    def of(cls, parameters: QueryDict, takes: type[serializers.Serializer[Any]] | None) -> "Query":
        """
        Return the parameters, of which only lists may come more than once.

        :raises ValidationError: if another one does
        """
        fields = takes().fields if takes is not None else {}
        lists = {name for name, field in fields.items() if isinstance(field, serializers.ListField)}
        repeated = [
            name for name, said in parameters.lists() if len(said) > 1 and name not in lists
        ]
        if repeated:
            raise serializers.ValidationError(
                {
                    _short(name): serializers.ErrorDetail("Given more than once.", "repeated")
                    for name in repeated
                }
            )
        return cls({name: said if name in lists else said[0] for name, said in parameters.lists()})


class Body(serializers.Serializer[Any]):
    """What a request may say; anything else is refused by name."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the values, once every name in the request is known."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        if unknown:
            raise serializers.ValidationError(
                {
                    _short(name): serializers.ErrorDetail(
                        self._no_such_field(name), "unknown_field"
                    )
                    for name in unknown[:MOST_NAMED]
                }
            )
        return super().to_internal_value(data)

    def _no_such_field(self, name: str) -> str:
        if name in STAMPED:
            return "Unknown field: the server says this itself, from the token and what is stored."
        near = get_close_matches(_short(name), self.fields, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"Unknown field.{hint} Known here: {', '.join(self.fields)}."


def _short(name: str) -> str:
    return name if len(name) <= SHOWN else f"{name[:SHOWN]}..."


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
            raise serializers.ValidationError(
                f"{data[:80]!r} is none of: {words}.", "unknown_choice"
            )
        return data


class Number(serializers.FloatField):
    """A number, and no text that looks like one unless it comes from a query string."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        if not _is_one_of(self, data, _NUMBER, int, float):
            raise serializers.ValidationError("Must be a number.", "wrong_type")
        number = super().to_internal_value(data)
        if not math.isfinite(number):
            raise serializers.ValidationError("Must be a finite number.", "wrong_type")
        return number


class Whole(serializers.IntegerField):
    """A whole number."""

    def to_internal_value(self, data: Any) -> int:
        """Return the number."""
        if not _is_one_of(self, data, _WHOLE, int):
            raise serializers.ValidationError("Must be a whole number.", "wrong_type")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """True or false."""

    def to_internal_value(self, data: Any) -> bool:
        """Return which, if it was said at all."""
        if isinstance(data, bool):
            return data
        if _is_from_query(self) and data in ("true", "false"):
            return bool(data == "true")
        raise serializers.ValidationError("Must be true or false.", "wrong_type")


def _is_from_query(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    """Return whether the value comes from a query string, in which all is text."""
    return isinstance(getattr(field.root, "initial_data", None), Query)


def _is_one_of(
    field: serializers.Field[Any, Any, Any, Any], data: Any, form: re.Pattern[str], *kinds: type
) -> bool:
    """Return whether the value is of these kinds, or is written like one in a query string."""
    if isinstance(data, str):
        return _is_from_query(field) and form.fullmatch(data) is not None
    return isinstance(data, kinds) and not isinstance(data, bool)


class Moment(serializers.DateTimeField):
    """A time with its offset, RFC 3339."""

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["iso-8601"], **options)

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time."""
        if not isinstance(value, str):
            raise serializers.ValidationError("Must be a time as a text.", "wrong_type")
        if _TIME.fullmatch(value) is None:
            raise serializers.ValidationError(
                "Must be a time with its offset, such as 2026-05-04T12:00:00Z.", "wrong_format"
            )
        try:
            # What is finer than a microsecond is cut off: the database keeps no more.
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            raise serializers.ValidationError(
                "Is no time in the years 1 to 9999.", "wrong_format"
            ) from None


@extend_schema_field({"type": "string", "pattern": "^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$"})
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


@extend_schema_field({"type": "string", "pattern": "^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$"})
class AnyId(serializers.Field[UUID, str, str, Any]):
    """The id of any sort of thing, or of one of those named."""

    def __init__(self, *prefixes: Prefix, **options: Any) -> None:
        self.prefixes = prefixes or tuple(Prefix)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> UUID:
        """Return what it names."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        prefix = next((one for one in self.prefixes if data.startswith(f"{one.value}_")), None)
        if prefix is None:
            known = ", ".join(f"{one.value}_" for one in self.prefixes)
            raise serializers.ValidationError(
                f"not an id: it should start with one of {known}.", "malformed_id"
            )
        return Id(prefix).to_internal_value(data)

    def to_representation(self, value: Any) -> Any:
        """Return it as it is: answers hold ids in the form of the wire."""
        return value
