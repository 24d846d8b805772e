"""The form of what is told of changes, marks and verifications."""

from typing import Any

from rest_framework import serializers

from memory.models import Cause, Change, Method, Outcome


def text(**options: Any) -> serializers.CharField:
    return serializers.CharField(**options)


def maybe_text() -> serializers.CharField:
    return serializers.CharField(allow_null=True)


def maybe_time() -> serializers.DateTimeField:
    return serializers.DateTimeField(allow_null=True)


class ChangeOfMarkAnswer(serializers.Serializer[Any]):
    id = text()
    subject = text()
    summary = text()
    observed_at = serializers.DateTimeField()


class MarkAnswer(serializers.Serializer[Any]):
    id = text()
    memory_id = text()
    cause = serializers.ChoiceField(Cause.choices)
    # Of a change that is out of the reader's sight nothing but its time is told.
    change = ChangeOfMarkAnswer(allow_null=True)
    cause_memory = maybe_text()
    subject = maybe_text()
    component = maybe_text()
    path = serializers.ListField(child=text())
    direct = serializers.BooleanField()
    reason = text()
    observed_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    cleared_at = maybe_time()


class VerifierAnswer(serializers.Serializer[Any]):
    id = text()
    name = text()
    type = serializers.ChoiceField(["member", "agent"])
    level = serializers.IntegerField()


class VerificationAnswer(serializers.Serializer[Any]):
    # None where the author vouches for it by having written it.
    id = maybe_text()
    outcome = serializers.ChoiceField(Outcome.choices)
    method = serializers.ChoiceField(Method.choices)
    components = serializers.ListField(child=text())
    observed_value = maybe_text()
    evidence = text(allow_blank=True)
    by = VerifierAnswer()
    independent = serializers.BooleanField()
    weighs = serializers.BooleanField()
    observed_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()


class ChangeAnswer(serializers.Serializer[Any]):
    id = text()
    project = text()
    subject = text()
    summary = text()
    kind = serializers.ChoiceField(Change.Kind.choices)
    whole_tree = serializers.BooleanField()
    source = serializers.DictField(allow_null=True)  # type: ignore[assignment]  # the wire's name
    memory_id = maybe_text()
    observed_at = serializers.DateTimeField()


class MarkedByChangeAnswer(serializers.Serializer[Any]):
    memory_id = text()
    subject = text()
    path = serializers.ListField(child=text())


class ReportChangeAnswer(serializers.Serializer[Any]):
    event = ChangeAnswer()
    marked = MarkedByChangeAnswer(many=True)
