"""`manage.py export_memories`: take out what a member sees, into a folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

import memory.jobs  # noqa: F401  so that what is claimed here can be done here
from memory.exchange.formats import EXPORTED, JSONL
from memory.exchange.terminal import followed
from memory.exchange.transfer import get_transfer_files, start_export
from tenants.ids import Prefix, read_id
from tenants.refusals import Refusal
from tenants.terminal import member_of


class Command(BaseCommand):
    help = "Write what a member sees into a folder: one JSONL file, or a tree of Markdown files."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("folder", type=Path, help="where to write; must be empty or not there")
        parser.add_argument("--tenant", required=True, help="its short name")
        parser.add_argument("--member", required=True, help="the username in whose sight")
        parser.add_argument("--project", help="only this project, by its short name")
        parser.add_argument("--format", choices=EXPORTED, default=JSONL)

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Take it out, and show how far it is.

        :raises CommandError: if the folder holds something, or it is more than one export holds
        """
        folder = options["folder"]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} must be an empty folder, or not there yet")
        caller = member_of(options["tenant"], options["member"])
        try:
            told = start_export(caller, format=options["format"], project=options["project"])
        except Refusal as refusal:
            raise CommandError(refusal.detail) from None
        told = followed(caller, told, self._show)
        transfer_id = read_id(Prefix.TRANSFER, told["id"])
        files = get_transfer_files(caller, transfer_id=transfer_id)["files"]
        for file in files:
            path = folder / file["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file["content"], encoding="utf-8", newline="\n")
        self.stdout.write(f"{told['total']:,} memories in {len(files):,} files: {folder}")

    def _show(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()
