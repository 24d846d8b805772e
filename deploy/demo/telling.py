"""How the story of the demo looks in a terminal, or in a file."""

import textwrap

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

LONGEST_SHOWN = 160  # characters of what was expected or read
WIDEST = 100  # columns: a longer line is hard to read
MARGIN = 5


class Teller:
    """Prints the story, and counts what was as it should be and what was not."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.held = 0
        self.failed: list[str] = []
        self._title = ""
        signs = ("✓", "✗", "→") if _can_show(console, "✓✗→") else ("ok", "NO", "->")
        self._tick, self._cross, self._arrow = signs

    def chapter(self, title: str, number: int, of: int) -> None:
        """Begin a chapter."""
        self._title = title
        self.console.print()
        self.console.print(Text(f"{number}/{of}  {title}", style="bold"))

    def say(self, text: str) -> None:
        """Tell what is done."""
        self._line("", "", text)

    def expect(self, what: str, expected: object, read: object) -> None:
        """Tell what was expected and what was read back, and keep whether they are equal."""
        if expected == read:
            self.held += 1
            self._line(self._tick, "green", f"{what} {self._arrow} {_shown(read)}")
            return
        self.failed.append(f"{self._title}: {what}")
        self._line(self._cross, "bold red", what)
        self._line("", "", f"expected  {_shown(expected)}")
        self._line("", "", f"read      {_shown(read)}")

    def break_off(self, why: str) -> None:
        """Tell that a chapter could not be told to its end."""
        self.failed.append(f"{self._title}: {why}")
        self._line(self._cross, "bold red", why)

    def list_failures(self) -> None:
        """Say once more what was not as it should be, and in which chapter."""
        for failure in self.failed:
            self._line(self._cross, "bold red", failure)

    def progress(self) -> Progress:
        """Return a bar for long steps; it leaves nothing behind, and a file never sees it."""
        return Progress(
            TextColumn("      {task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )

    def _line(self, mark: str, style: str, text: str) -> None:
        width = min(self.console.width, WIDEST) - MARGIN
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines or [""]):
            sign = Text(f"{mark if number == 0 else '':>{MARGIN - 1}} ", style=style)
            self.console.print(sign.append(line, style="default"), soft_wrap=True)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        text = ", ".join(map(_shown, value)) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    else:
        text = "none" if value is None else " ".join(str(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} ..."


def _can_show(console: Console, characters: str) -> bool:
    try:
        characters.encode(console.encoding)
    except UnicodeEncodeError:
        return False
    return True
