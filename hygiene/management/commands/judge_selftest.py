"""`manage.py judge_selftest`: what the configured judge is worth, and whether it may act."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from hygiene.certifying import as_kept, certify
from hygiene.judge import JudgeDown
from hygiene.judging import current_judge
from hygiene.pair_set import LabelledPair, load, sample, split
from hygiene.selftest import Report, run
from hygiene.selftest_table import table


class Command(BaseCommand):
    help = (
        "Ask the configured judge (JUDGE) about labelled pairs, tell what would have been retired "
        "wrongly and what it missed, and note whether it may act. Ends with 1 if it may not."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--held-out", action="store_true", help="only the pairs that no prompt was tuned on"
        )
        parser.add_argument(
            "--limit",
            type=int,
            help="only so many pairs, of every shape as many; a part of them certifies nobody",
        )
        for name, of in (("--price-in", "asked with"), ("--price-out", "answered with")):
            parser.add_argument(name, type=float, help=f"the price of a million tokens {of}")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Test the judge, and keep the outcome where the owner's login is known.

        :raises CommandError: if there is no judge, it cannot be asked, or it is not fit to act
        """
        try:
            judge = current_judge()
        except ImproperlyConfigured as error:
            raise CommandError(f"There is no judge to test: {error}") from None
        pairs = load()
        chosen = split(pairs).held_out if options["held_out"] else pairs
        limit = len(chosen) if options["limit"] is None else options["limit"]
        if limit < 1:
            raise CommandError("--limit must be at least 1.")
        try:
            report = run(judge, self._counted(sample(chosen, limit)), of=len(pairs))
        except JudgeDown as down:
            raise CommandError(f"The judge cannot be asked: {down}") from None
        prices = (options["price_in"], options["price_out"])
        known = None if None in prices else (prices[0] or 0.0, prices[1] or 0.0)
        self.stdout.write(table(report, known))
        self._keep(report)
        if not report.is_certified:
            raise CommandError("The judge may not act without a person: it only opens disputes.")

    def _counted(self, pairs: Sequence[LabelledPair]) -> Iterator[LabelledPair]:
        """Yield the pairs, and show on a terminal how far it is."""
        shows = sys.stderr.isatty()
        for number, pair in enumerate(pairs, start=1):
            if shows:
                self.stderr.write(f"\r{number} of {len(pairs)} pairs", ending="")
                self.stderr.flush()
            yield pair
        if shows:
            self.stderr.write("")

    def _keep(self, report: Report) -> None:
        # A part of the pairs says nothing for or against a judge that passed with all.
        if report.is_of_a_part:
            self.stdout.write(f"Not kept: {len(report.results)} of {report.of} pairs.")
        elif "owner" not in settings.DATABASES:
            self.stdout.write("Not kept: set OWNER_DATABASE_URL for that.")
        else:
            tenants = certify(
                current_judge(),
                passed=report.is_certified,
                reason=f"self-test with {len(report.results)} pairs"
                + (": it would act on nothing" if report.acts_on_nothing else ""),
                report=as_kept(report),
            )
            self.stdout.write(f"Kept for {tenants} tenants.")
