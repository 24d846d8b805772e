"""Subjects as they are sent: paths in the tree of what can be spoken about."""

import re
import unicodedata
from typing import Any

from rest_framework import serializers

from tenants.fields import Text

LONGEST_SUBJECT = 500  # characters
DEEPEST_SUBJECT = 16
# Marks that show nothing by themselves: two subjects would look alike.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def one_form(text: str) -> str:
    """Return a subject, or a part of one, in lower case and in one normal form."""
    # The small form of some capitals is a letter with a mark, which may have a form of its own.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def as_label(name: str) -> str:
    """Return a name as a label of a subject, _ for what none holds; empty, if nothing is left."""
    kept = "".join(one if _may_stand(one) else " " for one in one_form(name))
    words = (word.lstrip("".join(filter(_is_mark, word))) for word in kept.split())
    return "_".join(words).strip("_")


def _may_stand(character: str) -> bool:
    return (character in "_-" or unicodedata.category(character)[0] in "LMN") and not _UNSEEN.match(
        character
    )


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _is_label(text: str) -> bool:
    # A mark belongs to the letter before it; many scripts write vowels so.
    return bool(text) and all(map(_may_stand, text)) and not _is_mark(text[0])


class Subject(Text):
    """A path in the tree of subjects, dot separated: deployment.branch."""

    def to_internal_value(self, data: Any) -> str:
        """Return the path in lower case, and in one normal form."""
        text = one_form(super().to_internal_value(data).strip())
        if len(text) > LONGEST_SUBJECT:
            raise serializers.ValidationError(f"At most {LONGEST_SUBJECT} characters.", "too_long")
        labels = text.split(".")
        if not all(map(_is_label, labels)):
            raise serializers.ValidationError(
                "Must be labels of letters with their marks, digits, _ and -, separated by single"
                " dots.",
                "malformed_subject",
            )
        if len(labels) > DEEPEST_SUBJECT:
            raise serializers.ValidationError(
                f"{len(labels)} levels deep; at most {DEEPEST_SUBJECT}.", "too_deep"
            )
        return text
