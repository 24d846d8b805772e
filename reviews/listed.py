"""Conflicts on a line each: which there are, narrowed, page by page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from memory.authority import owns
from memory.conflict.policy import DROP_DUPLICATE, HIDE_CONTENT, ConflictKind
from memory.feed import MOST_CHOICES, Filter, Line, in_brief, lines
from memory.finding.words import tsquery
from memory.models import Conflict, ConflictState, Door, Memory, Visibility
from memory.place import reviewable_projects, writable_projects
from memory.text import visible
from tenants.caller import Caller
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Project

PER_PAGE = 25
LATELY = timedelta(days=7)
LONGEST_VALUE = 500
WAITING = "pending"
_AUTOMATIC = Q(state=ConflictState.RESOLVED, resolved_by_member=None)
TABS = {
    WAITING: ("Pending", Q(state=ConflictState.PENDING)),
    "automatic": ("Resolved automatically", _AUTOMATIC),
    "decided": (
        "Decided by people",
        Q(state=ConflictState.RESOLVED, resolved_by_member__isnull=False),
    ),
    "over": ("Moot or dismissed", Q(state__in=(ConflictState.MOOT, ConflictState.DISMISSED))),
}
_SURE = {
    "high": (f"at least {HIDE_CONTENT:.2f}", Q(verdict__confidence__gte=HIDE_CONTENT)),
    "middle": (
        f"{DROP_DUPLICATE:.2f} to {HIDE_CONTENT:.2f}",
        Q(verdict__confidence__gte=DROP_DUPLICATE, verdict__confidence__lt=HIDE_CONTENT),
    ),
    "low": (f"below {DROP_DUPLICATE:.2f}", Q(verdict__confidence__lt=DROP_DUPLICATE)),
}
RELATION_NAMES = {
    "a_supersedes_b": "A supersedes B",
    "b_supersedes_a": "B supersedes A",
    "unusable": "no usable answer",
}


@dataclass(frozen=True)
class Wish:
    """Which conflicts somebody wants to see: anything they did not say is empty."""

    state: str
    q: str
    values: dict[str, str]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "Wish":
        """Return what a query string says."""
        values = {name: _clean(said.get(name)) for name in ("kind", "project", "confidence")}
        state = _clean(said.get("state"))
        return cls(
            state=state if state in TABS else WAITING,
            q=_clean(said.get("q")),
            values={name: value for name, value in values.items() if value},
        )

    def query(self, **changes: str) -> str:
        """Return the query string of this wish with some of it changed, from the first page on."""
        said = {"state": self.state, "q": self.q, **self.values, **changes}
        if said["state"] == WAITING:
            said["state"] = ""
        return "?" + urlencode({name: value for name, value in said.items() if value})


def _clean(value: object) -> str:
    return str(value or "").replace("\0", "").strip()[:LONGEST_VALUE]


def narrowed(wish: Wish) -> QuerySet[Conflict]:
    """Return the conflicts in sight that somebody wants, in any state. Belongs inside a door."""
    wanted = Conflict.objects.all()
    for name, value in wish.values.items():
        wanted = wanted.filter(_condition(name, value))
    return _searched(wanted, wish.q) if wish.q else wanted


def _condition(name: str, value: str) -> Q:
    if name == "kind":
        return Q(kind=value)
    if name == "confidence":
        return _SURE[value][1] if value in _SURE else Q(pk__in=[])
    try:
        project = read_id(Prefix.PROJECT, value)
    except MalformedId:
        return Q(pk__in=[])
    return Q(memory_a__project=project) | Q(memory_b__project=project)


def _searched(wanted: QuerySet[Conflict], q: str) -> QuerySet[Conflict]:
    for prefix in (Prefix.CONFLICT, Prefix.MEMORY):
        try:
            named = read_id(prefix, q)
        except MalformedId:
            continue
        return wanted.filter(Q(pk=named) | Q(memory_a=named) | Q(memory_b=named))
    query = tsquery(q)
    if not query:
        return wanted.none()
    return wanted.extra(
        where=[
            (
                "EXISTS (SELECT FROM memories m WHERE m.tenant_id = conflicts.tenant_id"
                " AND m.id IN (conflicts.memory_a_id, conflicts.memory_b_id)"
                " AND m.words @@ %s::tsquery)"
            )
        ],
        params=[query],
    )


def in_tab(wanted: QuerySet[Conflict], wish: Wish) -> QuerySet[Conflict]:
    """Return those of the wanted tab, newest first: what is over, by when it ended."""
    newest = "-created_at" if wish.state == WAITING else "-resolved_at"
    return wanted.filter(TABS[wish.state][1]).order_by(newest, "-id")


def tabs(wanted: QuerySet[Conflict], wish: Wish) -> list[dict[str, Any]]:
    """Return the tabs with how many of the wanted ones each has, in one statement."""
    counts = wanted.aggregate(
        **{name: Count("id", filter=condition) for name, (_, condition) in TABS.items()}
    )
    return [
        {
            "name": name,
            "label": label,
            "count": counts[name],
            "query": wish.query(state=name),
            "chosen": name == wish.state,
        }
        for name, (label, _) in TABS.items()
    ]


def filters(wish: Wish) -> list[Filter]:
    """Return the ways to narrow the list. Belongs inside a door."""
    projects = [
        (wire_id(Prefix.PROJECT, one.id), one.slug)
        for one in Project.objects.order_by("slug")[:MOST_CHOICES]
    ]
    offered = {
        "kind": ("Kind", [(kind.value, kind.value.replace("_", " ")) for kind in ConflictKind]),
        "project": ("Project", projects),
        "confidence": ("Confidence", [(name, label) for name, (label, _) in _SURE.items()]),
    }
    return [
        Filter(name, label, choices, wish.values.get(name, ""))
        for name, (label, choices) in offered.items()
    ]


@dataclass(frozen=True)
class Said:
    """What the judge said of two memories."""

    relation: str
    confidence: float | None
    reasoning: str
    shared_subject: str
    missing: Sequence[str]
    judge: str
    prompt_version: str


def said_of(conflict: Conflict) -> Said:
    """Return the verdict of a conflict with nothing deceptive in it; where there is none, empty."""
    verdict = conflict.verdict or {}
    relation = str(verdict.get("relation", ""))
    confidence = verdict.get("confidence")
    return Said(
        relation=RELATION_NAMES.get(relation, visible(relation.replace("_", " "))),
        confidence=confidence if isinstance(confidence, int | float) else None,
        reasoning=visible(str(verdict.get("reasoning") or "")),
        shared_subject=visible(str(verdict.get("shared_subject") or "")),
        missing=[visible(str(one)) for one in verdict.get("missing_specifics") or ()],
        judge=visible(str(verdict.get("judge") or "")),
        prompt_version=visible(str(verdict.get("prompt_version") or "")),
    )


@dataclass(frozen=True)
class Row:
    """
    A conflict on a line.

    :param letter: which side won, or is recommended: A, B or none
    :param loser: the side that the policy retired, if it did
    :param is_back: it was restored since
    """

    id: str
    kind: str
    state: str
    row: str
    said: Said
    a: Line | None
    b: Line | None
    letter: str
    loser: Line | None
    is_back: bool
    may_restore: bool
    at: datetime


def rows(caller: Caller, conflicts: Iterable[Conflict]) -> list[Row]:
    """Return a line for each, in a fixed number of statements. Belongs inside a door."""
    conflicts = list(conflicts)
    ids = {each.memory_a_id for each in conflicts}
    ids |= {each.memory_b_id for each in conflicts if each.memory_b_id is not None}
    memories = list(in_brief(Memory.objects.filter(id__in=ids)))
    shown = dict(zip((one.id for one in memories), lines(memories, timezone.now()), strict=True))
    kept = {one.id: one for one in memories}
    restorable = _restorable(caller, memories)
    return [_row(conflict, shown, kept, restorable) for conflict in conflicts]


def _row(
    conflict: Conflict,
    shown: Mapping[UUID, Line],
    kept: Mapping[UUID, Memory],
    restorable: set[UUID],
) -> Row:
    lost = loser_of(conflict)
    loser = kept.get(lost) if lost is not None else None
    return Row(
        id=wire_id(Prefix.CONFLICT, conflict.id),
        kind=conflict.kind,
        state=conflict.state,
        row=conflict.row,
        said=said_of(conflict),
        a=shown.get(conflict.memory_a_id),
        b=None if conflict.memory_b_id is None else shown.get(conflict.memory_b_id),
        letter=letter_of(conflict, conflict.winner_id or conflict.recommended_winner_id),
        loser=None if loser is None else shown[loser.id],
        is_back=loser is not None and loser.invalidated_at is None,
        may_restore=loser is not None and loser.id in restorable,
        at=conflict.resolved_at or conflict.created_at,
    )


def letter_of(conflict: Conflict, memory_id: UUID | None) -> str:
    """Return which side of the conflict it is."""
    if memory_id is None:
        return ""
    return "A" if memory_id == conflict.memory_a_id else "B"


def loser_of(conflict: Conflict) -> UUID | None:
    """Return the side that lost to the other, if one did."""
    if conflict.winner_id is None or conflict.memory_b_id is None:
        return None
    won_by_a = conflict.winner_id == conflict.memory_a_id
    return conflict.memory_b_id if won_by_a else conflict.memory_a_id


def _restorable(caller: Caller, memories: Sequence[Memory]) -> set[UUID]:
    """Return those that get a button. The operation decides again when it is pressed."""
    gone = [one for one in memories if one.invalidated_at is not None]
    if not gone:
        return set()
    writable, reviewable = writable_projects(), reviewable_projects()
    return {one.id for one in gone if _may_restore(caller, one, writable, reviewable)}


def _may_restore(
    caller: Caller, memory: Memory, writable: frozenset[UUID], reviewable: frozenset[UUID]
) -> bool:
    if owns(caller, memory):
        return True
    if memory.visibility == Visibility.PRIVATE or memory.project_id is None:
        return False
    by_review = memory.invalidated_reason in (Door.RETIRED, Door.REJECTED)
    writes = memory.project_id in writable and caller.level >= memory.author_level
    return memory.project_id in reviewable or (writes and not by_review)


def lost_automatically(since: datetime) -> QuerySet[Conflict]:
    """Return what the policy resolved by itself since then. Belongs inside a door."""
    return Conflict.objects.filter(_AUTOMATIC, resolved_at__gte=since)
