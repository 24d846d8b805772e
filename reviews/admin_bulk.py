"""Several disputes decided at once at the desk: tried first, then done, then undone if need be."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST

from memory.models import Conflict, ConflictState
from reviews import api
from reviews.bulk import KEEP_BOTH, MOST_AT_ONCE, NEWEST, OLDEST, RESOLVED, Moot
from reviews.listed import Row, rows, with_people
from reviews.outcomes import other_disputes
from reviews.wish import QUEUES, Wish, in_tab, narrowed
from tenants.admin_base import SeatedAdmin, checked, show_refusal
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import MalformedId, Prefix, read_id
from tenants.once import Answer
from tenants.refusals import Refusal

POLICIES = {NEWEST: "Newest wins", OLDEST: "Oldest wins", KEEP_BOTH: "Keep both"}
WAITS_NO_MORE = "It does not wait any more."
# Of more than these the page that tries it says how many there are.
MOST_SHOWN = 100


class BulkPages(SeatedAdmin):
    """Decisions about many disputes: nothing is done before somebody has seen what would be."""

    def bulk_urls(self) -> list[URLPattern]:
        """Return the page that shows what would be done, and does it."""
        return [self.page("bulk/", "bulk", require_POST(self.bulk))]

    def bulk(self, request: Any) -> HttpResponse:
        """Try the policy on the chosen disputes; with the second button, do it."""
        wish, policy = Wish.told(request.POST.get("queue", "")), request.POST.get("policy", "")
        listed = reverse("admin:memory_conflict_changelist") + wish.query()
        chosen = _wanted(request, wish)
        if policy not in POLICIES or not chosen:
            messages.error(request, "Choose disputes in the list first, and what to decide.")
            return redirect(listed)
        is_dry = request.POST.get("do") != "yes"
        note = request.POST.get("note", "").replace("\r\n", "\n").strip()
        try:
            answer = _asked(request.caller, chosen, policy, note, is_dry=is_dry)
        except Refusal as refusal:
            show_refusal(request, refusal)
            return redirect(listed)
        if is_dry:
            return self._tried(request, wish, policy, _tried_on(request.caller, chosen, answer))
        _say_what_was_left(request, answer)
        return redirect(listed)

    def _tried(self, request: Any, wish: Wish, policy: str, tried: dict[str, Any]) -> HttpResponse:
        with acting_as(request.caller):
            response = self.render(
                request,
                "reviews/bulk.html",
                POLICIES[policy],
                wish=wish,
                here=wish.query(),
                policy=policy,
                **tried,
            )
            return response.render()


def _wanted(request: Any, wish: Wish) -> list[UUID]:
    """Return the disputes that were ticked, or all that the filters find."""
    if request.POST.get("all") != "yes":
        return _chosen(
            [*request.POST.getlist("dispute"), *request.POST.get("disputes", "").split()]
        )
    if wish.state not in QUEUES:
        return []
    with acting_as(request.caller):
        found = in_tab(narrowed(request.caller, wish), wish)
        return list(found.values_list("id", flat=True)[:MOST_AT_ONCE])


def _chosen(said: Iterable[str]) -> list[UUID]:
    """Return the disputes that were ticked, each once; what is no id names nothing."""
    found: dict[UUID, None] = {}
    for text in said:
        try:
            found[read_id(Prefix.CONFLICT, text)] = None
        except MalformedId:
            continue
    return list(found)[:MOST_AT_ONCE]


def _asked(caller: Caller, chosen: list[UUID], policy: str, note: str, *, is_dry: bool) -> Answer:
    """
    Do the operation, or try it.

    By REST a filter names no more than a page of disputes, and finds as many as are meant here;
    at the desk the filters have found them already.
    """
    said = checked(api.RESOLVE_MANY, {"policy": policy, "note": note, "dry_run": is_dry})
    return api.RESOLVE_MANY(caller, **said, filter={"disputes": chosen})


def _tried_on(caller: Caller, chosen: list[UUID], answer: Answer) -> dict[str, Any]:
    """Return what would be done to each, and how many others would become moot by it."""
    said = {item["dispute_id"]: item for item in answer["items"]}
    works = [item["dispute_id"] for item in answer["items"] if item["outcome"] == RESOLVED]
    gone = {one for item in answer["items"] for one in item["retired"]}
    with acting_as(caller):
        found = set(Conflict.objects.filter(id__in=chosen).values_list("id", flat=True))
        in_sight = [one for one in chosen if one in found]
        conflicts = with_people(Conflict.objects.filter(id__in=in_sight[:MOST_SHOWN]))
        by_id = {one.id: one for one in conflicts}
        shown = rows(caller, [by_id[one] for one in in_sight if one in by_id])
        moot = other_disputes(
            [read_id(Prefix.MEMORY, one) for one in gone],
            [read_id(Prefix.CONFLICT, one) for one in works],
        )
    return {
        "items": [{"row": row, **_told(row, said)} for row in shown],
        "works": len(works),
        "tried": len(in_sight),
        "moot": moot,
        "unshown": len(in_sight) - len(shown),
        "disputes": " ".join(works),
    }


def _told(row: Row, said: Mapping[str, Answer]) -> dict[str, Any]:
    """Return whether something would be done to a dispute, and what, in words."""
    item = said.get(row.id)
    if item is None:
        return {"works": False, "tells": WAITS_NO_MORE}
    if item["outcome"] != RESOLVED:
        is_moot = item["code"] == Moot.code and row.state == ConflictState.PENDING
        return {"works": False, "is_moot": is_moot, "tells": item["detail"]}
    if item["winner"] is None:
        return {"works": True, "tells": "both stay" if row.is_pair else "it stays"}
    is_a = row.a is not None and item["winner"] == row.a.id
    stays, goes = ("A", "B") if is_a else ("B", "A")
    return {"works": True, "tells": f"{stays} stays, {goes} is retired"}


def _say_what_was_left(request: Any, answer: Answer) -> None:
    """Say what was not decided, apart from what has become moot by what was."""
    failed = [item for item in answer["items"] if item["outcome"] != RESOLVED]
    with acting_as(request.caller):
        ids = [read_id(Prefix.CONFLICT, item["dispute_id"]) for item in failed]
        ended = Conflict.objects.filter(id__in=ids, state=ConflictState.MOOT)
        moot = set(ended.values_list("id", flat=True))
    left = [item for item in failed if read_id(Prefix.CONFLICT, item["dispute_id"]) not in moot]
    if moot:
        messages.info(request, f"{len(moot)} became moot with what was decided.")
    if left:
        messages.warning(request, f"{len(left)} were left alone: {left[0]['detail']}")
