"""What is done to one dispute, or to one proposal, at the desk; and undoing it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_POST

from memory.models import Conflict, ConflictState
from reviews import api
from reviews.taking_up import AlreadyResolved
from reviews.wish import PROPOSALS, Wish, beside, in_tab, narrowed
from tenants.admin_base import SeatedAdmin, ask, show_refusal
from tenants.context import acting_as
from tenants.ids import MalformedId, Prefix, moment, read_id, wire_id
from tenants.operations import Operation
from tenants.refusals import Refusal

FASTER = "It was decided already, as told below. Nothing was changed."
_PRESETS = {"tomorrow": timedelta(days=1), "week": timedelta(days=7)}
_LIST = "admin:memory_conflict_changelist"
_ONE = "admin:memory_conflict_change"


class DecidingPages(SeatedAdmin):
    """Decisions, one at a time; the next dispute of the queue opens by itself."""

    def deciding_urls(self) -> list[URLPattern]:
        """Return what can be done to one dispute or proposal."""
        return [
            self.page("<str:object_id>/decide/", "decide", require_POST(self.decide)),
            self.page("<str:object_id>/defer/", "defer", require_POST(self.defer)),
            self.page("<str:object_id>/assign/", "assign", require_POST(self.assign)),
            self.page("batches/<str:object_id>/undo/", "undo", require_POST(self.undo)),
            self.page("proposals/<str:object_id>/accept/", "accept", require_POST(self.accept)),
            self.page("proposals/<str:object_id>/reject/", "reject", require_POST(self.reject)),
        ]

    def decide(self, request: Any, object_id: str) -> HttpResponse:
        """Settle the dispute as the pressed button says."""
        said = _decision(request.POST)
        return self._done(request, object_id, api.RESOLVE, said)

    def defer(self, request: Any, object_id: str) -> HttpResponse:
        """Put the dispute off until a day."""
        until = _until(request.POST)
        done = "It waits again." if until is None else "Deferred; it comes back by itself."
        return self._done(request, object_id, api.DEFER, {"until": until}, done)

    def assign(self, request: Any, object_id: str) -> HttpResponse:
        """Hand the dispute to somebody."""
        said = {"member": request.POST.get("member") or None}
        return self._done(request, object_id, api.ASSIGN, said, "Assigned.", stays=True)

    def _done(
        self,
        request: Any,
        object_id: str,
        operation: Operation,
        said: dict[str, Any],
        done: str = "",
        *,
        stays: bool = False,
    ) -> HttpResponse:
        """Do it to the dispute and open the next one; if it is refused, say why and stay."""
        wish, dispute = Wish.told(request.POST.get("queue", "")), self.id_of(object_id)
        here = reverse(_ONE, args=[wire_id(Prefix.CONFLICT, dispute)]) + wish.query()
        try:
            ask(operation, request.caller, said, dispute_id=dispute)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            if isinstance(refusal, AlreadyResolved):
                messages.warning(request, FASTER)
            else:
                show_refusal(request, refusal)
            return redirect(here)
        if done:
            messages.success(request, done)
        return redirect(here if stays else self._onward(request, object_id, wish))

    def _onward(self, request: Any, object_id: str, wish: Wish) -> str:
        """Return where the next dispute of the queue is; the list, once none waits."""
        with acting_as(request.caller):
            conflict = self.existing(Conflict.objects.all(), object_id)
            following = beside(request.caller, wish, conflict)[1]
            if following is None:
                queue = in_tab(narrowed(request.caller, wish), wish)
                following = queue.filter(state=ConflictState.PENDING).first()
        if following is None:
            return reverse(_LIST) + wish.query()
        return reverse(_ONE, args=[wire_id(Prefix.CONFLICT, following.id)]) + wish.query()

    def undo(self, request: Any, object_id: str) -> HttpResponse:
        """Take back everything that one decision did, or several made at once."""
        try:
            batch = read_id(Prefix.BATCH, object_id)
        except MalformedId:
            raise Http404 from None
        wish = Wish.told(request.POST.get("queue", ""))
        with acting_as(request.caller):
            undone = list(Conflict.objects.filter(batch_id=batch).order_by("id")[:2])
        try:
            answer = ask(api.UNDO_BATCH, request.caller, {}, batch_id=batch)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        else:
            _say_what_was_undone(request, answer)
        if len(undone) == 1 and request.POST.get("back") != "list" and wish.state != PROPOSALS:
            one = wire_id(Prefix.CONFLICT, undone[0].id)
            return redirect(reverse(_ONE, args=[one]) + wish.query())
        return redirect(reverse(_LIST) + wish.query())

    def accept(self, request: Any, object_id: str) -> HttpResponse:
        """Take a proposal for good."""
        return self._answered(request, object_id, api.ACCEPT)

    def reject(self, request: Any, object_id: str) -> HttpResponse:
        """Turn a proposal down."""
        return self._answered(request, object_id, api.REJECT)

    def _answered(self, request: Any, object_id: str, operation: Operation) -> HttpResponse:
        try:
            memory = read_id(Prefix.MEMORY, object_id)
        except MalformedId:
            raise Http404 from None
        try:
            said = {"reason": request.POST.get("reason", "")}
            ask(operation, request.caller, said, memory_id=memory)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        wish = Wish.told(request.POST.get("queue", "") or f"?state={PROPOSALS}")
        return redirect(reverse(_LIST) + wish.query())


def _decision(said: Any) -> dict[str, Any]:
    """Return the operation's body: the field of the button that was pressed, and the note."""
    body: dict[str, Any] = {}
    if "winner" in said:
        body["winner"] = said["winner"]
    for name in ("keep_both", "retire"):
        if name in said:
            body[name] = True
    if "merge" in said:
        # A browser sends the ends of lines as no text was written.
        body["merge"] = {"content": said.get("content", "").replace("\r\n", "\n")}
    if note := said.get("note", "").strip():
        body["note"] = note.replace("\r\n", "\n")
    return body


def _until(said: Any) -> str | None:
    """Return until when, or nothing for now: what is no day is left for the operation to refuse."""
    preset = said.get("preset", "")
    if preset == "now":
        return None
    if preset in _PRESETS:
        return moment(timezone.now() + _PRESETS[preset]) or ""
    text = str(said.get("until", ""))
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        return text
    return moment(datetime(day.year, day.month, day.day, tzinfo=UTC)) or ""


def _say_what_was_undone(request: HttpRequest, answer: dict[str, Any]) -> None:
    undone = answer["undone"]
    left = len([one for one in answer["items"] if one["outcome"] == "not_allowed"])
    if undone:
        messages.success(request, f"Undone{f' ({undone})' if undone > 1 else ''}.")
    else:
        messages.warning(request, "There was nothing left to undo.")
    if left:
        messages.warning(request, f"{left} of it you may not undo.")
