"""`manage.py quarantine`: take back what one author wrote in some time, and what it did."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_datetime

from hygiene.quarantine import quarantine, written_by
from memory.secret_content import find_secret
from tenants.founding import OWNER
from tenants.models import Agent, Member, Tenant

LONGEST_REASON = 2000


class Command(BaseCommand):
    help = (
        "Take everything out of use that an agent or a member wrote in some time, and bring back "
        "what it had superseded. Nothing is deleted: each can be restored."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("author", help="an agent's name, or a member's user name")
        parser.add_argument("--tenant", required=True, help="its slug")
        parser.add_argument("--since", required=True, help="as in 2026-11-30T08:00:00Z")
        parser.add_argument("--until", help="unless it is until now")
        parser.add_argument("--reason", required=True, help="why; it stands in every history")
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Do it, and say how many that were.

        :raises CommandError: if nobody is called that, or a time or the reason is none
        """
        if OWNER not in settings.DATABASES:
            raise CommandError("Set OWNER_DATABASE_URL: only the owner of the tables may do this.")
        reason = options["reason"].strip()
        if not reason or len(reason) > LONGEST_REASON or find_secret(reason):
            raise CommandError(f"Say why, in 1 to {LONGEST_REASON} characters, without a secret.")
        tenant = Tenant.objects.using(OWNER).filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant']}.")
        until = None if options["until"] is None else _time(options["until"])
        memories = written_by(_author(tenant, options["author"]), _time(options["since"]), until)
        live = sum(memory.invalidated_at is None for memory in memories)
        if options["dry_run"]:
            self.stdout.write(f"{len(memories)} memories, {live} of them live; nothing was done.")
            return
        done = quarantine(tenant, memories, reason)
        self.stdout.write(
            f"{len(done.retired)} memories are out of use, {len(done.restored)} are back, "
            f"{len(done.left)} were left as they are."
        )


def _author(tenant: Tenant, name: str) -> Agent | Member:
    agent = Agent.objects.using(OWNER).filter(tenant=tenant, name=name).first()
    member = Member.objects.using(OWNER).filter(tenant=tenant, username=name).first()
    if (agent is None) == (member is None):
        raise CommandError(f"There is nobody, or not one alone, who is called {name} there.")
    found = agent or member
    assert found is not None
    return found


def _time(text: str) -> datetime:
    try:
        read = parse_datetime(text)
    except ValueError:
        read = None
    if read is None:
        raise CommandError(f"{text} is no time, as 2026-11-30T08:00:00Z would be.")
    return read if read.tzinfo else read.replace(tzinfo=UTC)
