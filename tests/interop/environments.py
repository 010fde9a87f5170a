"""Real clients, each in an environment of its own that is made once and kept in a cache folder.

The folder is named by MCP_WSGI_TEST_CACHE, or is `.cache/interop` in the repository. Exact versions are in
the files beside the drivers: NAME.txt for Python, package.json for Node.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "CannotInstall",
    "Step",
    "copy_program",
    "environment",
    "node_driver",
    "npm_environment",
    "python_driver",
    "python_environment",
    "run_command",
    "run_driver",
]

DRIVERS = Path(__file__).resolve().parent / "drivers"
# What is installed for the first test has to be there before the time of that test, 900 s, is over.
LOCK_SECONDS = 800.0
INSTALL_SECONDS = 400.0
# A registry that does not answer, or not in time, is asked again after a moment.
ATTEMPTS = 3
PAUSE_SECONDS = 5.0
DRIVER_SECONDS = 300.0


class CannotInstall(Exception):
    """A client's packages cannot be had here; the message says what was tried."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a driver reported of one step."""

    name: str
    ok: bool
    detail: Any


def python_driver(name: str) -> list[str]:
    """Return the command that runs drivers/NAME.py with the packages of drivers/NAME.txt."""
    home = python_environment(name, (DRIVERS / f"{name}.txt").read_text())
    return [str(home / "bin" / "python"), str(DRIVERS / f"{name}.py")]


def python_environment(name: str, pins: str) -> Path:
    """Return a virtual environment of this Python with these packages."""

    def install(home: Path) -> None:
        run_command([sys.executable, "-m", "venv", str(home)])
        quiet = ["--quiet", "--disable-pip-version-check"]
        run_command([str(home / "bin" / "python"), "-m", "pip", "install", *quiet, *pins.split()])

    return environment(f"{name}-py{sys.version_info[0]}{sys.version_info[1]}", pins, install)


def node_driver(name: str) -> list[str]:
    """Return the command that runs drivers/NAME.mjs with the packages of drivers/package.json."""
    node = shutil.which("node")
    if node is None:
        raise CannotInstall("node is needed for the TypeScript client")
    home = npm_environment(name, (DRIVERS / "package.json").read_text())
    # An ES module finds its packages from its own folder upwards, so the driver goes where they are.
    return [node, str(copy_program(DRIVERS / f"{name}.mjs", home))]


def copy_program(source: Path, folder: Path) -> Path:
    """Copy a file into a folder in one step, since another test run may be starting it; return the copy."""
    target = folder / source.name
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, fresh := target.with_name(f"{target.name}.{os.getpid()}"))
        fresh.replace(target)
    return target


def npm_environment(name: str, pins: str) -> Path:
    """Return a folder with the packages that the text of a package.json names."""
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstall("npm is needed for JavaScript packages")

    def install(home: Path) -> None:
        home.mkdir(parents=True)
        (home / "package.json").write_text(pins)
        run_command([npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"], cwd=home)

    return environment(name, pins, install)


def run_driver(command: list[str]) -> list[Step]:
    """Run a driver to its end and return what it reported; fail if that is not what a driver prints."""
    hidden = ("COVERAGE_", "PYTHONPATH", "PYTHONWARNINGS")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
        timeout=DRIVER_SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [Step(name=record["step"], ok=record["ok"], detail=record["detail"]) for record in records]


def _cache() -> Path:
    given = os.environ.get("MCP_WSGI_TEST_CACHE")
    folder = Path(given) if given else DRIVERS.parents[2] / ".cache" / "interop"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def environment(name: str, pins: str, install: Callable[[Path], None]) -> Path:
    """Return the environment of that name, made anew unless it is complete and has exactly these pins."""
    home = _cache() / name
    mark = home / "complete.txt"
    with _locked(home.with_suffix(".lock")):
        if not mark.exists() or mark.read_text() != pins:
            _install_anew(home, install)
            mark.write_text(pins)
    return home


def _install_anew(home: Path, install: Callable[[Path], None]) -> None:
    """Install into an empty folder; where that fails soon, begin again."""
    deadline = time.monotonic() + INSTALL_SECONDS
    for attempts_left in reversed(range(ATTEMPTS)):
        if home.exists():
            shutil.rmtree(home)
        try:
            install(home)
        except CannotInstall as reason:
            if not attempts_left or time.monotonic() > deadline:
                raise
            print(f"Trying again: {reason}", file=sys.stderr)
            time.sleep(PAUSE_SECONDS)
        else:
            return


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect, waiting for it for a bounded time."""
    deadline = time.monotonic() + LOCK_SECONDS
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CannotInstall(f"another process held {path} for {LOCK_SECONDS:g} s") from None
                time.sleep(0.2)
        yield


def run_command(words: list[str], cwd: Path | None = None) -> None:
    """Run a command that installs something; fail with what it printed if it fails."""
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{' '.join(words)} took more than {INSTALL_SECONDS:g} s") from None
    if done.returncode:
        raise CannotInstall(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
