"""
How many new memories a tenant may have in a day (UTC), so that one cannot fill the disk of all.

What repeats and is absorbed is none, and what a reviewer merges is never refused.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection

from tenants.refusals import RateLimited


class QuotaExceeded(RateLimited):
    code = "quota_exceeded"
    title = "No more new memories today"


def must_have_room_today() -> None:
    """
    Refuse what was just written where the tenant has more new memories now than a day may bring.

    Inside the door, and last of all: the tenant's next write waits here until this is committed.

    :raises QuotaExceeded: if it has; what was written goes with the transaction
    """
    most = settings.MEMORIES_PER_DAY
    if most == 0:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_at_most_today(%s)", [most])
        has_room = cursor.fetchone()[0]
    if has_room:
        return
    now = datetime.now(UTC)
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    raise QuotaExceeded(
        f"The tenant's limit of new memories a day is {most:,}, and it is reached; come again at "
        f"{tomorrow:%Y-%m-%dT%H:%M:%SZ}, or ask your operator for more (MEMORIES_PER_DAY).",
        retry_after=int((tomorrow - now).total_seconds()) + 1,
    )
