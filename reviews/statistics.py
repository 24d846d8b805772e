"""How reviewing goes, in numbers and plots: of the disputes that whoever asks may see."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Case, Count, F, FloatField, Q, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, TruncDate
from django.utils import timezone

from memory.conflict.policy import ConflictKind, Resolution
from memory.models import Conflict, ConflictState, DisputePeriod, Memory
from memory.text import visible
from reviews.plots import Plot, calibration, columns
from reviews.wish import AUTOMATICALLY, RELATION_NAMES

DAYS = 30
# How sure the judge was, from each of these on.
_SURE_FROM = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_ENDS = ("waits", "by policy", "by a person", "by an agent", "moot or dismissed")
_NAMES = {**RELATION_NAMES, "": "no verdict"}
_STYLES = {
    "waits": "in",
    "by policy": "calm",
    "by a person": "out",
    "by an agent": "agent",
    "moot or dismissed": "quiet",
}


@dataclass(frozen=True)
class Figure:
    """A plot with its numbers as a table, and what it shows."""

    id: str
    title: str
    tells: str
    plot: Plot
    legend: list[tuple[str, str]]
    heads: list[str]
    rows: list[list[str]]


def review_statistics() -> dict[str, Any]:
    """Return what the page shows. Belongs inside a door."""
    now = timezone.now()
    days = [(now - timedelta(days=back)).date() for back in range(DAYS - 1, -1, -1)]
    # The numbers of the first day begin with it, as those of the others.
    since = datetime.combine(days[0], time(), tzinfo=UTC)
    return {
        "days": DAYS,
        "figures": [_flow(days, since), _verdicts(since), _agreement(), _losses(days, since)],
    }


def _flow(days: list[date], since: datetime) -> Figure:
    came = _by_day("began_at", since)
    went = _by_day("ended_at", since)
    waiting = DisputePeriod.objects.filter(began_at__lt=since).filter(
        Q(ended_at=None) | Q(ended_at__gte=since)
    )
    level, levels = waiting.count(), []
    for day in days:
        level += came[day] - went[day]
        levels.append(level)
    ins, outs = [came[day] for day in days], [went[day] for day in days]
    series = [("in", "came in", ins), ("out", "went out", outs)]
    return Figure(
        id="flow",
        title="In and out of the queue",
        tells="How many disputes began and ended each day, and how many waited at its end.",
        plot=columns([_day(day) for day in days], series, line=levels),
        legend=[("in", "came in"), ("out", "went out"), ("line", "waiting")],
        heads=["Day", "Came in", "Went out", "Waiting"],
        rows=_table(days, ins, outs, levels),
    )


def _by_day(moment: str, since: datetime) -> Counter[date]:
    found = (
        DisputePeriod.objects.filter(**{f"{moment}__gte": since})
        .annotate(day=TruncDate(moment))
        .values("day")
        .annotate(number=Count("id"))
        .values_list("day", "number")
    )
    return Counter(dict(found))


def _verdicts(since: datetime) -> Figure:
    end = Case(
        When(state=ConflictState.PENDING, then=0),
        When(AUTOMATICALLY, then=1),
        When(state=ConflictState.RESOLVED, resolved_by_agent__isnull=True, then=2),
        When(state=ConflictState.RESOLVED, then=3),
        default=4,
    )
    found = (
        Conflict.objects.filter(created_at__gte=since)
        # Of what people call into question, or suspect, no judge said anything.
        .exclude(kind__in=(ConflictKind.CHALLENGED, ConflictKind.STALE_SUSPECT))
        .annotate(relation=KeyTextTransform("relation", "verdict"), end=end)
        .values("relation", "end")
        .annotate(number=Count("id"))
        .values_list("relation", "end", "number")
    )
    counts: dict[str, Counter[int]] = {}
    for relation, ended, number in found:
        counts.setdefault(relation or "", Counter())[ended] += number
    relations = sorted(counts, key=lambda one: -counts[one].total())
    names = [visible(_NAMES.get(one, one.replace("_", " "))) for one in relations]
    series = [
        (_STYLES[word], word, [counts[one][place] for one in relations])
        for place, word in enumerate(_ENDS)
    ]
    return Figure(
        id="verdicts",
        title="Verdicts, and what became of them",
        tells=f"Pairs found in the last {DAYS} days, by what the judge said of them.",
        plot=columns(names, series, stacked=True),
        legend=[(_STYLES[word], word) for word in _ENDS],
        heads=["Verdict", *(word.capitalize() for word in _ENDS), "All"],
        rows=[
            [name, *(str(counts[one][n]) for n in range(len(_ENDS))), str(counts[one].total())]
            for name, one in zip(names, relations, strict=True)
        ],
    )


def _agreement() -> Figure:
    sureness = Cast(KeyTextTransform("confidence", "verdict"), FloatField())
    decided = Conflict.objects.filter(
        state=ConflictState.RESOLVED,
        resolved_by_member__isnull=False,
        resolved_by_agent__isnull=True,
        recommended_winner__isnull=False,
        memory_b__isnull=False,
    ).exclude(resolution__in=(Resolution.MERGED, Resolution.KEEP_BOTH))
    found = (
        decided.annotate(sureness=sureness, agrees=Case(
            When(winner=F("recommended_winner"), then=1), default=0
        ))
        .values("sureness", "agrees")
        .annotate(number=Count("id"))
        .values_list("sureness", "agrees", "number")
    )  # fmt: skip
    bins = _in_bins(found)
    points = [
        (weight / total, agreed / total, total) for total, agreed, weight in bins.values() if total
    ]
    return Figure(
        id="agreement",
        title="Reviewers and the judge",
        tells="How often people let the side win that was recommended, where they let one win, by "
        "how sure the judge was. What they kept or merged is left out, and what agents decided. "
        "On the dashed line the judge is as right as it says; below it, too sure of itself.",
        plot=calibration(points),
        legend=[("calm", "decided by people; larger: more of them")],
        heads=["Judge's confidence", "Decided", "As recommended", "Share"],
        rows=[
            [
                f"from {start:.2f}",
                str(total),
                str(agreed),
                f"{agreed / total:.0%}" if total else "—",
            ]
            for start, (total, agreed, _) in bins.items()
        ],
    )


def _in_bins(
    found: Iterable[tuple[float | None, int, int]],
) -> Mapping[float, tuple[int, int, float]]:
    """Return how many there are from each confidence on, how many agree, and their sum of it."""
    bins = dict.fromkeys(_SURE_FROM, (0, 0, 0.0))
    for sureness, agrees, number in found:
        if sureness is None:
            continue
        start = max((one for one in _SURE_FROM if one <= sureness), default=0.0)
        total, agreed, weight = bins[start]
        bins[start] = (total + number, agreed + agrees * number, weight + sureness * number)
    return bins


def _losses(days: list[date], since: datetime) -> Figure:
    live = Memory.objects.filter(invalidated_at=None).values("id")
    # Whatever became of the winner since.
    back = Q(winner=F("memory_a"), memory_b__in=live) | Q(winner=F("memory_b"), memory_a__in=live)
    found = (
        Conflict.objects.filter(AUTOMATICALLY, resolved_at__gte=since)
        .annotate(day=TruncDate("resolved_at"))
        .values("day")
        .annotate(lost=Count("id"), restored=Count("id", filter=back))
        .values_list("day", "lost", "restored")
    )
    by_day = {day: (lost, restored) for day, lost, restored in found}
    lost = [by_day.get(day, (0, 0))[0] for day in days]
    restored = [by_day.get(day, (0, 0))[1] for day in days]
    stayed = [one - other for one, other in zip(lost, restored, strict=True)]
    series = [("bad", "retired and not brought back", stayed), ("out", "restored since", restored)]
    return Figure(
        id="losses",
        title="Automatic losses",
        tells="How many memories the policy retired by itself each day, and how many of them "
        "somebody brought back since.",
        plot=columns([_day(day) for day in days], series, stacked=True),
        legend=[("bad", "retired"), ("out", "restored since")],
        heads=["Day", "Retired", "Restored since"],
        rows=_table(days, lost, restored),
    )


def _day(day: date) -> str:
    return f"{day:%m-%d}"


def _table(days: list[date], *numbers: list[int]) -> list[list[str]]:
    """Return a row for each day on which there was something, newest first."""
    rows = [
        [day.isoformat(), *map(str, row)]
        for day, *row in zip(days, *numbers, strict=True)
        if any(row)
    ]
    return rows[::-1]
