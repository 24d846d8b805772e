"""Saying at the desk that a memory is wrong, or that it misled: from the memory's own page."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from reviews import api
from tenants.admin_base import SeatedAdmin, ask, show_refusal
from tenants.ids import MalformedId, Prefix, read_id
from tenants.once import Answer
from tenants.operations import Operation
from tenants.refusals import Refusal


class QuestioningPages(SeatedAdmin):
    """Questions to people; nothing about the memory is decided by them."""

    def questioning_urls(self) -> list[URLPattern]:
        """Return what can be said of a memory."""
        about = "memories/<str:object_id>"
        return [
            self.page(f"{about}/challenge/", "challenge", require_POST(self.challenge)),
            self.page(f"{about}/misled/", "misled", require_POST(self.misled)),
        ]

    def challenge(self, request: Any, object_id: str) -> HttpResponse:
        """Call the memory into question."""
        answer = self._said(request, object_id, api.CHALLENGE, "evidence")
        if answer is not None:
            is_new = not answer["already_pending"]
            said = "Challenged; it stays live until" if is_new else "In question already, until"
            _tell(request, said, answer["dispute_id"])
        return _back(object_id)

    def misled(self, request: Any, object_id: str) -> HttpResponse:
        """Report that the memory led somebody astray."""
        answer = self._said(request, object_id, api.MISLED, "query")
        if answer is not None and answer["dispute_id"] is not None:
            _tell(request, "Reported; it is in question until", answer["dispute_id"])
        elif answer is not None:
            messages.success(request, "Reported. When reports gather, people are asked about it.")
        return _back(object_id)

    def _said(self, request: Any, object_id: str, operation: Operation, more: str) -> Answer | None:
        """Do it; if it is refused, say why and return nothing."""
        try:
            memory = read_id(Prefix.MEMORY, object_id)
        except MalformedId:
            raise Http404 from None
        said = {
            name: text.replace("\r\n", "\n")
            for name in ("reason", more)
            if (text := request.POST.get(name, "").strip()) or name == "reason"
        }
        try:
            return ask(operation, request.caller, said, memory_id=memory)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
            return None


def _tell(request: Any, said: str, dispute: str) -> None:
    where = reverse("admin:memory_conflict_change", args=[dispute]) + "?state=challenges"
    text = '{} somebody has decided <a class="pl-told" href="{}">this dispute</a>.'
    messages.success(request, format_html(text, said, where))


def _back(object_id: str) -> HttpResponse:
    return redirect(reverse("admin:memory_memory_change", args=[object_id]))
