"""Projects, members and agents in the admin, each changed by its operations."""

from http import HTTPStatus
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern

from tenants import api
from tenants.admin_base import ask, show_refusal
from tenants.admin_forms import (
    AgentForm,
    MemberForm,
    NewAgentForm,
    NewMemberForm,
    ProjectForm,
    level_name,
)
from tenants.admin_jobs import JobAdmin
from tenants.admin_matrix import apply_matrix, matrix_of_member, matrix_of_project
from tenants.admin_pages import AdministeredAdmin, Cell
from tenants.admin_rules import RulesPage
from tenants.admin_tokens import TokenAdmin
from tenants.ids import Prefix, wire_id
from tenants.models import Agent, Member, Project
from tenants.once import Answer
from tenants.refusals import Refusal
from tenants.second_factor import reset_second_factor

__all__ = ["AgentAdmin", "JobAdmin", "MemberAdmin", "ProjectAdmin", "TokenAdmin"]


@admin.register(Project)
class ProjectAdmin(RulesPage):
    prefix = Prefix.PROJECT
    noun = "project"
    intro = "Nobody sees a new project until they are let in."
    columns = ("Name", "Slug", "Agents", "State", "Since")
    search = ("name", "slug")
    new_form = edit_form = ProjectForm
    create, update = api.CREATE_PROJECT, api.UPDATE_PROJECT
    id_argument = "project_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, to archive one, and to say who may do what there."""
        return [
            *super().more_urls(),
            self.page("<str:object_id>/rules/", "rules", self.rules_view),
            self.post_page("permissions", "permissions", self.set_permissions),
            self.post_page("archive", "archive", self.archive),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the projects, open ones first."""
        counted = Project.objects.annotate(agent_count=Count("agents"))
        return counted.order_by(F("archived_at").desc(nulls_first=True), "slug")

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
        """Return what the list shows of a project."""
        state = Cell("archived", "quiet") if thing.archived_at else Cell("open", "good")
        return [
            Cell(thing.name),
            Cell(thing.slug, "code"),
            Cell(str(thing.agent_count)),
            state,
            Cell(f"{thing.created_at:%Y-%m-%d}", "quiet"),
        ]

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
            ask(
                api.UPDATE_PROJECT,
                request.caller,
                {"archived": archived},
                project_id=self.id_of(object_id),
            )
            messages.success(request, f"The project is {'archived' if archived else 'open'}.")
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
    new_form, edit_form = NewMemberForm, MemberForm
    create, update = api.CREATE_MEMBER, api.UPDATE_MEMBER
    id_argument = "member_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, and to say what one may do where."""
        return [
            *super().more_urls(),
            self.post_page("permissions", "permissions", self.set_permissions),
            self.post_page("second-factor", "second_factor", self.reset_second_factor),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the members by name, active ones first."""
        return Member.objects.order_by("-active", "name", "id")

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
        """Return what the list shows of a member."""
        return [
            Cell(thing.name),
            Cell(thing.username, "code"),
            Cell(thing.role, "label" if thing.role == "admin" else ""),
            Cell(f"{levels.get(thing.level, 'level')} ({thing.level})"),
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
        if thing is None:
            return {}
        return {"matrix": matrix_of_member(thing), "matrix_of": "Project", "has_log_in": True}

    def set_permissions(self, request: Any, object_id: str) -> HttpResponse:
        """Say what the member may do where."""
        apply_matrix(request)
        return redirect(self.url("change", object_id))

    def reset_second_factor(self, request: Any, object_id: str) -> HttpResponse:
        """Have the member set up another second factor at the next log-in."""
        try:
            reset_second_factor(request.caller, member_id=self.id_of(object_id))
            messages.success(request, "Taken away. The next log-in sets up another one.")
        except Refusal as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise
            show_refusal(request, refusal)
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
    new_form, edit_form = NewAgentForm, AgentForm
    create, update = api.CREATE_AGENT, api.UPDATE_AGENT
    id_argument = "agent_id"

    def rows(self) -> "QuerySet[Any]":
        """Return the agents by name, active ones first."""
        return Agent.objects.select_related("project", "sponsor").order_by("-active", "name")

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
        """Return what the list shows of an agent, with the level it really acts at."""
        acting = min(thing.level, thing.sponsor.level)
        return [
            Cell(thing.name),
            Cell(thing.project.slug, "code"),
            Cell(thing.sponsor.name),
            Cell(f"{levels.get(acting, 'level')} ({acting})"),
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
