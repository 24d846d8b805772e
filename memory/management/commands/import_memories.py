"""`manage.py import_memories`: bring in what files hold, in a member's name."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

import memory.jobs  # noqa: F401  so that what is claimed here can be done here
from memory.exchange.formats import IMPORTED, MARKDOWN
from memory.exchange.terminal import followed
from memory.exchange.transfer import start_import
from tenants.refusals import Refusal
from tenants.terminal import member_of

SUFFIXES = (".md", ".markdown")


class Command(BaseCommand):
    help = "Bring in Markdown files and folders, or a file of another system, word for word."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("paths", nargs="+", type=Path, help="files, and folders of Markdown")
        parser.add_argument("--tenant", required=True, help="its short name")
        parser.add_argument("--member", required=True, help="the username in whose name")
        parser.add_argument("--project", help="by its short name; the personal scope without it")
        parser.add_argument("--format", choices=IMPORTED, default=MARKDOWN)
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *_args: Any, **options: Any) -> None:
        """
        Bring them in, and show how far it is.

        :raises CommandError: if a file cannot be read, or holds a mistake: nothing is stored then
        """
        caller = member_of(options["tenant"], options["member"])
        said: dict[str, Any] = {"format": options["format"], "dry_run": options["dry_run"]}
        if options["project"] is None:
            said["scope"] = "personal"
        else:
            said["project"] = options["project"]
        if options["format"] == MARKDOWN:
            said["files"] = [file for path in options["paths"] for file in _tree(path)]
        elif len(options["paths"]) == 1:
            said["content"] = _read(options["paths"][0])
        else:
            raise CommandError(f"a {options['format']} import is one file")
        try:
            told = start_import(caller, **said)
        except Refusal as refusal:
            lines = [f"  {one.field}: {one.message}" for one in refusal.errors]
            raise CommandError("\n".join([refusal.detail, *lines])) from None
        if not options["dry_run"]:
            told = followed(caller, told, self._show)
        counts = ", ".join(f"{number:,} {name}" for name, number in told["counts"].items())
        self.stdout.write(f"{told['total']:,} memories: {counts}")

    def _show(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()


def _tree(path: Path) -> list[dict[str, str]]:
    if path.is_file():
        return [{"path": path.name, "content": _read(path)}]
    if not path.is_dir():
        raise CommandError(f"{path}: no such file or folder")
    found = sorted(one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES)
    return [
        {"path": one.relative_to(path).as_posix(), "content": _read(one)}
        for one in found
        if one.is_file()
    ]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not in UTF-8, at byte {error.start}") from None
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
