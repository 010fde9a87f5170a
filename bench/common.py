"""What the benchmarks share: the checkout on the import path, timing, and tables."""

from __future__ import annotations

import gc
import os
import sys
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "measure", "on_processor", "print_machine", "print_table"]

ROOT = Path(__file__).resolve().parent.parent
# This checkout is measured, whatever is installed. So a script imports this module first.
sys.path.insert(0, str(ROOT))

_ROUND_SECONDS = 0.015


def measure(
    functions: Mapping[str, Callable[[], Any]], *, repeats: int = 25, number: int | None = None
) -> dict[str, float]:
    """Time functions, one after the other in each of several rounds, so that a busy moment hits them alike.

    Garbage is collected as in production: timeit would switch the collector off.

    Args:
        functions: What to call, by name.
        repeats: The rounds; the best one counts.
        number: The calls of each function in one round; by default what takes about 15 ms.

    Returns:
        Microseconds for one call, by name.
    """
    timers = {name: timeit.Timer(function, setup=gc.enable) for name, function in functions.items()}
    numbers = {name: number or _number(timer) for name, timer in timers.items()}
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(numbers[name]) / numbers[name] * 1e6)
    return best


def _number(timer: timeit.Timer) -> int:
    timer.timeit(3)  # what is prepared on the first call is no part of the others
    return max(1, int(_ROUND_SECONDS / max(timer.timeit(5) / 5, 1e-7)))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(len(row[index]) for row in [header, *rows]) for index in range(len(header))]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        first, *others = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        print("  " + "  ".join(cells).rstrip())


def print_machine() -> None:
    """Say what the numbers below were measured with, and how busy the machine was."""
    version = ".".join(map(str, sys.version_info[:3]))
    load = f", load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs" if hasattr(os, "getloadavg") else ""
    print(f"{sys.implementation.name} {version}{load}")


@contextmanager
def on_processor(number: int) -> Iterator[None]:
    """Let this process, and those it starts, use one processor of several.

    Where threads wander between processors, the same application takes twice the time in one round and not in another.
    """
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(allowed) < 2:
        yield
        return
    os.sched_setaffinity(0, allowed[number : number + 1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
