"""Subjects as they are sent: paths in the tree of what can be spoken about."""

import re
import unicodedata
from typing import Any

from rest_framework import serializers

from tenants.fields import Text

LONGEST_SUBJECT = 500  # characters
DEEPEST_SUBJECT = 16
_LABEL = re.compile(r"[\w-]+")


class Subject(Text):
    """A path in the tree of subjects, dot separated: deployment.branch."""

    def to_internal_value(self, data: Any) -> str:
        """Return the path in lower case, and in one normal form."""
        text = unicodedata.normalize("NFC", super().to_internal_value(data)).strip().lower()
        if len(text) > LONGEST_SUBJECT:
            raise serializers.ValidationError(f"At most {LONGEST_SUBJECT} characters.", "too_long")
        labels = text.split(".")
        if not all(_LABEL.fullmatch(label) for label in labels):
            raise serializers.ValidationError(
                "Must be labels of letters, digits, _ and -, separated by single dots.",
                "malformed_subject",
            )
        if len(labels) > DEEPEST_SUBJECT:
            raise serializers.ValidationError(
                f"{len(labels)} levels deep; at most {DEEPEST_SUBJECT}.", "too_deep"
            )
        return text
