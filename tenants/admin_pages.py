"""A list, a form to add and a form to change, for what administrators look after."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants.admin_base import SeatedAdmin, ask, blame_fields
from tenants.admin_forms import OperationForm, level_names
from tenants.context import acting_as
from tenants.ids import wire_id
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
    edit_form: ClassVar[type[OperationForm]]
    form_template: ClassVar[str] = "tenants/form.html"
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

    def cells(self, thing: Any, levels: dict[int, str]) -> list[Cell]:
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
        levels = level_names()
        rows = [
            {"url": self.url_of(thing), "cells": self.cells(thing, levels)}
            for thing in page.object_list
        ]
        return self.render(
            request,
            "tenants/list.html",
            str(self.opts.verbose_name_plural).capitalize(),
            columns=self.columns,
            rows=rows,
            page=page,
            q=wanted,
            intro=self.intro,
            noun=self.noun,
            add_url=self.url("add"),
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
        return self.render(
            request,
            self.form_template,
            title,
            form=form,
            thing=thing,
            noun=self.noun,
            list_url=self.url("changelist"),
            **beside,
        )

    def made_form(self, request: Any, thing: Any) -> OperationForm:
        """Return the form, empty or filled. Belongs inside a door."""
        kind = self.new_form if thing is None else self.edit_form
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
