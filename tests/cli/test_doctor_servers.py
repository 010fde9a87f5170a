"""The doctor at real servers: our five doors have nothing to change, and the official SDKs' are told what is wrong."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.examining import examine
from tests.conformance.serve import DOORS, command
from tests.interop.environments import CannotInstall, python_driver
from tests.servers import ROOT, reserved_port

START_SECONDS = 60.0
SDK_SERVER = str(Path(__file__).with_name("sdk_server.py"))

pytestmark = pytest.mark.usefixtures("patient_doctor")


@contextmanager
def started(log: Path, words: Sequence[str], port: int) -> Iterator[str]:
    """Run a server until the block ends; give its URL as soon as it answers anything."""
    hidden = ("COVERAGE_", "PYTHONWARNINGS")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    with log.open("wb") as file:
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, port, log)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            # gunicorn listens before it has loaded the application.
            connection.sendall(b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            if connection.makefile("rb").read():
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.mark.servers
@pytest.mark.parametrize("door", DOORS)
def test_our_doors_have_nothing_to_change(door: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with reserved_port() as port, started(tmp_path / "log.txt", command(door, port), port) as url:
        status, findings = examine(capsys, url)
    assert [each for each in findings.values() if each["verdict"] not in ("ok", "not-checked")] == []
    assert status == 0
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


@pytest.mark.servers
def test_what_serve_serves_has_nothing_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [sys.executable, "-m", "mcp_wsgi", "serve", "tests.cli.shop:server", "--port"]
    with reserved_port() as port, started(tmp_path / "log.txt", [*words, str(port)], port) as url:
        status, findings = examine(capsys, url)
    assert [each for each in findings.values() if each["verdict"] not in ("ok", "not-checked")] == []
    assert status == 0


#: What the servers of the official Python SDK are told, and what they are not: the checks, and their verdicts.
FAULTS = {
    "py_mcp2": {
        "path-slash": "fails-for-some",
        "accept-json": "fails-for-some",
        "accept-events": "fails-for-some",
        "accept-none": "fails-for-some",
        "content-type-case": "fails-for-some",
        "preflight": "note",
        "duplicate-keys": "note",
        "header-version-mismatch": "note",
        "header-version-missing": "note",
    },
    "py_mcp1": {
        "path-slash": "fails-for-some",
        "accept-any": "fails-for-some",
        "accept-json": "fails-for-some",
        "accept-events": "fails-for-some",
        "accept-none": "fails-for-some",
        "content-type-case": "fails-for-some",
        "modern-discover": "note",
        "legacy-unknown-method": "note",
        "preflight": "note",
        "duplicate-keys": "note",
    },
}


@pytest.mark.interop
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sdk", FAULTS)
def test_the_servers_of_the_official_sdk_are_told_what_is_wrong(
    sdk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        python = python_driver(sdk)[0]
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    with reserved_port() as port, started(tmp_path / "log.txt", [python, SDK_SERVER, str(port)], port) as url:
        status, findings = examine(capsys, url)
    found = {name: each["verdict"] for name, each in findings.items() if each["verdict"] not in ("ok", "not-checked")}
    assert found == FAULTS[sdk]
    assert status == 1
    assert findings["session-workers"]["verdict"] == "ok"
    assert "406" in findings["accept-json"]["came"]
    assert "redirects" in findings["path-slash"]["says"]
