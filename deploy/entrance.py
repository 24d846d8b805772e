"""The admin's entrance: logging in, choosing a password, and taking up an invitation."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.forms import AuthenticationForm as DjangoAuthenticationForm
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpResponse
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.widgets import UnfoldAdminPasswordWidget

from tenants.authentication import client_address
from tenants.models import User
from tenants.refused_entries import tell_of_refusal


class LogInForm(AuthenticationForm):
    """
    Lets everybody in whose log-in is active; what they see there, their seat says.

    Wrong passwords lock a log-in for one address. The address itself waits after too many of them,
    whosever they were, as it does after too many wrong tokens.
    """

    def clean(self) -> dict[str, Any]:
        """Check the password, unless the address has tried too many."""
        if address_must_wait(self.request):
            tell_of_refusal("a log-in, after too many from there", client_address(self.request))
            raise ValidationError(
                "Too many failed log-ins from this address; wait a minute.", "throttled"
            )
        try:
            checked: dict[str, Any] = super().clean()
        except ValidationError:
            count_failure(self.request)
            tell_of_refusal(self._who_tried(), client_address(self.request))
            raise
        return checked

    def _who_tried(self) -> str:
        # A user name that nobody has may be a password in the wrong field: it is not told.
        known = User.objects.filter(username=self.cleaned_data.get("username", "")).first()
        whose = "a log-in that nobody has" if known is None else f"the log-in {known.pk}"
        return f"a wrong password for {whose}"

    def confirm_login_allowed(self, user: Any) -> None:
        """Refuse a log-in that was switched off."""
        DjangoAuthenticationForm.confirm_login_allowed(self, user)


def address_must_wait(request: Any) -> bool:
    """Return whether too many log-ins have failed from this address in this minute."""
    return _count(f"failed:{client_address(request)}", 0) > settings.FAILED_LOGIN_LIMIT


def count_failure(request: Any) -> None:
    """Count a failed log-in from this address."""
    _count(f"failed:{client_address(request)}", 1)


def _count(subject: str, weight: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count_request(%s, %s)", [subject, weight])
        (failures,) = cursor.fetchone()
    return int(failures)


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """Changes the password and no other column: the web process may write no more."""

    def save(self, commit: bool = True) -> Any:
        """Keep the new password."""
        return _keep_password(self, commit=commit)


class FirstPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Chooses the password of a log-in that has none yet."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(
                attrs={"autocomplete": "new-password"}
            )

    def save(self, commit: bool = True) -> Any:
        """Keep the new password."""
        return _keep_password(self, commit=commit)


def _keep_password(form: Any, *, commit: bool) -> Any:
    form.user.set_password(form.cleaned_data["new_password1"])
    if commit:
        form.user.save(update_fields=["password"])
    return form.user


class InvitationView(PasswordResetConfirmView):
    """Where somebody who was given a seat chooses a password, once."""

    form_class = FirstPasswordForm
    template_name = "palimpsest/invitation.html"
    success_url = reverse_lazy("admin:login")
    title = "Choose your password"

    def form_valid(self, form: Any) -> HttpResponse:
        """Keep the password and lead to the log-in."""
        response = super().form_valid(form)
        messages.success(self.request, "Your password is set. Log in with it.")
        return response

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return what the page shows, in the site's frame."""
        return admin.site.each_context(self.request) | super().get_context_data(**context)
