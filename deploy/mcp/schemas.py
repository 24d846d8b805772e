"""JSON Schemas of the agents' tools, made from the very fields that check and describe REST."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from tenants.fields import Body, Id, Text

Schema = dict[str, Any]
Field = serializers.Field[Any, Any, Any, Any]

_SIMPLE: dict[type[Any], Schema] = {
    serializers.CharField: {"type": "string"},
    serializers.IntegerField: {"type": "integer"},
    serializers.FloatField: {"type": "number"},
    serializers.BooleanField: {"type": "boolean"},
    serializers.DateTimeField: {"type": "string", "format": "date-time"},
    serializers.JSONField: {},
}
# What a failed call answers instead: the same in every tool.
PROBLEM: Schema = {"required": ["code", "status", "title", "detail", "request_id", "errors"]}


def input_schema(takes: serializers.Serializer[Any], words: Mapping[str, str]) -> Schema:
    """
    Return what a tool may be given: these arguments and no others.

    :param words: what each argument is for, in the order in which they are shown
    """
    properties = {}
    for name, said in words.items():
        field = takes.fields[name]
        schema = schema_of(field)
        if field.default is not empty and not callable(field.default):
            schema["default"] = field.default
        properties[name] = {**schema, "description": said}
    return _closed(takes, properties)


def output_schema(gives: serializers.Serializer[Any], blind: tuple[str, ...] | None) -> Schema:
    """
    Return what a tool answers: its answer, or the problem that was in the way.

    Clients check what a failed call says, too, so both must fit.

    :param blind: the names that are told to a token which may not read
    """
    properties = {name: schema_of(field) for name, field in gives.fields.items()}
    answers = [{"required": _required(gives)}, PROBLEM]
    if blind is not None:
        answers.append({"required": list(blind)})
        for name in blind:
            properties.setdefault(name, {})
    return {"type": "object", "properties": properties, "anyOf": answers}


def schema_of(field: Field) -> Schema:
    """
    Return what a value of this field looks like.

    :raises TypeError: if the field is of a sort that nobody has described here
    """
    schema = _plain(field)
    if field.allow_null and schema:
        return _or_null(schema)
    return schema


def _plain(field: Field) -> Schema:
    if isinstance(field, serializers.BaseSerializer):
        return _of_serializer(field)
    if isinstance(field, serializers.ListField):
        schema: Schema = {"type": "array", "items": schema_of(field.child)}
        return schema if field.max_length is None else {**schema, "maxItems": field.max_length}
    if isinstance(field, serializers.DictField):
        return {"type": "object", "additionalProperties": _any_or(field.child)}
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    if isinstance(field, Id):
        return {
            "type": "string",
            "pattern": f"^{field.prefix.value}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$",
        }
    # Said beside the field, for the OpenAPI document: a schema, or a serializer that has one.
    told = getattr(field, "_spectacular_annotation", {}).get("field")
    if isinstance(told, dict):
        return dict(told)
    if isinstance(told, type) and issubclass(told, serializers.Serializer):
        return _of_serializer(told())
    for kind, schema in _SIMPLE.items():
        if isinstance(field, kind):
            return {**schema, **_bounds(field)}
    raise TypeError(f"nobody has said what a {type(field).__name__} looks like ({field})")


def _of_serializer(field: Any) -> Schema:
    if isinstance(field, serializers.ListSerializer):
        child = field.child
        assert child is not None
        return {"type": "array", "items": schema_of(child)}
    properties = {name: schema_of(inner) for name, inner in field.fields.items()}
    if isinstance(field, Body):
        return _closed(field, properties)
    return {"type": "object", "properties": properties, "required": _required(field)}


def _closed(takes: serializers.Serializer[Any], properties: Schema) -> Schema:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = _required(takes)
    return {**schema, "required": required} if required else schema


def _required(of: serializers.Serializer[Any]) -> list[str]:
    return [name for name, field in of.fields.items() if field.required]


def _bounds(field: Any) -> Schema:
    # A text of so many bytes has at most so many characters.
    longest = getattr(field, "max_length", None) or getattr(field, "max_bytes", None)
    found = {
        "minimum": getattr(field, "min_value", None),
        "maximum": getattr(field, "max_value", None),
        "maxLength": longest,
        "minLength": 1 if isinstance(field, Text) and not field.allow_blank else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _any_or(child: Any) -> Any:
    # What says nothing of its values has the child that every DictField has at first.
    return True if type(child) is type(serializers.DictField.child) else schema_of(child)


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "properties" not in schema:
        nullable = {**schema, "type": [schema["type"], "null"]}
        return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable
    return {"anyOf": [schema, {"type": "null"}]}
