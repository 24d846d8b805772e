"""What requests about changes and verifications may say."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from memory.models import Change, Method, Outcome
from memory.requests import (
    LONGEST_REASON,
    MOST_COMPONENTS,
    Items,
    Label,
    SourceBody,
    Summary,
)
from tenants.fields import Body, Choice, Flag, Moment, Text, Whole
from tenants.paging import LONGEST_PAGE, PAGE
from tenants.subject_paths import Subject

LONGEST_VALUE = 1000  # characters


@extend_schema_field(SourceBody)
class Source(serializers.Field[Any, Any, Any, Any]):
    """Where something was seen: {kind, uri, hash}, or a word that says of what kind it was."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return it in full."""
        if isinstance(data, str):
            return {"kind": Label().run_validation(data)}
        said: dict[str, Any] = SourceBody().run_validation(data)
        return said

    def to_representation(self, value: Any) -> Any:
        """Return it as it is."""
        return value


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "What moved",
            {
                "project": "apollo",
                "subject": "deployment.branch",
                "summary": "Releases are cut from trunk now.",
            },
        )
    ]
)
class ChangeBody(Body):
    project = Label(required=False, allow_null=True)
    subject = Subject()
    summary = Summary()
    observed_at = Moment(required=False, allow_null=True)
    source = Source(required=False, allow_null=True)  # type: ignore[assignment]  # the wire's name
    whole_tree = Flag(required=False)
    kind = Choice(Change.Kind.choices, required=False)


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Looked, and it is so",
            {
                "outcome": "confirmed",
                "method": "command",
                "components": ["deployment.branch"],
                "observed_value": "main",
                "evidence": "git symbolic-ref refs/remotes/origin/HEAD",
            },
        )
    ]
)
class VerifyBody(Body):
    outcome = Choice(Outcome.choices)
    method = Choice(Method.choices)
    components = Items(
        child=Subject(),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=MOST_COMPONENTS,
    )
    observed_value = Text(required=False, allow_null=True, max_length=LONGEST_VALUE)
    observed_at = Moment(required=False, allow_null=True)
    evidence = Text(required=False, allow_blank=True, max_bytes=LONGEST_REASON)


class NeedsVerificationBody(Body):
    project = Label(required=False)
    cursor = Text(required=False, max_length=1000)
    limit = Whole(required=False, min_value=1, max_value=LONGEST_PAGE, default=PAGE)
