"""`make demo`: the main job from start to end; the exit code says whether all of it held."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console

from deploy.database import UnfitDatabase
from deploy.demo.instance import instance
from deploy.demo.modelling import hear_a_model
from deploy.demo.stage import Stage, stage
from deploy.demo.story import CHAPTERS, tell
from deploy.demo.telling import Teller
from deploy.embedded import EmbeddedPostgresError
from deploy.up import BASE
from memory.importing import Note, memories_in

NOTES = ("docs/decisions", "docs/glossary.md", "CHANGELOG.md")
FEWEST_NOTES = 10


def main(arguments: Sequence[str] = ()) -> int:
    """Tell the story, and return 0 only if each step did what it should."""
    chosen = _options().parse_args(arguments)
    chapters = [one for one in CHAPTERS if not (chosen.without_model and one is hear_a_model)]
    signal.signal(signal.SIGTERM, _stop)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 80)
    notes = notes_of_this_project(BASE)
    if len(notes) < FEWEST_NOTES:
        where = ", ".join(NOTES)
        console.print(f"Cannot start: {len(notes)} notes in {where}; {FEWEST_NOTES} are needed.")
        return 2
    try:
        with instance(
            os.environ, lambda text: console.print(text, soft_wrap=True, markup=False)
        ) as at:
            told = stage(at.demo, at.push, Teller(console), notes)
            held = tell(told, chapters)
            if told.chain:
                console.print(_where_to_look(told, goes_on=at.goes_on), soft_wrap=True)
    except (EmbeddedPostgresError, UnfitDatabase) as error:
        console.print(f"Cannot start: {error}", markup=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    return 0 if held else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.demo", description=__doc__)
    parser.add_argument(
        "--without-model",
        action="store_true",
        help="leave out the chapter that starts an instance of its own with a model as judge",
    )
    return parser


def notes_of_this_project(base: Path) -> list[Note]:
    """Return the sections of our decisions, glossary and changelog, as far as they are there."""
    there = [base / name for name in NOTES if (base / name).exists()]
    return memories_in(*there, root=base)


def _where_to_look(told: Stage, *, goes_on: bool) -> str:
    if not goes_on:
        return "To look at it in the admin, run `make up`, and `make demo` in another terminal."
    page = f"{told.base_url}/admin/memory/memory/{told.chain[-1]}/change/"
    return f"The decision with its three generations, in the admin:\n  {page}"


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
