"""
Whether judging is put off: what it takes is down or used up, as jobs that wait for it tell.

A writer is told so at once, and not that the judge will come to it soon.
"""

from django.conf import settings

from memory.conflict.left_to_the_judge import JUDGE_MEMORY, OFF
from memory.conflict.on_write import RULES
from tenants.jobs import is_put_off

# How the reasons begin for which a job is put off, as far as they are the judge's.
DOWN = "the judge is down"
MISCONFIGURED = "the judge is misconfigured"  # also in hygiene's policies.sql
TOKENS_USED_UP = "the day's tokens for judging are used up"
MONEY_USED_UP = "the day's money for judging is used up"


def judging_is_put_off() -> bool:
    """Return whether jobs of the tenant wait for a judge that cannot be asked. Inside a door."""
    if settings.JUDGE in (OFF, RULES):
        return False
    return is_put_off(JUDGE_MEMORY, (DOWN, MISCONFIGURED, TOKENS_USED_UP, MONEY_USED_UP))
