"""The form of what is told of changes, marks and verifications."""

from typing import Any

from rest_framework import serializers

from memory.models import Cause, Change, Method, Outcome


def _text(**options: Any) -> serializers.CharField:
    return serializers.CharField(**options)


def _maybe_text() -> serializers.CharField:
    return serializers.CharField(allow_null=True)


def _maybe_time() -> serializers.DateTimeField:
    return serializers.DateTimeField(allow_null=True)


class ChangeOfMarkAnswer(serializers.Serializer[Any]):
    id = _text()
    subject = _text()
    summary = _text()
    observed_at = serializers.DateTimeField()


class MarkAnswer(serializers.Serializer[Any]):
    id = _text()
    memory_id = _text()
    cause = serializers.ChoiceField(Cause.choices)
    # Of a change that is out of the reader's sight nothing but its time is told.
    change = ChangeOfMarkAnswer(allow_null=True)
    cause_memory = _maybe_text()
    subject = _maybe_text()
    component = _maybe_text()
    path = serializers.ListField(child=_text())
    direct = serializers.BooleanField()
    reason = _text()
    observed_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    cleared_at = _maybe_time()


class VerifierAnswer(serializers.Serializer[Any]):
    id = _text()
    name = _text()
    type = serializers.ChoiceField(["member", "agent"])
    level = serializers.IntegerField()


class VerificationAnswer(serializers.Serializer[Any]):
    # None where the author vouches for it by having written it.
    id = _maybe_text()
    outcome = serializers.ChoiceField(Outcome.choices)
    method = serializers.ChoiceField(Method.choices)
    components = serializers.ListField(child=_text())
    observed_value = _maybe_text()
    evidence = _text(allow_blank=True)
    by = VerifierAnswer()
    independent = serializers.BooleanField()
    weighs = serializers.BooleanField()
    observed_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()


class ChangeAnswer(serializers.Serializer[Any]):
    id = _text()
    project = _text()
    subject = _text()
    summary = _text()
    kind = serializers.ChoiceField(Change.Kind.choices)
    whole_tree = serializers.BooleanField()
    source = serializers.DictField(allow_null=True)  # type: ignore[assignment]  # the wire's name
    memory_id = _maybe_text()
    observed_at = serializers.DateTimeField()


class MarkedByChangeAnswer(serializers.Serializer[Any]):
    memory_id = _text()
    subject = _text()
    path = serializers.ListField(child=_text())


class ReportChangeAnswer(serializers.Serializer[Any]):
    event = ChangeAnswer()
    marked = MarkedByChangeAnswer(many=True)
