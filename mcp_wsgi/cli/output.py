"""What commands print: for a person in a terminal, as plain text, or as JSON for a program."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from .text import json_text, one_line, printable

__all__ = ["Output", "Progress", "complain"]

#: Told of work that goes on: how much is done, of how much, and what happens now.
Progress = Callable[[float, "float | None", "str | None"], None]


def complain(message: str) -> None:
    """Tell of an error, on standard error; in a terminal lines are broken between words."""
    text = f"mcp-wsgi: {printable(message)}"
    if sys.stderr.isatty():
        width = max(20, shutil.get_terminal_size().columns - 1)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr, flush=True)


def _escaping(stream: IO[str]) -> None:
    """Let a stream escape what its encoding has no character for, rather than fail."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _wants_plain() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return True
    return not sys.stdout.isatty()


class Output:
    """Print the results of a command.

    Args:
        json: Whether a program reads: then nothing but JSON goes to standard output.
        plain: Whether to print plain text in a terminal too, as is done elsewhere.
    """

    def __init__(self, *, json: bool = False, plain: bool = False) -> None:
        self.json = json
        _escaping(sys.stdout)
        _escaping(sys.stderr)
        self._console: Any = None
        self._bar: Any = None
        self._tables = 0
        if not (json or plain or _wants_plain()):
            self._console = _console()

    @property
    def is_plain(self) -> bool:
        """Whether lines are for a program or a pipe rather than a person."""
        return self._console is None

    def text(self, text: str, style: str = "") -> None:
        """Print a text, made harmless."""
        if self._console is None:
            print(printable(text), flush=True)
        else:
            self._console.print(_styled(printable(text), style), soft_wrap=True)

    def document(self, value: Any) -> None:
        """Print the one JSON document of the command."""
        print(json_text(value, ascii_only=not _is_unicode()), flush=True)

    def json_line(self, value: Any) -> None:
        """Print one of several JSON documents, on a line of its own."""
        print(json_text(value, indent=None, ascii_only=not _is_unicode()), flush=True)

    def fields(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Print names and values, a pair on a line; a value of several lines is indented."""
        width = max((len(name) for name, _ in pairs), default=0) + 2
        for name, value in pairs:
            lines = printable(value).splitlines() or [""]
            body = ("\n" + " " * width).join(lines)
            if self._console is None:
                print(f"{name + ':':{width}}{body}", flush=True)
                continue
            from rich.table import Table

            grid = Table.grid()
            grid.add_column(width=width, no_wrap=True)
            grid.add_column(overflow="fold")
            grid.add_row(_styled(name, "bold"), _styled("\n".join(lines), ""))
            self._console.print(grid)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows: as a table in a terminal, else with a tab between the cells and no heading."""
        if self._console is None:
            for row in rows:
                print("\t".join(one_line(cell) for cell in row), flush=True)
            return
        if self._tables:
            self._console.print()
        self._tables += 1
        self._console.print(_table(title, columns, [[one_line(cell) for cell in row] for row in rows], self._console))

    def note(self, text: str) -> None:
        """Say something beside the result, on standard error."""
        print(printable(text), file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        """Show a bar, in a terminal, while the block runs and reports."""
        if self._console is None or not sys.stderr.isatty():
            yield _silent
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        bar = Progress(
            SpinnerColumn(),
            text,
            BarColumn(bar_width=24),
            TaskProgressColumn(text_format_no_percentage=""),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False, markup=False, emoji=False),
            transient=True,
        )
        self._bar = bar
        with bar:
            task = bar.add_task(one_line(what)[:40], total=None)

            def report(done: float, total: float | None, message: str | None) -> None:
                words = f"{what}: {message}" if message else what
                bar.update(task, completed=done, total=total, description=one_line(words)[:40])

            try:
                yield report
            finally:
                self._bar = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bar away while the block talks with the person at the terminal."""
        bar = self._bar
        if bar is not None:
            bar.stop()
        try:
            yield
        finally:
            if bar is not None:
                bar.start()


def _silent(_done: float, _total: float | None, _message: str | None) -> None:
    """Show nothing."""


def _console() -> Any:
    """Make what prints in a terminal; ``None`` where rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False, markup=False, emoji=False)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], console: Any) -> Any:
    """Make a table; a column with nothing in it is left out, and names stay on one line as long as they can."""
    from rich.table import Table

    table = Table(
        title=_styled(title, "bold"), title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim"
    )
    kept = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    needed = [max(len(columns[number]), *(len(row[number]) for row in rows)) for number in kept]
    for number, width in zip(kept, _widths(needed, console.width), strict=True):
        style = "" if number else "cyan"
        table.add_column(_styled(columns[number], ""), overflow="fold", width=width, style=style)
    for row in rows:
        table.add_row(*(_styled(row[number], "") for number in kept))
    return table


def _widths(needed: Sequence[int], width: int) -> list[int]:
    """Share a terminal among columns: up to half of it to the first, an equal part of the rest to each other."""
    left = width - 2 * len(needed)
    widths: list[int] = []
    for number, wanted in enumerate(needed):
        share = left // 2 if number == 0 and len(needed) > 1 else left // (len(needed) - number)
        widths.append(max(4, min(wanted, share)))
        left -= widths[-1]
    return widths


def _styled(text: str, style: str) -> Any:
    """Make text that rich prints as it is: no markup is looked for in it."""
    from rich.text import Text

    return Text(text, style=style)


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
