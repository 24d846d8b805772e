"""The judge in the admin: which one it is, whether it may act, and what it has said of late."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.views.decorators.http import require_safe

from hygiene.judge_page import judge_page
from hygiene.models import Judgement
from tenants.admin_base import SeatedAdmin


@admin.register(Judgement)
class JudgeAdmin(SeatedAdmin):
    """What the judge does in the tenant, as numbers; a verdict is shown with its conflict."""

    def get_urls(self) -> list[URLPattern]:
        """Return the one page."""
        return [self.page("", "changelist", self.changelist_view)]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the judge and its numbers."""
        return require_safe(self._judge)(request)

    def _judge(self, request: HttpRequest) -> HttpResponse:
        return self.render(request, "hygiene/judge.html", "Judge", **judge_page())
