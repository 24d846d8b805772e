"""What a project says of its memories: when they are due again, and which files tell of what."""

from typing import Any

from pathspec import PathSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from rest_framework import serializers

from tenants.fields import Body, Text, Whole
from tenants.subject_paths import Subject

LONGEST_INTERVAL = 3650  # days
MOST_PATTERNS = 200
LONGEST_PATTERN = 500  # characters


def _days() -> Whole:
    return Whole(required=False, allow_null=True, min_value=1, max_value=LONGEST_INTERVAL)


class ReviewIntervals(Body):
    """After how many days a memory of each kind should be looked at again; none: never."""

    fact = _days()
    reference = _days()
    episode = _days()
    gotcha = _days()
    convention = _days()
    decision = _days()
    preference = _days()
    procedure = _days()
    task = _days()
    open_question = _days()

    def validate(self, attrs: Any) -> dict[str, int]:
        """Return the kinds that have an interval."""
        return {kind: days for kind, days in attrs.items() if days is not None}


class Pattern(Text):
    """Which files: a line as in .gitignore."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_PATTERN, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the pattern."""
        text = super().to_internal_value(data).strip()
        if not text or not text.isprintable():
            raise serializers.ValidationError("Must be on one line, and say something.", "invalid")
        if text.startswith(("!", "#")):
            raise serializers.ValidationError(
                "A line that starts so names no files in .gitignore; put a backslash before it.",
                "invalid",
            )
        try:
            PathSpec.from_lines("gitignore", [text])
        except GitIgnorePatternError:
            raise serializers.ValidationError("Is no pattern of .gitignore.", "invalid") from None
        return text


class PathSubject(Body):
    """Files, and the subject of which they tell."""

    pattern = Pattern()
    subject = Subject()


class PathSubjects(serializers.ListField):
    """Which subjects have changed when files did."""

    child = PathSubject()

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the patterns, of which there are not too many."""
        if not isinstance(data, list):
            raise serializers.ValidationError("Must be a list.", "wrong_type")
        if len(data) > MOST_PATTERNS:
            raise serializers.ValidationError(
                f"{len(data)} patterns; at most {MOST_PATTERNS}.", "too_many"
            )
        return super().to_internal_value(data)
