"""`manage.py reset_second_factor USERNAME`: for whoever has lost authenticator and codes."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.founding import OWNER
from tenants.models import User
from tenants.second_factor import take_as_operator


class Command(BaseCommand):
    help = "Take a log-in's second factor and recovery codes away; the next log-in sets up another."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name of the log-in."""
        parser.add_argument("username")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Do it; an event in every tenant where the person has a seat tells of it.

        :raises CommandError: if there is nothing to take
        """
        if OWNER not in settings.DATABASES:
            raise CommandError("Set OWNER_DATABASE_URL, or use `python -m deploy.here`.")
        user = User.objects.using(OWNER).filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no log-in {options['username']!r}.")
        if not take_as_operator(user, using=OWNER):
            raise CommandError(f"{user.username} has no second factor; the next log-in sets it up.")
        self.stdout.write(
            f"{user.username} has no second factor now, and every session of it is over. "
            "Whoever logs in next with the password sets up another: tell the right person."
        )
