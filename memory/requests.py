"""What requests about memories may say."""

import unicodedata
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from memory.conflict.listing import EVERY_STATE
from memory.conflict.policy import ConflictKind
from memory.finding.question import CURRENT, HIGH, HISTORICAL, NORMAL
from memory.models import Kind, LinkType, Visibility
from memory.parts import MOST_TAGS, LinkTo, Statement
from memory.place import PERSONAL
from memory.reading import EVERY_LIFECYCLE
from memory.text import is_blank
from memory.trust.changes import Seen
from memory.trust.state import TrustState
from tenants.fields import AnyId, Body, Choice, Flag, Id, Moment, Number, Text, Whole
from tenants.ids import Prefix
from tenants.paging import LONGEST_PAGE, PAGE
from tenants.subject_paths import Subject

LONGEST_CONTENT = 32 * 1024  # bytes of UTF-8
LONGEST_QUERY = 8 * 1024
LONGEST_REASON = 2 * 1024
LONGEST_LABEL = 200  # characters
MOST_SUPERSEDED = 10
MOST_LINKS = 50
MOST_COMPONENTS = 50
MOST_SUBJECTS = 50
MOST_CHANGES = 20
MOST_RESULTS = 100


class Label(Text):
    """A short text on one line that is not empty."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", LONGEST_LABEL)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text in one normal form, without white space around it."""
        text = unicodedata.normalize("NFC", super().to_internal_value(data)).strip()
        if is_blank(text):
            raise serializers.ValidationError("Has nothing to read in it.", "blank")
        if not text.isprintable():
            raise serializers.ValidationError(
                "Must be on one line, without control characters.", "invalid"
            )
        return text


@extend_schema_field({"type": "string"})
class MemoryOrSubject(serializers.Field[Any, str, str, Any]):
    """The id of a memory, or else a subject."""

    def to_internal_value(self, data: Any) -> UUID | str:
        """Return which."""
        if isinstance(data, str) and data.startswith(f"{Prefix.MEMORY}_"):
            return Id(Prefix.MEMORY).to_internal_value(data)
        return Subject().to_internal_value(data)

    def to_representation(self, value: str) -> str:
        """Return it as it is."""
        return value


class Items(serializers.ListField):
    """A list of bounded length."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the items."""
        if not isinstance(data, list):
            raise serializers.ValidationError("Must be a list.", "wrong_type")
        if self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(
                f"{len(data)} items; at most {self.max_length}.", "too_many"
            )
        return super().to_internal_value(data)


class LinkBody(Body):
    type = Choice(LinkType.choices)
    dst = Id(Prefix.MEMORY)


class ComponentBody(Body):
    subject = Subject()
    value = Text(allow_null=True, required=False, max_length=1000)
    multi = Flag(required=False)


class SourceBody(Body):
    kind = Label(required=False)
    uri = Text(required=False, max_length=2000, allow_null=True)
    hash = Text(required=False, max_length=200, allow_null=True)


class Summary(Text):
    """What changed, in a few words."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_bytes=LONGEST_REASON, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text, in one normal form."""
        text = unicodedata.normalize("NFC", super().to_internal_value(data)).strip()
        if is_blank(text):
            raise serializers.ValidationError("Has nothing to read in it.", "blank")
        return text


class ChangeOfWriteBody(Body):
    subject = Subject()
    summary = Summary()


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "A fact", {"content": "The staging database listens on port 5433.", "kind": "fact"}
        ),
        OpenApiExample(
            "What replaces something",
            {
                "content": "Releases go out on Tuesdays now.",
                "kind": "decision",
                "links": [{"type": "supersedes", "dst": "mem_01kb5ywzr4e6y8wq1m3p2n7x5a"}],
                "tags": ["release"],
            },
        ),
    ]
)
class RememberBody(Body):
    content = Text(max_bytes=LONGEST_CONTENT, allow_blank=True)
    kind = Choice(Kind.choices, required=False)
    project = Label(required=False, allow_null=True)
    scope = Choice([(PERSONAL, PERSONAL)], required=False, allow_null=True)
    visibility = Choice(Visibility.choices, required=False, allow_null=True)
    links = Items(child=LinkBody(), required=False, max_length=MOST_LINKS)
    subjects = Items(child=Subject(), required=False, max_length=MOST_SUBJECTS)
    components = Items(child=ComponentBody(), required=False, max_length=MOST_COMPONENTS)
    depends_on = Items(child=MemoryOrSubject(), required=False, max_length=MOST_LINKS)
    valid_from = Moment(required=False, allow_null=True)
    valid_until = Moment(required=False, allow_null=True)
    review_after = Moment(required=False, allow_null=True)
    importance = Number(required=False, min_value=0, max_value=1)
    tags = Items(child=Label(), required=False, max_length=MOST_TAGS)
    session = Label(required=False, allow_null=True)
    source = SourceBody(required=False, allow_null=True)  # type: ignore[assignment]  # the wire's name
    changes = Items(child=ChangeOfWriteBody(), required=False, max_length=MOST_CHANGES)
    wait = Whole(required=False, min_value=0, max_value=60)

    def validate_links(self, links: list[dict[str, Any]]) -> list[LinkTo]:
        """
        Return the links, of which at most ten replace something.

        :raises ValidationError: if there are more
        """
        drawn = [LinkTo(**one) for one in links]
        replaced = {one.dst for one in drawn if one.type == LinkType.SUPERSEDES}
        if len(replaced) > MOST_SUPERSEDED:
            raise serializers.ValidationError(
                f"{len(replaced)} memories to supersede; at most {MOST_SUPERSEDED} in one write.",
                "too_many",
            )
        return drawn

    def validate_components(self, components: list[dict[str, Any]]) -> list[Statement]:
        """Return the components."""
        return [Statement(**one) for one in components]

    def validate_changes(self, changes: list[dict[str, Any]]) -> list[Seen]:
        """Return the changes."""
        return [Seen(**one) for one in changes]


class ListBody(Body):
    lifecycle = Choice([(one, one) for one in EVERY_LIFECYCLE], required=False)
    project = Label(required=False)
    kind = Choice(Kind.choices, required=False)
    visibility = Choice(Visibility.choices, required=False)
    trust_state = Choice(TrustState.choices, required=False)
    tag = Label(required=False)
    q = Text(required=False, max_bytes=LONGEST_QUERY)
    disputed = Flag(required=False)
    cursor = Text(required=False, max_length=1000)
    limit = Whole(required=False, min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class PatchBody(Body):
    tags = Items(child=Label(), required=False, max_length=MOST_TAGS)
    importance = Number(required=False, min_value=0, max_value=1)
    review_after = Moment(required=False, allow_null=True)
    visibility = Choice(Visibility.choices, required=False)

    def validate_tags(self, tags: list[str]) -> list[str]:
        """Return the tags, each once."""
        return list(dict.fromkeys(tags))


class Reason(Text):
    """Why somebody does something: a text that is kept in the history."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_bytes=LONGEST_REASON, **options)


class ForgetBody(Body):
    reason = Reason()


class RestoreBody(Body):
    reason = Reason(required=False, allow_blank=True)


class CloseBody(Body):
    note = Reason(required=False, allow_blank=True)


class DrawLinkBody(Body):
    src = Id(Prefix.MEMORY)
    dst = Id(Prefix.MEMORY)
    type = Choice(LinkType.choices)


class ConflictsBody(Body):
    state = Choice([(one, one) for one in EVERY_STATE], required=False)
    kind = Choice([(one.value, one.value) for one in ConflictKind], required=False)
    verdict = Label(required=False)
    project = Label(required=False)
    memory = Id(Prefix.MEMORY, required=False)
    deferred = Flag(required=False)
    assigned = Choice([("me", "me")], required=False)
    cursor = Text(required=False, max_length=1000)
    limit = Whole(required=False, min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class AutoResolvedBody(Body):
    since = Moment(required=False)
    cursor = Text(required=False, max_length=1000)
    limit = Whole(required=False, min_value=1, max_value=LONGEST_PAGE, default=PAGE)


@extend_schema_serializer(
    examples=[OpenApiExample("A question", {"query": "Which port does staging use?", "k": 5})]
)
class RecallBody(Body):
    query = Text(max_bytes=LONGEST_QUERY, allow_blank=True)
    project = Label(required=False, allow_null=True)
    k = Whole(required=False, min_value=1, max_value=MOST_RESULTS)
    max_tokens = Whole(required=False, min_value=1, max_value=1_000_000, allow_null=True)
    mode = Choice([(CURRENT, CURRENT), (HISTORICAL, HISTORICAL)], required=False)
    as_of = Moment(required=False, allow_null=True)
    consequence = Choice([(NORMAL, NORMAL), (HIGH, HIGH)], required=False)
    kinds = Items(child=Choice(Kind.choices), required=False, max_length=len(Kind), allow_null=True)
    subjects = Items(child=Subject(), required=False, max_length=MOST_SUBJECTS)
    include = Items(
        child=Choice([("superseded", "superseded"), ("expired", "expired")]),
        required=False,
        max_length=2,
    )
    min_trust = Choice(
        [("proposed", "proposed"), ("verified", "verified")], required=False, allow_null=True
    )
    explain = Flag(required=False)


class AuditBody(Body):
    """Which events, and which page of them."""

    actor = AnyId(Prefix.MEMBER, Prefix.AGENT, required=False)
    command = Label(max_length=LONGEST_LABEL, required=False)
    object = AnyId(required=False)
    since = Moment(required=False)
    cursor = Text(max_bytes=2048, required=False)
    limit = Whole(min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class BriefingBody(Body):
    project = Label(required=False, allow_null=True)
    task = Text(required=False, max_bytes=LONGEST_QUERY, allow_blank=True)
    max_tokens = Whole(required=False, min_value=1, max_value=1_000_000)
