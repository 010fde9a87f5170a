"""Measure what ``import mcp_wsgi`` costs a process: time and memory above those of a bare interpreter.

    python bench/imports.py [--rounds 15] [--top 12]

Each number is the median over fresh interpreters, with compiled modules on disk.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable

from common import ROOT, print_machine, print_table

__all__ = ["main"]

_TOOL = """
from mcp_wsgi import Server, public
from mcp_wsgi.wsgi import WSGIApp
server = Server("bench")
@server.tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
app = WSGIApp(server, auth=public)
"""
PROGRAMS = {
    "bare interpreter": "",
    "import mcp_wsgi": "import mcp_wsgi",
    "import mcp_wsgi.wsgi": "import mcp_wsgi.wsgi",
    "a WSGI app with one tool": _TOOL,
    "import json, re, typing, dataclasses, logging, inspect": "import json, re, typing, dataclasses, logging, inspect",
    "import msgspec": "import msgspec",
}
_MEMORY = """
import sys
try:
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    import os
    print(pages * os.sysconf("SC_PAGESIZE") // 1024)
except OSError:
    print(0)
"""
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| +(\S+)")


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT)


def seconds_of(program: str) -> float:
    """Give how long a fresh interpreter takes for a program, from its start to its end."""
    begin = time.perf_counter()
    _python("-c", program)
    return time.perf_counter() - begin


def memory_of(program: str) -> int:
    """Give the memory that is resident at the end of a program, in KiB; 0 where the system does not say."""
    return int(_python("-c", program + _MEMORY).stdout)


def measure_programs(rounds: int) -> dict[str, tuple[float, float]]:
    """Give the median time (ms) and memory (KiB) of each program; one round after the other."""
    seconds: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    memory: dict[str, list[int]] = {name: [] for name in PROGRAMS}
    for program in PROGRAMS.values():
        _python("-c", program)  # compiles the modules
    for _ in range(rounds):
        for name, program in PROGRAMS.items():
            seconds[name].append(seconds_of(program))
            memory[name].append(memory_of(program))
    return {name: (statistics.median(seconds[name]) * 1000, statistics.median(memory[name])) for name in PROGRAMS}


def own_times(program: str, rounds: int) -> dict[str, float]:
    """Give the median time (µs) that each module takes by itself, without what it imports."""
    found: dict[str, list[int]] = {}
    for _ in range(rounds):
        for own, _, name in _LINE.findall(_python("-X", "importtime", "-c", program).stderr):
            found.setdefault(name, []).append(int(own))
    return {name: statistics.median(times) for name, times in found.items()}


def _largest(times: Iterable[tuple[str, float]], top: int) -> list[list[str]]:
    largest = sorted(times, key=lambda pair: -pair[1])[:top]
    return [[name, f"{microseconds / 1000:.2f}"] for name, microseconds in largest]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="how many fresh interpreters for each number")
    parser.add_argument("--top", type=int, default=12, help="how many modules are listed")
    options = parser.parse_args()
    print_machine()
    measured = measure_programs(options.rounds)
    base_time, base_memory = measured["bare interpreter"]
    rows = [
        [name, f"{milliseconds:.1f}", f"{milliseconds - base_time:+.1f}", f"{(memory - base_memory) / 1024:+.1f}"]
        for name, (milliseconds, memory) in measured.items()
    ]
    print_table("Fresh interpreters", ["", "ms", "over bare, ms", "over bare, MiB"], rows)
    rounds = min(options.rounds, 5)
    bare = own_times("", rounds)
    ours = {name: own for name, own in own_times("import mcp_wsgi.wsgi", rounds).items() if name not in bare}
    packages: dict[str, float] = {}
    for name, own in ours.items():
        package = name.partition(".")[0]
        packages[package] = packages.get(package, 0.0) + own
    title = "Time of import mcp_wsgi.wsgi under -X importtime, ms (which itself slows it down)"
    print_table(f"{title}: by module, its own", ["module", "ms"], _largest(ours.items(), options.top))
    print_table("The same by package", ["package", "ms"], _largest(packages.items(), options.top))
    print(f"\n  {len(ours)} modules beyond the bare interpreter's, {sum(ours.values()) / 1000:.1f} ms in all")


if __name__ == "__main__":
    main()
