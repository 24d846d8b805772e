"""Tokens in the admin: shown once, rotated and revoked."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.views.decorators.http import require_safe

from tenants import api
from tenants.admin_base import ask, show_refusal
from tenants.admin_forms import (
    OperationForm,
    TokenForm,
)
from tenants.admin_pages import AdministeredAdmin, Cell
from tenants.ids import Prefix, moment, wire_id
from tenants.models import Token
from tenants.once import Answer
from tenants.refusals import Refusal


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
        held = Token.objects.select_related("agent", "member", "project")
        return held.order_by("-created_at", "-id")

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
        """Return what the list shows of a token; never the token."""
        return [
            Cell(thing.name),
            Cell(thing.kind, "label"),
            Cell(principal_of(thing)),
            Cell(", ".join(thing.scopes), "code"),
            Cell(f"…{thing.last_four}", "quiet"),
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
            ("Expires", f"{token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "never"),
            ("Made", f"{token.created_at:%Y-%m-%d %H:%M} UTC"),
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
        over = token.revoked_at <= now
        return Cell("revoked", "quiet") if over else Cell("being replaced", "good")
    if token.expires_at is not None and token.expires_at <= now:
        return Cell("expired", "quiet")
    return Cell("works", "good")
