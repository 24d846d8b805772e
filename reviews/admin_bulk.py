"""Several disputes decided at once at the desk: tried first, then done, then undone if need be."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST

from memory.models import Conflict
from reviews import api
from reviews.bulk import KEEP_BOTH, MOST_LISTED, NEWEST, OLDEST, RESOLVED
from reviews.listed import Row, rows
from reviews.wish import Wish
from tenants.admin_base import SeatedAdmin, ask, show_refusal
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.once import Answer
from tenants.refusals import Refusal

POLICIES = {NEWEST: "Newest wins", OLDEST: "Oldest wins", KEEP_BOTH: "Keep both"}
WAITS_NO_MORE = "It does not wait any more."


class BulkPages(SeatedAdmin):
    """Decisions about many disputes: nothing is done before somebody has seen what would be."""

    def bulk_urls(self) -> list[URLPattern]:
        """Return the page that shows what would be done, and does it."""
        return [self.page("bulk/", "bulk", require_POST(self.bulk))]

    def bulk(self, request: Any) -> HttpResponse:
        """Try the policy on the chosen disputes; with the second button, do it."""
        wish, policy = Wish.told(request.POST.get("queue", "")), request.POST.get("policy", "")
        listed = reverse("admin:memory_conflict_changelist") + wish.query()
        chosen = _chosen(request.POST.getlist("dispute"))
        if policy not in POLICIES or not chosen:
            messages.error(request, "Choose disputes in the list first, and what to decide.")
            return redirect(listed)
        is_dry = request.POST.get("do") != "yes"
        said = {
            "policy": policy,
            "filter": {"disputes": [wire_id(Prefix.CONFLICT, one) for one in chosen]},
            "note": request.POST.get("note", "").replace("\r\n", "\n").strip(),
            "dry_run": is_dry,
        }
        try:
            answer = ask(api.RESOLVE_MANY, request.caller, said)
        except Refusal as refusal:
            show_refusal(request, refusal)
            return redirect(listed)
        if is_dry:
            return self._tried(request, wish, policy, _items(request.caller, chosen, answer))
        failed = [item for item in answer["items"] if item["outcome"] != RESOLVED]
        if failed:
            messages.warning(request, f"{len(failed)} were left alone: {failed[0]['detail']}")
        return redirect(listed)

    def _tried(
        self, request: Any, wish: Wish, policy: str, items: list[dict[str, Any]]
    ) -> HttpResponse:
        with acting_as(request.caller):
            response = self.render(
                request,
                "reviews/bulk.html",
                POLICIES[policy],
                wish=wish,
                here=wish.query(),
                policy=policy,
                items=items,
                works=sum(item["works"] for item in items),
            )
            return response.render()


def _chosen(said: Iterable[str]) -> list[UUID]:
    """Return the disputes that were ticked, each once; what is no id names nothing."""
    found: dict[UUID, None] = {}
    for text in said:
        try:
            found[read_id(Prefix.CONFLICT, text)] = None
        except MalformedId:
            continue
    return list(found)[:MOST_LISTED]


def _items(caller: Caller, chosen: list[UUID], answer: Answer) -> list[dict[str, Any]]:
    """Return each of the disputes in sight with what would be done to it."""
    said = {item["dispute_id"]: item for item in answer["items"]}
    with acting_as(caller):
        found = {one.id: one for one in Conflict.objects.filter(id__in=chosen)}
        shown = rows(caller, [found[one] for one in chosen if one in found])
    return [{"row": row, **_told(row, said)} for row in shown]


def _told(row: Row, said: Mapping[str, Answer]) -> dict[str, Any]:
    """Return whether something would be done to a dispute, and what, in words."""
    item = said.get(row.id)
    if item is None:
        return {"works": False, "tells": WAITS_NO_MORE}
    if item["outcome"] != RESOLVED:
        return {"works": False, "tells": item["detail"]}
    if item["winner"] is None:
        return {"works": True, "tells": "both stay" if row.is_pair else "it stays"}
    is_a = row.a is not None and item["winner"] == row.a.id
    stays, goes = ("A", "B") if is_a else ("B", "A")
    return {"works": True, "tells": f"{stays} stays, {goes} is retired"}
