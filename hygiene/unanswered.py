"""
Pairs about which a judge gives no answer, although it answers others.

A server can fail at one question for ever: it is too much for it, or something stands in it. A
server that is down fails at all of them. Which of the two it is, a question of our own tells.
"""

from datetime import UTC, datetime

from hygiene.budget import Spent
from hygiene.judge import Exhibit, Judge, JudgeDown, Unusable
from memory.models import Kind

MOST_TRIES = 3
"""So often is a pair asked about, each time in another job or at another time of the same one."""

UNANSWERED = "unanswered"  # also in policies.sql
NO_ANSWER_YET = "no answer about some pairs yet"

_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
_CONTROL = tuple(
    Exhibit(content, Kind.FACT, rank=1, level=20, written_at=_WRITTEN)
    for content in ("Water boils at 100 degrees Celsius.", "The library opens at nine.")
)


def answers_others(judge: Judge) -> tuple[bool, Spent]:
    """Return whether the judge answers something easy, and what that cost. Outside the door."""
    try:
        opinion = judge.compare(*_CONTROL)
    except Unusable as error:
        return True, Spent(error.tokens_in, error.tokens_out)
    except JudgeDown as error:
        return False, Spent(error.tokens_in, error.tokens_out)
    return True, Spent(opinion.tokens_in, opinion.tokens_out)


def gave_none(why: str) -> str:
    """Return why there is no verdict on a pair that was asked about often enough."""
    return f"no answer in {MOST_TRIES} attempts, though to other questions: {why}"
