"""Proposals accepted or rejected at the desk: one, or several that were ticked."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST

from reviews import api
from reviews.listed import PER_PAGE
from reviews.wish import PROPOSALS, Wish
from tenants.admin_base import SeatedAdmin, ask, human_words, show_refusal
from tenants.ids import MalformedId, Prefix, read_id
from tenants.operations import Operation
from tenants.refusals import Refusal

_ANSWERS = {"accept": (api.ACCEPT, "accepted"), "reject": (api.REJECT, "rejected")}


class AnsweringPages(SeatedAdmin):
    """Answers to what watchers captured. Each is a change of its own, and undone by itself."""

    def answering_urls(self) -> list[URLPattern]:
        """Return what can be done to proposals."""
        return [
            self.page("proposals/answer/", "answer", require_POST(self.answer_several)),
            self.page("proposals/<str:object_id>/accept/", "accept", require_POST(self.accept)),
            self.page("proposals/<str:object_id>/reject/", "reject", require_POST(self.reject)),
        ]

    def accept(self, request: Any, object_id: str) -> HttpResponse:
        """Take a proposal for good."""
        return self._answered(request, object_id, api.ACCEPT)

    def reject(self, request: Any, object_id: str) -> HttpResponse:
        """Turn a proposal down."""
        return self._answered(request, object_id, api.REJECT)

    def answer_several(self, request: Any) -> HttpResponse:
        """Accept or reject those that were ticked, all for one reason."""
        ticked = list(dict.fromkeys(request.POST.getlist("memory")))[:PER_PAGE]
        operation, done = _ANSWERS.get(request.POST.get("answer", ""), (None, ""))
        if operation is None or not ticked:
            messages.error(request, "Tick proposals in the list first, and say what to answer.")
            return _back(request)
        left = [why for one in ticked if (why := _why_left(request, one, operation))]
        if number := len(ticked) - len(left):
            messages.success(request, f"{number} {done}.")
        if left:
            messages.warning(request, f"{len(left)} left as they were: {left[0]}")
        return _back(request)

    def _answered(self, request: Any, object_id: str, operation: Operation) -> HttpResponse:
        try:
            _answer(request, object_id, operation)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        return _back(request)


def _answer(request: Any, object_id: str, operation: Operation) -> None:
    try:
        memory = read_id(Prefix.MEMORY, object_id)
    except MalformedId:
        raise Http404 from None
    said = {"reason": request.POST.get("reason", "")}
    ask(operation, request.caller, said, memory_id=memory)


def _why_left(request: Any, object_id: str, operation: Operation) -> str:
    """Answer one of several, and return why it was not answered; or nothing."""
    try:
        _answer(request, object_id, operation)
    except Http404:
        return "There is no such thing."
    except Refusal as refusal:
        return human_words(refusal)
    return ""


def _back(request: Any) -> HttpResponse:
    wish = Wish.told(request.POST.get("queue", "") or f"?state={PROPOSALS}")
    return redirect(reverse("admin:memory_conflict_changelist") + wish.query())
