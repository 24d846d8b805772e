"""Whether the machine's side is alive and well: what it did, what waits, and what is alarming."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from hygiene.budget import Spent
from hygiene.certified import is_certified
from hygiene.judge import Judge
from hygiene.judging import configured_judge, there_can_be_no_judge
from hygiene.models import Sweep
from hygiene.sweep import sweep_wire
from memory.conflict.act import MOST_RETIRED, MOST_RETIRED_SHARE
from memory.conflict.listing import lost_of_ones_own
from tenants.caller import Caller
from tenants.context import acting_as, must_be_outside
from tenants.ids import moment
from tenants.job_desk import workers_alive
from tenants.once import Answer

WINDOW = timedelta(hours=24)
TOO_OLD = timedelta(minutes=15)  # for a job to wait
TIME_TO_BEGIN = timedelta(minutes=1)
MANY = 50  # memories of which some are near each other, in all likelihood
SOME = 5  # verdicts: so many that are of no use are no accident

NOTHING_EXAMINED = "nothing_examined"
NOTHING_USABLE = "nothing_usable"
MISCONFIGURED = "judge_misconfigured"
BRAKE_ON = "brake_on"
JOBS_FAILED = "judge_jobs_failed"
UNJUDGED = "pairs_unjudged"
WAITING_TOO_LONG = "jobs_waiting_too_long"
NO_WORKER = "no_worker"
BUDGET_USED_UP = "budget_used_up"
JUDGING_OFF = "judging_off"
ALARMS = (
    NOTHING_EXAMINED,
    NOTHING_USABLE,
    MISCONFIGURED,
    UNJUDGED,
    BRAKE_ON,
    JOBS_FAILED,
    WAITING_TOO_LONG,
    NO_WORKER,
    BUDGET_USED_UP,
    JUDGING_OFF,
)


@dataclass(frozen=True)
class Alarm:
    """
    Something that a person should look after.

    :param since: when it began, where that is known
    """

    code: str
    message: str
    since: datetime | None = None


@dataclass(frozen=True)
class Facts:
    """
    What the database tells of a tenant's hygiene: numbers and times of the window.

    :param left_to_judge: jobs for memories that had to be compared with others
    :param misconfigured: since when the judge cannot be asked as it is set up
    :param failed: jobs whose work is not done: nobody has tried them again
    :param unjudged: pairs that wait for a person because there was no usable verdict
    """

    written: int
    left_to_judge: int
    first_left: datetime | None
    examined: int
    unusable: int
    waiting: int
    oldest_waiting: datetime | None
    deferred: int
    first_deferred: datetime | None
    misconfigured: datetime | None
    failed: int
    first_failed: datetime | None
    tokens_in: int
    tokens_out: int
    last_spent: datetime | None
    automatic: int
    disputes: int
    pending: int
    unjudged: int
    first_unjudged: datetime | None
    retired: int
    last_retired: datetime | None
    live: int

    @property
    def spent(self) -> Spent:
        return Spent(self.tokens_in, self.tokens_out)

    @property
    def is_braked(self) -> bool:
        return self.retired >= max(MOST_RETIRED, int(self.live * MOST_RETIRED_SHARE))

    def is_silent(self, now: datetime) -> bool:
        """Return whether nothing was examined, although there was something to examine."""
        if self.written == 0 or self.examined > 0:
            return False
        is_put_off = self.first_deferred is not None and now - self.first_deferred > TIME_TO_BEGIN
        return self.left_to_judge > 0 or is_put_off or self.written >= MANY

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Facts":
        """Return the facts that the database's function tells."""
        read: dict[str, Any] = {
            name: datetime.fromisoformat(value) if isinstance(value, str) else value
            for name, value in told.items()
        }
        return cls(**read)


def hygiene_health(caller: Caller) -> Answer:
    """Tell whether judging is alive: what was examined and done in a day, what waits, alarms."""
    workers = workers_alive()
    now = datetime.now(UTC)
    judge = configured_judge()
    with acting_as(caller):
        facts = facts_at(now, judge)
        last = Sweep.objects.order_by("-started_at", "-id").first()
        return {
            "since": moment(now - WINDOW),
            "judge": settings.JUDGE if judge is None else judge.id,
            "prompt_version": None if judge is None else judge.prompt_version,
            "certified": judge is not None and is_certified(judge),
            "pairs_examined": facts.examined,
            "verdicts": _verdicts(now),
            "automatic_actions": facts.automatic,
            "disputes": facts.disputes,
            "disputes_pending": facts.pending,
            "unjudged": facts.unjudged,
            "deferred": facts.deferred,
            "jobs_waiting": facts.waiting,
            "jobs_failed": facts.failed,
            "workers_alive": workers,
            "tokens_today": facts.spent.tokens,
            "tokens_a_day": max(0, settings.JUDGE_TOKENS_PER_DAY) or None,
            "money_today": round(facts.spent.money, 4),
            "money_a_day": settings.JUDGE_MONEY_PER_DAY or None,
            "lost_of_yours": lost_of_ones_own(caller, since=now - WINDOW),
            "brake_on": facts.is_braked,
            "last_sweep": None if last is None else sweep_wire(last),
            "alarms": [
                {"code": one.code, "message": one.message, "since": moment(one.since)}
                for one in alarms_of(facts, workers, now)
            ],
        }


def alarm_counts() -> dict[str, int]:
    """Return in how many tenants each alarm is on. Outside the door, for the metrics."""
    must_be_outside("alarm_counts()")
    now, judge, workers = datetime.now(UTC), configured_judge(), workers_alive()
    with connection.cursor() as cursor:
        cursor.execute("SELECT hygiene_facts_of_all(%s, %s, %s)", _asked(now, judge))
        told = [Facts.read(json.loads(row)) for (row,) in cursor.fetchall()]
    counts = Counter(alarm.code for facts in told for alarm in alarms_of(facts, workers, now))
    if workers == 0:
        counts[NO_WORKER] = max(1, counts[NO_WORKER])
    return {code: counts[code] for code in ALARMS}


def alarms_of(facts: Facts, workers: int, now: datetime) -> list[Alarm]:
    """Return what is alarming about the facts."""
    return [*_about_judging(facts, now), *_about_work(facts, workers, now)]


def _about_judging(facts: Facts, now: datetime) -> Iterable[Alarm]:
    if facts.is_silent(now):
        yield Alarm(
            NOTHING_EXAMINED,
            f"{facts.written} memories were written, and no pair was examined: "
            f"{facts.left_to_judge} were left to the judge, {facts.deferred} jobs are put off.",
            facts.first_left or facts.first_deferred,
        )
    if facts.examined >= SOME and facts.unusable == facts.examined:
        yield Alarm(
            NOTHING_USABLE,
            f"{facts.examined} pairs were examined, and none of the judge's answers was of use.",
        )
    if facts.misconfigured is not None or there_can_be_no_judge():
        yield Alarm(
            MISCONFIGURED,
            "The judge's server refuses all that it is asked, or there can be no judge as it is "
            "configured. Check JUDGE, JUDGE_BASE_URL and JUDGE_API_KEY; the jobs tell what was "
            "wrong.",
            facts.misconfigured,
        )
    if facts.unjudged > 0:
        yield Alarm(
            UNJUDGED,
            f"Of {facts.unjudged} pairs there is no verdict: the judge gave no answer of use. "
            "People decide them; or whoever owns the newer memory has them asked about once more, "
            "with POST /hygiene/sweeps. Another judge is asked by the next sweep.",
            facts.first_unjudged,
        )
    if settings.JUDGE == "off" and facts.written > 0:
        yield Alarm(JUDGING_OFF, "JUDGE is off: what is written is compared with nothing.")
    if facts.is_braked:
        yield Alarm(
            BRAKE_ON,
            f"{facts.retired} memories were retired automatically within an hour; for now all "
            "others become disputes.",
            facts.last_retired,
        )


def _about_work(facts: Facts, workers: int, now: datetime) -> Iterable[Alarm]:
    if facts.failed > 0:
        yield Alarm(
            JOBS_FAILED,
            f"{facts.failed} jobs of judging or embedding have failed, and what they were to "
            "compare is not compared. The next sweep tries them again, and so may an administrator "
            "on the page of jobs.",
            facts.first_failed,
        )
    if facts.oldest_waiting is not None and now - facts.oldest_waiting > TOO_OLD:
        yield Alarm(
            WAITING_TOO_LONG,
            "A job of judging or embedding has waited for more than "
            f"{TOO_OLD.seconds // 60} minutes.",
            facts.oldest_waiting,
        )
    if workers == 0:
        yield Alarm(NO_WORKER, "No worker has given a sign of life lately.")
    over = facts.spent.over()
    if over is not None:
        why = f"{over[0].upper()}{over[1:]}; judging goes on at midnight UTC."
        yield Alarm(BUDGET_USED_UP, why, facts.last_spent)


def facts_at(now: datetime, judge: Judge | None) -> Facts:
    """Return the facts of the tenant whose door is open."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT hygiene_facts(%s, %s, %s)", _asked(now, judge))
        (told,) = cursor.fetchone()
    return Facts.read(json.loads(told))


def _asked(now: datetime, judge: Judge | None) -> list[Any]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return [now - WINDOW, today, "" if judge is None else judge.id]


def _verdicts(now: datetime) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relation, sum(pairs)::bigint FROM judged_lately(%s) GROUP BY 1 ORDER BY 1",
            [now - WINDOW],
        )
        return dict(cursor.fetchall())
