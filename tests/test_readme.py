"""What the README promises: its examples run, its links lead somewhere, and so does ./run-demo."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest

from tests.test_docs import ROOT, run_page

README = ROOT / "README.md"


def test_its_examples_run() -> None:
    run_page(README)


def test_its_links_lead_to_files() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


@pytest.mark.parametrize("command", ["run-demo", "run-tests"])
def test_its_two_commands_are_there(command: str) -> None:
    assert f"$ ./{command} " in README.read_text(encoding="utf-8")
    assert os.access(ROOT / command, os.X_OK)


def run_demo(*arguments: str) -> subprocess.Popen[str]:
    hidden = ("COVERAGE_", "PYTHONPATH", "PYTHONWARNINGS")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    return subprocess.Popen(
        [str(ROOT / "run-demo"), *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end; the first run installs, which takes as long as the network does."""
    try:
        output, errors = process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)
    if process.returncode == 1 and "pip" in errors and not os.environ.get("CI"):
        pytest.skip(f"the packages cannot be had here: {errors[-1000:]}")
    return output, errors


@pytest.mark.interop
@pytest.mark.timeout(900)
def test_run_demo_shows_a_real_client_and_ends() -> None:
    process = run_demo()
    output, errors = finish(process)
    assert process.returncode == 0, output + errors
    for said in (
        "Connected to 'A small library', protocol version 2026-07-28",
        "search_books: Find books by a part of their title or author.",
        "the server asks the user: Lend 'Emma' to Amina Diallo?",
        '"title": "Emma", "member": "Amina Diallo"',
        "with the handshake of protocol version 2025-11-25",
        '"on_loan": 5',
        "The server has stopped.",
    ):
        assert said in output
    assert "Traceback" not in output + errors


@pytest.mark.interop
@pytest.mark.timeout(900)
def test_run_demo_can_leave_the_server_running_until_it_is_stopped() -> None:
    finish(run_demo())  # so that what follows need not install
    process = run_demo("--keep")
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if line.startswith("The server goes on at "):
            break
    assert "curl http://127.0.0.1:" in output
    before = time.monotonic()
    process.terminate()
    finish(process)
    assert process.returncode == 143
    assert time.monotonic() - before < 60
    assert list((ROOT / ".cache" / "demo").glob("server.*")) == [] or "MCP_WSGI_DEMO_CACHE" in os.environ


def test_run_demo_refuses_what_it_does_not_know() -> None:
    process = run_demo("--kep")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (2, "", "usage: ./run-demo [--keep]\n")
