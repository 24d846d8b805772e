"""What the admin's pages of a tenant have in common."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from rest_framework.serializers import ValidationError
from unfold.admin import ModelAdmin

from tenants.caller import Caller
from tenants.ids import MalformedId, Prefix, read_id
from tenants.once import Answer
from tenants.operations import Operation
from tenants.refusals import Refusal
from tenants.rest import invalid_fields


def ask(operation: Operation, caller: Caller, said: dict[str, Any], **ids: UUID) -> Answer:
    """
    Do an operation as any other face does it: the same limits, the same scopes, the same answer.

    :raises Refusal: if it is refused, by the wire or by the operation
    """
    return operation(caller, **ids, **checked(operation, said))


def checked(operation: Operation, said: dict[str, Any]) -> dict[str, Any]:
    """
    Return what is said as the operation takes it, with the limits of the wire.

    :raises Invalid: naming every field in which something is wrong
    """
    if operation.takes is None:
        return {}
    body = operation.takes(data=said)
    try:
        body.is_valid(raise_exception=True)
    except ValidationError as error:
        raise invalid_fields(error) from None
    found: dict[str, Any] = body.validated_data
    return found


def at_fields(refusal: Refusal, places: dict[str, str]) -> dict[str, str]:
    """
    Return what is wrong by its place on the page, as a sentence; what has none stands under "".

    :param places: the place of each of the operation's fields
    """
    wrong: dict[str, str] = {}
    for error in refusal.errors:
        wrong.setdefault(places.get(error.field, ""), _sentence(error.message))
    return wrong or {"": refusal.detail}


def human_words(refusal: Refusal) -> str:
    """Return why something was not done, without the names that the fields have on the wire."""
    if not refusal.errors or not refusal.detail.startswith(f"{refusal.errors[0].field}: "):
        return refusal.detail
    return " ".join(dict.fromkeys(_sentence(error.message) for error in refusal.errors))


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"


def show_refusal(request: HttpRequest, refusal: Refusal) -> None:
    """Say on the next page why something was not done."""
    messages.error(request, human_words(refusal))


def blame_fields(form: forms.Form, refusal: Refusal) -> None:
    """Put a refusal where it belongs in the form."""
    if not refusal.errors:
        form.add_error(None, refusal.detail)
    for error in refusal.errors:
        field = error.field.split("[")[0].split(".")[0]
        form.add_error(field if field in form.fields else None, error.message)


class SeatedAdmin(ModelAdmin):
    """
    Pages about things of a tenant: read in the seat's sight, changed by operations alone.

    Only the pages named here exist. Django's own add, change, delete and history pages do not.
    """

    prefix: Prefix
    actions = None

    def get_urls(self) -> list[URLPattern]:
        """Return the list, one page a thing, and what else a model offers."""
        return [
            self.page("", "changelist", self.changelist_view),
            *self.more_urls(),
            self.page("<str:object_id>/change/", "change", self.change_view),
        ]

    def more_urls(self) -> list[URLPattern]:
        """Return the pages beside the list and those of one thing."""
        return []

    def page(self, route: str, name: str, view: Callable[..., HttpResponse]) -> URLPattern:
        """Return a path of this model's, for the seats that may open it."""

        def for_seats(request: HttpRequest, *args: Any, **ids: str) -> HttpResponse:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, *args, **ids)

        named = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        found: URLPattern = path(route, self.admin_site.admin_view(for_seats), name=named)
        return found

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the seat may open these pages; row-level security says what is on them."""
        return getattr(request, "caller", None) is not None

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether these pages are offered to the seat."""
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return no: nothing is added but by an operation."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return no: nothing is changed but by an operation."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return no: nothing is deleted."""
        return False

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Write nothing: events are the record."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Write nothing: events are the record."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """Write nothing: events are the record."""

    def id_of(self, object_id: str) -> UUID:
        """
        Return which thing the path names: by the id that is told outside, or by the bare UUID.

        :raises Http404: if it is neither
        """
        try:
            return read_id(self.prefix, object_id)
        except MalformedId:
            pass
        try:
            return UUID(object_id)
        except ValueError:
            raise Http404 from None

    def existing(self, found: "QuerySet[Any]", object_id: str) -> Any:
        """
        Return the thing that the path names, as far as it is in sight. Belongs inside a door.

        :raises Http404: if it is missing or hidden, which cannot be told apart
        """
        thing = found.filter(pk=self.id_of(object_id)).first()
        if thing is None:
            raise Http404
        return thing

    def render(
        self, request: HttpRequest, template: str, title: str, **context: Any
    ) -> TemplateResponse:
        """Return a page in the site's frame."""
        frame = self.admin_site.each_context(request)
        return TemplateResponse(request, template, frame | {"title": title} | context)
