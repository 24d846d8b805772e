"""The wire of imports and exports."""

from typing import Any

from rest_framework import serializers

from memory.exchange.formats import EXPORTED, IMPORTED, JSONL
from memory.place import PERSONAL
from memory.requests import Items, Label
from tenants.fields import Body, Choice, Flag, Text

MOST_FILES = 2_000
LONGEST_NAME = 500
LONGEST_FILE = 1024 * 1024  # bytes of UTF-8, as much as a request holds


class FileBody(Body):
    path = Text(max_length=LONGEST_NAME)
    content = Text(allow_blank=True, max_bytes=LONGEST_FILE)


class ImportBody(Body):
    format = Choice([(one, one) for one in IMPORTED])
    content = Text(required=False, allow_blank=True, max_bytes=LONGEST_FILE)
    files = Items(child=FileBody(), required=False, max_length=MOST_FILES)
    project = Label(required=False, allow_null=True)
    scope = Choice([(PERSONAL, PERSONAL)], required=False, allow_null=True)
    dry_run = Flag(required=False)


class ExportBody(Body):
    format = Choice([(one, one) for one in EXPORTED], required=False, default=JSONL)
    project = Label(required=False, allow_null=True)


class TransferAnswer(serializers.Serializer[Any]):
    id = serializers.CharField(allow_null=True)
    direction = serializers.ChoiceField(["import", "export"])
    format = serializers.ChoiceField(list(IMPORTED))
    project = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(["dry_run", "running", "done", "failed"])
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField())
    problem = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ExportedFileAnswer(serializers.Serializer[Any]):
    path = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class ExportedFilesAnswer(serializers.Serializer[Any]):
    format = serializers.ChoiceField(list(EXPORTED))
    files = ExportedFileAnswer(many=True)
