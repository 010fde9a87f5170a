"""The page about the command line: what it shows is what the commands print, and all of them are on it.

A console block whose commands are followed by output is run, in a folder with the page's own `shop.py`; `...` in the
output stands for anything. Blocks without output are only read: their commands have to exist.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_wsgi.cli.doctor.findings import Verdict
from mcp_wsgi.cli.exits import Exit
from mcp_wsgi.cli.program import make_parser
from tests.cli.test_completion import COMMANDS
from tests.test_docs import DOCS, ROOT, python_blocks

PAGE = DOCS / "command-line.md"
TEXT = PAGE.read_text(encoding="utf-8")
CONSOLE = re.findall(r"^```console\n(.*?)^```$", TEXT, re.M | re.S)
EXAMPLES = [
    (command.strip(), printed)
    for block in CONSOLE
    for command, printed in re.findall(r"^\$ (.*\n)((?:(?!\$ ).*\n)*)", block, re.M)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (_, code), *_ = python_blocks(PAGE)
    (folder / "shop.py").write_text(code)
    # The command as it is installed, whether it is or not.
    program = folder / "mcp-wsgi"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m mcp_wsgi "$@"\n'
    )
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("command", "printed"), [example for example in EXAMPLES if example[1]])
def test_an_example_prints_what_the_page_says(folder: Path, command: str, printed: str) -> None:
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    # The command of the server is started by the client, with an environment of its own.
    words = command.replace(" -- ", f" --cwd {folder} -- ") if " -- " in command else command
    words = words.replace("-- mcp-wsgi", f"-- {folder}/mcp-wsgi")
    done = subprocess.run(
        words,
        shell=True,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )
    told = done.stdout.replace(f"{folder}/", "")
    told = told if told.endswith("\n") else told + "\n"
    assert doctest.OutputChecker().check_output(printed, told, doctest.ELLIPSIS), told


@pytest.mark.parametrize("command", [command for command, _ in EXAMPLES if command.startswith("mcp-wsgi ")])
def test_a_command_of_the_page_exists(command: str) -> None:
    words = shlex.split(command.split(" > ")[0])[1:]
    own = words[: words.index("--")] if "--" in words else words
    if own[0].startswith("--"):
        assert own[0] == "--print-completion"
    else:
        make_parser(with_url="--" not in words).parse_args(own)


def test_every_command_option_status_and_verdict_is_on_the_page() -> None:
    for command in COMMANDS:
        assert f"`{command}`" in TEXT or f"`{command} " in TEXT
    parser = make_parser()
    (subparsers,) = (action for action in parser._actions if action.choices and action.dest == "command")
    options = {
        option
        for subparser in subparsers.choices.values()  # type: ignore[union-attr]
        for action in subparser._actions
        for option in action.option_strings
    }
    assert [
        option for option in sorted(options - {"-h", "--help", "-o", "--verbose", "--context"}) if option not in TEXT
    ] == []
    for status in Exit:
        assert f"| {status.value} |" in TEXT
    for verdict in Verdict:
        assert verdict.value.replace("-", " ") in TEXT
