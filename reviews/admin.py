"""
The review desk: what waits for a decision, what was decided, and how that went.

Everything that is done here is an operation, the same one that agents call.
"""

from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST, require_safe

from memory import api
from memory.models import Conflict, Memory
from reviews.admin_answering import AnsweringPages
from reviews.admin_bulk import BulkPages
from reviews.admin_deciding import DecidingPages
from reviews.admin_questioning import QuestioningPages
from reviews.bulk import MOST_AT_ONCE
from reviews.confirmed import confirmed_without_successor
from reviews.last import last_decision
from reviews.listed import PER_PAGE, loser_of, orphans, rows, with_people
from reviews.proposed import answerable, in_order, proposals
from reviews.statistics import review_statistics
from reviews.swept import sweeps
from reviews.wish import (
    AUTOMATIC,
    FILTERS_OF_PROPOSALS,
    LABELS,
    PROPOSALS,
    QUEUES,
    SORTS,
    Wish,
    filters,
    in_tab,
    narrowed,
    tab_counts,
)
from tenants.admin_base import ask, show_refusal
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix
from tenants.refusals import Refusal


@admin.register(Conflict)
class ConflictAdmin(DecidingPages, BulkPages, AnsweringPages, QuestioningPages):
    """Conflicts of which the seat may read both sides."""

    prefix = Prefix.CONFLICT

    def more_urls(self) -> list[URLPattern]:
        """Return what can be done to a conflict, and to several."""
        return [
            self.page("statistics/", "statistics", require_safe(self.statistics)),
            self.page("<str:object_id>/restore/", "restore", require_POST(self.restore)),
            *self.bulk_urls(),
            *self.deciding_urls(),
            *self.answering_urls(),
            *self.questioning_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what waits, or what is over."""
        return require_safe(self._list)(request)

    def _list(self, request: Any) -> HttpResponse:
        wish, caller = Wish.read(request.GET), request.caller
        wanted, proposed = narrowed(caller, wish), proposals(caller, wish)
        counts = tab_counts(wanted) | {PROPOSALS: proposed.count()}
        shown: dict[str, Any]
        if wish.state == PROPOSALS:
            page = _page(in_order(proposed, wish), counts[PROPOSALS], request)
            proposed_here = answerable(caller, page.object_list)
            may_answer = any(one["may_answer"] for one in proposed_here)
            shown = {"lines": proposed_here, "may_answer": may_answer}
        else:
            page = _page(with_people(in_tab(wanted, wish)), counts[wish.state], request)
            lines = rows(caller, page.object_list)
            bulk = wish.state in QUEUES and any(line.may_decide for line in lines)
            shown = {"rows": lines, "may_bulk": bulk, "most_at_once": MOST_AT_ONCE}
        if wish.state == AUTOMATIC and page.number == 1:
            shown |= {"orphans": rows(caller, orphans(wanted)), "sweeps": sweeps(caller)}
            shown |= {"confirmed": [] if wish.is_narrowed else confirmed_without_successor()}
        return self.render(
            request,
            "reviews/proposals.html" if wish.state == PROPOSALS else "reviews/conflicts.html",
            "Conflicts",
            **_frame(caller, wish, counts),
            **shown,
            page=page,
        )

    def change_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one conflict with both sides."""
        return require_safe(self._conflict)(request, object_id)

    def _conflict(self, request: Any, object_id: str) -> HttpResponse:
        return self.dispute(request, object_id, Wish.read(request.GET))

    def statistics(self, request: HttpRequest) -> HttpResponse:
        """Show how reviewing goes."""
        return self.render(
            request, "reviews/statistics.html", "Review statistics", **review_statistics()
        )

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


def _page(found: Any, count: int, request: HttpRequest) -> Any:
    """Return the page that was asked for; what was counted for the tabs is not counted again."""
    paginator: Paginator[Conflict | Memory] = Paginator(found, PER_PAGE)
    paginator.__dict__["count"] = count
    return paginator.get_page(request.GET.get("p"))


def _frame(caller: Caller, wish: Wish, counts: dict[str, int]) -> dict[str, Any]:
    """Return what stands around the list."""
    offered = filters(wish)
    if wish.state == PROPOSALS:
        offered = [one for one in offered if one.name in FILTERS_OF_PROPOSALS]
    return {
        "wish": wish,
        "here": wish.query(),
        "all": Wish(state=wish.state).query(),
        "tabs": [
            {
                "name": name,
                "label": label,
                "count": counts[name],
                "query": wish.query(state=name),
                "chosen": name == wish.state,
            }
            for name, label in LABELS.items()
        ],
        "filters": offered,
        "sorts": list(SORTS.items()),
        "last": last_decision(caller),
    }
