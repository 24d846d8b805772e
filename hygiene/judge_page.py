"""What people may know of the judge: its certificate, its verdicts as numbers, what it has used."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from hygiene.asking import UNUSABLE
from hygiene.certified import certificate_of, is_certified
from hygiene.health import Alarm, alarms_of, facts_at
from hygiene.judge import Judge, Said
from hygiene.judging import configured_judge
from memory.conflict.on_write import RULES
from memory.conflict.policy import Deed
from memory.text import visible

LATELY = timedelta(days=30)
# Workers are nobody's in particular: inside a door they are out of sight.
WORKERS_UNKNOWN = 1
_RELATIONS = (*(one.value for one in Said), UNUSABLE)
_NAMES = {
    Said.A_SUPERSEDES_B: "older supersedes",
    Said.B_SUPERSEDES_A: "newer supersedes",
    UNUSABLE: "no usable answer",
}
_DEEDS = tuple(one.value for one in Deed)


def judge_page() -> dict[str, Any]:
    """Return what the judge's page shows. Belongs inside a door."""
    now, judge = datetime.now(UTC), configured_judge()
    facts, budget = facts_at(now, judge), settings.JUDGE_TOKENS_PER_DAY
    return {
        **_standing(judge),
        **verdicts_since(now - LATELY),
        "deeds": _DEEDS,
        "used": facts.spent.tokens,
        "budget": budget,
        "of_budget": f"{facts.spent.tokens:,} of {budget:,}",
        "brake": facts.is_braked,
        "alarms": _shown(alarms_of(facts, WORKERS_UNKNOWN, now)),
    }


def alarms() -> list[str]:
    """Return what a person should look after. Belongs inside a door."""
    now = datetime.now(UTC)
    return _shown(alarms_of(facts_at(now, configured_judge()), WORKERS_UNKNOWN, now))


def _shown(found: Iterable[Alarm]) -> list[str]:
    return [alarm.message for alarm in found]


def _standing(judge: Judge | None) -> dict[str, Any]:
    if judge is None:
        return {"judge": None}
    certificate = certificate_of(judge)
    return {
        "judge": judge,
        "is_rules": judge.id == RULES,
        "certified": is_certified(judge),
        "certificate": certificate,
        "reason": visible(certificate.reason) if certificate else "",
        "report": report_of(certificate.report) if certificate else [],
    }


def verdicts_since(since: datetime) -> dict[str, Any]:
    """Return how many verdicts there were, by relation and by what was done, and by judge."""
    by_relation: dict[str, Counter[str]] = {relation: Counter() for relation in _RELATIONS}
    by_judge: Counter[str] = Counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT relation, deed, judge, pairs FROM judged_lately(%s)", [since])
        for relation, deed, judge, pairs in cursor.fetchall():
            by_relation.setdefault(relation, Counter())[deed] += pairs
            by_judge[judge] += pairs
    most = max((counts.total() for counts in by_relation.values()), default=0)
    return {
        "total": by_judge.total(),
        "judges": by_judge.most_common(),
        "verdicts": [_bar(relation, counts, most) for relation, counts in by_relation.items()],
        "deed_totals": [sum(counts[deed] for counts in by_relation.values()) for deed in _DEEDS],
    }


def _bar(relation: str, counts: Mapping[str, int], most: int) -> dict[str, Any]:
    return {
        "relation": _NAMES.get(relation, relation.replace("_", " ")),
        "total": sum(counts.values()),
        "counts": [counts[deed] for deed in _DEEDS],
        "bars": [
            {"deed": deed, "count": counts[deed], "share": f"{100 * counts[deed] / most:.2f}"}
            for deed in _DEEDS
            if counts[deed]
        ],
    }


def report_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a self-test's report line by line: what is long or nested apart from what is not."""
    return [_figure(str(name), value) for name, value in report.items()]


def _figure(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str | int):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, indent=1)
    return {
        "name": visible(name.replace("_", " ")),
        "text": visible(text),
        "is_long": "\n" in text,
    }
