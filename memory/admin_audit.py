"""Audit in the admin: what was done in the tenant, narrowed, counted and led back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.auditing import NEWEST_FIRST, PREFIXES, audit_wires, audited
from memory.text import visible
from tenants.admin_base import SeatedAdmin
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Agent, Event, Member
from tenants.once import Answer

PER_PAGE = 50
MOST_CHOICES = 300
LONGEST_VALUE = 200
PERIODS = {"day": 1, "week": 7, "month": 30, "year": 365, "all": None}  # days
USUAL = "month"
_PAGES = {
    "memory": "memory_memory_change",
    "conflict": "memory_conflict_change",
    "project": "tenants_project_change",
    "member": "tenants_member_change",
    "agent": "tenants_agent_change",
    "token": "tenants_token_change",
}


@dataclass(frozen=True)
class Wish:
    """What somebody wants to see of the record: anything they did not say is empty."""

    period: str
    values: dict[str, str]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "Wish":
        """Return what a query string says."""
        values = {name: _clean(said.get(name)) for name in ("actor", "command", "object", "q")}
        period = _clean(said.get("period"))
        return cls(
            period if period in PERIODS else USUAL,
            {name: value for name, value in values.items() if value},
        )

    def query(self, **changes: str) -> str:
        """Return the query string of this wish with some of it changed, from the first page on."""
        said = {"period": self.period, **self.values, **changes}
        if said["period"] == USUAL:
            said["period"] = ""
        return "?" + urlencode({name: value for name, value in said.items() if value})


def _clean(value: object) -> str:
    return str(value or "").replace("\0", "").strip()[:LONGEST_VALUE]


@admin.register(Event)
class AuditAdmin(SeatedAdmin):
    """The record, for administrators; it is only read."""

    prefix = Prefix.EVENT

    def get_urls(self) -> list[URLPattern]:
        """Return the list; an event has no page of its own."""
        return [self.page("", "changelist", self.changelist_view)]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the seat is an administrator's."""
        caller = getattr(request, "caller", None)
        return caller is not None and caller.administers

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what was done."""
        return require_safe(self._list)(request)

    def _list(self, request: HttpRequest) -> HttpResponse:
        wish = Wish.read(request.GET)
        found = narrowed(wish)
        counts = dict(narrowed(wish, but="command").values_list("command").annotate(Count("id")))
        page = Paginator(found.order_by(*NEWEST_FIRST), PER_PAGE).get_page(request.GET.get("p"))
        return self.render(
            request,
            "memory/audit.html",
            "Audit",
            wish=wish,
            filters=[
                {"name": "actor", "label": "Anybody", "choices": _actors()},
                {
                    "name": "command",
                    "label": f"Any command ({sum(counts.values())})",
                    "choices": [(name, f"{name} ({counts[name]})") for name in sorted(counts)],
                },
                {
                    "name": "period",
                    "label": None,
                    "choices": [(name, _period(name)) for name in PERIODS],
                },
            ],
            rows=[
                _row(told) | {"alike": wish.query(command=told["command"])}
                for told in audit_wires(list(page.object_list))
            ],
            page=page,
            here=wish.query(),
            is_narrowed=bool(wish.values),
        )


def narrowed(wish: Wish, *, but: str = "") -> "QuerySet[Event]":
    """Return the events in sight that somebody wants, without one of their conditions."""
    said = {name: value for name, value in wish.values.items() if name != but}
    try:
        actor, about = _id_in(said.get("actor")), _id_in(said.get("object"))
    except MalformedId:
        return Event.objects.none()
    wanted = audited(
        actor=actor, command=said.get("command"), object_id=about, since=_since(wish.period)
    )
    if "q" not in said:
        return wanted
    return wanted.filter(Q(reason__icontains=said["q"]) | Q(request_id=said["q"]))


def _id_in(text: str | None) -> UUID | None:
    """
    Return which thing an id names, of whatever sort.

    :raises MalformedId: if the text is no id
    """
    if text is None:
        return None
    prefix = next((one for one in Prefix if text.startswith(f"{one.value}_")), Prefix.EVENT)
    return read_id(prefix, text)


def _since(period: str) -> datetime | None:
    days = PERIODS[period]
    return None if days is None else timezone.now() - timedelta(days=days)


def _period(name: str) -> str:
    return "Ever" if name == "all" else f"Last {name}"


def _actors() -> list[tuple[str, str]]:
    people = Member.objects.order_by("name", "id")[:MOST_CHOICES]
    agents = Agent.objects.order_by("name")[:MOST_CHOICES]
    return [
        *((wire_id(Prefix.MEMBER, one.id), one.name) for one in people),
        *((wire_id(Prefix.AGENT, one.id), f"{one.name} (agent)") for one in agents),
    ]


def _row(told: Answer) -> dict[str, Any]:
    about = told["object"]
    page = _PAGES.get(about["type"]) if about["type"] in PREFIXES else None
    return told | {
        "at": datetime.fromisoformat(told["at"]),
        "who": told["actor"]["name"] or "the operator",
        "by_agent": told["actor"]["type"] == "agent",
        "reason": visible(told["reason"]),
        "type": about["type"],
        "about": about["id"],
        "url": None if page is None else reverse(f"admin:{page}", args=[about["id"]]),
        "changes": _changes(told["before"] or {}, told["after"] or {}),
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """
    Return what is not as it was: its name, what it was, and what it is.

    What an event tells of before alone it does not say to be changed, unless it tells nothing of
    after: then the thing itself has gone.
    """
    names = after or before
    return [
        (name, _shown(before.get(name)), "nothing" if after else "")
        if after.get(name) is None
        else (name, _shown(before.get(name)), _shown(after[name]))
        for name in names
        if before.get(name) != after.get(name) and name != "id"
    ]


def _shown(payload: Any) -> str:
    if payload is None:
        return ""
    if isinstance(payload, str):
        return visible(payload)
    return visible(json.dumps(payload, ensure_ascii=False, sort_keys=True))
