"""Administration: projects, members, agents and tokens, each changed by its operations."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import api
from tenants.admin_base import SeatedAdmin, ask, blame_fields, show_refusal
from tenants.admin_forms import (
    AgentForm,
    MemberForm,
    NewAgentForm,
    NewMemberForm,
    OperationForm,
    ProjectForm,
    TokenForm,
    level_name,
)
from tenants.admin_matrix import apply_matrix, matrix_of_member, matrix_of_project
from tenants.context import acting_as
from tenants.ids import Prefix, moment, wire_id
from tenants.models import Agent, Member, Project, Token
from tenants.once import Answer
from tenants.operations import Operation
from tenants.refusals import Refusal

PER_PAGE = 50


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a list: a text, and how it looks."""

    text: str
    tone: str = ""  # "", "quiet", "good", "bad", "label", "code"


class AdministeredAdmin(SeatedAdmin):
    """Pages for administrators: a list, a form to add and one to change."""

    columns: ClassVar[tuple[str, ...]]
    intro: ClassVar[str] = ""
    noun: ClassVar[str]
    search: ClassVar[tuple[str, ...]] = ("name",)
    new_form: ClassVar[type[OperationForm]]
    form: ClassVar[type[OperationForm]]
    create: ClassVar[Operation]
    update: ClassVar[Operation]
    id_argument: ClassVar[str]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the seat is an administrator's."""
        caller = getattr(request, "caller", None)
        return caller is not None and caller.administers

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether the seat is an administrator's; adding is an operation."""
        return self.has_view_permission(request)

    def more_urls(self) -> list[URLPattern]:
        """Return the page to add one."""
        return [self.page("add/", "add", self.add_view)]

    def rows(self) -> "QuerySet[Any]":
        """Return what is listed, in order."""
        raise NotImplementedError

    def cells(self, thing: Any) -> list[Cell]:
        """Return what the list shows of one of them."""
        raise NotImplementedError

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list."""
        return require_safe(self._list)(request)

    def _list(self, request: HttpRequest) -> HttpResponse:
        wanted = request.GET.get("q", "").replace("\0", "")[:200]
        found = self.rows()
        if wanted:
            matches = Q()
            for field in self.search:
                matches |= Q(**{f"{field}__icontains": wanted})
            found = found.filter(matches)
        page = Paginator(found, PER_PAGE).get_page(request.GET.get("p"))
        rows = [{"url": self.url_of(thing), "cells": self.cells(thing)} for thing in page.object_list]
        return self.render(
            request,
            "tenants/list.html",
            str(self.opts.verbose_name_plural).capitalize(),
            **{"columns": self.columns, "rows": rows, "page": page, "q": wanted},
            **{"intro": self.intro, "noun": self.noun, "add_url": self.url("add")},
        )

    def add_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form for a new one, and make it."""
        return require_http_methods(["GET", "HEAD", "POST"])(self._form)(request)

    def change_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one of them, and change it."""
        return require_http_methods(["GET", "HEAD", "POST"])(self._form)(request, object_id)

    def _form(self, request: Any, object_id: str | None = None) -> HttpResponse:
        thing = None
        with acting_as(request.caller):
            if object_id is not None:
                thing = self.existing(self.rows(), object_id)
            form = self.made_form(request, thing)
            beside = self.beside(thing)
        if request.method == "POST" and form.is_valid():
            try:
                return self._submitted(request, thing, form)
            except Refusal as refusal:
                blame_fields(form, refusal)
        title = f"New {self.noun}" if thing is None else str(thing)
        context = {"form": form, "thing": thing, "noun": self.noun, "list_url": self.url("changelist")}
        return self.render(request, "tenants/form.html", title, **context, **beside)

    def made_form(self, request: Any, thing: Any) -> OperationForm:
        """Return the form, empty or filled. Belongs inside a door."""
        kind = self.new_form if thing is None else self.form
        return kind(request.POST or None, initial=self.initial(request, thing))

    def initial(self, request: Any, thing: Any) -> dict[str, Any]:
        """Return what stands in the form at first."""
        return {}

    def beside(self, thing: Any) -> dict[str, Any]:
        """Return what else the page of a thing shows. Belongs inside a door."""
        return {}

    def _submitted(self, request: Any, thing: Any, form: OperationForm) -> HttpResponse:
        said = form.said()
        if thing is None:
            return self.added(request, ask(self.create, request.caller, said))
        changed = {name: value for name, value in said.items() if name in form.changed_data}
        if changed:
            ask(self.update, request.caller, changed, **{self.id_argument: thing.pk})
            messages.success(request, "Saved.")
        return redirect(self.url_of(thing))

    def added(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """Return what follows when one was made."""
        messages.success(request, f"The {self.noun} was made.")
        return redirect(self.url("change", answer["id"]))

    def url(self, name: str, *arguments: str) -> str:
        """Return the address of one of these pages."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=arguments)

    def url_of(self, thing: Any) -> str:
        """Return the address of a thing's page."""
        return self.url("change", wire_id(self.prefix, thing.pk))

    def post_page(self, route: str, name: str, view: Callable[..., HttpResponse]) -> URLPattern:
        """Return the path of something that is done to a thing."""
        return self.page(f"<str:object_id>/{route}/", name, require_POST(view))


@admin.register(Project)
class ProjectAdmin(AdministeredAdmin):
    prefix = Prefix.PROJECT
    noun = "project"
    intro = "Nobody sees a new project until they are let in."
    columns = ("Name", "Slug", "Agents", "State", "Since")
    search = ("name", "slug")
    new_form = form = ProjectForm
    create, update = api.CREATE_PROJECT, api.UPDATE_PROJECT
    id_argument = "project_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, to archive one, and to say who may do what there."""
        return [
            *super().more_urls(),
            self.post_page("permissions", "permissions", self.set_permissions),
            self.post_page("archive", "archive", self.archive),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the projects, open ones first."""
        return Project.objects.annotate(agent_count=Count("agents")).order_by("-archived_at", "slug")

    def cells(self, thing: Any) -> list[Cell]:
        """Return what the list shows of a project."""
        state = Cell("archived", "quiet") if thing.archived_at else Cell("open", "good")
        since = Cell(f"{thing.created_at:%Y-%m-%d}", "quiet")
        return [Cell(thing.name), Cell(thing.slug, "code"), Cell(str(thing.agent_count)), state, since]

    def initial(self, request: Any, thing: Any) -> dict[str, Any]:
        """Return the project's names."""
        return {} if thing is None else {"name": thing.name, "slug": thing.slug}

    def beside(self, thing: Any) -> dict[str, Any]:
        """Return who may do what in the project."""
        if thing is None:
            return {}
        return {"matrix": matrix_of_project(thing), "matrix_of": "Member", "archivable": True}

    def set_permissions(self, request: Any, object_id: str) -> HttpResponse:
        """Say who may do what in the project."""
        apply_matrix(request)
        return redirect(self.url("change", object_id))

    def archive(self, request: Any, object_id: str) -> HttpResponse:
        """Close the project to anything new, or open it again."""
        archived = request.POST.get("archived") == "yes"
        try:
            ask(api.UPDATE_PROJECT, request.caller, {"archived": archived}, project_id=self.id_of(object_id))
            messages.success(request, "The project is archived." if archived else "The project is open.")
        except Refusal as refusal:
            show_refusal(request, refusal)
        return redirect(self.url("change", object_id))


@admin.register(Member)
class MemberAdmin(AdministeredAdmin):
    prefix = Prefix.MEMBER
    noun = "member"
    intro = "Role says what a person may administer, level whose word counts more."
    columns = ("Name", "User name", "Role", "Level", "State", "Since")
    search = ("name", "username")
    new_form, form = NewMemberForm, MemberForm
    create, update = api.CREATE_MEMBER, api.UPDATE_MEMBER
    id_argument = "member_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, and to say what one may do where."""
        return [
            *super().more_urls(),
            self.post_page("permissions", "permissions", self.set_permissions),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the members by name, active ones first."""
        return Member.objects.order_by("-active", "name", "id")

    def cells(self, thing: Any) -> list[Cell]:
        """Return what the list shows of a member."""
        return [
            Cell(thing.name),
            Cell(thing.username, "code"),
            Cell(thing.role, "label" if thing.role == "admin" else ""),
            Cell(f"{level_name(thing.level)} ({thing.level})"),
            Cell("active", "good") if thing.active else Cell("out", "quiet"),
            Cell(f"{thing.created_at:%Y-%m-%d}", "quiet"),
        ]

    def initial(self, request: Any, thing: Any) -> dict[str, Any]:
        """Return what the member has."""
        if thing is None:
            return {}
        level = level_name(thing.level)
        return {"name": thing.name, "role": thing.role, "level": level, "active": thing.active}

    def beside(self, thing: Any) -> dict[str, Any]:
        """Return what the member may do where."""
        return {} if thing is None else {"matrix": matrix_of_member(thing), "matrix_of": "Project"}

    def set_permissions(self, request: Any, object_id: str) -> HttpResponse:
        """Say what the member may do where."""
        apply_matrix(request)
        return redirect(self.url("change", object_id))

    def added(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """Show the invitation, once, where somebody has no log-in yet."""
        if answer["invitation"] is None:
            messages.info(request, "The person has a log-in already, and a seat here from now on.")
            return redirect(self.url("change", answer["id"]))
        return self.render(
            request,
            "tenants/once.html",
            "Invitation",
            secret=request.build_absolute_uri(answer["invitation"]),
            explanation=f"Send this to {answer['name']}. Whoever opens it chooses the password of "
            f"“{answer['username']}”. It is shown now and never again, and works for three days.",
            onward=self.url("change", answer["id"]),
        )


@admin.register(Agent)
class AgentAdmin(AdministeredAdmin):
    prefix = Prefix.AGENT
    noun = "agent"
    intro = "An agent works in one project, and a member answers for it."
    columns = ("Name", "Project", "Sponsor", "Level", "State", "Since")
    search = ("name", "project__slug", "sponsor__name")
    new_form, form = NewAgentForm, AgentForm
    create, update = api.CREATE_AGENT, api.UPDATE_AGENT
    id_argument = "agent_id"

    def rows(self) -> "QuerySet[Any]":
        """Return the agents by name, active ones first."""
        return Agent.objects.select_related("project", "sponsor").order_by("-active", "name")

    def cells(self, thing: Any) -> list[Cell]:
        """Return what the list shows of an agent, with the level it really acts at."""
        acting = min(thing.level, thing.sponsor.level)
        return [
            Cell(thing.name),
            Cell(thing.project.slug, "code"),
            Cell(thing.sponsor.name),
            Cell(f"{level_name(acting)} ({acting})"),
            Cell("active", "good") if thing.active else Cell("out", "quiet"),
            Cell(f"{thing.created_at:%Y-%m-%d}", "quiet"),
        ]

    def initial(self, request: Any, thing: Any) -> dict[str, Any]:
        """Return what the agent has; a new one is sponsored by whoever makes it."""
        if thing is None:
            return {"sponsor": wire_id(Prefix.MEMBER, request.caller.member_id)}
        return {
            "name": thing.name,
            "sponsor": wire_id(Prefix.MEMBER, thing.sponsor_id),
            "level": level_name(thing.level),
            "active": thing.active,
        }


@admin.register(Token)
class TokenAdmin(AdministeredAdmin):
    prefix = Prefix.TOKEN
    noun = "token"
    intro = "A token is shown when it is made, and never again. Only its hash is kept."
    columns = ("Name", "Kind", "Principal", "Scopes", "Ends in", "State", "Since")
    search = ("name", "last_four", "agent__name", "member__name")
    new_form = TokenForm
    create = api.CREATE_TOKEN
    id_argument = "token_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, to rotate one and to revoke one."""
        return [
            *super().more_urls(),
            self.post_page("rotate", "rotate", self.rotate),
            self.post_page("revoke", "revoke", self.revoke),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the tokens, newest first."""
        return Token.objects.select_related("agent", "member", "project").order_by("-created_at", "-id")

    def cells(self, thing: Any) -> list[Cell]:
        """Return what the list shows of a token; never the token."""
        return [
            Cell(thing.name),
            Cell(thing.kind, "label"),
            Cell(principal_of(thing)),
            Cell(", ".join(thing.scopes), "code"),
            Cell(f"…{thing.last_four}", "code"),
            state_of(thing),
            Cell(f"{thing.created_at:%Y-%m-%d}", "quiet"),
        ]

    def made_form(self, request: Any, thing: Any) -> OperationForm:
        """Return the form for a new one."""
        return TokenForm(request.POST or None, caller_scopes=request.caller.scopes)

    def change_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what is known of a token."""
        return require_safe(self._detail)(request, object_id)

    def _detail(self, request: HttpRequest, object_id: str) -> HttpResponse:
        token = self.existing(self.rows(), object_id)
        state = state_of(token)
        facts = [
            ("Kind", token.kind),
            ("Principal", principal_of(token)),
            ("Scopes", ", ".join(token.scopes)),
            ("Only in project", token.project.slug if token.project else "—"),
            ("Personal layer", "yes" if token.personal else "no"),
            ("Ends in", f"…{token.last_four}"),
            ("State", state.text),
            ("Expires", moment(token.expires_at) or "never"),
            ("Made", moment(token.created_at)),
            ("Id", wire_id(Prefix.TOKEN, token.id)),
        ]
        own = {"facts": facts, "works": state.tone == "good", "list_url": self.url("changelist")}
        return self.render(request, "tenants/token.html", token.name, token=token, **own)

    def _submitted(self, request: Any, thing: Any, form: OperationForm) -> HttpResponse:
        said = form.said()
        days = said.pop("lifetime", None)
        if days is not None:
            said["expires_at"] = moment(timezone.now() + timedelta(days=int(days)))
        return self.added(request, ask(api.CREATE_TOKEN, request.caller, said))

    def added(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """Show the token: in this answer alone, which nobody keeps."""
        return self.render(
            request,
            "tenants/once.html",
            f"Token “{answer['name']}”",
            secret=answer["token"],
            explanation="Copy it now: it is shown this once, and only its hash is kept.",
            onward=self.url("change", answer["id"]),
        )

    def rotate(self, request: Any, object_id: str) -> HttpResponse:
        """Replace the token by a new one, and show that once."""
        grace = 3600 if request.POST.get("grace") == "yes" else 0
        try:
            answer = ask(
                api.ROTATE_TOKEN,
                request.caller,
                {"grace_seconds": grace},
                token_id=self.id_of(object_id),
            )
        except Refusal as refusal:
            show_refusal(request, refusal)
            return redirect(self.url("change", object_id))
        return self.added(request, answer)

    def revoke(self, request: Any, object_id: str) -> HttpResponse:
        """Make the token worthless from this moment on."""
        try:
            ask(api.REVOKE_TOKEN, request.caller, {}, token_id=self.id_of(object_id))
            messages.success(request, "The token is revoked.")
        except Refusal as refusal:
            show_refusal(request, refusal)
        return redirect(self.url("change", object_id))


def principal_of(token: Token) -> str:
    """Return the name of whoever shows the token."""
    holder = token.agent or token.member
    return "—" if holder is None else holder.name


def state_of(token: Token) -> Cell:
    """Return whether the token works."""
    now = timezone.now()
    if token.revoked_at is not None:
        return Cell("revoked", "quiet") if token.revoked_at <= now else Cell("being replaced", "good")
    if token.expires_at is not None and token.expires_at <= now:
        return Cell("expired", "quiet")
    return Cell("works", "good")
