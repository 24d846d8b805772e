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


def tenant_name(request: HttpRequest) -> str:
    """Return the name of the tenant in which the person sits."""
    seat = getattr(request, "seat", None)
    return "" if seat is None else seat.tenant_name


def _seats(request: HttpRequest) -> Any:
    return getattr(request, "seats", ())
