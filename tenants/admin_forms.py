"""
The forms of administration.

A form says what may be chosen; what is right, the operations say. Choices are read inside the door
when the form is made, so that it can be shown and checked outside.
"""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminEmailInputWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from tenants.caller import Scope
from tenants.ids import Prefix, wire_id
from tenants.levels import own_tenant
from tenants.models import Agent, Member, Project, Token

Choices = list[tuple[str, str]]
NOBODY = ("", "—")
MOST_CHOICES = 500
LIFETIMES = [
    ("", "Never"),
    ("7", "In 7 days"),
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In a year"),
]


def text(label: str, *, required: bool = True, hint: str = "") -> forms.CharField:
    """Return a field for one line of text."""
    return forms.CharField(
        label=label, required=required, help_text=hint, widget=UnfoldAdminTextInputWidget()
    )


def choice(
    label: str, choices: Choices, *, required: bool = True, hint: str = ""
) -> forms.ChoiceField:
    """Return a field for one of several."""
    return forms.ChoiceField(
        label=label,
        choices=choices,
        required=required,
        help_text=hint,
        widget=UnfoldAdminSelectWidget(),
    )


def switch(label: str, *, hint: str = "") -> forms.BooleanField:
    """Return a field for yes or no."""
    return forms.BooleanField(
        label=label, required=False, help_text=hint, widget=UnfoldBooleanSwitchWidget()
    )


class OperationForm(forms.Form):
    """A form whose fields are an operation's, by name."""

    def said(self) -> dict[str, Any]:
        """Return what the operation is asked: without what was left empty."""
        empty: tuple[Any, ...] = ("", None, [])
        return {name: value for name, value in self.cleaned_data.items() if value not in empty}


class ProjectForm(OperationForm):
    name = text("Name")
    slug = text("Slug", hint="Lower-case letters, digits and single hyphens; what agents call it.")


class NewMemberForm(OperationForm):
    username = text(
        "User name", hint="Log-ins are for all tenants: whoever has one keeps it, password and all."
    )
    name = text("Name", hint="As it stands beside what the person writes.")
    email = forms.EmailField(label="E-mail", required=False, widget=UnfoldAdminEmailInputWidget())

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["role"] = role_field()
        self.fields["level"] = level_field()


class MemberForm(OperationForm):
    name = text("Name")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["role"] = role_field()
        self.fields["level"] = level_field(self.initial.get("level"))
        self.fields["active"] = switch(
            "Active", hint="Off puts the person out at once, agents too."
        )


class NewAgentForm(OperationForm):
    name = text("Name")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"] = choice("Project", project_choices())
        self.fields["sponsor"] = choice(
            "Sponsor", member_choices(), hint="The member who answers for it; must see the project."
        )
        self.fields["level"] = level_field(hint="It acts at the lower of this and its sponsor's.")


class AgentForm(OperationForm):
    name = text("Name")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["sponsor"] = choice(
            "Sponsor", member_choices(), hint="Another one ends its tokens for the personal layer."
        )
        self.fields["level"] = level_field(
            self.initial.get("level"), hint="It acts at the lower of this and its sponsor's."
        )
        self.fields["active"] = switch("Active")


class TokenForm(OperationForm):
    name = text("Name", hint="What it is for, so that somebody dares to revoke it one day.")
    kind = choice(
        "Kind",
        [
            (Token.Kind.AGENT.value, "agent: writes deliberately"),
            (Token.Kind.WATCHER.value, "watcher: captures, everything it writes is a proposal"),
            (Token.Kind.HUMAN.value, "human: my own"),
        ],
    )

    def __init__(self, *args: Any, caller_scopes: frozenset[Scope], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["agent"] = choice(
            "Agent", [NOBODY, *agent_choices()], required=False, hint="For agents and watchers."
        )
        self.fields["scopes"] = forms.MultipleChoiceField(
            label="Scopes",
            choices=[(scope.value, scope.value) for scope in Scope if scope in caller_scopes],
            widget=UnfoldAdminCheckboxSelectMultipleWidget(),
            initial=[Scope.READ.value, Scope.WRITE.value],
        )
        self.fields["project"] = choice(
            "Only in project",
            [NOBODY, *project_choices()],
            required=False,
            hint="For a person's token; an agent works in its own project anyway.",
        )
        self.fields["personal"] = switch(
            "Personal layer", hint="Lets your own agent read and write what is personal to you."
        )
        self.fields["lifetime"] = choice("Expires", LIFETIMES, required=False)


def role_field() -> forms.ChoiceField:
    """Return the field for a seat's role."""
    roles = [(role.value, role.value) for role in (Member.SeatRole.MEMBER, Member.SeatRole.ADMIN)]
    return choice("Role", roles, hint="Says who administers; it never decides a conflict.")


def level_field(current: object = None, *, hint: str = "") -> forms.ChoiceField:
    """Return the field for a clearance level, by its name."""
    levels = sorted(own_tenant().levels.items(), key=lambda level: level[1])
    choices = [(name, f"{name} ({number})") for name, number in levels]
    if isinstance(current, str) and current not in dict(choices):
        choices.append((current, current))
    return choice("Level", choices, hint=hint or "Whose word counts more.")


def level_names() -> dict[int, str]:
    """Return what the tenant calls its levels."""
    return {number: name for name, number in own_tenant().levels.items()}


def level_name(number: int) -> str:
    """Return what the tenant calls a level, or its number where it has no name."""
    return level_names().get(number, str(number))


def project_choices() -> Choices:
    """Return the open projects in sight."""
    projects = Project.objects.filter(archived_at=None).order_by("slug")[:MOST_CHOICES]
    return [(wire_id(Prefix.PROJECT, one.id), f"{one.name} ({one.slug})") for one in projects]


def member_choices() -> Choices:
    """Return the active members."""
    members = Member.objects.filter(active=True).order_by("name", "id")[:MOST_CHOICES]
    return [(wire_id(Prefix.MEMBER, one.id), f"{one.name} ({one.username})") for one in members]


def agent_choices() -> Choices:
    """Return the active agents in sight."""
    agents = Agent.objects.filter(active=True).select_related("project").order_by("name")
    return [
        (wire_id(Prefix.AGENT, one.id), f"{one.name} in {one.project.slug}")
        for one in agents[:MOST_CHOICES]
    ]
