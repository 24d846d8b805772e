"""The admin: who is let in, and what the first page shows."""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import PasswordChangeView
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from unfold.sites import UnfoldAdminSite

from deploy.entrance import InvitationView, LogInForm, OwnPasswordForm
from deploy.seats import take_another_seat
from deploy.second_step import LogInView, second_step
from hygiene.judge_page import alarms
from memory.feed import in_brief, lines
from memory.models import Conflict, Memory
from memory.needs_page import how_many_need_it
from memory.reading import lifecycle_counts
from memory.trust.state import TrustState, in_state
from reviews.listed import LATELY, lost_automatically
from reviews.wish import CHALLENGES, DEFERRED, LABELS, PAIRS, UNJUDGED, tab_counts
from tenants.admin_base import SeatedAdmin
from tenants.admin_door import passed_both_steps
from tenants.context import is_inside
from tenants.ids import Prefix, wire_id
from tenants.models import Project

NEWEST = 8
# The tabs of disputes that wait, each with a number of its own.
WAITING = (PAIRS, CHALLENGES, UNJUDGED, DEFERRED)


class PalimpsestAdminSite(UnfoldAdminSite):
    """
    Unfold's site, for seats instead of permissions.

    A page shows what row-level security lets the person in the seat see. Django's own log of
    changes stays empty: our events are the record, and no table of all holds what is a tenant's.
    """

    site_url = None
    index_title = "Overview"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Take pages for seats alone: those of other apps know only Django's permissions."""
        if admin_class is not None and issubclass(admin_class, SeatedAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether somebody is logged in, by both steps; the door finds their seat."""
        return passed_both_steps(request.user)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the frame of a page; its colours stand in a file, as no style in a page counts."""
        frame: dict[str, Any] = super().each_context(request)
        # What a seat sees is counted inside its door; a form that comes back is made outside.
        if is_inside():
            for entry in (one for group in frame["sidebar_navigation"] for one in group["items"]):
                if entry.get("counts") == "needs verification":
                    entry["badge"] = how_many_need_it(timezone.now())
        return frame | {"colors": None}

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Take the first step of a log-in; the second has a page of its own."""
        if request.method == "GET" and self.has_permission(request):
            return redirect("admin:index")
        view = LogInView.as_view(
            authentication_form=LogInForm,
            template_name="admin/login.html",
            extra_context=self.each_context(request)
            | {"title": "Log in", "subtitle": None, "app_path": request.get_full_path()}
            | (extra_context or {}),
        )
        return view(request)

    def extra_urls(self) -> list[URLPattern]:
        """Return the pages beside those of the models."""
        return [
            path("second-step/", second_step, name="second_step"),
            path("seat/", self.admin_view(take_another_seat), name="seat"),
            path("invitation/<uidb64>/<token>/", InvitationView.as_view(), name="invitation"),
        ]

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Return the pages without Django's way from any row to its page: no seat may look so."""
        found = super().get_urls()
        return [one for one in found if getattr(one, "name", None) != "view_on_site"]

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what there is, and what came last."""
        return require_safe(self._overview)(request, extra_context)

    def _overview(
        self, request: HttpRequest, extra_context: dict[str, Any] | None
    ) -> TemplateResponse:
        context = self.each_context(request) | {
            "title": self.index_title,
            "is_fullwidth": None,
            **overview(),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "palimpsest/overview.html", context)

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead to the first page; there is none for an app."""
        del request, app_label, extra_context
        return redirect("admin:index")

    def search(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Offer none of unfold's search: it keeps what it found in a cache of all."""
        raise Http404

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Let somebody change their own password."""
        view = PasswordChangeView.as_view(
            form_class=OwnPasswordForm,
            success_url=reverse("admin:password_change_done"),
            extra_context=self.each_context(request) | (extra_context or {}),
        )
        return view(request)


def overview() -> dict[str, Any]:
    """Return what the first page shows. Belongs inside a door."""
    now = timezone.now()
    memories = Memory.objects.all()
    trusted = in_brief(memories.filter(in_state(TrustState.VERIFIED, now), lifecycle="live"))
    newest = list(trusted.order_by("-sequence")[:NEWEST])
    projects = (
        Memory.objects.filter(project__isnull=False, lifecycle="live")
        .values("project_id")
        .annotate(live=Count("id"))
        .values_list("project_id", "live")
    )
    live, waiting = dict(projects), tab_counts(Conflict.objects.all())
    return {
        "counts": lifecycle_counts(memories),
        "waiting": [
            {"state": name, "label": LABELS[name].lower(), "count": waiting[name]}
            for name in WAITING
            if waiting[name] or name == PAIRS
        ],
        "alarms": alarms(),
        "idle_minutes": settings.ADMIN_IDLE_MINUTES,
        "session_hours": settings.ADMIN_SESSION_HOURS,
        "lost": lost_automatically(now - LATELY).count(),
        "proposals": memories.filter(in_state(TrustState.PROPOSED, now)).count(),
        "newest": lines(newest, now),
        "projects": [
            {
                "id": wire_id(Prefix.PROJECT, project.id),
                "project": project,
                "live": live.get(project.id, 0),
            }
            for project in Project.objects.filter(archived_at=None).order_by("slug")[:24]
        ],
    }
