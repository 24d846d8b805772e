"""What a project says of its memories, in the admin: when to look again, and which files tell."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from tenants import api
from tenants.admin_base import ask
from tenants.admin_pages import AdministeredAdmin
from tenants.context import acting_as
from tenants.models import Project
from tenants.project_rules import LONGEST_INTERVAL, MOST_PATTERNS, ReviewIntervals
from tenants.refusals import Refusal

EMPTY_ROWS = 5
Row = dict[str, str]


class RulesPage(AdministeredAdmin):
    """The page of a project's review intervals and patterns of files."""

    def rules_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what the project says, and take in what it shall say."""
        return require_http_methods(["GET", "HEAD", "POST"])(self._rules)(request, object_id)

    def _rules(self, request: Any, object_id: str) -> HttpResponse:
        with acting_as(request.caller):
            project: Project = self.existing(Project.objects.all(), object_id)
        if request.method != "POST":
            return self._shown(request, project, _days_of(project), _rows_of(project), {})
        days, rows = _posted(request)
        asked, errors = _asked(project, days, rows)
        try:
            if not errors and asked:
                ask(api.UPDATE_PROJECT, request.caller, asked, project_id=project.id)
        except Refusal as refusal:
            errors = {one.field: one.message for one in refusal.errors}
            errors = errors or {"": refusal.detail}
        if errors:
            return self._shown(request, project, days, rows, errors)
        messages.success(request, "Saved." if asked else "Nothing was changed.")
        return redirect(self.url("rules", object_id))

    def _shown(
        self,
        request: HttpRequest,
        project: Project,
        days: Row,
        rows: list[Row],
        errors: dict[str, str],
    ) -> HttpResponse:
        known = {f"review_intervals.{kind}" for kind in days}
        lines = [row | _blamed(index, errors) for index, row in enumerate(rows)]
        known |= {name for index in range(len(rows)) for name in _names(index)}
        blank = min(EMPTY_ROWS, MOST_PATTERNS - len(rows))
        return self.render(
            request,
            "tenants/rules.html",
            f"{project.name}: reviews and files",
            project=project,
            kinds=[
                {
                    "name": kind,
                    "label": kind.replace("_", " "),
                    "days": value,
                    "error": errors.get(f"review_intervals.{kind}"),
                }
                for kind, value in days.items()
            ],
            rows=[*lines, *({"pattern": "", "subject": ""} for _ in range(blank))],
            errors=[said for name, said in errors.items() if name not in known],
            most_days=LONGEST_INTERVAL,
            back=self.url_of(project),
        )


def _days_of(project: Project) -> Row:
    stored = project.review_intervals
    return {kind: str(stored.get(kind, "")) for kind in ReviewIntervals().get_fields()}


def _rows_of(project: Project) -> list[Row]:
    return [{"pattern": one["pattern"], "subject": one["subject"]} for one in project.path_subjects]


def _posted(request: HttpRequest) -> tuple[Row, list[Row]]:
    """Return what was typed in, without the rows that were left empty."""
    post = request.POST
    days = {kind: post.get(f"days:{kind}", "").strip() for kind in ReviewIntervals().get_fields()}
    pairs = zip(post.getlist("pattern"), post.getlist("subject"), strict=False)
    rows = [{"pattern": one.strip(), "subject": other.strip()} for one, other in pairs]
    return days, [row for row in rows if row["pattern"] or row["subject"]]


def _asked(project: Project, days: Row, rows: list[Row]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what is asked of the operation: what differs; and what is no number at all."""
    errors = {
        f"review_intervals.{kind}": "Must be a whole number of days."
        for kind, value in days.items()
        if value and not (value.isascii() and value.isdigit() and len(value) < 9)
    }
    if errors:
        return {}, errors
    asked: dict[str, Any] = {}
    intervals = {kind: int(value) for kind, value in days.items() if value}
    if intervals != project.review_intervals:
        asked["review_intervals"] = intervals
    if rows != _rows_of(project):
        asked["path_subjects"] = rows
    return asked, {}


def _names(index: int) -> tuple[str, str]:
    return f"path_subjects[{index}].pattern", f"path_subjects[{index}].subject"


def _blamed(index: int, errors: dict[str, str]) -> Row:
    found = [errors[name] for name in _names(index) if name in errors]
    return {"error": " ".join(found)}
