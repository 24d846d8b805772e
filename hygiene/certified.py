"""Which judges may act without a person."""

from hygiene.judge import Judge
from hygiene.models import Certificate
from memory.conflict.on_write import RULES


def certificate_of(judge: Judge) -> Certificate | None:
    """
    Return what was last said of the judge in the tenant whose door is open, for or against it.

    Of this very judge: the model by its name, the server it is asked at, the question's version,
    and the text of the question itself, whatever that is called.
    """
    given = Certificate.objects.filter(
        judge=judge.id, prompt_version=judge.prompt_version, likeness=judge.likeness
    )
    return given.order_by("-given_at", "-id").first()


def is_certified(judge: Judge) -> bool:
    """
    Return whether the judge may act in the tenant whose door is open.

    `rules` is certified by its own benchmark. Any other needs a certificate; the newest one counts.
    """
    if judge.id == RULES:
        return True
    newest = certificate_of(judge)
    return newest is not None and newest.passed
