"""What a tenant's judge may use in a day."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection

from hygiene.judge import Judge
from tenants.jobs import NotNow


def must_be_within_budget(judge: Judge) -> None:
    """
    Put judging off until tomorrow (UTC) once the day's tokens are used up. Inside the door.

    :raises NotNow: if they are
    """
    if settings.JUDGE_TOKENS_PER_DAY <= 0:
        return
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_tokens_since(%s, %s)", [midnight, judge.id])
        (used,) = cursor.fetchone()
    if used >= settings.JUDGE_TOKENS_PER_DAY:
        tomorrow = midnight + timedelta(days=1)
        raise NotNow("the day's tokens for judging are used up", after=tomorrow - now)
