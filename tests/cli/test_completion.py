"""Completion in shells, and what is there without the optional packages."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_wsgi.cli import main
from mcp_wsgi.cli.program import make_parser
from tests.cli.test_serving import run, status_of
from tests.patience import least

COMMANDS = ["demo", "serve", "stdio", "inspect", "list", "call", "read", "prompt", "complete", "listen", "doctor"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_shell_completes_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert status_of(["--print-completion", shell]) == 0
    printed = capsys.readouterr().out
    for command in COMMANDS:
        assert command in printed
    assert "--bearer-env" in printed or shell == "tcsh"


def test_bash_takes_the_completion(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    status_of(["--print-completion", "bash"])
    script = capsys.readouterr().out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "mcp-wsgi: --print-completion needs the package shtab. Install it: pip install shtab\n"
    )


def test_an_unknown_shell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["--print-completion", "fish"]) == 2
    assert "invalid choice: 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of([*([command] if command else []), "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: mcp-wsgi")
    if not command:
        assert all(f"\n    {name} " in printed for name in COMMANDS)
        assert "exit status:" in printed


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom mcp_wsgi.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('requests', 'rich', 'shtab', 'asyncio', 'jsonschema', 'ssl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_comes_at_once(tmp_path: Path) -> None:
    def measure() -> float:
        start = time.perf_counter()
        assert run(tmp_path, "--help").returncode == 0
        return time.perf_counter() - start

    assert least(measure, 2) < 2


def test_the_parser_knows_both_ways_to_name_a_server() -> None:
    for with_url in (True, False):
        words = ["call", *(["URL"] if with_url else []), "add", "a=1"]
        assert make_parser(with_url=with_url).parse_args(words).tool == "add"
