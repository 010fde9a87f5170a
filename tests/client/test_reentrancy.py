"""Callbacks that use the client that calls them, or fail, and what that means for the call they belong to."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Context, MCPError, Server
from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import (
    ClientError,
    MethodNotFoundError,
    RequestTimeoutError,
    SessionExpiredError,
)
from tests.client.session_peer import SessionPeer, session_peer
from tests.client.times import CallTime, take_call_time
from tests.patience import wait_until

LEGACY = "2025-11-25"
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import time
from mcp_wsgi import Context, Server
from mcp_wsgi.stdio import serve_stdio

server = Server("again")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
def work(ctx: Context) -> str:
    ctx.report_progress(1, 2)
    ctx.info("working")
    return "done"

@server.tool
def ask(ctx: Context) -> str:
    return ctx.elicit("Sure?", {"type": "object", "properties": {}}).action

serve_stdio(server)
"""

# A legacy server on stdio that asks while a tool runs, before the handshake is over, and only goes on when answered.
ASKING = """
import json, sys
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def wait_for(request_id):
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == request_id and "method" not in message:
            return message
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        send({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})
        send({"id": "early", "method": "ping"})
        wait_for("early")
        send({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    elif method == "tools/call":
        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        send({"id": "q", "method": "elicitation/create", "params": form})
        answer = wait_for("q")
        send({"id": message["id"], "result": {"content": [{"type": "text", "text": answer["result"]["action"]}]}})
    elif "id" in message and method:
        send({"id": message["id"], "result": {}})
"""


@pytest.fixture
def peer() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


def stdio(**options: Any) -> Client:
    return Client([sys.executable, "-c", PROGRAM], cwd=str(ROOT), **options)


@pytest.mark.parametrize("version", ["2026-07-28", LEGACY])
def test_callbacks_call_the_client_over_stdio(version: str) -> None:
    got: list[Any] = []

    def call(*_: Any) -> None:
        got.append(client.call_tool("add", {"a": 1, "b": 2}).text)

    def answer(question: Any) -> dict[str, Any]:
        call()
        return {}

    options: dict[str, Any] = {"elicit": answer, "on_log": call, "log_level": "info", "timeout": 60}
    with stdio(protocol_version=version, **options) as client:
        assert client.call_tool("work", on_progress=call).text == "done"
        wait_until(lambda: len(got) == 2)
        if version != LEGACY:
            assert client.call_tool("ask").text == "accept"
            assert len(got) == 3


def test_callbacks_call_the_client_over_http(peer: SessionPeer) -> None:
    got: list[Any] = []

    def answer(question: Any) -> dict[str, Any]:
        got.append(client.call_tool("which").text)
        return {}

    with Client(peer.url, verdicts={}, elicit=answer, on_notification=answer) as client:
        for own_stream in (True, False):
            client.call_tool("ask", {"own_stream": own_stream})
        wait_until(lambda: peer.streams == 1)
        peer.tell("notifications/tools/list_changed")
        wait_until(lambda: len(got) == 3)


def test_a_server_is_answered_while_the_handshake_goes_on() -> None:
    """It may send pings and log messages before it is told "initialized" (2025-11-25, basic/lifecycle)."""
    got: list[str] = []

    def take(log: Any) -> None:
        got.append(log.data)
        client.ping()

    start = time.monotonic()
    options: dict[str, Any] = {"elicit": lambda question: {}, "on_log": take}
    client = Client([sys.executable, "-c", ASKING], protocol_version=LEGACY, **options)
    with client:
        assert client.call_tool("x").text == "accept"
        wait_until(lambda: got == ["hello"])
    assert time.monotonic() - start < 30  # nobody has waited for the other one until its patience ended


def test_a_server_that_asks_on_the_stream_of_the_handshake_is_answered(peer: SessionPeer) -> None:
    post = peer.post

    def pinging(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message.get("method") != "initialize":
            post(handler, identity, message)
            return
        peer.made += 1
        peer.sessions["session-1"] = queue.Queue()
        handler.send_response(200)
        handler.send_header("Mcp-Session-Id", "session-1")
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        peer.event(handler, {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})
        peer.event(handler, {"jsonrpc": "2.0", "id": "early", "method": "ping"})
        answer = peer.answers.get(timeout=30)
        assert answer == {"jsonrpc": "2.0", "id": "early", "result": {}}
        result = {"protocolVersion": LEGACY, "capabilities": {}}
        peer.event(handler, json.loads(peer.result(message, result)))

    peer.post = pinging  # type: ignore[method-assign]
    got: list[Any] = []

    def take(log: Any) -> None:
        got.append(client.era)

    client = Client(peer.url, verdicts={}, on_log=take)
    with client:
        assert client.era == "legacy"
        wait_until(lambda: got == ["legacy"])
    assert peer.made == 1


class Reporting:
    """A peer whose tool reports progress on the stream of the call."""

    def __init__(self, peer: SessionPeer) -> None:
        self.peer, self._post, self.calls = peer, peer.post, 0
        #: What the tool waits for between its report and its result.
        self.go_on = threading.Event()
        self.go_on.set()
        peer.post = self.post  # type: ignore[method-assign]

    def post(self, handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message.get("method") != "tools/call" or identity not in self.peer.sessions:
            self._post(handler, identity, message)
            return
        self.calls += 1
        self.peer.begin(handler)
        token = message["params"]["_meta"]["progressToken"]
        report = {"progressToken": token, "progress": 1}
        self.peer.event(handler, {"jsonrpc": "2.0", "method": "notifications/progress", "params": report})
        self.go_on.wait(60)
        self.peer.event(handler, json.loads(self.peer.result(message, {"content": []})))


@pytest.mark.parametrize(
    "error",
    [MethodNotFoundError("No"), SessionExpiredError(404), RequestTimeoutError("Slow"), MCPError(-32022, "No")],
    ids=lambda error: type(error).__name__,
)
def test_what_a_callback_raises_is_no_refusal_of_its_call(peer: SessionPeer, error: Exception) -> None:
    reporting = Reporting(peer)

    def take(report: Any) -> None:
        raise error

    with Client(peer.url, verdicts={}) as client, pytest.raises(type(error)) as caught:
        client.call_tool("x", on_progress=take)
    assert caught.value is error
    assert (reporting.calls, peer.made) == (1, 1)
    assert "notifications/cancelled" in peer.methods()


def test_what_a_callback_raises_keeps_its_cause(peer: SessionPeer) -> None:
    Reporting(peer)

    def take(report: Any) -> None:
        raise LookupError from ValueError("why")

    with Client(peer.url, verdicts={}) as client, pytest.raises(LookupError) as caught:
        client.call_tool("x", on_progress=take)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.fixture
def call_time(monkeypatch: pytest.MonkeyPatch) -> CallTime:
    return take_call_time(monkeypatch)


def test_a_slow_callback_is_no_silence_of_the_server(peer: SessionPeer, call_time: CallTime) -> None:
    reporting = Reporting(peer)
    reporting.go_on.clear()

    def take(report: Any) -> None:
        call_time.now += 100
        reporting.go_on.set()

    with Client(peer.url, verdicts={}) as client:
        client.call_tool("x", on_progress=take, timeout=60)


def test_an_answer_that_cannot_be_delivered_does_not_repeat_the_call(peer: SessionPeer) -> None:
    """The tool runs meanwhile: what becomes of its question is between the server and the answer."""
    post, calls = peer.post, []

    def lost(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if "method" not in message:
            peer.send(handler, 404, b"")
            return
        if message["method"] != "tools/call":
            post(handler, identity, message)
            return
        calls.append(message)
        peer.begin(handler)
        peer.event(handler, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        peer.event(handler, json.loads(peer.result(message, {"content": []})))

    peer.post = lost  # type: ignore[method-assign]
    with Client(peer.url, verdicts={}) as client:
        assert client.call_tool("x").content == ()
    assert len(calls) == 1


@pytest.mark.parametrize("own_stream", [True, False])
def test_a_person_may_think_longer_than_a_server_may_be_silent(
    peer: SessionPeer, own_stream: bool, call_time: CallTime
) -> None:
    def answer(question: Any) -> dict[str, Any]:
        if own_stream:  # the thread that waits for the server is this one
            call_time.now += 100
        else:
            call_time.spend(100)
        return {}

    with Client(peer.url, verdicts={}, elicit=answer, timeout=60) as client:
        client.call_tool("ask", {"own_stream": own_stream})


def test_a_person_may_think_on_stdio_too(call_time: CallTime) -> None:
    def answer(question: Any) -> dict[str, Any]:
        call_time.spend(100)
        return {}

    call_time.look_every = 0.05
    options: dict[str, Any] = {"elicit": answer, "protocol_version": LEGACY}
    with Client([sys.executable, "-c", ASKING], **options) as client:
        assert client.call_tool("x", timeout=60, max_timeout=60).text == "accept"


@pytest.mark.parametrize("callback", ["on_log", "on_notification"])
def test_an_error_in_a_callback_is_raised_to_the_call(callback: str) -> None:
    server = Server("s")

    @server.tool
    def work(ctx: Context) -> str:
        ctx.info("x")
        return "done"

    def fail(_: Any) -> None:
        raise ValueError("mine")

    options: dict[str, Any] = {callback: fail, "log_level": "info"}
    with Client(server, **options) as client, pytest.raises(ValueError, match="mine"):
        client.call_tool("work")


def test_a_failing_callback_does_not_end_a_listener(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    @server.tool
    def work() -> None:
        pass

    def fail(message: Any) -> None:
        raise ValueError("the callback's own fault")

    with Client(server, on_notification=fail) as client, client.listen(tools_list_changed=True) as listener:
        server.notify_tools_changed()
        assert listener.next(30) is not None
        wait_until(lambda: "the callback's own fault" in caplog.text)
        assert not listener.closed


def test_a_callback_that_exits_its_thread_does_not_silence_the_client(peer: SessionPeer) -> None:
    got: list[Any] = []

    def leave(message: Any) -> None:
        got.append(message)
        sys.exit()

    with Client(peer.url, verdicts={}, on_notification=leave):
        wait_until(lambda: peer.streams == 1)
        peer.tell("notifications/a")
        wait_until(lambda: len(got) == 1)
        time.sleep(0.1)
        peer.tell("notifications/b")
        wait_until(lambda: len(got) == 2)


def test_a_client_is_closed_by_its_own_callback(peer: SessionPeer) -> None:
    reporting = Reporting(peer)
    reporting.go_on.clear()
    client = Client(peer.url, verdicts={})
    with pytest.raises(ClientError):
        client.call_tool("x", on_progress=lambda report: client.close())
    reporting.go_on.set()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("mcp")])
