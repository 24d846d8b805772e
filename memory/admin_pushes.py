"""Push sources in the admin: from which repositories changes are reported."""

from http import HTTPStatus
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern

from memory.models import PushSource
from memory.pushes import api
from memory.pushes.sources import source_wire
from tenants.admin_base import ask, show_refusal
from tenants.admin_forms import (
    OperationForm,
    choice,
    member_choices,
    project_choices,
    switch,
    text,
)
from tenants.admin_pages import AdministeredAdmin, Cell
from tenants.ids import Prefix, wire_id
from tenants.once import Answer
from tenants.refusals import Refusal

BRANCH_HINT = "The one branch that counts, such as main. Empty: every branch."


class NewPushSourceForm(OperationForm):
    name = text("Name", hint="What people call the repository.")
    host = choice("Host", [(one.value, one.label) for one in PushSource.Host])
    branch = text("Branch", required=False, hint=BRANCH_HINT)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"] = choice("Project", project_choices())
        self.fields["member"] = choice(
            "In whose name", member_choices(), hint="Somebody who may write in the project."
        )


class PushSourceForm(OperationForm):
    name = text("Name")
    branch = text("Branch", required=False, hint=BRANCH_HINT)
    active = switch("Takes pushes")

    def said(self) -> dict[str, Any]:
        """Return what the operation is asked; an empty branch says every branch."""
        return dict(self.cleaned_data)


@admin.register(PushSource)
class PushSourceAdmin(AdministeredAdmin):
    """Where pushes come from."""

    prefix = Prefix.PUSH_SOURCE
    noun = "push source"
    intro = "A push tells which files changed; the patterns of a project say what they tell of."
    columns = ("Name", "Project", "Host", "Branch", "In whose name", "State", "Last push")
    search = ("name", "project__slug", "branch")
    new_form, edit_form = NewPushSourceForm, PushSourceForm
    form_template = "memory/push_source.html"
    create, update = api.CREATE, api.UPDATE
    id_argument = "source_id"

    def more_urls(self) -> list[URLPattern]:
        """Return the pages to add one, to give one another secret, and to put one out."""
        return [
            *super().more_urls(),
            self.post_page("rotate", "rotate", self.rotate),
            self.post_page("put-out", "put_out", self.put_out),
        ]

    def rows(self) -> "QuerySet[Any]":
        """Return the push sources, newest first."""
        found = PushSource.objects.select_related("project", "member")
        return found.order_by("-active", "-created_at", "-id")

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
        """Return what the list shows of a push source; never its secret."""
        came = thing.last_push_at
        return [
            Cell(thing.name),
            Cell(thing.project.slug, "code"),
            Cell(thing.get_host_display()),
            Cell(thing.branch or "every", "code" if thing.branch else "quiet"),
            Cell(thing.member.name),
            Cell("open", "good") if thing.active else Cell("out", "quiet"),
            Cell(f"{came:%Y-%m-%d %H:%M}" if came else "none yet", "quiet"),
        ]

    def initial(self, request: Any, thing: Any) -> dict[str, Any]:
        """Return what the push source has; a new one reports in the name of who makes it."""
        if thing is None:
            return {"member": wire_id(Prefix.MEMBER, request.caller.member_id)}
        return {"name": thing.name, "branch": thing.branch, "active": thing.active}

    def beside(self, thing: Any) -> dict[str, Any]:
        """Return where pushes are to be sent, and that there can be another secret."""
        if thing is None:
            return {}
        return {"push_source": source_wire(thing)}

    def added(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """Show the secret, once, and what is to be typed in at the host."""
        return self.render(
            request,
            "memory/push_secret.html",
            f"Push source “{answer['name']}”",
            secret=answer["secret"],
            address=request.build_absolute_uri(answer["path"]),
            host=answer["host"],
            branch=answer["branch"],
            onward=self.url("change", answer["id"]),
        )

    def rotate(self, request: Any, object_id: str) -> HttpResponse:
        """Give it another secret, and show that once."""
        try:
            answer = ask(api.ROTATE, request.caller, {}, source_id=self.id_of(object_id))
        except Refusal as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise
            show_refusal(request, refusal)
            return redirect(self.url("change", object_id))
        messages.info(request, "The secret of before is worthless from now on.")
        return self.added(request, answer)

    def put_out(self, request: Any, object_id: str) -> HttpResponse:
        """Take nothing more from it."""
        try:
            ask(api.DEACTIVATE, request.caller, {}, source_id=self.id_of(object_id))
            messages.success(request, "Nothing more is taken from it.")
        except Refusal as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise
            show_refusal(request, refusal)
        return redirect(self.url("change", object_id))
