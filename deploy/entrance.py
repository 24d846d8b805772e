"""The admin's entrance: logging in, choosing a password, and taking up an invitation."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm as DjangoAuthenticationForm
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpResponse
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.widgets import UnfoldAdminPasswordWidget


class LogInForm(AuthenticationForm):  # type: ignore[misc]  unfold has no types
    """Lets everybody in whose log-in is active; what they see there, their seat says."""

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        """Refuse a log-in that was switched off."""
        DjangoAuthenticationForm.confirm_login_allowed(self, user)


class OwnPasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  unfold has no types
    """Changes the password and no other column: the web process may write no more."""

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002  Django's signature
        """Keep the new password."""
        return _keep_password(self, commit=commit)


class FirstPasswordForm(SetPasswordForm[Any]):
    """Chooses the password of a log-in that has none yet."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(
                attrs={"autocomplete": "new-password"}
            )

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002  Django's signature
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
