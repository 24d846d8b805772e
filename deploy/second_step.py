"""
The second step of a log-in: a code of the authenticator, or setting one up at the first log-in.

Between the steps nobody is logged in. The session, a new one, holds who showed a password and
until when the code is waited for, and opens nothing else.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import segno
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_lockout_response
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import login
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_otp.models import Device

from deploy.entrance import address_must_wait, count_failure
from tenants.authentication import client_address
from tenants.models import User
from tenants.one_time_codes import new_secret
from tenants.refused_entries import tell_of_refusal
from tenants.second_factor import device_that_knows, device_with, enrol, has_second_factor

PENDING = "second step"
WAITED_FOR = 10 * 60  # seconds
# Wrong codes for one log-in from all addresses together, in AXES_COOLOFF_TIME. Browsers in which
# the log-in has succeeded before are not held up by what others try.
MOST_WRONG_CODES = 50
KNOWN = "palimpsest_known"
KNOWN_FOR = 90 * 24 * 3600  # seconds


class LogInView(LoginView):
    """The first step: who shows the right password is asked for a code, and not yet let in."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Remember who it is, in a session of its own, and lead to the second step."""
        user, session = form.get_user(), self.request.session
        onward = self.get_redirect_url()
        session.flush()
        session[PENDING] = {
            "user": str(user.pk),
            "backend": user.backend,
            "hash": user.get_session_auth_hash(),
            "until": time.time() + WAITED_FOR,
            "onward": onward,
        }
        return redirect("admin:second_step")


@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """Ask for a code, and let in whoever says the right one."""
    user = _who_waits(request)
    if user is None:
        return redirect("admin:login")
    credentials = _credentials(user)
    if not AxesProxyHandler.is_allowed(request, credentials):
        tell_of_refusal(f"the log-in {user.pk} is locked there", client_address(request))
        locked: HttpResponse = get_lockout_response(request, credentials=credentials)
        return locked
    is_new = not has_second_factor(user)
    if request.method != "POST":
        return _asked(request, user, is_new=is_new)
    if address_must_wait(request) or _is_tried_everywhere(request, user):
        return _asked(request, user, is_new=is_new, error="Too many wrong codes; wait a minute.")
    device, codes = _device_of(request, user, is_new=is_new)
    if device is None:
        count_failure(request)
        tell_of_refusal(f"a wrong code for the log-in {user.pk}", client_address(request))
        user_login_failed.send(__name__, credentials=credentials, request=request)
        error = "This code is wrong, over, or was used already. Wait for the next one."
        return _asked(request, user, is_new=is_new, error=error)
    return _let_in(request, user, device, codes)


def _who_waits(request: HttpRequest) -> User | None:
    """Return who showed a password in this session, as long as that still counts."""
    pending = request.session.get(PENDING)
    if pending is None or pending["until"] < time.time():
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True).first()
    # A password that was changed meanwhile is no longer the one that was shown.
    if user is None or not constant_time_compare(pending["hash"], user.get_session_auth_hash()):
        return None
    return user


def _credentials(user: User) -> dict[str, str]:
    # No user name has a space in it, so codes have a count of their own beside the passwords'.
    return {"username": f"code of {user.get_username()}"}


def _is_tried_everywhere(request: HttpRequest, user: User) -> bool:
    known = request.get_signed_cookie(KNOWN, default="", salt=KNOWN, max_age=KNOWN_FOR)
    if known == str(user.pk):
        return False
    since = datetime.now(UTC) - timedelta(hours=settings.AXES_COOLOFF_TIME)
    tried = AccessAttempt.objects.filter(attempt_time__gt=since, **_credentials(user))
    return (tried.aggregate(all=Sum("failures_since_start"))["all"] or 0) >= MOST_WRONG_CODES


def _device_of(
    request: HttpRequest, user: User, *, is_new: bool
) -> tuple[Device | None, list[str]]:
    """Return the device that has shown the right code, and recovery codes if it is a new one."""
    said = request.POST.get("code", "")[:100]
    if not is_new:
        return device_that_knows(user, said), []
    return enrol(user, _secret(request), said) or (None, [])


def _secret(request: HttpRequest) -> str:
    """Return the secret that this session offers: the same one however often the page is loaded."""
    pending = request.session[PENDING]
    if "secret" not in pending:
        pending["secret"] = new_secret()
        request.session.modified = True
    return str(pending["secret"])


def _asked(request: HttpRequest, user: User, *, is_new: bool, error: str = "") -> HttpResponse:
    context: dict[str, Any] = admin.site.each_context(request) | {"error": error, "who": user}
    if not is_new:
        return render(request, "palimpsest/second_step.html", context | {"title": "Log in"})
    secret = _secret(request)
    qr = segno.make(device_with(user, secret).config_url, error="m")
    context |= {
        "title": "Set up your second factor",
        "secret": " ".join(secret[place : place + 4] for place in range(0, len(secret), 4)),
        "qr": qr.svg_data_uri(scale=4, light="#fff"),
    }
    return render(request, "palimpsest/enrol.html", context)


def _let_in(request: HttpRequest, user: User, device: Device, codes: list[str]) -> HttpResponse:
    pending = request.session.pop(PENDING)
    onward = pending["onward"] or reverse("admin:index")
    # django-otp reads it at the log-in.
    user.otp_device = device  # type: ignore[attr-defined]
    login(request, user, backend=pending["backend"])  # in a new session
    if codes:
        context = {"title": "Recovery codes", "codes": codes, "onward": onward}
        frame = admin.site.each_context(request)
        response = render(request, "palimpsest/recovery_codes.html", frame | context)
    else:
        response = redirect(onward)
    response.set_signed_cookie(
        *(KNOWN, str(user.pk)),
        salt=KNOWN,
        max_age=KNOWN_FOR,
        path=reverse("admin:second_step"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response
