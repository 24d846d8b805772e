"""Which judges may act without a person."""

from hygiene.judge import Judge
from hygiene.models import Certificate
from memory.conflict.on_write import RULES


def is_certified(judge: Judge) -> bool:
    """
    Return whether the judge may act in the tenant whose door is open.

    `rules` is certified by its own benchmark. Any other needs a certificate for this very model and
    question; the newest one counts.
    """
    if judge.id == RULES:
        return True
    newest = (
        Certificate.objects.filter(judge=judge.id, prompt_version=judge.prompt_version)
        .order_by("-given_at", "-id")
        .first()
    )
    return newest is not None and newest.passed
