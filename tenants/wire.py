"""The wire of what administrators do: what its requests may say, and what they are answered."""

import unicodedata
from typing import Any
from uuid import UUID

from django.contrib.auth.validators import UnicodeUsernameValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tenants.caller import Scope
from tenants.fields import Body, Choice, Flag, Id, Moment, Text, Whole
from tenants.ids import MalformedId, Prefix, read_id
from tenants.models import Member, Token
from tenants.paging import LONGEST_PAGE, PAGE
from tenants.project_rules import PathSubjects, ReviewIntervals
from tenants.projects import CODENAMES
from tenants.tokens import LONGEST_GRACE

LONGEST_NAME = 200


class Name(Text):
    """A name to be shown on one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=True, max_length=LONGEST_NAME, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the name in one normal form, so that two that look the same are the same."""
        name = unicodedata.normalize("NFC", super().to_internal_value(data))
        if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in name):
            raise serializers.ValidationError("Must be on one line.", "invalid")
        return name


class Slug(serializers.RegexField):
    """A short name for addresses; it can never look like an id, which has an underscore."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            r"^[a-z0-9]+(-[a-z0-9]+)*\Z",
            max_length=63,
            trim_whitespace=False,
            error_messages={
                "invalid": "Lower-case letters, digits and single hyphens between them."
            },
            **options,
        )

    def to_internal_value(self, data: Any) -> str:
        """Return the slug."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        return str(super().to_internal_value(data))


class Username(Name):
    """A log-in's name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[UnicodeUsernameValidator()], **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the name as log-ins are compared."""
        name = unicodedata.normalize("NFKC", super().to_internal_value(data))
        if len(name) > 150:
            raise serializers.ValidationError("At most 150 characters.", "max_length")
        return name


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "integer"}]})
class Level(serializers.Field[Any, Any, Any, Any]):
    """A clearance level: the name or the number of one of the tenant's."""

    def to_internal_value(self, data: Any) -> str | int:
        """Return what was said; the operation knows the tenant's levels."""
        if isinstance(data, bool) or not isinstance(data, str | int):
            raise serializers.ValidationError("Must be a level's name or number.", "wrong_type")
        return data

    def to_representation(self, value: Any) -> Any:
        """Return it as it is."""
        return value


@extend_schema_field({"type": "string"})
class ProjectName(serializers.Field[Any, Any, Any, Any]):
    """A project, by id or by slug."""

    def to_internal_value(self, data: Any) -> UUID | str:
        """Return the id, or the slug as it was said."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.", "wrong_type")
        if not data.startswith(f"{Prefix.PROJECT}_"):
            return str(Slug().run_validation(data))
        try:
            return read_id(Prefix.PROJECT, data)
        except MalformedId as error:
            raise serializers.ValidationError(f"{error}.", "malformed_id") from None

    def to_representation(self, value: Any) -> Any:
        """Return it as it is."""
        return value


class Change(Body):
    """A request to change some of what it may say."""

    def validate(self, attrs: Any) -> Any:
        """Refuse a request that changes nothing."""
        if not attrs:
            raise serializers.ValidationError(
                f"Say what to change: {', '.join(self.fields)}.", "required"
            )
        return attrs


class Listing(Body):
    """Which part of a list."""

    cursor = Text(required=False, max_bytes=2048, help_text="`next` of the page before")
    limit = Whole(min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class CreateProject(Body):
    slug = Slug()
    name = Name()


class UpdateProject(Change):
    name = Name(required=False)
    slug = Slug(required=False)
    archived = Flag(required=False)
    review_intervals = ReviewIntervals(required=False)
    path_subjects = PathSubjects(required=False)


class SetProjectPermissions(Body):
    member = Id(Prefix.MEMBER)
    permissions = serializers.ListField(child=Choice(tuple(CODENAMES)), max_length=len(CODENAMES))


class CreateMember(Body):
    username = Username()
    name = Name()
    role = Choice(Member.SeatRole.choices, default=Member.SeatRole.MEMBER.value)
    level = Level(required=False)
    email = serializers.EmailField(required=False)


class UpdateMember(Change):
    name = Name(required=False)
    role = Choice(Member.SeatRole.choices, required=False)
    level = Level(required=False)
    active = Flag(required=False)


class CreateAgent(Body):
    name = Name()
    project = ProjectName()
    sponsor = Id(Prefix.MEMBER, required=False)
    level = Level(required=False)


class UpdateAgent(Change):
    name = Name(required=False)
    level = Level(required=False)
    active = Flag(required=False)
    sponsor = Id(Prefix.MEMBER, required=False)


class CreateToken(Body):
    name = Name()
    kind = Choice(Token.Kind.choices)
    scopes = serializers.ListField(
        child=Choice([scope.value for scope in Scope]), min_length=1, max_length=len(Scope)
    )
    agent = Id(Prefix.AGENT, required=False)
    project = ProjectName(required=False)
    personal = Flag(default=False)
    expires_at = Moment(required=False)


class RotateToken(Body):
    grace_seconds = Whole(
        min_value=0, max_value=int(LONGEST_GRACE.total_seconds()), default=0, help_text="seconds"
    )


class ProjectAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    slug = serializers.CharField()
    name = serializers.CharField()
    archived = serializers.BooleanField()
    archived_at = serializers.DateTimeField(allow_null=True)
    review_intervals = serializers.DictField(child=serializers.IntegerField())
    path_subjects = serializers.ListField(child=serializers.DictField())
    created_at = serializers.DateTimeField()


class SeatAnswer(serializers.Serializer[Any]):
    member = serializers.CharField()
    name = serializers.CharField()
    permissions = serializers.ListField(child=serializers.ChoiceField(tuple(CODENAMES)))


class MemberAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    username = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Member.SeatRole.choices)
    level = serializers.IntegerField()
    active = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class NewMemberAnswer(MemberAnswer):
    invitation = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="Where a new log-in's password is chosen; shown once, null for who has one",
    )


class AgentAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    project = serializers.CharField()
    sponsor = serializers.CharField()
    level = serializers.IntegerField()
    acting_level = serializers.IntegerField(help_text="the lower of its own and its sponsor's")
    active = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class TokenAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(Token.Kind.choices)
    member = serializers.CharField(allow_null=True)
    agent = serializers.CharField(allow_null=True)
    project = serializers.CharField(allow_null=True)
    personal = serializers.BooleanField()
    scopes = serializers.ListField(child=serializers.CharField())
    last_four = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class NewTokenAnswer(TokenAnswer):
    token = serializers.CharField(
        required=False, help_text="The token itself; not in an answer given again"
    )


class _PrincipalAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(("human", "agent"))
    name = serializers.CharField()


class _TenantAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    slug = serializers.CharField()
    name = serializers.CharField()


class _ProjectInSight(_TenantAnswer):
    archived = serializers.BooleanField()
    permissions = serializers.ListField(child=serializers.ChoiceField(tuple(CODENAMES)))


class WhoamiAnswer(serializers.Serializer[Any]):
    tenant = _TenantAnswer()
    principal = _PrincipalAnswer()
    level = serializers.IntegerField()
    rank = serializers.IntegerField(min_value=0, max_value=2)
    scopes = serializers.ListField(child=serializers.ChoiceField([scope.value for scope in Scope]))
    personal = serializers.BooleanField()
    administers = serializers.BooleanField()
    projects = _ProjectInSight(many=True)
    limits = serializers.DictField(child=serializers.IntegerField())


def pages_of(answer: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the wire of a list of these."""
    return type(
        f"{answer.__name__.removesuffix('Answer')}List",
        (serializers.Serializer,),
        {
            "results": answer(many=True),
            "next": serializers.CharField(allow_null=True),
            "count": serializers.IntegerField(),
        },
    )
