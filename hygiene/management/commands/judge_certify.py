"""`manage.py judge_certify --reason TEXT`: let the configured judge act, on somebody's word."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from hygiene.certifying import certify
from hygiene.judging import current_judge
from memory.secret_content import find_secret

LONGEST_REASON = 2000


class Command(BaseCommand):
    help = (
        "Let the configured judge (JUDGE, and the question it is asked) act in all tenants of this "
        "installation, from the next pair on. For a judge that no self-test can vouch for."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--reason", required=True, help="who vouches for it, and why")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Certify it, with the reason, in every tenant.

        :raises CommandError: without a reason, a judge or the owner's login
        """
        reason = options["reason"].strip()
        if not reason or len(reason) > LONGEST_REASON or find_secret(reason):
            raise CommandError(
                f"Say why, in 1 to {LONGEST_REASON} characters and without a secret: "
                'make certify REASON="..."'
            )
        if "owner" not in settings.DATABASES:
            raise CommandError("Set OWNER_DATABASE_URL: only the owner of the tables may do this.")
        try:
            judge = current_judge()
        except ImproperlyConfigured as error:
            raise CommandError(f"There is no judge to certify: {error}") from None
        tenants = certify(judge, passed=True, reason=reason)
        self.stdout.write(
            f"{judge.id} with prompt {judge.prompt_version} may act in {tenants} tenants from the "
            "next pair on."
        )
