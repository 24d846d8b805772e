"""The feed as people read it: what is in sight, narrowed, page by page, a line each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.utils import timezone

from memory.conflict.disputes import disputes_about
from memory.finding.words import tsquery
from memory.models import Kind, Lifecycle, Memory, Visibility
from memory.reading import EVERY_LIFECYCLE
from memory.subject_map import speaks_of
from memory.text import visible
from memory.trust.standing import standings
from memory.trust.state import TrustState, in_state
from memory.trust.verifications import UNNAMED_AGENT
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Agent, Member, Project

CURRENT = "current"
PER_PAGE = 50
PREVIEW = 240  # characters
MOST_CHOICES = 300
LONGEST_VALUE = 500
_FILTERS = ("kind", "project", "visibility", "trust", "author", "tag", "subject")


@dataclass(frozen=True)
class Line:
    """A memory on one line."""

    id: str
    preview: str
    kind: str
    trust: str
    lifecycle: str
    why_gone: str
    project: str
    visibility: str
    author: str
    by_agent: bool
    level: int
    created_at: datetime
    tags: Sequence[str]

    @property
    def is_dimmed(self) -> bool:
        """Whether it counts as knowledge no more."""
        return self.lifecycle != Lifecycle.LIVE or self.trust == TrustState.EXPIRED


@dataclass(frozen=True)
class Wish:
    """What somebody wants to see of the feed: anything they did not say is empty."""

    lifecycle: str
    q: str
    values: dict[str, str]
    before: str = ""
    after: str = ""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "Wish":
        """Return what a query string says."""
        values = {name: _clean(said.get(name)) for name in _FILTERS}
        lifecycle = _clean(said.get("lifecycle"))
        return cls(
            lifecycle=lifecycle if lifecycle in EVERY_LIFECYCLE else CURRENT,
            q=_clean(said.get("q")),
            values={name: value for name, value in values.items() if value},
            before=_clean(said.get("before")),
            after=_clean(said.get("after")),
        )

    def query(self, **changes: str) -> str:
        """Return the query string of this wish with some of it changed, from the first page on."""
        said = {"lifecycle": self.lifecycle, "q": self.q, **self.values, **changes}
        if said["lifecycle"] == CURRENT:
            said["lifecycle"] = ""
        return "?" + urlencode({name: value for name, value in said.items() if value})


def _clean(value: object) -> str:
    return str(value or "").replace("\0", "").strip()[:LONGEST_VALUE]


def narrowed(wish: Wish) -> QuerySet[Memory]:
    """Return the memories in sight that somebody wants, of any lifecycle. Belongs inside a door."""
    wanted = Memory.objects.all()
    for name, value in wish.values.items():
        wanted = wanted.filter(_condition(name, value))
    return searched(wanted, wish.q) if wish.q else wanted


def _condition(name: str, value: str) -> Q:
    nothing = Q(pk__in=[])
    if name in ("kind", "visibility"):
        return Q(**{name: value})
    if name == "tag":
        return Q(tags__contains=[value])
    if name == "subject":
        return speaks_of(value)
    if name == "trust":
        return in_state(value, timezone.now()) if value in TrustState.values else nothing
    if name == "project" and value == "none":
        return Q(project__isnull=True)
    try:
        if name == "project":
            return Q(project=read_id(Prefix.PROJECT, value))
        if value.startswith(f"{Prefix.AGENT}_"):
            return Q(author_agent=read_id(Prefix.AGENT, value))
        return Q(owner=read_id(Prefix.MEMBER, value), author_agent__isnull=True)
    except MalformedId:
        return nothing


def searched(wanted: QuerySet[Memory], q: str) -> QuerySet[Memory]:
    """Return those with these words in them, or the one with this id."""
    try:
        return wanted.filter(pk=read_id(Prefix.MEMORY, q))
    except MalformedId:
        query = tsquery(q)
    if not query:
        return wanted.none()
    return wanted.extra(where=["memories.words @@ %s::tsquery"], params=[query])


def in_brief(memories: QuerySet[Memory]) -> QuerySet[Memory]:
    """Return the memories with what a line needs, in the same statement, and no long texts."""
    return (
        memories.select_related("owner", "author_agent", "project")
        .annotate(preview=Left("content", 2 * PREVIEW))
        .defer("content", "words", "text_key", "source")
    )


@dataclass(frozen=True)
class Page:
    """Some of the feed, and the queries that show what is newer and older."""

    memories: list[Memory]
    newer: str | None
    older: str | None


def page_of(wanted: QuerySet[Memory], wish: Wish) -> Page:
    """Return a page, newest first. However far down, it costs the same. Belongs inside a door."""
    start = _sequence(wish.after or wish.before)
    backwards = bool(wish.after) and start is not None
    order = "sequence" if backwards else "-sequence"
    found = wanted
    if start is not None:
        found = found.filter(sequence__gt=start) if backwards else found.filter(sequence__lt=start)
    # Chosen before others are joined: else all that there is may be joined, and sorted then.
    chosen = found.order_by(order).values("id")[: PER_PAGE + 1]
    rows = list(in_brief(Memory.objects.filter(id__in=chosen)).order_by(order))
    has_more = len(rows) > PER_PAGE
    rows = rows[:PER_PAGE]
    if backwards:
        rows.reverse()
    has_newer = has_more if backwards else start is not None
    has_older = True if backwards else has_more
    return Page(
        rows,
        wish.query(after=wire_id(Prefix.MEMORY, rows[0].id)) if rows and has_newer else None,
        wish.query(before=wire_id(Prefix.MEMORY, rows[-1].id)) if rows and has_older else None,
    )


def _sequence(memory_id: str) -> int | None:
    try:
        wanted: UUID = read_id(Prefix.MEMORY, memory_id)
    except MalformedId:
        return None
    return Memory.objects.filter(pk=wanted).values_list("sequence", flat=True).first()


def lines(memories: Iterable[Any], now: datetime) -> list[Line]:
    """Return a line for each; the memories come from `in_brief`."""
    memories = list(memories)
    disputes = disputes_about(memory.id for memory in memories)
    stand = standings(memories, now, disputes)
    return [
        Line(
            id=wire_id(Prefix.MEMORY, memory.id),
            preview=preview(memory.preview),
            kind=memory.kind,
            trust=stand[memory.id].state.value,
            lifecycle=memory.lifecycle,
            why_gone=memory.invalidated_reason or "",
            project=place_name(memory),
            visibility=memory.visibility,
            author=author_name(memory),
            by_agent=memory.author_agent_id is not None,
            level=memory.author_level,
            created_at=memory.created_at,
            tags=memory.tags[:3],
        )
        for memory in memories
    ]


def preview(text: str) -> str:
    """Return the beginning of a text on one line, with nothing deceptive in it."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= PREVIEW else f"{line[:PREVIEW].rstrip()}…"


def place_name(memory: Memory) -> str:
    """Return where a memory stands, as far as the reader may know."""
    if memory.project_id is None:
        return "personal" if memory.visibility == Visibility.PRIVATE else "tenant-wide"
    return "another project" if memory.project is None else memory.project.slug


def author_name(memory: Memory) -> str:
    """Return who wrote it."""
    if memory.author_agent_id is None:
        return memory.owner.name
    return UNNAMED_AGENT if memory.author_agent is None else memory.author_agent.name


@dataclass(frozen=True)
class Filter:
    """A way to narrow the feed, what there is to choose from, and what was chosen."""

    name: str
    label: str
    choices: list[tuple[str, str]]
    chosen: str


def filters(wish: Wish) -> list[Filter]:
    """Return the ways to narrow the feed. Belongs inside a door."""
    return filters_named(("kind", "project", "visibility", "author", "trust"), wish.values)


def filters_named(names: Sequence[str], chosen: Mapping[str, str]) -> list[Filter]:
    """Return some of the ways to narrow a list of memories. Belongs inside a door."""
    return [Filter(name, *_offered(name), chosen.get(name, "")) for name in names]


def _offered(name: str) -> tuple[str, list[tuple[str, str]]]:
    """Return what a filter is called, and what there is to choose from."""
    if name == "kind":
        return "Kind", [(kind.value, kind.value.replace("_", " ")) for kind in Kind]
    if name == "visibility":
        return "Visibility", [(one.value, one.value) for one in Visibility]
    if name == "trust":
        return "Trust", [(state.value, state.value) for state in TrustState]
    if name == "project":
        projects = Project.objects.order_by("slug")[:MOST_CHOICES]
        named = [(wire_id(Prefix.PROJECT, one.id), one.slug) for one in projects]
        return "Project", [*named, ("none", "no project")]
    members = [
        (wire_id(Prefix.MEMBER, one.id), one.name)
        for one in Member.objects.order_by("name", "id")[:MOST_CHOICES]
    ]
    agents = [
        (wire_id(Prefix.AGENT, one.id), f"{one.name} (agent)")
        for one in Agent.objects.order_by("name", "id")[:MOST_CHOICES]
    ]
    return "Author", members + agents
