"""What needs verification as people read it: narrowed, counted, a line each, and why."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from memory.authority import owns, word_counts
from memory.conflict.disputes import disputes_about
from memory.conflict.policy import ConflictKind
from memory.feed import Filter, Line, filters_named, in_brief, lines, searched
from memory.models import Cause, Component, Conflict, Kind, Memory
from memory.place import writable_projects
from memory.text import visible
from memory.trust.expiry import rests_on_what_ended
from memory.trust.needed import marked, overdue, suspected, those_to_verify
from memory.trust.standing import Standing, standings
from tenants.caller import Caller, Scope
from tenants.ids import MalformedId, Prefix, read_id, wire_id

PER_PAGE = 50
# What the side bar counts to: it is counted for every page.
MANY = 99
LONGEST_VALUE = 500
ALL = "all"
WHY = {
    ALL: "All",
    "moved": "The world moved",
    "built_on": "What it builds on moved",
    "misled": "It misled somebody",
    "overdue": "Review is overdue",
}


@dataclass(frozen=True)
class Wish:
    """What somebody wants to see of it: anything they did not say is empty."""

    why: str
    kind: str
    project: str
    q: str

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "Wish":
        """Return what a query string says."""

        def value(name: str) -> str:
            return str(said.get(name) or "").replace("\0", "").strip()[:LONGEST_VALUE]

        why, kind = value("why"), value("kind")
        return cls(
            why if why in WHY else ALL,
            kind if kind in Kind.values else "",
            value("project"),
            value("q"),
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether something was said but the tab."""
        return bool(self.kind or self.project or self.q)

    def query(self, **changes: str) -> str:
        """Return the query string of this wish with some of it changed, from the first page on."""
        said = {"why": self.why, "kind": self.kind, "project": self.project, "q": self.q, **changes}
        if said["why"] == ALL:
            said["why"] = ""
        return "?" + urlencode({name: value for name, value in said.items() if value})


@dataclass(frozen=True)
class Checked:
    """A component, and whether the doubt lies on it."""

    subject: str
    value: str
    dirty: bool


@dataclass(frozen=True)
class Row:
    """
    A memory that needs verification.

    :param may_verify: whether a bare word of who reads the page is enough
    :param may_look: whether they may say what they saw
    :param to_decide: the dispute in which it is suspected: no look ends that
    """

    line: Line
    why: str
    components: Sequence[Checked]
    subjects: Sequence[str]
    verified_at: datetime | None
    verified_as: str
    recalls: int
    may_verify: bool
    may_look: bool
    to_decide: str | None


def needs_page(caller: Caller, wish: Wish, page_number: str | None, now: datetime) -> Any:
    """Return what the page shows. Belongs inside a door."""
    wanted = _narrowed(those_to_verify(now), wish)
    reasons = _reasons(now)
    counts = wanted.order_by().aggregate(
        **{name: Count("id", filter=reason) for name, reason in reasons.items()}
    )
    found = in_brief(wanted.filter(reasons[wish.why]))
    paginator: Paginator[Memory] = Paginator(found, PER_PAGE)
    paginator.__dict__["count"] = counts[wish.why]
    page: Page[Memory] = paginator.get_page(page_number)
    shown = rows(caller, page.object_list, now)
    return {
        "wish": wish,
        "tabs": [
            {
                "name": name,
                "label": label,
                "count": counts[name],
                "query": wish.query(why=name),
                "chosen": name == wish.why,
            }
            for name, label in WHY.items()
        ],
        "filters": _filters(wish),
        "rows": shown,
        "may_bulk": any(row.may_verify for row in shown),
        "page": page,
        "here": wish.query(),
        "looked_at": now.isoformat(),
    }


def how_many_need_it(now: datetime) -> str:
    """Return how many need verification, for the side bar. Belongs inside a door."""
    count = len(those_to_verify(now).order_by().values_list("id")[: MANY + 1])
    return f"{MANY}+" if count > MANY else str(count or "")


def _narrowed(wanted: QuerySet[Memory], wish: Wish) -> QuerySet[Memory]:
    if wish.kind:
        wanted = wanted.filter(kind=wish.kind)
    if wish.project == "none":
        wanted = wanted.filter(project=None)
    elif wish.project:
        try:
            wanted = wanted.filter(project=read_id(Prefix.PROJECT, wish.project))
        except MalformedId:
            return wanted.none()
    return searched(wanted, wish.q) if wish.q else wanted


def _reasons(now: datetime) -> dict[str, Q]:
    """Return the condition of each tab."""
    return {
        ALL: Q(),
        "moved": marked(cause=Cause.CHANGE, direct=True),
        "built_on": marked(direct=False)
        | marked(cause__in=set(Cause) - {Cause.CHANGE})
        | rests_on_what_ended(now),
        "misled": suspected(),
        "overdue": overdue(now),
    }


def _filters(wish: Wish) -> list[Filter]:
    chosen = {"kind": wish.kind, "project": wish.project}
    return filters_named(("project", "kind"), {name: one for name, one in chosen.items() if one})


def rows(caller: Caller, memories: Iterable[Any], now: datetime) -> list[Row]:
    """Return a row for each; the memories come from `in_brief`, with their recalls."""
    memories = list(memories)
    ids = [memory.id for memory in memories]
    disputes = disputes_about(ids)
    stand = standings(memories, now, disputes)
    stated = components_of(ids)
    may = may_look(caller, memories)
    return [
        _row(
            memory,
            line,
            stand[memory.id],
            stated[memory.id],
            may_look=memory.id in may,
            is_taken_at_their_word=word_counts(caller, memory),
            suspicion=next(
                (one for one in disputes[memory.id] if one.kind == ConflictKind.STALE_SUSPECT), None
            ),
        )
        for memory, line in zip(memories, lines(memories, now), strict=True)
    ]


def _row(
    memory: Any,
    line: Line,
    standing: Standing,
    stated: Sequence[Component],
    *,
    may_look: bool,
    is_taken_at_their_word: bool,
    suspicion: Conflict | None,
) -> Row:
    dirty = {mark.component_id for mark in standing.marks}
    return Row(
        line=line,
        why=standing.dirty_reason or ("Its review is overdue" if standing.overdue else ""),
        components=[
            Checked(one.subject, visible(one.value or ""), one.id in dirty) for one in stated
        ],
        subjects=[one for one in memory.subjects if one not in {each.subject for each in stated}],
        verified_at=standing.last_verified_at,
        verified_as=", ".join(visible(value) for value in standing.last_value.values()),
        recalls=memory.recalls,
        may_verify=may_look and is_taken_at_their_word and suspicion is None,
        may_look=may_look,
        to_decide=None if suspicion is None else wire_id(Prefix.CONFLICT, suspicion.id),
    )


def components_of(ids: Iterable[UUID]) -> dict[UUID, list[Component]]:
    """Return what each of the memories states. Belongs inside a door."""
    found: dict[UUID, list[Component]] = defaultdict(list)
    said = Component.objects.filter(memory__in=list(ids), suggested=False, dismissed_at=None)
    for component in said.order_by("created_at", "id"):
        found[component.memory_id].append(component)
    return found


def may_look(caller: Caller, memories: Sequence[Memory]) -> set[UUID]:
    """Return those that get buttons. The operation decides again when one is pressed."""
    if Scope.WRITE not in caller.scopes:
        return set()
    writable = writable_projects()
    return {
        memory.id for memory in memories if owns(caller, memory) or memory.project_id in writable
    }


def still_so(subject: str | None = None) -> dict[str, Any]:
    """
    Return what is said when somebody confirms a memory, or what it states of a subject.

    A click is somebody's word, and no evidence: nobody said what they saw.
    """
    said: dict[str, Any] = {"outcome": "confirmed", "method": "person"}
    if subject is not None:
        said["components"] = [subject]
    return said
