"""Listeners whose server breaks off, changes its era, refuses, or asks for a new session; of both eras."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.client import Change, Client
from mcp_wsgi.client.forks import begin_anew_after_fork
from mcp_wsgi.client.listen import Listener, ListenFilter
from mcp_wsgi.exceptions import (
    ClientError,
    InternalError,
    MethodNotFoundError,
    RemoteProtocolError,
    RequestTimeoutError,
    TransportError,
)
from tests.client.session_peer import SessionPeer, session_peer
from tests.patience import wait_until

MODERN, LEGACY = "2026-07-28", "2025-11-25"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"


@pytest.fixture
def sessions() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


class ModernPeer:
    """A modern server over HTTP whose subscriptions a test feeds and ends: a message, None to break off."""

    def __init__(self, peer: SessionPeer) -> None:
        self.peer = peer
        self.seen: list[dict[str, Any]] = []
        self.due: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.acknowledges = True
        self.legacy_post = peer.post
        peer.post = self.post  # type: ignore[method-assign]

    def post(self, handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        self.seen.append(message)
        if message["method"] == "subscriptions/listen":
            self.listen(handler, message)
            return
        result = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}, "content": []}
        self.peer.send(handler, 200, self.peer.result(message, result))

    def listen(self, handler: Any, message: dict[str, Any]) -> None:
        self.peer.begin(handler)
        if self.acknowledges:
            honoured = {"notifications": message["params"]["notifications"]}
            self.event(handler, message, {"method": "notifications/subscriptions/acknowledged", "params": honoured})
        while (due := self.due.get(timeout=60)) is not None:
            if "method" in due:
                self.event(handler, message, due)
            else:
                self.peer.event(handler, {"jsonrpc": "2.0", "id": message["id"], **due})
                return

    def event(self, handler: Any, message: dict[str, Any], given: dict[str, Any]) -> None:
        params = {**given.get("params", {}), "_meta": {SUBSCRIPTION: message["id"]}}
        self.peer.event(handler, {"jsonrpc": "2.0", **given, "params": params})

    def methods(self) -> list[str]:
        return [message["method"] for message in self.seen]


@pytest.fixture
def modern(sessions: SessionPeer) -> Iterator[ModernPeer]:
    peer = ModernPeer(sessions)
    yield peer
    peer.due.put(None)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "mcp-client-listen"]


# Modern


def test_a_stream_that_breaks_off_is_an_error_after_what_came_before(modern: ModernPeer) -> None:
    with Client(modern.peer.url, verdicts={}) as client, client.listen(tools_list_changed=True) as listener:
        modern.due.put({"method": TOOLS})
        modern.due.put(None)
        wait_until(lambda: listener.closed)
        got: list[Change] = []
        with pytest.raises(TransportError):
            got.extend(listener)
        assert [change.method for change in [*got, *listener]] in ([], [TOOLS])
        assert listener.next() is None
        assert client.call_tool("x").content == ()
        with client.listen(tools_list_changed=True) as again:
            modern.due.put({"method": TOOLS})
            assert again.next(30) is not None


def test_a_server_that_ends_a_subscription_ends_the_iteration(modern: ModernPeer) -> None:
    with Client(modern.peer.url, verdicts={}) as client, client.listen(tools_list_changed=True) as listener:
        modern.due.put({"method": TOOLS})
        modern.due.put({"result": {"resultType": "complete"}})
        assert [change.method for change in listener] == [TOOLS]


def test_an_error_that_ends_a_subscription_is_raised(modern: ModernPeer) -> None:
    with Client(modern.peer.url, verdicts={}) as client, client.listen(tools_list_changed=True) as listener:
        modern.due.put({"error": {"code": -32603, "message": "No"}})
        with pytest.raises(InternalError):
            listener.next(30)


def test_closing_ends_the_stream_and_sends_nothing(modern: ModernPeer) -> None:
    with Client(modern.peer.url, verdicts={}) as client:
        client.listen(tools_list_changed=True).close()
        wait_until(lambda: not threads())
        client.call_tool("x")
    assert "notifications/cancelled" not in modern.methods()


def test_an_acknowledgement_is_waited_for(modern: ModernPeer) -> None:
    modern.acknowledges = False
    with Client(modern.peer.url, verdicts={}) as client:
        with pytest.raises(RequestTimeoutError, match="acknowledged"):
            client.listen(tools_list_changed=True, timeout=0.3)
        wait_until(lambda: not threads())


def test_a_subscription_that_ends_at_once_is_an_error(modern: ModernPeer) -> None:
    modern.acknowledges = False
    modern.due.put({"result": {"resultType": "complete"}})
    with Client(modern.peer.url, verdicts={}) as client, pytest.raises(RemoteProtocolError, match="at once"):
        client.listen(tools_list_changed=True)


def test_a_change_without_an_acknowledgement_will_do(modern: ModernPeer) -> None:
    modern.acknowledges = False
    modern.due.put({"method": "notifications/other"})
    modern.due.put({"method": TOOLS})
    with Client(modern.peer.url, verdicts={}) as client, client.listen(tools_list_changed=True) as listener:
        assert listener.next(30) is not None


def test_a_server_that_has_become_a_legacy_one_is_listened_to_as_such(modern: ModernPeer) -> None:
    with Client(modern.peer.url, verdicts={}) as client:
        assert client.era == "modern"
        modern.peer.post = modern.legacy_post  # type: ignore[method-assign]
        with client.listen(tools_list_changed=True, resources=["x://a"]) as listener:
            assert client.era == "legacy"
            wait_until(lambda: modern.peer.streams == 1)
            modern.peer.tell(TOOLS)
            change = listener.next(30)
            assert change is not None


def test_a_refusal_of_a_modern_server_is_raised(modern: ModernPeer) -> None:
    post = modern.peer.post

    def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message["method"] == "subscriptions/listen":
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "No"}}
            modern.peer.send(handler, 404, json.dumps(error).encode())
        else:
            post(handler, identity, message)

    modern.peer.post = refusing  # type: ignore[method-assign]
    with Client(modern.peer.url, verdicts={}) as client, pytest.raises(MethodNotFoundError):
        client.listen(tools_list_changed=True)


# Legacy


def test_one_that_cannot_subscribe_takes_back_what_it_has(sessions: SessionPeer) -> None:
    post = sessions.post

    def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message["method"] == "resources/subscribe" and message["params"]["uri"] == "x://b":
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "No"}}
            sessions.send(handler, 200, json.dumps(error).encode())
        else:
            post(handler, identity, message)

    sessions.post = refusing  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        with pytest.raises(InternalError):
            client.listen(resources=["x://a", "x://b"])
        told = [params["uri"] for method, params in sessions.requests if method == "resources/unsubscribe"]
        assert told == ["x://a", "x://b"]


def test_the_time_to_subscribe_is_the_callers(sessions: SessionPeer) -> None:
    post, release = sessions.post, threading.Event()

    def silent(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message["method"] == "resources/subscribe":
            release.wait(60)
        with suppress(OSError):
            post(handler, identity, message)

    sessions.post = silent  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        start = time.monotonic()
        with pytest.raises(RequestTimeoutError):
            client.listen(resources=["x://a"], timeout=0.3)
        assert time.monotonic() - start < 30  # the client's own patience is a minute
        release.set()


def test_what_a_new_session_refuses_is_logged(sessions: SessionPeer, caplog: pytest.LogCaptureFixture) -> None:
    post = sessions.post
    with Client(sessions.url, verdicts={}) as client, client.listen(resources=["x://a"]):

        def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message["method"].startswith("resources/"):
                error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "No"}}
                sessions.send(handler, 200, json.dumps(error).encode())
            else:
                post(handler, identity, message)

        sessions.post = refusing  # type: ignore[method-assign]
        sessions.forget_sessions()
        client.call_tool("which")
        assert "could not be asked again to tell of x://a" in caplog.text
        caplog.set_level(logging.INFO)
    assert "could not be told that nobody listens any more" in caplog.text


def test_one_stream_is_opened_for_many(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        client.connect()
        found: list[Listener] = []
        work = [
            threading.Thread(target=lambda: found.append(client.listen(tools_list_changed=True))) for _ in range(20)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join(30)
        wait_until(lambda: sessions.streams == 1)
        sessions.tell(TOOLS)
        assert all(listener.next(30) is not None for listener in found)
        assert sessions.streams == 1


def test_a_server_that_honours_nothing_is_listened_to_all_the_same(sessions: SessionPeer) -> None:
    sessions.capabilities = {"tools": True, "resources": {}}
    wanted: dict[str, Any] = {"tools_list_changed": True, "resources": ["x://a"]}
    with Client(sessions.url, verdicts={}) as client, client.listen(**wanted) as listener:
        assert listener.honoured == {}
        assert listener.filter.uris == {"x://a"}
        assert listener.next(0.1) is None


# A listener by itself


def test_the_same_change_is_told_once_until_it_is_taken() -> None:
    listener = Listener(ListenFilter({"toolsListChanged": True}), None, lambda listener: None)
    listener.open(None, {})
    for _ in range(3):
        listener.post({"method": TOOLS})
    listener.post({"method": "notifications/subscriptions/acknowledged", "params": 5})
    listener.post({"method": "notifications/resources/updated", "params": {"uri": "x"}})
    assert listener.next(0) is not None
    assert listener.next(0) is None
    assert listener.honoured == {}


def test_what_nobody_expects_ends_a_listener_with_the_reason() -> None:
    def run(cancel: Any, post: Any) -> None:
        raise LookupError("why")

    listener = Listener(ListenFilter({"toolsListChanged": True}), run, lambda listener: None)
    with pytest.raises(LookupError, match="why"):
        listener.open(5)


def test_a_forked_listener_says_what_to_do() -> None:
    listener = Listener(ListenFilter({"toolsListChanged": True}), None, lambda listener: None)
    listener.open(None, {})
    listener.begin_anew()
    with pytest.raises(TransportError, match="listen there anew"):
        listener.next()
    listener.begin_anew()
    assert listener.next() is None


def test_what_is_begun_anew_after_a_fork_is_not_kept_alive() -> None:
    class Part:
        def begin_anew(self) -> None:
            raise AssertionError

    begin_anew_after_fork(Part())


def test_a_client_closed_while_listeners_are_opened_ends_them_all() -> None:
    server = Server("s")

    @server.tool
    def work() -> None:
        pass

    for _ in range(10):
        client = Client(server)
        client.connect()
        ended: list[Exception | None] = []

        def listen(client: Client = client, ended: list[Exception | None] = ended) -> None:
            try:
                list(client.listen(tools_list_changed=True))
            except ClientError as error:
                ended.append(error)

        work_threads = [threading.Thread(target=listen) for _ in range(5)]
        for thread in work_threads:
            thread.start()
        client.close()
        for thread in work_threads:
            thread.join(30)
            assert not thread.is_alive()
        assert len(ended) == 5
    wait_until(lambda: not threads())
