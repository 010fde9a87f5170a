"""Run the official conformance suite against this package.

    python tests/conformance/run.py server DOOR REVISION    the fixture, served by a door of serve.py
    python tests/conformance/run.py client REVISION         the client, as client.py drives it

REVISION is 2026-07-28 or 2025-11-25. One line is printed for each required scenario, those of authorization left
aside, and for each of the unscored ones that count here. The exit status is 0 if all of them passed, 1 if not, and 2
if the suite could not be run.

A scenario passes if no check of it failed and at least one succeeded; warnings are printed. An unscored one has to
pass in full: nothing in it may warn or be skipped either. A client has to end in time and with the status 0 as well,
whatever its checks say: client.py looks at results that the suite does not look at.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))

from tests.conformance.serve import DOORS  # noqa: E402
from tests.conformance.suite import CannotRun, Score, Verdict, install, required, run, verdicts  # noqa: E402
from tests.interop.environments import CannotInstall  # noqa: E402
from tests.servers import reserved_port  # noqa: E402

__all__ = ["CLIENT_UNSCORED", "SERVER_UNSCORED", "measure_client", "measure_server"]

#: Each revision with the scenarios that its requirements leave unscored and that count here all the same.
SERVER_UNSCORED = {
    "2026-07-28": ("http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"),
    "2025-11-25": (),
}
CLIENT_UNSCORED = {"2026-07-28": ("json-schema-2020-12-preservation",), "2025-11-25": ()}
START_SECONDS = 90.0
STOP_SECONDS = 10.0
KILL_SECONDS = 30.0
CLIENT_SECONDS = 90.0
# Each of them is a Node and a Python, that mostly start.
CLIENTS_AT_ONCE = 2
_STATUS = re.compile(r"^Client exited with code (?P<status>\S+)$", re.MULTILINE)
_OVERDUE = re.compile(r"^Client timed out", re.MULTILINE)


def measure_server(door: str, revision: str) -> Score:
    """Serve the fixture by a door and examine it.

    Raises:
        CannotInstall: The suite cannot be had here.
        CannotRun: The server did not start, or the suite did not come to an end.
    """
    suite = install()
    names = required(suite, "server", revision)
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-conformance-") as name:
        folder = Path(name)
        with _serving(door, folder / "log.txt") as port:
            url = f"http://127.0.0.1:{port}/mcp"
            run([*suite, "server", "--url", url, "--requirements", revision, "-o", str(folder)])
        found = {verdict.scenario: verdict for verdict in verdicts(folder, "server")}
        log = (folder / "log.txt").read_text(errors="replace")
    if not found:
        raise CannotRun("The suite left no results")
    return _score(names, SERVER_UNSCORED[revision], found, log)


def measure_client(revision: str) -> Score:
    """Examine the client that client.py drives, in one process for each scenario.

    Raises:
        CannotInstall: The suite cannot be had here.
        CannotRun: The suite did not come to an end.
    """
    suite = install()
    names = [name for name in required(suite, "client", revision) if not name.startswith("auth/")]
    unscored = CLIENT_UNSCORED[revision]
    with ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool:
        # Run together, the suite would not judge how a client ended.
        results = list(pool.map(lambda name: _examine_client(suite, name, revision), (*names, *unscored)))
    found = {verdict.scenario: verdict for verdict, _ in results}
    return _score(names, unscored, found, "".join(log for _, log in results))


def _examine_client(suite: list[str], scenario: str, revision: str) -> tuple[Verdict, str]:
    """Run one scenario; return the verdict and what the client printed to its standard error."""
    command = shlex.join([sys.executable, str(HERE / "client.py")])
    options = ["--spec-version", revision, "--force", "--timeout", str(round(CLIENT_SECONDS * 1000))]
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-conformance-") as name:
        words = [*suite, "client", "--command", command, "--scenario", scenario, *options, "-o", name]
        text = run(words, CLIENT_SECONDS + 30)
        verdict = next(verdicts(Path(name), "client"), Verdict(scenario=scenario))
        log = "".join(file.read_text(errors="replace") for file in Path(name).glob("*/stderr.txt"))
    status = _STATUS.search(text)
    problems = []
    if _OVERDUE.search(text):
        problems.append(f"the client took more than {CLIENT_SECONDS:g} s")
    elif status:
        problems.append(f"the client ended with status {status['status']}: {log[-1000:]}")
    return replace(verdict, failures=[*verdict.failures, *problems]), log


def _score(names: list[str], unscored: tuple[str, ...], found: Mapping[str, Verdict], log: str) -> Score:
    return Score(
        required=[found.get(name, Verdict(scenario=name)) for name in names],
        unscored=[found.get(name, Verdict(scenario=name)) for name in unscored],
        log=log,
    )


@contextmanager
def _serving(door: str, log_file: Path) -> Iterator[int]:
    """Run serve.py for a door on a free port, for as long as the block lasts."""
    with reserved_port() as port:
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
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
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
    process.wait(KILL_SECONDS)


def main(words: list[str]) -> int:
    """Print a score and return the exit status."""
    try:
        match words:
            case ["server", door, revision] if door in DOORS and revision in SERVER_UNSCORED:
                score = measure_server(door, revision)
            case ["client", revision] if revision in CLIENT_UNSCORED:
                score = measure_client(revision)
            case _:
                revisions = "|".join(SERVER_UNSCORED)
                print(f"usage: run.py server {'|'.join(DOORS)} {revisions}", file=sys.stderr)
                print(f"       run.py client {revisions}", file=sys.stderr)
                return 2
    except (CannotInstall, CannotRun) as reason:
        print(reason, file=sys.stderr)
        return 2
    *lines, total = score.lines()
    print(*lines, f"{', '.join(words[-2:])}: {total}", sep="\n")
    return 0 if score.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
