"""`manage.py verify_audit`: is the record of what was done as it was written?"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.founding import OWNER
from tenants.models import Tenant
from tenants.sealing import ANCHORS, Anchor, read_anchors
from tenants.verifying import Verdict, verify


class Command(BaseCommand):
    help = "Verify the chain of events of each tenant; fails if one does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take which tenant, and a file of anchors that was kept elsewhere."""
        parser.add_argument("--tenant", help="the slug of one tenant; all of them if not given")
        parser.add_argument(
            "--anchors", type=Path, help=f"a file of anchors; DATA_DIR/{ANCHORS} if not given"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Verify, and say of each tenant how far it holds.

        :raises CommandError: if a chain does not hold, or there is nothing to verify
        """
        if OWNER not in settings.DATABASES:
            raise CommandError("Set OWNER_DATABASE_URL, or use `python -m deploy.here`.")
        tenants = Tenant.objects.using(OWNER).order_by("slug")
        if options["tenant"]:
            tenants = tenants.filter(slug=options["tenant"])
            if not tenants:
                raise CommandError(f"There is no tenant {options['tenant']!r}.")
        anchors = self._anchors(options["anchors"])
        verdicts = [verify(tenant, anchors, using=OWNER) for tenant in tenants]
        for verdict in verdicts:
            self.stdout.write(_said(verdict))
        broken = [verdict.tenant for verdict in verdicts if verdict.problem]
        if broken:
            raise CommandError(f"The record does not hold: {', '.join(broken)}.")

    def _anchors(self, given: Path | None) -> list[Anchor]:
        path = given or settings.DATA_DIR / ANCHORS
        try:
            return read_anchors(path)
        except FileNotFoundError:
            if given is not None:
                raise CommandError(f"There is no file {given}.") from None
            self.stdout.write("No anchors: a record that was rewritten whole would not be noticed.")
            return []
        except ValueError as error:
            raise CommandError(str(error)) from None


def _said(verdict: Verdict) -> str:
    waiting = f", {verdict.waiting} not sealed yet" if verdict.waiting else ""
    if not verdict.problem:
        head = f", ends in {verdict.head[:16]}" if verdict.head else ""
        return f"{verdict.tenant}: holds; {verdict.sealed} events sealed{waiting}{head}"
    place = "" if verdict.bad_place is None else f" at {verdict.bad_place}"
    found = f"{verdict.problem} ({verdict.sealed} hold before that)"
    return f"{verdict.tenant}: DOES NOT HOLD{place}: {found}"
