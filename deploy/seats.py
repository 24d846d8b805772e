"""The seat that somebody in the admin has taken, and changing it for another."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from tenants.seats import SESSION_KEY, seat_id


@require_POST
def take_another_seat(request: HttpRequest) -> HttpResponse:
    """Take the seat in another tenant, if the person has it."""
    wanted = seat_id(request.POST.get("seat", ""))
    for seat in _seats(request):
        if seat.member_id == wanted:
            request.session[SESSION_KEY] = seat.id
    return redirect("admin:index")


def is_seated(request: HttpRequest) -> bool:
    """Return whether the person has a seat at all."""
    return getattr(request, "caller", None) is not None


def administers(request: HttpRequest) -> bool:
    """Return whether the seat is an administrator's."""
    caller = getattr(request, "caller", None)
    return caller is not None and caller.administers


def is_about_memories(request: HttpRequest) -> bool:
    """Return whether the page is the feed, or one memory's."""
    match = request.resolver_match
    return match is not None and match.url_name in (
        "memory_memory_changelist",
        "memory_memory_change",
    )


def is_about_disputes(request: HttpRequest) -> bool:
    """Return whether the page is one of disputes, and not of how reviewing goes."""
    match = request.resolver_match
    name = "" if match is None else match.url_name or ""
    return name.startswith("memory_conflict_") and name != "memory_conflict_statistics"


def tenant_name(request: HttpRequest) -> str:
    """Return the name of the tenant in which the person sits."""
    seat = getattr(request, "seat", None)
    return "" if seat is None else seat.tenant_name


def _seats(request: HttpRequest) -> Any:
    return getattr(request, "seats", ())
