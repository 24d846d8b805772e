"""
The admin's door: who sits where, and every page made in that person's sight.

A page that is only read is made inside the door, its template too. Whatever changes something runs
outside: the operations open the door themselves, and what is slow refuses to run inside.
"""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import logout
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from tenants.context import acting_as
from tenants.refusals import NotAllowed, NotFound, Unauthenticated
from tenants.seats import SESSION_KEY, chosen_seat, seats_of

# Pages on the way in and out.
OPEN = frozenset({"login", "second_step", "logout", "invitation", "jsi18n"})
# Pages in which nothing of a tenant stands, and which somebody without a seat needs too.
OUTSIDE = OPEN | {"password_change", "password_change_done", "seat"}
NOTED_EVERY = 60  # seconds
# Alpine, which the theme is made with, evaluates its attributes: hence unsafe-eval. No script and
# no style counts that stands in a page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
PERMISSIONS_POLICY = ", ".join(
    f"{power}=()"
    for power in (
        *("accelerometer", "autoplay", "camera", "display-capture", "encrypted-media"),
        *("fullscreen", "geolocation", "gyroscope", "magnetometer", "microphone", "midi"),
        *("payment", "publickey-credentials-get", "screen-wake-lock", "usb", "xr-spatial-tracking"),
    )
)


class AdminDoor:
    """Middleware: opens the door for the admin's pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; nothing that stands in an admin page is ever run."""
        response = self.get_response(request)
        if is_of_the_admin(request):
            response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
            response["Permissions-Policy"] = PERMISSIONS_POLICY
            # What somebody remembered is not for the disk of a shared computer.
            response.setdefault("Cache-Control", "no-store, private")
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Answer in the sight of whoever is logged in, if it is a page of the admin."""
        if not is_of_the_admin(request):
            return None
        if request.user.is_authenticated and (
            _session_is_over(request.session) or not passed_both_steps(request.user)
        ):
            logout(request)
        _take_seat(request)
        assert request.resolver_match is not None
        if not request.user.is_authenticated or request.resolver_match.url_name in OUTSIDE:
            return None
        if request.caller is None:  # type: ignore[attr-defined]
            status = 200 if request.method in ("GET", "HEAD") else 403
            return render(request, "tenants/no_seat.html", status=status)
        try:
            return _answered(request, view, args, kwargs)
        except (Http404, NotFound):
            return problem_page(request, 404, "There is no such thing, or none that you may see.")
        except (PermissionDenied, NotAllowed):
            return problem_page(request, 403, "Your seat does not allow this.")
        except Unauthenticated:
            return problem_page(request, 403, "Your seat in the tenant is gone.")
        except (OperationalError, InterfaceError):
            return problem_page(
                request, 503, "The database did not answer in time. Nothing was changed; try again."
            )


def passed_both_steps(user: Any) -> bool:
    """Return whether somebody showed a password and a second factor, and has both still."""
    has_shown = getattr(user, "otp_device", None) is not None
    return bool(user.is_authenticated and user.is_active and has_shown)


def _session_is_over(session: Any) -> bool:
    """Return whether nobody was there for too long, or the log-in is too long ago; note who is."""
    now = int(time.time())
    since, seen = session.setdefault("since", now), session.setdefault("seen", now)
    if now - seen >= NOTED_EVERY:
        session["seen"] = now
    # Writing a session moves its end, so the time of the log-in is kept beside it.
    idle, old = settings.ADMIN_IDLE_MINUTES * 60, settings.ADMIN_SESSION_HOURS * 3600
    return bool(now - seen > idle or now - since > old)


def is_of_the_admin(request: HttpRequest) -> bool:
    """Return whether the request is for one of the admin's pages."""
    match = request.resolver_match
    return match is not None and "admin" in match.app_names


def _take_seat(request: Any) -> None:
    # Who it is must be known before the door opens: behind it there are no log-ins.
    seats = seats_of(request.user.pk) if request.user.is_authenticated else []
    request.seats = seats
    request.seat = chosen_seat(seats, request.session.get(SESSION_KEY))
    request.caller = (
        None if request.seat is None else request.seat.caller(getattr(request, "request_id", ""))
    )


def _answered(
    request: Any, view: Callable[..., HttpResponse], args: Any, kwargs: Any
) -> HttpResponse:
    if request.method not in ("GET", "HEAD"):
        return view(request, *args, **kwargs)
    with acting_as(request.caller):
        response = view(request, *args, **kwargs)
        render_it = getattr(response, "render", None)
        return response if render_it is None else render_it()


def problem_page(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """Return a page that says what is wrong, in the frame that leads back to the others."""
    frame = admin.site.each_context(request)
    context = frame | {"title": str(status), "message": message, "status": status}
    return render(request, "tenants/problem.html", context, status=status)
