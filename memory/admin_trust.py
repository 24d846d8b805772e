"""Trust in the admin: what needs verification, looking at it, and the map of subjects."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import api
from memory.models import Lifecycle, Memory, Method, Outcome
from memory.needs_page import PER_PAGE, Wish, needs_page, still_so
from memory.place import writable_projects
from memory.subject_map import MOST_SUBJECTS, subject_map
from memory.trust.state import TrustState
from tenants.admin_base import SeatedAdmin, ask, show_refusal
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Project
from tenants.once import Answer
from tenants.operations import Operation
from tenants.refusals import Refusal
from tenants.subject_paths import one_form

MOST_PROJECTS = 300
LONGEST_SUBJECT = 500


class TrustPages(SeatedAdmin):
    """What may no longer hold, and what people found when they looked."""

    def trust_urls(self) -> list[URLPattern]:
        """Return the pages of trust, and what is done on them."""
        component = "<str:object_id>/components/<str:component_id>"
        return [
            self.page(
                "needs-verification/", "needs_verification", require_safe(self.needs_verification)
            ),
            self.page("still-so/", "all_still_so", require_POST(self.all_still_so)),
            self.page("subjects/", "subjects", require_safe(self.subjects)),
            self.page("changes/", "report_change", require_POST(self.report_change)),
            self.page("<str:object_id>/still-so/", "still_so", require_POST(self.still_so)),
            self.page("<str:object_id>/verify/", "verify", require_POST(self.verify)),
            self.page(f"{component}/accept/", "accept_component", require_POST(self.accept)),
            self.page(f"{component}/dismiss/", "dismiss_component", require_POST(self.dismiss)),
        ]

    def needs_verification(self, request: Any) -> HttpResponse:
        """Show what is dirty, suspected or overdue, most used first."""
        shown = needs_page(
            request.caller, Wish.read(request.GET), request.GET.get("p"), timezone.now()
        )
        methods = [one for one in Method.choices if one[0] != Method.SELF]
        return self.render(
            request, "memory/needs.html", "Needs verification", methods=methods, **shown
        )

    def still_so(self, request: Any, object_id: str) -> HttpResponse:
        """Write down that it was looked at, and holds."""
        try:
            answer = self._still_so(request, object_id, request.POST.get("subject") or None)
        except Refusal as refusal:
            _show(request, refusal)
        else:
            _tell(request, answer, Outcome.CONFIRMED)
        return self._back(request, object_id)

    def _still_so(self, request: Any, object_id: str, subject: str | None = None) -> Answer:
        said = still_so(subject)
        # What moved after the page was made nobody saw on it, so it stays marked.
        if looked_at := request.POST.get("looked_at"):
            said["observed_at"] = looked_at
        return ask(api.VERIFY, request.caller, said, memory_id=self.id_of(object_id))

    def all_still_so(self, request: Any) -> HttpResponse:
        """Write down that each of those that were ticked holds."""
        ticked = request.POST.getlist("memory")[:PER_PAGE]
        left = [why for object_id in ticked if (why := self._why_left(request, object_id))]
        if not ticked:
            messages.warning(request, "Tick what still holds first.")
        if done := len(ticked) - len(left):
            messages.success(request, f"{done} verified.")
        if left:
            messages.warning(request, f"{len(left)} left as they were: {left[0]}")
        return self._back(request, None)

    def _why_left(self, request: Any, object_id: str) -> str:
        """Confirm one of several, and return why it needs verification all the same; or nothing."""
        try:
            answer = self._still_so(request, object_id)
        except Http404:
            return "it is not there."
        except Refusal as refusal:
            return refusal.detail
        return _why_still_dirty(answer) if answer["memory"]["trust_state"] == "dirty" else ""

    def verify(self, request: Any, object_id: str) -> HttpResponse:
        """Write down what was found, and how."""
        post = request.POST
        said: dict[str, Any] = {
            "outcome": post.get("outcome", ""),
            "method": post.get("method", ""),
            "evidence": _lines(post, "evidence"),
        }
        if post.get("subject"):
            said["components"] = [post["subject"]]
        if post.get("observed_value"):
            said["observed_value"] = post["observed_value"]
        try:
            answer = ask(api.VERIFY, request.caller, said, memory_id=self.id_of(object_id))
        except Refusal as refusal:
            _show(request, refusal)
        else:
            _tell(request, answer, said["outcome"])
        return self._back(request, object_id)

    def accept(self, request: Any, object_id: str, component_id: str) -> HttpResponse:
        """Let the memory state what was read out of its text."""
        return self._taken_up(request, object_id, component_id, api.ACCEPT_COMPONENT, "Accepted.")

    def dismiss(self, request: Any, object_id: str, component_id: str) -> HttpResponse:
        """Let go of what was read out of its text."""
        return self._taken_up(request, object_id, component_id, api.DISMISS_COMPONENT, "Dismissed.")

    def _taken_up(
        self, request: Any, object_id: str, component_id: str, operation: Operation, done: str
    ) -> HttpResponse:
        try:
            component = read_id(Prefix.COMPONENT, component_id)
        except MalformedId:
            raise Http404 from None
        try:
            answer = ask(operation, request.caller, {}, component_id=component)
        except Refusal as refusal:
            _show(request, refusal)
        else:
            clashes = len(answer["conflicts"])
            more = f" It clashes with {clashes} other(s): see the conflicts." if clashes else ""
            messages.success(request, done + more)
        return self._back(request, object_id)

    def report_change(self, request: Any) -> HttpResponse:
        """Take in that something has changed, and mark what may no longer hold."""
        post = request.POST
        said: dict[str, Any] = {
            "project": post.get("project", ""),
            "subject": post.get("change_subject", ""),
            "summary": _lines(post, "summary"),
            "kind": post.get("kind", ""),
            "whole_tree": post.get("whole_tree") == "yes",
        }
        here = ""
        try:
            marked = ask(api.REPORT_CHANGE, request.caller, said)["marked"]
        except Refusal as refusal:
            _show(request, refusal)
        else:
            here = _of_project(post.get("project"))
            count = len({one["memory_id"] for one in marked})
            messages.success(
                request,
                f"Noted. {count} memor{'y is' if count == 1 else 'ies are'} marked by it."
                if count
                else "Noted. It marks nothing in your sight.",
            )
        if post.get("memory"):
            return self._back(request, wire_id(Prefix.MEMORY, self.id_of(post["memory"])))
        return redirect(reverse("admin:memory_memory_subjects") + here)

    def subjects(self, request: Any) -> HttpResponse:
        """Show the subjects of a project, as a tree."""
        projects = list(Project.objects.order_by("archived_at", "slug")[:MOST_PROJECTS])
        wanted = request.GET.get("project", "")
        named = {wire_id(Prefix.PROJECT, one.id): one for one in projects}
        if wanted and wanted not in named:
            raise Http404
        chosen = wanted or _fullest(named)
        under = one_form(request.GET.get("under", "").replace("\0", "").strip())[:LONGEST_SUBJECT]
        only_dirty = request.GET.get("only") == "dirty"
        found, may_report = None, False
        if chosen:
            project = named[chosen]
            found = subject_map(project.id, timezone.now(), under=under, only_dirty=only_dirty)
            may_report = project.archived_at is None and project.id in writable_projects()
        return self.render(
            request,
            "memory/subjects.html",
            "Subjects",
            projects=[(name, one.slug) for name, one in named.items()],
            project=chosen,
            feed=reverse("admin:memory_memory_changelist")
            + f"?lifecycle=live&project={chosen}&subject=",
            under=under,
            only_dirty=only_dirty,
            map=found,
            may_report=may_report,
            most=MOST_SUBJECTS,
        )

    def _back(self, request: Any, object_id: str | None) -> HttpResponse:
        """Return to the list, as it was narrowed, or to the page of the memory."""
        if object_id is None or request.POST.get("back") == "list":
            here = Wish.read(QueryDict(request.POST.get("here", "").removeprefix("?"))).query()
            return redirect(reverse("admin:memory_memory_needs_verification") + here)
        return redirect(reverse("admin:memory_memory_change", args=[object_id]))


def _fullest(named: Mapping[str, Project]) -> str:
    """Return the open project in which most is remembered, the first of as many."""
    live = dict(
        Memory.objects.filter(project__in=named.values(), lifecycle=Lifecycle.LIVE)
        .values_list("project")
        .annotate(Count("id"))
    )
    by_fullness = sorted(
        named, key=lambda one: (named[one].archived_at is not None, -live.get(named[one].id, 0))
    )
    return next(iter(by_fullness), "")


_SUSPECTED = "no look ends a suspicion: whoever reviews its project decides it at the desk."
_WORD = (
    "without a value that was seen, only the word of the author, or of somebody whose level is not "
    "below the author's, clears a mark, and only one of before you looked."
)


_VOUCHES = (
    "without a value that was seen, only the word of the author counts, or of somebody whose level "
    "is not below the author's."
)
_NOT_BY_LOOKING = {
    TrustState.PROPOSED: "It stays a proposal until all that it says was looked at by somebody of "
    "another side, or a reviewer accepts it.",
    TrustState.CONFLICTED: "It stays in conflict until that is decided at the desk.",
}


def _why_still_dirty(answer: Answer) -> str:
    return _SUSPECTED if answer["memory"]["disputed"] else _WORD


def _lines(post: Mapping[str, str], name: str) -> str:
    return post.get(name, "").replace("\r\n", "\n").strip()


def _of_project(project: str | None) -> str:
    try:
        return f"?project={wire_id(Prefix.PROJECT, read_id(Prefix.PROJECT, project or ''))}"
    except MalformedId:
        return ""


def _show(request: HttpRequest, refusal: Refusal) -> None:
    if refusal.status == 404:
        raise refusal
    show_refusal(request, refusal)


def _tell(request: HttpRequest, answer: Answer, outcome: str) -> None:
    """Say on the next page what a verification did."""
    memory = answer["memory"]
    state = TrustState(memory["trust_state"])
    if "conflict" in answer:
        messages.warning(request, "Noted. It is called into question now, and waits at the desk.")
    elif "note" in answer:
        messages.warning(request, f"Noted. {answer['note']}")
    elif outcome != Outcome.CONFIRMED:
        messages.info(request, "Noted. It changes nothing else.")
    elif state == TrustState.DIRTY:
        why = memory["dirty_reason"] or "it may have misled somebody"
        more = "" if answer["cleared"] else f" ({_why_still_dirty(answer)})"
        messages.warning(request, f"Noted, and still dirty: {why}.{more}")
    elif state in _NOT_BY_LOOKING:
        messages.warning(request, f"Noted. {_NOT_BY_LOOKING[state]}")
    elif not memory["verifications"][-1]["weighs"]:
        messages.warning(request, f"Noted, and it vouches for nothing: {_VOUCHES}")
    else:
        messages.success(request, "Verified.")
