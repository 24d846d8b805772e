"""What a tenant's judge may use in a day: tokens, and money where their prices are known."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from hygiene.judge import Judge
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

    def __bool__(self) -> bool:
        return self.tokens > 0

    def over(self) -> str | None:
        """Return what of the day's budget is used up, in words; nothing if there is more."""
        if 0 < settings.JUDGE_TOKENS_PER_DAY <= self.tokens:
            return "the day's tokens for judging are used up"
        if 0 < settings.JUDGE_MONEY_PER_DAY <= self.money:
            return "the day's money for judging is used up"
        return None


NOTHING_SPENT = Spent(0, 0)


def count_in_vain(judge: Judge, spent: Spent) -> None:
    """Count what was spent on a question to which no answer came. In the door, as the judge."""
    if spent:
        with connection.cursor() as cursor:
            used: list[Any] = [judge.id, spent.tokens_in, spent.tokens_out]
            cursor.execute("SELECT spend_in_vain(%s, %s, %s)", used)


def must_be_within_budget(judge: Judge) -> None:
    """
    Put judging off until tomorrow (UTC) once the day's budget is used up. Inside the door.

    :raises NotNow: if it is
    """
    if settings.JUDGE_TOKENS_PER_DAY <= 0 and settings.JUDGE_MONEY_PER_DAY <= 0:
        return
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tokens_in, tokens_out FROM judge_tokens_since(%s, %s)", [midnight, judge.id]
        )
        spent = Spent(*cursor.fetchone())
    over = spent.over()
    if over is not None:
        raise NotNow(over, after=midnight + timedelta(days=1) - now)
