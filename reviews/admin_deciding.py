"""What is done to one dispute at the desk; and undoing what was done there."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from memory.models import Conflict, ConflictState
from reviews import api
from reviews.in_the_way import in_the_way
from reviews.last import last_decision
from reviews.listed import with_people
from reviews.page import conflict_page
from reviews.taking_up import AlreadyResolved
from reviews.wish import PROPOSALS, Wish, beside, in_tab, narrowed
from tenants.admin_base import SeatedAdmin, ask, at_fields, show_refusal
from tenants.context import acting_as
from tenants.ids import MalformedId, Prefix, moment, read_id, wire_id
from tenants.operations import Operation
from tenants.refusals import Refusal

FASTER = "It was decided already, as told below. Nothing was changed."
MOOT = "It is moot by now, as told below. Nothing was changed."
# Of so many decisions of a batch it is told why they stay.
MOST_TOLD = 5
_PRESETS = {"tomorrow": timedelta(days=1), "week": timedelta(days=7)}
# Which of the operation's fields stands where on the page.
_FIELDS = {
    "merge": "content",
    "merge.content": "content",
    "note": "note",
    "until": "until",
}
_LIST = "admin:memory_conflict_changelist"
_ONE = "admin:memory_conflict_change"


class DecidingPages(SeatedAdmin):
    """Decisions, one at a time; the next dispute of the queue opens by itself."""

    def deciding_urls(self) -> list[URLPattern]:
        """Return what can be done to one dispute."""
        return [
            self.page("<str:object_id>/decide/", "decide", require_POST(self.decide)),
            self.page("<str:object_id>/defer/", "defer", require_POST(self.defer)),
            self.page("<str:object_id>/assign/", "assign", require_POST(self.assign)),
            self.page("batches/<str:object_id>/undo/", "undo", require_POST(self.undo)),
        ]

    def decide(self, request: Any, object_id: str) -> HttpResponse:
        """Settle the dispute as the pressed button says."""
        said = _decision(request.POST)
        return self._done(request, object_id, api.RESOLVE, said)

    def defer(self, request: Any, object_id: str) -> HttpResponse:
        """Put the dispute off until a day."""
        until = _until(request.POST)
        done = "It waits again." if until is None else "Deferred; it comes back by itself."
        stays = request.POST.get("preset") == "back"
        return self._done(request, object_id, api.DEFER, {"until": until}, done, stays=stays)

    def assign(self, request: Any, object_id: str) -> HttpResponse:
        """Hand the dispute to somebody."""
        said = {"member": request.POST.get("member") or None}
        done = "It is anybody's again." if said["member"] is None else "Assigned."
        return self._done(request, object_id, api.ASSIGN, said, done, stays=True)

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
                messages.warning(request, self._what_came_first(request, object_id))
                return redirect(here)
            return self._refused(request, object_id, wish, refusal)
        if done:
            messages.success(request, done)
        return redirect(here if stays else self._onward(request, object_id, wish))

    def _what_came_first(self, request: Any, object_id: str) -> str:
        with acting_as(request.caller):
            conflict = self.existing(Conflict.objects.all(), object_id)
        return MOOT if conflict.state == ConflictState.MOOT else FASTER

    def _refused(
        self, request: Any, object_id: str, wish: Wish, refusal: Refusal
    ) -> TemplateResponse:
        """Return the page again, with all that was written, and what is wrong where it is wrong."""
        wrong = at_fields(refusal, _FIELDS)
        if "until" in wrong:
            wrong["until"] = "Choose a day to come."
        sent = {name: request.POST.get(name, "") for name in ("content", "note", "until")}
        sent |= {"merges": "merge" in request.POST}
        messages.error(request, wrong.get("", "Nothing was done: what is wrong is told below."))
        with acting_as(request.caller):
            response = self.dispute(request, object_id, wish, sent=sent, wrong=wrong)
            # A form that comes back to be corrected is no failure of the page.
            if "" in wrong:
                response.status_code = refusal.status
            response.render()
            return response

    def dispute(self, request: Any, object_id: str, wish: Wish, **more: Any) -> TemplateResponse:
        """Return the page of one dispute. Belongs inside a door."""
        conflict = self.existing(with_people(Conflict.objects.all()), object_id)
        context = conflict_page(request.caller, conflict, wish)
        last = last_decision(request.caller)
        return self.render(
            request, "reviews/conflict.html", "Conflict", last=last, **context, **more
        )

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
            undone = list(Conflict.objects.filter(batch_id=batch).order_by("id"))
        try:
            answer = ask(api.UNDO_BATCH, request.caller, {}, batch_id=batch)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        else:
            with acting_as(request.caller):
                _say_what_was_undone(request, answer, undone)
        if len(undone) == 1 and request.POST.get("back") != "list" and wish.state != PROPOSALS:
            one = wire_id(Prefix.CONFLICT, undone[0].id)
            return redirect(reverse(_ONE, args=[one]) + wish.query())
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
    if preset == "now" or (preset == "back" and not said.get("until")):
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


def _say_what_was_undone(
    request: HttpRequest, answer: dict[str, Any], conflicts: list[Conflict]
) -> None:
    undone = answer["undone"]
    left = [one for one in answer["items"] if one["outcome"] == "not_allowed"]
    stays = {one["conflict"] for one in answer["items"] if one["outcome"] == "nothing_to_undo"}
    if undone:
        messages.success(request, f"Undone{f' ({undone})' if undone > 1 else ''}.")
    blocked = [one for one in conflicts if wire_id(Prefix.CONFLICT, one.id) in stays]
    told = [why for one in blocked[:MOST_TOLD] if (why := _why_it_stays(one))]
    for why in told:
        messages.warning(request, why)
    if not undone and not told and not left:
        messages.warning(request, "There was nothing left to undo.")
    if left:
        messages.warning(request, f"{len(left)} of it you may not undo.")


def _why_it_stays(conflict: Conflict) -> str:
    """Return what has to be undone before a decision can be; nothing if it stands no more."""
    later = None if conflict.state != ConflictState.RESOLVED else in_the_way(conflict)
    if later is None:
        return ""
    by = f" by {later.gone.by}" if later.gone.by else ""
    went = f"{later.gone.letter} was {later.gone.how}{by} since"
    if later.conflict is None:
        return format_html(
            'Not undone: {}. Restore <a class="pl-told" href="{}">that memory</a> first.',
            went,
            reverse("admin:memory_memory_change", args=[later.memory]),
        )
    return format_html(
        'Not undone: {}. Undo <a class="pl-told" href="{}">the later decision</a> first.',
        went,
        reverse(_ONE, args=[later.conflict]),
    )
