"""Jobs in the admin: what waits, runs or has failed, tried again or discarded by administrators."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.views.decorators.http import require_POST, require_safe

from tenants.admin_base import SeatedAdmin, show_refusal
from tenants.ids import Prefix, wire_id
from tenants.job_desk import STATES, discard_job, retry_job
from tenants.models import Job
from tenants.once import Answer
from tenants.refusals import Refusal

PER_PAGE = 50
LONGEST_ERROR = 300  # characters
_RETRIED = (Job.State.FAILED, Job.State.OBSOLETE)
_DISCARDED = (Job.State.QUEUED, Job.State.RUNNING, Job.State.FAILED)


@admin.register(Job)
class JobAdmin(SeatedAdmin):
    """How the work is going; what it is about does not stand here."""

    prefix = Prefix.JOB

    def get_urls(self) -> list[URLPattern]:
        """Return the list, and what can be done to a job; it has no page of its own."""
        return [
            self.page("", "changelist", self.changelist_view),
            self.page("<str:object_id>/retry/", "retry", require_POST(self.retry)),
            self.page("<str:object_id>/discard/", "discard", require_POST(self.discard)),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the seat is an administrator's."""
        caller = getattr(request, "caller", None)
        return caller is not None and caller.administers

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the jobs of the tenant."""
        return require_safe(self._list)(request)

    def _list(self, request: HttpRequest) -> HttpResponse:
        state, kind = request.GET.get("state", ""), request.GET.get("kind", "").replace("\0", "")
        kinds = list(Job.objects.order_by("kind").values_list("kind", flat=True).distinct())
        of_kind = Job.objects.filter(kind=kind) if kind else Job.objects.all()
        counts = dict(of_kind.values_list("state").annotate(Count("id")))
        found = of_kind.filter(state=state) if state in STATES else of_kind
        page = Paginator(_listed(found), PER_PAGE).get_page(request.GET.get("p"))
        return self.render(
            request,
            "tenants/jobs.html",
            "Jobs",
            tabs=_tabs(counts, state, kind),
            kinds=kinds,
            kind=kind,
            state=state if state in STATES else "",
            rows=[_row(job) for job in page.object_list],
            page=page,
            here=_query(state, kind),
        )

    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Queue the job again."""
        return self._done(request, object_id, retry_job, "Queued again.")

    def discard(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the job off the queue for good."""
        return self._done(request, object_id, discard_job, "Discarded.")

    def _done(
        self, request: Any, object_id: str, operation: Callable[..., Answer], done: str
    ) -> HttpResponse:
        job_id: UUID = self.id_of(object_id)
        try:
            operation(request.caller, job_id=job_id)
            messages.success(request, done)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            show_refusal(request, refusal)
        back = _query(request.POST.get("state", ""), request.POST.get("kind", ""))
        return redirect(reverse("admin:tenants_job_changelist") + back)


def _listed(found: QuerySet[Job]) -> QuerySet[Job]:
    """Return the jobs newest first, without what they are about."""
    shown = ("kind", "state", "attempts", "run_after", "last_error", "created_at", "finished_at")
    return found.select_related("member").only(*shown, "member__name").order_by("-id")


def _tabs(counts: dict[str, int], state: str, kind: str) -> list[dict[str, Any]]:
    named = [("all", "", sum(counts.values()))]
    named += [(name, name, counts.get(name, 0)) for name in STATES]
    return [
        {
            "name": name,
            "count": count,
            "query": _query(value, kind),
            "chosen": value == (state if state in STATES else ""),
        }
        for name, value, count in named
    ]


def _query(state: str, kind: str) -> str:
    said = {"state": state, "kind": kind}
    return "?" + urlencode({name: value for name, value in said.items() if value})


def _row(job: Job) -> dict[str, Any]:
    error = _printable(job.last_error)
    return {
        "id": wire_id(Prefix.JOB, job.id),
        "job": job,
        "member": "—" if job.member is None else job.member.name,
        "error": error if len(error) <= LONGEST_ERROR else f"{error[:LONGEST_ERROR]}…",
        "may_retry": job.state in _RETRIED,
        "may_discard": job.state in _DISCARDED,
    }


def _printable(text: str) -> str:
    """Return the text on one line, with nothing in it that could lie about the rest."""
    line = " ".join(text.split())
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
