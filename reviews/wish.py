"""Which disputes somebody wants to see: a tab, filters, words, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from django.db.models import Count, FloatField, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from memory.conflict.policy import DROP_DUPLICATE, HIDE_CONTENT, ConflictKind
from memory.feed import MOST_CHOICES, Filter
from memory.finding.words import tsquery
from memory.models import Conflict, ConflictState
from tenants.caller import Caller
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Project

LONGEST_VALUE = 500
PAIRS, CHALLENGES, PROPOSALS, UNJUDGED = "pairs", "challenges", "proposals", "unjudged"
DEFERRED, AUTOMATIC, DECIDED, OVER = "deferred", "automatic", "decided", "over"
# Where something waits for a decision.
QUEUES = frozenset({PAIRS, CHALLENGES, UNJUDGED, DEFERRED})
LABELS = {
    PAIRS: "Pairs",
    CHALLENGES: "Challenges",
    PROPOSALS: "Proposals",
    UNJUDGED: "Unjudged",
    DEFERRED: "Deferred",
    AUTOMATIC: "Automatic",
    DECIDED: "Decided",
    OVER: "Moot",
}
NEWEST, OLDEST, CONFIDENT = "newest", "oldest", "confident"
SORTS = {NEWEST: "Newest first", OLDEST: "Oldest first", CONFIDENT: "Most confident first"}
AUTOMATICALLY = Q(state=ConflictState.RESOLVED, resolved_by_member=None)
_SURE = {
    "high": (f"at least {HIDE_CONTENT:.2f}", Q(verdict__confidence__gte=HIDE_CONTENT)),
    "middle": (
        f"{DROP_DUPLICATE:.2f} to {HIDE_CONTENT:.2f}",
        Q(verdict__confidence__gte=DROP_DUPLICATE, verdict__confidence__lt=HIDE_CONTENT),
    ),
    "low": (f"below {DROP_DUPLICATE:.2f}", Q(verdict__confidence__lt=DROP_DUPLICATE)),
}
_AGES = {
    "day": ("found in the last day", "created_at__gte", timedelta(days=1)),
    "week": ("found in the last week", "created_at__gte", timedelta(days=7)),
    "older": ("older than a week", "created_at__lt", timedelta(days=7)),
    "month": ("older than a month", "created_at__lt", timedelta(days=30)),
}
_WHOSE = {
    "assigned": "assigned to me",
    "nobody": "assigned to nobody",
    "mine": "about what is mine",
    "decided": "decided by me",
}
RELATION_NAMES = {
    "a_supersedes_b": "A supersedes B",
    "b_supersedes_a": "B supersedes A",
    "unusable": "no usable answer",
}
_RELATIONS = (
    "contradiction",
    "duplicate",
    "a_supersedes_b",
    "b_supersedes_a",
    "complementary",
    "unsure",
    "unusable",
)
# Of more memories than these nobody looks through the list that is found.
_WORDED = """
(conflicts.memory_a_id IN (SELECT memory_id FROM worded_memories(
     %s::tsquery, 'everything', NULL, '{live,superseded,retired}', true, NULL, 100000))
 OR conflicts.memory_b_id IN (SELECT memory_id FROM worded_memories(
     %s::tsquery, 'everything', NULL, '{live,superseded,retired}', true, NULL, 100000)))
"""
_FILTERS = ("project", "verdict", "kind", "confidence", "age", "whose")
# What says something of proposals, too.
FILTERS_OF_PROPOSALS = ("project", "age", "whose")


@dataclass(frozen=True)
class Wish:
    """Which disputes somebody wants to see: anything they did not say is empty."""

    state: str = PAIRS
    q: str = ""
    sort: str = NEWEST
    values: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "Wish":
        """Return what a query string says."""
        offered = FILTERS_OF_PROPOSALS if said.get("state") == PROPOSALS else _FILTERS
        values = {name: _clean(said.get(name)) for name in offered}
        state, sort = _clean(said.get("state")), _clean(said.get("sort"))
        return cls(
            state=state if state in LABELS else PAIRS,
            q=_clean(said.get("q")),
            sort=sort if sort in SORTS else NEWEST,
            values={name: value for name, value in values.items() if value},
        )

    @classmethod
    def told(cls, query: str) -> "Wish":
        """Return what a query string, as it stands in a form, says."""
        return cls.read(dict(parse_qsl(query[:8192].removeprefix("?"), max_num_fields=20)))

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.values)

    def query(self, **changes: str) -> str:
        """Return the query string of this wish with some of it changed, from the first page on."""
        said = {"state": self.state, "q": self.q, **self.values, "sort": self.sort, **changes}
        plain = {"state": PAIRS, "sort": NEWEST}
        left = {name: value for name, value in said.items() if value != plain.get(name, "")}
        return "?" + urlencode(left)


def _clean(value: object) -> str:
    return str(value or "").replace("\0", "").strip()[:LONGEST_VALUE]


def conditions(now: datetime) -> dict[str, Q]:
    """Return which conflicts stand in which tab; proposals are none."""
    later = Q(deferred_until__isnull=False, deferred_until__gt=now)
    pending = Q(state=ConflictState.PENDING)
    waits, unjudged = pending & ~later, Q(kind=ConflictKind.UNJUDGED)
    return {
        PAIRS: waits & Q(memory_b__isnull=False) & ~unjudged,
        CHALLENGES: waits & Q(memory_b__isnull=True) & ~unjudged,
        UNJUDGED: waits & unjudged,
        DEFERRED: pending & later,
        AUTOMATIC: AUTOMATICALLY,
        DECIDED: Q(state=ConflictState.RESOLVED, resolved_by_member__isnull=False),
        OVER: Q(state__in=(ConflictState.MOOT, ConflictState.DISMISSED)),
    }


def narrowed(caller: Caller, wish: Wish) -> QuerySet[Conflict]:
    """Return the conflicts in sight that somebody wants, in any state. Belongs inside a door."""
    wanted = Conflict.objects.all()
    for name, value in wish.values.items():
        wanted = wanted.filter(_condition(caller, name, value))
    return _searched(wanted, wish.q) if wish.q else wanted


def _condition(caller: Caller, name: str, value: str) -> Q:
    nothing = Q(pk__in=[])
    if name == "kind":
        return Q(kind=value)
    if name == "verdict":
        return Q(verdict__relation=value)
    if name == "confidence":
        return _SURE[value][1] if value in _SURE else nothing
    if name == "age":
        return of_age(value)
    if name == "whose":
        return _whose(caller).get(value, nothing)
    try:
        project = read_id(Prefix.PROJECT, value)
    except MalformedId:
        return nothing
    return Q(memory_a__project=project) | Q(memory_b__project=project)


def of_age(value: str) -> Q:
    """Return the condition for what is so old; of no such age, nothing is."""
    if value not in _AGES:
        return Q(pk__in=[])
    _, lookup, age = _AGES[value]
    return Q(**{lookup: timezone.now() - age})


def _whose(caller: Caller) -> dict[str, Q]:
    me = caller.member_id
    return {
        "assigned": Q(assigned_to=me),
        "nobody": Q(assigned_to=None),
        "mine": Q(memory_a__owner=me) | Q(memory_b__owner=me),
        "decided": Q(resolved_by_member=me),
    }


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
    # By the candidate function, which may use the index of words.
    return wanted.extra(where=[_WORDED], params=[query, query])  # noqa: S610  a constant


def in_tab(wanted: QuerySet[Conflict], wish: Wish) -> QuerySet[Conflict]:
    """Return those of the wanted tab in the wanted order: what is over, by when it ended."""
    found = wanted.filter(conditions(timezone.now())[wish.state])
    moment = _moment(wish)
    if wish.sort == CONFIDENT:
        surest = _with_sureness(found).order_by("-sureness", f"-{moment}", "-id")
        return cast("QuerySet[Conflict]", surest)
    sign = "" if wish.sort == OLDEST else "-"
    return found.order_by(f"{sign}{moment}", f"{sign}id")


def beside(
    caller: Caller, wish: Wish, conflict: Conflict
) -> tuple[Conflict | None, Conflict | None]:
    """
    Return what comes before and after a conflict in the wanted queue. Belongs inside a door.

    The conflict itself need not stand there any more: it may be decided by now.
    """
    if wish.state not in LABELS or wish.state == PROPOSALS:
        return None, None
    found = in_tab(narrowed(caller, wish), wish)
    later, earlier = _after(conflict, wish)
    return found.filter(earlier).reverse().first(), found.filter(later).first()


def how_many_before(caller: Caller, wish: Wish, conflict: Conflict) -> int:
    """Return how many of the wanted queue come before a conflict. Belongs inside a door."""
    earlier = None if wish.state == PROPOSALS else _after(conflict, wish)[1]
    return in_tab(narrowed(caller, wish), wish).filter(earlier).count() if earlier else 0


def _after(conflict: Conflict, wish: Wish) -> tuple[Q, Q]:
    """Return the conditions of standing after and before it."""
    moment = _moment(wish)
    at = getattr(conflict, moment) or conflict.created_at
    older = Q(**{f"{moment}__lt": at}) | Q(**{moment: at}, id__lt=conflict.id)
    newer = Q(**{f"{moment}__gt": at}) | Q(**{moment: at}, id__gt=conflict.id)
    if wish.sort == OLDEST:
        return newer, older
    if wish.sort == NEWEST:
        return older, newer
    sureness = confidence_of(conflict.verdict)
    sure = -1.0 if sureness is None else sureness
    same = Q(sureness=sure)
    return Q(sureness__lt=sure) | same & older, Q(sureness__gt=sure) | same & newer


def _moment(wish: Wish) -> str:
    return "created_at" if wish.state in QUEUES else "resolved_at"


def _with_sureness(found: QuerySet[Conflict]) -> Any:
    said = Cast(KeyTextTransform("confidence", "verdict"), FloatField())
    return found.annotate(sureness=Coalesce(said, -1.0))


def confidence_of(verdict: Mapping[str, Any] | None) -> float | None:
    """Return how sure the judge is, where it says."""
    confidence = (verdict or {}).get("confidence")
    return confidence if isinstance(confidence, int | float) else None


def tab_counts(wanted: QuerySet[Conflict]) -> dict[str, int]:
    """Return how many of the wanted ones stand in each tab, in one statement."""
    counts: dict[str, int] = wanted.aggregate(
        **{
            name: Count("id", filter=condition)
            for name, condition in conditions(timezone.now()).items()
        }
    )
    return counts


def _whose_of(wish: Wish) -> list[tuple[str, str]]:
    """Return what can be asked of whose something is; proposals are assigned to nobody."""
    return [one for one in _WHOSE.items() if wish.state != PROPOSALS or one[0] == "mine"]


def filters(wish: Wish) -> list[Filter]:
    """Return the ways to narrow the list. Belongs inside a door."""
    projects = [
        (wire_id(Prefix.PROJECT, one.id), one.slug)
        for one in Project.objects.order_by("slug")[:MOST_CHOICES]
    ]
    offered: dict[str, tuple[str, list[tuple[str, str]]]] = {
        "project": ("Project", projects),
        "kind": ("Kind", [(kind.value, kind.value.replace("_", " ")) for kind in ConflictKind]),
        "verdict": ("Verdict", [(one, RELATION_NAMES.get(one, one)) for one in _RELATIONS]),
        "confidence": ("Confidence", [(name, label) for name, (label, _) in _SURE.items()]),
        "age": ("Age", [(name, label) for name, (label, *_) in _AGES.items()]),
        "whose": ("Whose", _whose_of(wish)),
    }
    return [
        Filter(name, label, choices, wish.values.get(name, ""))
        for name, (label, choices) in offered.items()
    ]
