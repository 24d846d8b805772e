"""When something is due to be looked at again: by its own date, or its project's for its kind."""

from datetime import datetime, timedelta


def is_overdue(
    at: datetime,
    *,
    review_after: datetime | None,
    days: int | None,
    verified_at: datetime | None,
    written_at: datetime,
) -> bool:
    """
    Return whether it should have been looked at by now.

    :param days: the project's interval for the kind, counted from when it was last verified
    """
    looked_at = verified_at or written_at
    if review_after is not None and looked_at < review_after <= at:
        return True
    return days is not None and looked_at + timedelta(days=days) <= at
