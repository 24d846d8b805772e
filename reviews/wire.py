"""What requests to the reviewers' side may say, and the form of what they are answered."""

from typing import Any

from rest_framework import serializers

from memory.answers import MemoryAnswer
from memory.conflict.policy import ConflictKind, Resolution
from memory.models import Signal
from memory.requests import (
    LONGEST_CONTENT,
    LONGEST_QUERY,
    Items,
    Label,
    Reason,
)
from memory.text import is_blank
from reviews.bulk import MOST_LISTED, POLICIES
from reviews.bulk import OUTCOMES as BULK_OUTCOMES
from reviews.undo import OUTCOMES as UNDO_OUTCOMES
from tenants.fields import Body, Choice, Flag, Id, Moment, Text
from tenants.ids import Prefix


class Why(Reason):
    """A reason that has something to read in it."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text as it was sent."""
        text = super().to_internal_value(data)
        if is_blank(text):
            raise serializers.ValidationError("Has nothing to read in it.", "blank")
        return text


class ChallengeBody(Body):
    reason = Why()
    evidence = Reason(required=False, allow_blank=True)


class MisledBody(Body):
    reason = Why()
    query = Text(required=False, allow_blank=True, max_bytes=LONGEST_QUERY)


class MergeBody(Body):
    content = Text(max_bytes=LONGEST_CONTENT, allow_blank=True)


class ResolveBody(Body):
    winner = Id(Prefix.MEMORY, required=False)
    keep_both = Flag(required=False)
    retire = Flag(required=False)
    merge = MergeBody(required=False)
    note = Reason(required=False, allow_blank=True)


class ListedBody(ResolveBody):
    dispute_id = Id(Prefix.CONFLICT)


class FilterBody(Body):
    project = Label(required=False)
    kind = Choice([(kind.value, kind.value) for kind in ConflictKind], required=False)
    verdict = Label(required=False)
    memory = Id(Prefix.MEMORY, required=False)
    disputes = Items(child=Id(Prefix.CONFLICT), required=False, max_length=MOST_LISTED)
    deferred = Flag(required=False)


class ResolveManyBody(Body):
    policy = Choice([(one, one) for one in POLICIES], required=False)
    filter = FilterBody(required=False)
    resolutions = Items(child=ListedBody(), required=False, max_length=MOST_LISTED)
    note = Reason(required=False, allow_blank=True)
    dry_run = Flag(required=False)


class DeferBody(Body):
    until = Moment(allow_null=True)


class AssignBody(Body):
    member = Id(Prefix.MEMBER, allow_null=True)


class JudgeProposalBody(Body):
    reason = Why()


class ChallengeAnswer(serializers.Serializer[Any]):
    memory_id = serializers.CharField()
    dispute_id = serializers.CharField()
    already_pending = serializers.BooleanField()


class SignalAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    memory_id = serializers.CharField()
    kind = serializers.ChoiceField(Signal.Kind.choices)
    reason = serializers.CharField()
    query = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class MisledAnswer(serializers.Serializer[Any]):
    """Which signal was left, and the dispute that is open about the memory, if one is."""

    memory_id = serializers.CharField()
    signal = SignalAnswer()
    dispute_id = serializers.CharField(allow_null=True)
    opened = serializers.BooleanField()


class ResolvedItemAnswer(serializers.Serializer[Any]):
    dispute_id = serializers.CharField()
    outcome = serializers.ChoiceField(BULK_OUTCOMES)
    resolution = serializers.ChoiceField([one.value for one in Resolution], allow_null=True)
    winner = serializers.CharField(allow_null=True)
    retired = serializers.ListField(child=serializers.CharField())
    code = serializers.CharField(allow_null=True)
    detail = serializers.CharField(allow_null=True)


class ResolvedManyAnswer(serializers.Serializer[Any]):
    """What became of each dispute; with dry_run, what would."""

    dry_run = serializers.BooleanField()
    batch = serializers.CharField(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    left = serializers.IntegerField()
    deferred = serializers.IntegerField()
    items = ResolvedItemAnswer(many=True)


class ReviewedMemoryAnswer(MemoryAnswer):
    """The memory, and the batch by which the decision about it can be undone."""

    batch = serializers.CharField()


class UndoneAnswer(serializers.Serializer[Any]):
    conflict = serializers.CharField(allow_null=True)
    memory = serializers.CharField()
    other = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField(UNDO_OUTCOMES)


class BatchAnswer(serializers.Serializer[Any]):
    batch = serializers.CharField()
    undone = serializers.IntegerField()
    items = UndoneAnswer(many=True)
