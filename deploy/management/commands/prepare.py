"""`manage.py prepare`: bring the database to where this version expects it. Runs as its owner."""

import os
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from deploy.broker import prepare_queue
from deploy.demo.seed import seed
from deploy.up import base_url
from memory.finding.embedding import current


class Command(BaseCommand):
    help = "Migrate, make the job queue and the vector index, and seed the demo tenant."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """
        Do all of it; safe to run again.

        :raises CommandError: without the owner's login
        """
        if "owner" not in settings.DATABASES:
            raise CommandError(
                "Set OWNER_DATABASE_URL: only the owner of the tables may change them."
            )
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        call_command("migrate", database="owner", verbosity=0)
        prepare_queue(os.environ["OWNER_DATABASE_URL"])
        # Built and checked here once, so that the first request does not wait for it.
        current()
        try:
            call_command("index_embeddings", stdout=StringIO())
        except CommandError as down:
            # Writing works without it, so starting must, too.
            self.stderr.write(f"{down}. The vector index is built at the next start.")
        where = base_url({"HOST": os.environ.get("HOST", "127.0.0.1"), "PORT": str(settings.PORT)})
        mcp = base_url(
            {"HOST": os.environ.get("HOST", "127.0.0.1"), "PORT": str(settings.MCP_PORT)}
        )
        seed(settings.DATA_DIR, where, f"{mcp}/mcp")
