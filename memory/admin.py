"""
Memories in the admin: the feed and a page for each. Nobody edits content there.

What may be done to a memory is an operation, the same one that agents call.
"""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import api
from memory.admin_audit import AuditAdmin
from memory.admin_pushes import PushSourceAdmin
from memory.admin_trust import TrustPages
from memory.feed import Wish, filters, lines, narrowed, page_of
from memory.models import Memory
from memory.page import memory_page
from memory.reading import EVERY_LIFECYCLE, in_lifecycle, lifecycle_counts
from tenants.admin_base import ask, show_refusal
from tenants.ids import Prefix
from tenants.operations import Operation
from tenants.refusals import Refusal

__all__ = ["AuditAdmin", "MemoryAdmin", "PushSourceAdmin"]


@admin.register(Memory)
class MemoryAdmin(TrustPages):
    """What is remembered, as far as the seat sees it."""

    prefix = Prefix.MEMORY

    def more_urls(self) -> list[URLPattern]:
        """Return what can be done to a memory."""
        return [
            *self.trust_urls(),
            self.page("<str:object_id>/forget/", "forget", require_POST(self.forget)),
            self.page("<str:object_id>/close/", "close", require_POST(self.close)),
            self.page("<str:object_id>/restore/", "restore", require_POST(self.restore)),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the feed."""
        return require_safe(self._feed)(request)

    def _feed(self, request: HttpRequest) -> HttpResponse:
        wish = Wish.read(request.GET)
        wanted = narrowed(wish)
        counts = lifecycle_counts(wanted)
        page = page_of(wanted.filter(in_lifecycle(wish.lifecycle)), wish)
        return self.render(
            request,
            "memory/feed.html",
            "Memories",
            wish=wish,
            tabs=[_tab(wish, name, counts[name]) for name in EVERY_LIFECYCLE],
            filters=filters(wish),
            lines=lines(page.memories, timezone.now()),
            page=page,
            is_narrowed=bool(wish.q or wish.values),
        )

    def change_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one memory; there is nothing to change."""
        return require_safe(self._memory)(request, object_id)

    def _memory(self, request: Any, object_id: str) -> HttpResponse:
        memory = self.existing(
            Memory.objects.select_related("owner", "author_agent", "project"), object_id
        )
        context = memory_page(request.caller, memory)
        return self.render(request, "memory/memory.html", "Memory", **context)

    def forget(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the memory out of use, with the reason."""
        said = {"reason": request.POST.get("reason", "")}
        return self._done(request, object_id, api.FORGET, said, "Forgotten; it can be restored.")

    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Close a task or an open question."""
        said = {"note": request.POST.get("reason", "")}
        return self._done(request, object_id, api.CLOSE, said, "Closed; restoring reopens it.")

    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Bring the memory back."""
        said = {"reason": request.POST.get("reason", "")}
        return self._done(request, object_id, api.RESTORE, said, "Restored.")

    def _done(
        self, request: Any, object_id: str, operation: Operation, said: dict[str, str], done: str
    ) -> HttpResponse:
        try:
            ask(operation, request.caller, said, memory_id=self.id_of(object_id))
            messages.success(request, done)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        return redirect(reverse("admin:memory_memory_change", args=[object_id]))


def _tab(wish: Wish, name: str, count: int) -> dict[str, Any]:
    return {
        "name": name,
        "count": count,
        "query": wish.query(lifecycle=name),
        "chosen": name == wish.lifecycle,
    }
