"""What a process holds, as the kernel says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Held", "held_by", "resident_kib", "settled"]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Threads, open files, connections to a database file among them, and memory."""

    threads: int
    files: int
    connections: int
    kib: int


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise AssertionError(f"no {name}")


def resident_kib(pid: int) -> int:
    """Give the resident memory of a process in KiB."""
    return _status(pid, "VmRSS")


def held_by(pid: int, database: str = "/nothing") -> Held:
    """Look at a process."""
    folder = Path(f"/proc/{pid}/fd")
    names = []
    for number in os.listdir(folder):
        with suppress(FileNotFoundError):
            names.append(os.readlink(folder / number))
    return Held(
        threads=_status(pid, "Threads"),
        files=len(names),
        connections=sum(name.startswith(database) for name in names),
        kib=resident_kib(pid),
    )


def settled(look: Callable[[], Held], before: Held, *, seconds: float = 30.0) -> Held:
    """Look until no more is held than before, or time is over; memory is not waited for."""
    deadline = time.monotonic() + seconds
    while True:
        held = look()
        less = held.threads <= before.threads and held.files <= before.files and held.connections <= before.connections
        if less or time.monotonic() > deadline:
            return held
        time.sleep(0.1)
