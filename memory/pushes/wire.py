"""The wire of push sources, and of changed files."""

from typing import Any

from rest_framework import serializers

from memory.models import PushSource
from memory.pushes.payloads import LONGEST_NAME
from memory.requests import Items, Label, Reason, SourceBody
from memory.trust.answers import ChangeAnswer, MarkedByChangeAnswer
from tenants.fields import Body, Choice, Flag, Id, Moment, Text
from tenants.ids import Prefix
from tenants.wire import Name, ProjectName

MOST_FILES = 1000


class FilesBody(Body):
    files = Items(child=Text(max_length=LONGEST_NAME), max_length=MOST_FILES, allow_empty=False)
    summary = Reason()
    project = Label(required=False, allow_null=True)
    observed_at = Moment(required=False, allow_null=True)
    source = SourceBody(required=False, allow_null=True)  # type: ignore[assignment]  # the wire's name


class ChangedFilesAnswer(serializers.Serializer[Any]):
    changes = ChangeAnswer(many=True)
    marked = MarkedByChangeAnswer(many=True)
    unmapped = serializers.ListField(child=serializers.CharField())
    unnamed = serializers.ListField(child=serializers.CharField())


class CreatePushSource(Body):
    name = Name()
    project = ProjectName()
    host = Choice(PushSource.Host.choices)
    member = Id(Prefix.MEMBER, required=False)
    branch = Text(required=False, allow_blank=True, max_length=250)


class UpdatePushSource(Body):
    name = Name(required=False)
    branch = Text(required=False, allow_blank=True, max_length=250)
    active = Flag(required=False)


class PushSourceAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    project = serializers.CharField()
    host = serializers.ChoiceField(PushSource.Host.choices)
    member = serializers.CharField()
    branch = serializers.CharField(allow_blank=True)
    active = serializers.BooleanField()
    path = serializers.CharField()
    created_at = serializers.DateTimeField()
    last_push_at = serializers.DateTimeField(allow_null=True)


class NewPushSourceAnswer(PushSourceAnswer):
    secret = serializers.CharField()


class PushAnswer(serializers.Serializer[Any]):
    taken = serializers.BooleanField()
    why = serializers.CharField(allow_null=True)
    changes = serializers.ListField(child=serializers.CharField())
    marked = serializers.IntegerField()
    unmapped = serializers.IntegerField()
