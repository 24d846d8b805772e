"""
What a tenant's judge may use in a day: tokens, and money where their prices are known.

The database is asked before a job's questions. Between two of them this process adds what it has
spent since, so that what goes beyond the budget is what is being asked at that moment.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from hygiene.judge import Judge
from memory.conflict.put_off import MONEY_USED_UP, TOKENS_USED_UP
from tenants.context import whose_door
from tenants.jobs import NotNow

A_MILLION = 1_000_000


@dataclass(frozen=True)
class Spent:
    """What a judge has used today: what it was told, and what it said."""

    tokens_in: int
    tokens_out: int

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def money(self) -> float:
        """In the currency of the prices."""
        return (
            self.tokens_in * settings.JUDGE_PRICE_IN + self.tokens_out * settings.JUDGE_PRICE_OUT
        ) / A_MILLION

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)

    def __bool__(self) -> bool:
        return self.tokens > 0

    def over(self) -> str | None:
        """Return what of the day's budget is used up, in words; nothing if there is more."""
        if 0 < settings.JUDGE_TOKENS_PER_DAY <= self.tokens:
            return TOKENS_USED_UP
        if 0 < settings.JUDGE_MONEY_PER_DAY <= self.money:
            return MONEY_USED_UP
        return None


NOTHING_SPENT = Spent(0, 0)


@dataclass
class _Today:
    """
    What one process knows of a judge's day in a tenant: no statement is needed to add to it.

    :param told: by the database, when it was asked last
    :param spent: all that this process has spent
    :param recorded: as much of that as the database knows
    :param recorded_then: how much that was before it was asked last, so that `told` has it all
    """

    told: Spent = NOTHING_SPENT
    spent: Spent = NOTHING_SPENT
    recorded: Spent = NOTHING_SPENT
    recorded_then: Spent = NOTHING_SPENT

    def total(self) -> Spent:
        return self.told + self.spent - self.recorded_then


class _Here:
    """The days of this process's tenants and their judges."""

    days: dict[tuple[UUID, str, date], _Today] = {}
    lock = Lock()


def _today(tenant_id: UUID, judge: Judge) -> _Today:
    """Return the day that is kept, and forget those of other dates. With the lock."""
    today = datetime.now(UTC).date()
    key = (tenant_id, judge.id, today)
    if key not in _Here.days:
        _Here.days = {one: day for one, day in _Here.days.items() if one[2] == today}
        _Here.days[key] = _Today()
    return _Here.days[key]


def count_as_spent(tenant_id: UUID, judge: Judge, spent: Spent) -> None:
    """Count what an answer has cost as soon as it is there, long before it is recorded."""
    with _Here.lock:
        _today(tenant_id, judge).spent += spent


def count_as_recorded(judge: Judge, spent: Spent) -> None:
    """Note that the database knows of it, once the transaction is committed. Inside the door."""
    tenant_id = whose_door().tenant_id

    def note() -> None:
        with _Here.lock:
            _today(tenant_id, judge).recorded += spent

    if spent:
        transaction.on_commit(note)


def count_in_vain(judge: Judge, spent: Spent) -> None:
    """Record what was spent on a question to whose answer nothing came. In the door, as judge."""
    if spent:
        with connection.cursor() as cursor:
            used: list[Any] = [judge.id, spent.tokens_in, spent.tokens_out]
            cursor.execute("SELECT spend_in_vain(%s, %s, %s)", used)
        count_as_recorded(judge, spent)


def must_be_within_budget(judge: Judge) -> None:
    """
    Put judging off until tomorrow (UTC) once the day's budget is used up. Inside the door.

    :raises NotNow: if it is
    """
    if not _is_limited():
        return
    tenant_id = whose_door().tenant_id
    with _Here.lock:
        recorded = _today(tenant_id, judge).recorded
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tokens_in, tokens_out FROM judge_tokens_since(%s, %s)", [_midnight(), judge.id]
        )
        told = Spent(*cursor.fetchone())
    with _Here.lock:
        today = _today(tenant_id, judge)
        today.told, today.recorded_then = told, recorded
    must_have_some_left(tenant_id, judge)


def must_have_some_left(tenant_id: UUID, judge: Judge) -> None:
    """
    Put judging off likewise, by what this process knows without asking the database.

    :raises NotNow: if the day's budget is used up
    """
    if not _is_limited():
        return
    with _Here.lock:
        over = _today(tenant_id, judge).total().over()
    if over is not None:
        raise NotNow(over, after=_midnight() + timedelta(days=1) - datetime.now(UTC))


def _is_limited() -> bool:
    return settings.JUDGE_TOKENS_PER_DAY > 0 or settings.JUDGE_MONEY_PER_DAY > 0


def _midnight() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
