"""A gateway and the server behind it, each a process of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Server, ToolError
from mcp_wsgi.bridge import ToolList, connect_servers
from mcp_wsgi.client import Cancel, Client
from mcp_wsgi.exceptions import RequestCancelledError, RequestTimeoutError, TransportError, UnauthorizedError
from tests.bridge.support import wait_until
from tests.client.times import hurry_calls
from tests.servers import ROOT, Running, serve

STDIO = [
    sys.executable,
    "-c",
    "from mcp_wsgi.stdio import serve_stdio; from tests.bridge.apps import server; serve_stdio(server)",
]


@pytest.fixture(scope="module")
def remote() -> Iterator[Running]:
    with serve("waitress", "tests.bridge.apps:application", threads=8) as running:
        yield running


@pytest.fixture(scope="module", params=["gunicorn-gthread", "waitress"])
def gateway(remote: Running, request: pytest.FixtureRequest) -> Iterator[Running]:
    env = {"UPSTREAM": f"{remote.url}/mcp"}
    workers = 2 if request.param.startswith("gunicorn") else 1
    with serve(request.param, "tests.bridge.gateway:application", env=env, workers=workers) as running:
        yield running


def leave(client: Client) -> list[float]:
    """Call the tool that waits, and leave when it has reported for the third time; return its first three reports."""
    cancel, seen = Cancel(), []

    def note(progress: float) -> None:
        seen.append(progress)
        if progress == 3:
            cancel.cancel()

    with pytest.raises(RequestCancelledError):
        client.call_tool("wait", on_progress=lambda report: note(report.progress), cancel=cancel)
    return seen[:3]  # what had been read already is still told


def test_progress_goes_through_and_who_leaves_the_gateway_leaves_the_server(remote: Running, gateway: Running) -> None:
    before = remote.log().count("the client of wait has left")
    with Client(f"{gateway.url}/mcp") as client:
        assert leave(client) == [1, 2, 3]
        remote.wait_for_log("the client of wait has left", count=before + 1)
        assert client.call_tool("echo", {"text": "still there"}).text == "still there"
    gateway.assert_clean()
    remote.assert_clean()


def test_a_question_of_the_server_is_answered_by_the_gateway_s_client(gateway: Running) -> None:
    with Client(f"{gateway.url}/mcp", elicit=lambda question: {"name": "Ada"}) as client:
        assert [client.call_tool("greet").text for _ in range(5)] == ["Hello Ada."] * 5
    gateway.assert_clean()


def test_legacy_clients_use_a_gateway_as_well(gateway: Running) -> None:
    with Client(f"{gateway.url}/mcp", protocol_version="2025-06-18") as client:
        assert client.call_tool("echo", {"text": "hello"}).text == "hello"


def test_many_clients_of_a_gateway_get_their_own_answers(gateway: Running) -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        with Client(f"{gateway.url}/mcp") as client:
            found[number] = "".join(client.call_tool("echo", {"text": f"{number}."}).text for _ in range(5))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert found == {number: f"{number}." * 5 for number in range(20)}


# A server that stops answering


class Token:
    """What `requests` takes as auth; the token may change."""

    value = "right"

    def __call__(self, request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {self.value}"
        return request


def outcome(tools: ToolList, name: str) -> tuple[str, BaseException | None]:
    with pytest.raises(ToolError) as caught:
        tools.call(name, {"text": "hello"})
    return str(caught.value), caught.value.__cause__


def test_a_server_that_no_longer_lets_us_in_is_told_apart(remote: Running) -> None:
    token = Token()
    with connect_servers([{"url": f"{remote.url}/private", "auth": token}], strict=True) as tools:
        assert tools.call("echo", {"text": "hello"}) == "hello"
        token.value = "wrong"
        text, cause = outcome(tools, "echo")
        assert text == "This is not allowed: the server 'remote'."
        assert isinstance(cause, UnauthorizedError)


def test_a_server_that_takes_too_long_is_told_apart(remote: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect_servers([{"url": f"{remote.url}/mcp", "timeout": 30}], strict=True) as tools:
        allowed = hurry_calls(monkeypatch)
        text, cause = outcome(tools, "wait")
        assert allowed == [30]
        assert text == "This took too long: the server 'remote'."
        assert isinstance(cause, RequestTimeoutError)


def test_a_server_that_has_gone_says_nothing_of_where_it_was(caplog: pytest.LogCaptureFixture) -> None:
    with serve("waitress", "tests.bridge.apps:application") as running:
        tools = connect_servers([f"{running.url}/mcp"], strict=True)
    with tools:
        text, cause = outcome(tools, "echo")
    assert text == "This could not be reached, or gave no valid answer: the server 'remote'."
    assert isinstance(cause, TransportError)
    assert [record for record in caplog.records if "The tool 'echo' of the server 'remote': " in record.getMessage()]


# A program behind a gateway


def processes(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended, or is nobody's business
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
    return found


@pytest.fixture
def program() -> Iterator[Server]:
    """A gateway in this process, in front of a program that speaks over its standard streams."""
    mark = f"{os.getpid()}-{threading.get_ident()}-bridge"
    target = {"command": STDIO, "cwd": str(ROOT), "env": {"BRIDGE_TEST_MARK": mark}}
    with connect_servers([target], strict=True) as tools:
        assert len(processes(mark)) == 1
        yield Server("gateway", tools=tools)
    wait_until(lambda: processes(mark) == [])


def test_a_program_is_a_server_like_another(program: Server) -> None:
    with Client(program, elicit=lambda question: {"name": "Ada"}) as client:
        assert client.call_tool("echo", {"text": "hello"}).text == "hello"
        assert client.call_tool("greet").text == "Hello Ada."
        assert leave(client) == [1, 2, 3]
        assert client.call_tool("echo", {"text": "still there"}).text == "still there"
