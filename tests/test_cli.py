"""The command `mcp-wsgi`, as a process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mcp_wsgi
from mcp_wsgi.cli import main
from tests.servers import ROOT

SECONDS = 20
WITHOUT_WAITRESS = "import sys; sys.modules['waitress'] = None; from mcp_wsgi.cli import main; sys.exit(main())"
LAUNCHERS = {"waitress": ["-m", "mcp_wsgi"], "wsgiref": ["-c", WITHOUT_WAITRESS]}


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}


@contextmanager
def demo(folder: Path, *arguments: str, launcher: Sequence[str] = ("-m", "mcp_wsgi")) -> Iterator[Any]:
    """Run the demo until the block ends; its standard output has been read up to the last line of the usage."""
    process = subprocess.Popen(
        [sys.executable, *launcher, "demo", *arguments],
        env=environ(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if line == "Press Ctrl-C to stop.\n":
                break
        found = re.search(r"^ +(http://\S+/mcp)$", printed, re.MULTILINE)
        if found is None:
            raise AssertionError(printed + process.communicate(timeout=SECONDS)[1])
        process.printed, process.url = printed, found[1]  # type: ignore[attr-defined]
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def post(url: str, headers: dict[str, str], body: str) -> dict[str, Any]:
    request = urllib.request.Request(url, body.encode(), headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        decoded: dict[str, Any] = json.loads(answer.read())
        return decoded


@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_demo_serves_what_it_prints_and_leaves_nothing(
    tmp_path: Path, launcher: list[str], number: signal.Signals
) -> None:
    with demo(tmp_path, "--port", "0", launcher=launcher) as process:
        joined = process.printed.replace("\\\n", "")
        commands = [shlex.split(each) for each in re.findall(r"^curl .+$", joined, re.MULTILINE)]
        assert len(commands) == 2
        for command in commands:
            options = list(zip(command[2::2], command[3::2], strict=True))
            headers = dict(value.split(": ", 1) for option, value in options if option == "-H")
            answer = post(command[1], headers, dict(options)["-d"])
            assert "Pride and Prejudice" in answer["result"]["content"][0]["text"]
        assert [path.name for path in tmp_path.glob("*/*")] == ["library.sqlite"]
        process.send_signal(number)
        output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, output, errors) == (0, "Stopped.\n", "")
    assert list(tmp_path.iterdir()) == []


def status(url: str, headers: dict[str, str]) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    try:
        post(url, {"Content-Type": "application/json", **headers}, body)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


def test_on_loopback_only_this_machine_s_names_and_pages_are_let_in(tmp_path: Path) -> None:
    with demo(tmp_path, "--port", "0", "--host", "localhost") as process:
        port = process.url.split(":")[2].removesuffix("/mcp")
        assert status(process.url, {"Host": f"localhost:{port}"}) == 200
        assert status(process.url, {"Host": f"rebound.example:{port}"}) == 421
        assert status(process.url, {"Origin": "http://localhost:5173"}) == 200
        assert status(process.url, {"Origin": "https://evil.example"}) == 403


def test_beyond_loopback_it_warns(tmp_path: Path) -> None:
    with demo(tmp_path, "--port", "0", "--host", "0.0.0.0") as process:
        assert process.url.startswith("http://127.0.0.1:")
        assert status(process.url, {"Host": "machine.example"}) == 200
        assert status(process.url, {"Origin": "http://localhost:5173"}) == 403
        process.terminate()
        assert process.communicate(timeout=SECONDS)[1].startswith("Warning: everyone who can reach")


@pytest.mark.skipif(not socket.has_ipv6, reason="Python has no IPv6")
def test_ipv6_has_its_brackets(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    with demo(tmp_path, "--port", "0", "--host", "::1", launcher=LAUNCHERS["wsgiref"]) as process:
        assert process.url.startswith("http://[::1]:")
        assert status(process.url, {}) == 200


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(tmp_path, "demo", "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"mcp-wsgi: cannot listen on 127.0.0.1 port {port}: ")
    assert done.stderr.endswith(". Try --port 0.\n")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mcp_wsgi", *arguments]
    return subprocess.run(
        command, env=environ(folder), capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=False
    )


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"mcp-wsgi {mcp_wsgi.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["serve"], "invalid choice: 'serve'"),
        (["demo", "--port", "eighty"], "argument --port: 'eighty' is not a port: a number from 0 to 65535"),
        (["demo", "--port", "65536"], "'65536' is not a port"),
        (["demo", "--port", "-1"], "not a port"),
        (["demo", "--port", "٣"], "'٣' is not a port"),
        (["demo", "--port", "9" * 5000], "is not a port"),
        (["demo", "--host", "no such host"], "argument --host: 'no such host' is no address or name"),
        (["demo", "--host", ""], "argument --host: '' is no address or name"),
        (["demo", "--host", "a" * 300], "is no address or name"),
        (["demo", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_arguments_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
