"""Each benchmark runs and prints its tables; no time is asserted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(script: str, *options: str, seconds: float = 100) -> str:
    command = [sys.executable, str(ROOT / "bench" / script), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds, cwd=ROOT).stdout


def test_core_prints_every_table():
    output = run("core.py", "--repeats", "1", "--number", "1")
    for title in ("Reading JSON", "Server.handle_message", "WSGI app", "Growth with the number of tools"):
        assert title in output
    assert "nan" not in output


def test_imports_prints_times_memory_and_modules():
    output = run("imports.py", "--rounds", "1", "--top", "3")
    for text in ("import mcp_wsgi.wsgi", "over bare, MiB", "by module", "by package"):
        assert text in output


def test_throughput_is_skipped_without_wrk(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "wrk is not installed" in run("throughput.py")


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_throughput_compares_with_a_bare_application():
    output = run("throughput.py", "--seconds", "1", "--rounds", "1")
    assert "ratio to the bare application" in output


@pytest.mark.servers
def test_client_compares_with_a_bare_session():
    output = run("client.py", "--calls", "5", "--rounds", "1", "--no-peer")
    assert "mcp_wsgi / bare" in output


@pytest.mark.interop
@pytest.mark.timeout(900)
def test_client_compares_with_the_official_client():
    assert "official / bare" in run("client.py", "--calls", "5", "--rounds", "1", seconds=800)


def test_doors_is_skipped_without_wrk(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "wrk is not installed" in run("doors.py")


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.parametrize("door", ["asgi", "flask", "django"])
def test_doors_compares_with_a_bare_view(door):
    output = run("doors.py", "--seconds", "1", "--rounds", "1", "--only", door)
    assert "Ratios" in output
    assert "door / bare" in output or "not installed here" in output


@pytest.mark.interop
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.parametrize(("match", "title"), [("sdk", "official SDK"), ("mcpz", "django-mcpz")])
def test_doors_compares_with_other_projects(match, title):
    output = run("doors.py", "--seconds", "1", "--rounds", "1", "--only", match)
    assert f"door / {title}" in output or "Skipped" in output
