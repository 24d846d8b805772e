"""Letting a judge act, in every tenant of the installation, as the owner's commands do."""

from typing import Any

from django.db import transaction

from hygiene.judge import Judge
from hygiene.models import Certificate
from hygiene.selftest import Report
from tenants.founding import OWNER
from tenants.ids import new_id
from tenants.models import Event, Tenant


def certify(
    judge: Judge, *, passed: bool, reason: str, report: dict[str, Any] | None = None
) -> int:
    """
    Note in every tenant whether the judge may act from now on; return how many there are.

    :param reason: who vouches for it and why, or how it was tested
    """
    tenants = list(Tenant.objects.using(OWNER).order_by("id").values_list("id", flat=True))
    with transaction.atomic(using=OWNER):
        for tenant_id in tenants:
            certificate = Certificate.objects.using(OWNER).create(
                id=new_id(),
                tenant_id=tenant_id,
                judge=judge.id,
                prompt_version=judge.prompt_version,
                likeness=judge.likeness,
                passed=passed,
                reason=reason,
                report=report or {},
            )
            Event.objects.using(OWNER).create(
                id=new_id(),
                tenant_id=tenant_id,
                command="certify_judge" if passed else "refuse_judge",
                object_type="certificate",
                object_id=certificate.id,
                request_id="",
                reason=reason,
                after={"judge": judge.id, "prompt_version": judge.prompt_version, "passed": passed},
            )
    return len(tenants)


def as_kept(report: Report) -> dict[str, Any]:
    """Return what a self-test found, as it is kept with the certificate."""
    confusion: dict[str, dict[str, int]] = {}
    for (labelled, said), number in sorted(report.confusion().items()):
        confusion.setdefault(labelled, {})[said] = number
    return {
        "pairs": len(report.results),
        "protected_lost": report.protected_lost,
        "retirements": report.retirements,
        "false_invalidations": report.false_invalidations,
        "false_invalidations_of_pairs": round(report.false_rate, 4),
        "false_invalidations_of_retirements": round(report.false_rate_of_retirements, 4),
        "contradictions": report.clashing,
        "missed": report.missed,
        "needless_disputes": report.noise,
        "tokens_in": report.tokens_in,
        "tokens_out": report.tokens_out,
        "confusion": confusion,
        "against": list(report.why_not_certified),
    }
