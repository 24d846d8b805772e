"""
Conflicts in the admin: what waits, and what the policy settled by itself.

Nothing is decided here but to bring back what lost, which is the same operation that agents call.
"""

from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST, require_safe

from memory import api
from memory.models import Conflict
from reviews.listed import PER_PAGE, Wish, filters, in_tab, loser_of, narrowed, rows, tabs
from reviews.page import conflict_page
from tenants.admin_base import SeatedAdmin, ask, show_refusal
from tenants.context import acting_as
from tenants.ids import Prefix
from tenants.refusals import Refusal


@admin.register(Conflict)
class ConflictAdmin(SeatedAdmin):
    """Conflicts of which the seat may read both sides."""

    prefix = Prefix.CONFLICT

    def more_urls(self) -> list[URLPattern]:
        """Return what can be done to a conflict."""
        return [self.page("<str:object_id>/restore/", "restore", require_POST(self.restore))]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what waits, or what is over."""
        return require_safe(self._list)(request)

    def _list(self, request: Any) -> HttpResponse:
        wish = Wish.read(request.GET)
        wanted = narrowed(wish)
        page = Paginator(in_tab(wanted, wish), PER_PAGE).get_page(request.GET.get("p"))
        return self.render(
            request,
            "reviews/conflicts.html",
            "Conflicts",
            wish=wish,
            tabs=tabs(wanted, wish),
            filters=filters(wish),
            here=wish.query(),
            rows=rows(request.caller, page.object_list),
            page=page,
            is_narrowed=bool(wish.q or wish.values),
        )

    def change_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one conflict with both sides."""
        return require_safe(self._conflict)(request, object_id)

    def _conflict(self, request: Any, object_id: str) -> HttpResponse:
        conflict = self.existing(Conflict.objects.select_related("resolved_by_member"), object_id)
        context = conflict_page(request.caller, conflict)
        return self.render(request, "reviews/conflict.html", "Conflict", **context)

    def restore(self, request: Any, object_id: str) -> HttpResponse:
        """Bring back the memory that lost; the pair is settled from then on."""
        with acting_as(request.caller):
            loser = loser_of(self.existing(Conflict.objects.all(), object_id))
        if loser is None:
            raise Http404
        try:
            said = {"reason": request.POST.get("reason", "")}
            ask(api.RESTORE, request.caller, said, memory_id=loser)
            messages.success(request, "Restored; both are live, and the pair is settled.")
        except Refusal as refusal:
            show_refusal(request, refusal)
        if request.POST.get("back") == "list":
            return redirect(reverse("admin:memory_conflict_changelist") + "?state=automatic")
        return redirect(reverse("admin:memory_conflict_change", args=[object_id]))
