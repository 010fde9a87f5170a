"""The commands that serve, as processes of their own."""

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
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mcp_wsgi
from mcp_wsgi.cli import main
from tests.patience import wait_until
from tests.servers import ROOT, reserved_port

SECONDS = 30
WITHOUT_WAITRESS = "import sys; sys.modules['waitress'] = None; from mcp_wsgi.cli import main; sys.exit(main())"
LAUNCHERS = {"waitress": ["-m", "mcp_wsgi"], "wsgiref": ["-c", WITHOUT_WAITRESS]}


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}


@contextmanager
def serving(
    folder: Path, command: str, *arguments: str, launcher: Sequence[str] = ("-m", "mcp_wsgi"), cwd: Path | None = None
) -> Iterator[Any]:
    """Run a command that serves until the block ends; its output has been read up to the last line of the usage."""
    process = subprocess.Popen(
        [sys.executable, *launcher, command, *arguments],
        env=environ(folder),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if line == "Press Ctrl-C to stop.\n":
                break
        found = re.search(r"(http://\S+)$", printed, re.MULTILINE)
        if found is None:
            raise AssertionError(printed + process.communicate(timeout=SECONDS)[1])
        process.printed, process.url = printed, found[1]  # type: ignore[attr-defined]
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # with what it has started, which would keep its output open
        process.communicate(timeout=SECONDS)


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
    with serving(tmp_path, "demo", "--port", "0", launcher=launcher) as process:
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
    with serving(tmp_path, "demo", "--port", "0", "--host", "localhost") as process:
        port = process.url.split(":")[2].removesuffix("/mcp")
        assert status(process.url, {"Host": f"localhost:{port}"}) == 200
        assert status(process.url, {"Host": f"rebound.example:{port}"}) == 421
        assert status(process.url, {"Origin": "http://localhost:5173"}) == 200
        assert status(process.url, {"Origin": "https://evil.example"}) == 403


def test_beyond_loopback_it_warns(tmp_path: Path) -> None:
    with serving(tmp_path, "demo", "--port", "0", "--host", "0.0.0.0") as process:
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
    with serving(tmp_path, "demo", "--port", "0", "--host", "::1", launcher=LAUNCHERS["wsgiref"]) as process:
        assert process.url.startswith("http://[::1]:")
        assert status(process.url, {}) == 200


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(tmp_path, "demo", "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"mcp-wsgi: cannot listen on 127.0.0.1 port {port}: ")
    assert done.stderr.endswith(". Try --port 0.\n")


def run(folder: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mcp_wsgi", *arguments]
    return subprocess.run(
        command,
        env=environ(folder),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
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
        (["swerve"], "invalid choice: 'swerve'"),
        (["serve"], "the following arguments are required: MODULE:SERVER"),
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
    assert status_of(arguments) == 2
    assert message in capsys.readouterr().err


def status_of(arguments: list[str]) -> Any:
    """Run a command in this process; give its status, whoever raised it."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code


SHOP = """
from mcp_wsgi import Server

server = Server("shop", version="1.0")


@server.tool
def greet(name: str) -> str:
    return f"WORD {name}"


def make():
    return server


def fail():
    raise RuntimeError("no database")


class Shops:
    first = server


number = 5
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    (folder / "broken.py").write_text("import no_such_package\n")
    (folder / "wrong.py").write_text("1 / 0\n")
    return folder


def greet(url: str) -> str:
    params = {"name": "greet", "arguments": {"name": "you"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    text: str = post(url, {"Content-Type": "application/json"}, body)["result"]["content"][0]["text"]
    return text


@pytest.mark.parametrize("target", ["shop:server", "shop:make", "shop:Shops.first"])
def test_serve_finds_a_server_in_the_working_directory(tmp_path: Path, shop: Path, target: str) -> None:
    with serving(tmp_path, "serve", target, "--port", "0", "--path", "/tools", cwd=shop) as process:
        assert process.url.endswith("/tools")
        assert greet(process.url) == "WORD you"
        assert status(process.url, {"Origin": "http://localhost:5173"}) == 200
        assert status(process.url, {"Origin": "https://evil.example"}) == 403
        assert status(process.url, {"Host": "rebound.example"}) == 421
        process.terminate()
        output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, output) == (0, "Stopped.\n")
    assert [line.partition(" was refused")[0] for line in errors.splitlines()] == ["An Origin header", "A Host header"]


def test_serve_lets_pages_in_that_are_named(tmp_path: Path, shop: Path) -> None:
    with serving(
        tmp_path, "serve", "shop:server", "--port", "0", "--allow-origin", "https://app.example", cwd=shop
    ) as process:
        assert status(process.url, {"Origin": "https://app.example"}) == 200
        assert status(process.url, {"Origin": "https://evil.example"}) == 403


def test_serve_warns_beyond_loopback(tmp_path: Path, shop: Path) -> None:
    with serving(tmp_path, "serve", "shop:server", "--port", "0", "--host", "0.0.0.0", cwd=shop) as process:
        assert status(process.url, {"Origin": "http://localhost:5173"}) == 403
        process.terminate()
        assert process.communicate(timeout=SECONDS)[1].startswith("Warning: everyone who can reach")


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("shop", 2, "'shop' names no server: write MODULE:SERVER"),
        (":server", 2, "names no server"),
        ("shop:", 2, "names no server"),
        ("nowhere:server", 2, "There is no module 'nowhere' in this directory, nor one installed."),
        ("shop.inner:server", 2, "There is no module 'shop.inner'"),
        ("shop:other", 2, "The module 'shop' has no 'other'."),
        ("shop:number", 2, "shop:number is not an mcp_wsgi.Server, but int."),
        ("shop:Shops", 2, "shop:Shops is not an mcp_wsgi.Server, but Shops."),
        ("shop:fail", 1, "shop:fail failed to make a server: RuntimeError: no database"),
        ("broken:server", 1, "The module 'broken' needs 'no_such_package', which is not installed."),
        ("wrong:server", 1, "The module 'wrong' failed: ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_a_server_that_cannot_be_had_is_explained(
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    target: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(shop)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    for name in ("shop", "broken", "wrong"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert status_of([command, target]) == code
    errors = capsys.readouterr().err
    assert errors.startswith("mcp-wsgi: ")
    assert message in errors
    assert "Traceback" not in errors
    for name in ("shop", "broken", "wrong"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("option", "message"),
    [(("--path", "mcp"), "path must begin with"), (("--allow-origin", "app.example"), "is no origin")],
)
def test_serve_refuses_what_cannot_be_used(tmp_path: Path, shop: Path, option: tuple[str, str], message: str) -> None:
    done = run(tmp_path, "serve", "shop:server", "--port", "0", *option, cwd=shop)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_working_directory_comes_first(tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "json5.py").write_text(SHOP)
    monkeypatch.chdir(shop)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    from mcp_wsgi.cli.loading import load_server

    try:
        assert load_server("json5:server").name == "shop"
        assert sys.path.count("") == 1
    finally:
        sys.modules.pop("json5", None)


def test_stdio_serves_over_standard_input_and_output(tmp_path: Path, shop: Path) -> None:
    params = {"name": "greet", "arguments": {"name": "you"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    done = subprocess.run(
        [sys.executable, "-m", "mcp_wsgi", "stdio", "shop:server"],
        env=environ(tmp_path),
        cwd=shop,
        input=body + "\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "WORD you"


def replace(file: Path, text: str) -> None:
    """Write a file in one step: whoever is told of a change finds it as a whole."""
    new = file.parents[1] / "new"
    new.write_text(text)
    new.replace(file)


def watches_files(process: subprocess.Popen[str]) -> bool:
    """Say whether a process watches files yet, where the system tells: it begins to when its server is starting."""
    told = Path(f"/proc/{process.pid}/fdinfo")
    if not told.is_dir():
        return True
    found = []
    for each in told.iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(each.read_text())
    return any("inotify wd:" in each for each in found)


def test_reload_starts_anew_when_a_file_changes_even_after_a_mistake(tmp_path: Path, shop: Path) -> None:
    pytest.importorskip("watchfiles")
    origin = ("--allow-origin", "https://app.example")
    with (
        reserved_port() as port,
        serving(tmp_path, "serve", "shop:server", "--port", f"{port}", "--reload", *origin, cwd=shop) as process,
    ):
        assert status(process.url, {"Origin": "https://app.example"}) == 200
        assert greet(process.url) == "WORD you"
        wait_until(lambda: watches_files(process), SECONDS)
        replace(shop / "shop.py", "1 / 0\n")
        errors = process.stderr.readline()
        assert errors == "mcp-wsgi: The module 'shop' failed: ZeroDivisionError: division by zero\n"
        replace(shop / "shop.py", SHOP.replace("WORD", "Hello"))
        for line in process.stdout:
            if line == "Press Ctrl-C to stop.\n":
                break
        assert greet(process.url) == "Hello you"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def test_reload_chooses_a_port_once(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []

    def run_process(*paths: Path, target: str, **options: Any) -> None:
        commands.append(target)

    watchfiles = SimpleNamespace(run_process=run_process, PythonFilter=list)
    monkeypatch.setitem(sys.modules, "watchfiles", watchfiles)  # type: ignore[arg-type]
    assert main(["serve", "shop:server", "--reload", "--port", "0"]) == 0
    (command,) = commands
    assert int(command.partition(" --port ")[2].partition(" ")[0]) > 0


def test_reload_says_what_to_install(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["serve", "shop:server", "--reload"]) == 2
    assert capsys.readouterr().err == (
        "mcp-wsgi: --reload needs the package watchfiles. Install it: pip install watchfiles\n"
    )
