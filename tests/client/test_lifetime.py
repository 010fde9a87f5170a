"""The life of a client: where it is made, forked, interrupted, forgotten by its program, closed at any moment."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import ClientClosedError, ClientError, MCPError, TransportError
from tests.client.interrupts import interrupted_when
from tests.client.peers import HTTPPeer, Refusal, Way, http_peer
from tests.client.session_peer import SessionPeer, session_peer
from tests.patience import wait_until

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os
from mcp_wsgi import Server
from mcp_wsgi.stdio import serve_stdio

server = Server("living")

@server.tool
def pid() -> str:
    return str(os.getpid())

serve_stdio(server)
"""
# Insists on the handshake, as older servers do.
STRICT = """
import json, os, sys
shaken = False
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        shaken = True
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {}}
    elif not shaken:
        answer["error"] = {"code": -32602, "message": "Not initialized"}
    else:
        answer["result"] = {"content": [{"type": "text", "text": str(os.getpid())}]}
    print(json.dumps(answer), flush=True)
"""


def threads_of_ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(("mcp-", "mcp_"))]


@pytest.fixture
def sessions() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


@pytest.fixture
def peer() -> Iterator[HTTPPeer]:
    with http_peer() as peer:
        yield peer


def in_child(work: Callable[[], str]) -> str:
    """Fork, do something there within a minute, and give what came of it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(child, 0)
    return said


# Forks


@pytest.mark.parametrize("program", [PROGRAM, STRICT])
def test_a_forked_process_starts_a_server_of_its_own(program: str) -> None:
    with Client([sys.executable, "-c", program], cwd=str(ROOT), verdicts={}) as client:

        def call() -> str:
            try:
                return str(client.call_tool("pid").text)
            finally:
                client.close()

        first = client.call_tool("pid").text
        assert int(in_child(call)) != int(first)
        assert client.call_tool("pid").text == first


def test_a_forked_process_begins_a_session_of_its_own(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}, on_notification=lambda message: None) as client:
        wait_until(lambda: sessions.streams == 1)

        def call() -> str:
            text = client.call_tool("which").text
            client.close()
            return str(text)

        assert in_child(call) == "session-2"
        assert client.call_tool("which").text == "session-1"
        wait_until(lambda: sessions.ended == ["session-2"])


def test_a_process_that_is_forked_while_another_thread_connects_can_connect(peer: HTTPPeer) -> None:
    peer.become(Way(modern=False, legacy=True, refusal=Refusal(code=-32601, late=True)))
    client = Client(peer.url, verdicts={}, probe_timeout=60)
    thread = threading.Thread(target=client.connect)
    thread.start()
    wait_until(lambda: peer.received)
    peer.become(Way(modern=True, legacy=False))
    assert in_child(lambda: client.list_tools()[0].name) == "now"
    assert thread.is_alive()
    peer.released.set()
    thread.join()
    client.close()


def test_what_was_listened_for_is_not_heard_in_a_forked_process(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client, client.listen(tools_list_changed=True) as listener:
        assert in_child(lambda: str(listener.next(30))).startswith("TransportError: Nothing is heard")
        wait_until(lambda: sessions.streams == 1)
        sessions.tell("notifications/tools/list_changed")
        assert listener.next(30) is not None


def test_callbacks_are_called_in_a_forked_process_too(sessions: SessionPeer) -> None:
    got: list[Any] = []
    with Client(sessions.url, verdicts={}, on_notification=got.append) as client:
        wait_until(lambda: sessions.streams == 1)
        sessions.tell("notifications/a")
        wait_until(lambda: len(got) == 1)

        def hear() -> str:
            client.connect()
            wait_until(lambda: len(got) == 2, 30)
            return str(len(got))

        def tell() -> None:
            wait_until(lambda: sessions.streams == 2, 30)  # the other one is the child's
            sessions.tell("notifications/b")

        told = threading.Thread(target=tell)
        told.start()
        assert in_child(hear) == "2"
        told.join()


# Collection


def test_a_client_that_nobody_closes_and_nobody_has_is_ended(sessions: SessionPeer) -> None:
    client = Client(sessions.url, verdicts={}, on_notification=lambda message: None)
    client.connect()
    wait_until(lambda: sessions.streams == 1)
    gone = weakref.ref(client)
    del client
    gc.collect()
    assert gone() is None
    wait_until(lambda: not threads_of_ours())
    wait_until(lambda: sessions.ended == ["session-1"])


def test_a_process_that_nobody_stops_and_nobody_has_is_ended() -> None:
    client = Client([sys.executable, "-c", PROGRAM], cwd=str(ROOT))
    pid = int(client.call_tool("pid").text)
    del client
    gc.collect()

    def is_gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(is_gone)
    wait_until(lambda: not threads_of_ours())


# Beginnings that fail


def test_a_block_that_cannot_connect_leaves_nothing() -> None:
    deaf = "import sys\nfor line in sys.stdin: pass"
    with pytest.raises(ClientError), Client([sys.executable, "-c", deaf], probe_timeout=0.3, timeout=0.3):
        pytest.fail("it cannot be connected")
    wait_until(lambda: not threads_of_ours())


def test_a_closed_client_does_not_connect_whatever_is_known_of_the_server(peer: HTTPPeer) -> None:
    known: list[dict[str, Any]] = [
        {"protocol_version": MODERN},
        {"verdicts": {peer.url: MODERN}},
        {"verdicts": {peer.url: LEGACY}},
        {"verdicts": {peer.url: "sse 2024-11-05"}},
    ]
    for options in known:
        client = Client(peer.url, **options)
        client.close()
        with pytest.raises(ClientClosedError):
            client.connect()
    assert peer.received == []


@pytest.mark.parametrize("found", [5, b"2026-07-28", None, "", "sse", "sse x", "sse 2026-07-28", "x y", "1999-01-01"])
def test_what_is_remembered_and_means_nothing_is_not_heeded(peer: HTTPPeer, found: Any) -> None:
    verdicts: dict[str, Any] = {peer.url: found}
    with Client(peer.url, verdicts=verdicts) as client:
        assert client.list_tools()[0].name == "now"
    assert verdicts == {peer.url: MODERN}


def test_a_pinned_version_does_not_heed_what_is_remembered(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={peer.url: "sse 2024-11-05"}, protocol_version=MODERN) as client:
        assert client.list_tools()[0].name == "now"


@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.4, 0.7])
def test_closing_ends_a_beginning_at_any_moment(peer: HTTPPeer, moment: float) -> None:
    peer.become(Way(modern=False, legacy=True, refusal=Refusal(code=-32601, late=True)))
    client = Client(peer.url, verdicts={}, probe_timeout=0.5)
    failure: list[Exception] = []

    def work() -> None:
        try:
            client.list_tools()
            client.list_tools()
        except ClientError as error:
            failure.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(moment)
    client.close()
    thread.join(30)
    assert not thread.is_alive()
    assert all(isinstance(error, ClientClosedError) for error in failure)
    with pytest.raises(ClientClosedError):
        client.connect()


def test_an_interrupt_leaves_a_client_that_can_be_used(peer: HTTPPeer) -> None:
    peer.become(Way(modern=False, legacy=True, refusal=Refusal(code=-32601, late=True)))
    with closing(Client(peer.url, verdicts={}, probe_timeout=60)) as client:
        with pytest.raises(KeyboardInterrupt), interrupted_when(lambda: peer.received):
            client.connect()
        peer.become(Way(modern=True, legacy=False))
        assert client.list_tools()[0].name == "now"


def test_an_interrupted_listen_leaves_nothing() -> None:
    server, asked, go = Server("silent"), threading.Event(), threading.Event()

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["method"] == "subscriptions/listen":
            asked.set()
            go.wait(30)
        return server.handle_message(message)

    with Client(answer) as client:
        with pytest.raises(KeyboardInterrupt), interrupted_when(asked.is_set, go.set):
            client.listen(tools_list_changed=True)
        wait_until(lambda: not threads_of_ours())


def test_a_listen_that_is_interrupted_while_its_thread_starts_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server, start = Server("heard"), threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "mcp-client-listen":
            raise KeyboardInterrupt

    with Client(server) as client:
        client.connect()
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.listen(tools_list_changed=True)
        wait_until(lambda: not threads_of_ours())  # one that had not come to subscribe yet does not either
        assert len(server.bus) == 0


def test_a_listener_ends_where_what_signs_its_request_fails(peer: HTTPPeer) -> None:
    def auth(request: Any) -> Any:
        if b"subscriptions/listen" in (request.body or b""):
            raise LookupError("no token")
        return request

    with Client(peer.url, verdicts={}, auth=auth) as client, pytest.raises((LookupError, TransportError, MCPError)):
        client.listen(tools_list_changed=True, timeout=30)
    wait_until(lambda: not threads_of_ours())
