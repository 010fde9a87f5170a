"""The one connection of a client: who may replace it, what is remembered, and what a fork leaves of it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.client import Client, ToolInfo, forks
from mcp_wsgi.client import inbox as inbox_module
from mcp_wsgi.client.cache import ResultCache
from mcp_wsgi.client.client import _put_while_alive
from mcp_wsgi.client.inbox import Inbox
from mcp_wsgi.client.tools import KnownTools
from mcp_wsgi.exceptions import (
    ClientClosedError,
    HTTPStatusError,
    InvalidParamsError,
    MCPError,
    NegotiationError,
    TransportError,
    UnsupportedVersionError,
)
from tests.client.peers import Fault, HTTPPeer, Refusal, Way, http_peer
from tests.client.session_peer import SessionPeer, session_peer

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@pytest.fixture
def peer() -> Iterator[HTTPPeer]:
    with http_peer() as peer:
        yield peer


@pytest.fixture
def sessions() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


def test_who_holds_an_older_connection_gets_the_newer_one_and_changes_nothing(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        session = client._session
        older = session.connection()
        client.set_log_level("error")
        newer = session.current
        assert newer is not None
        assert newer is not older
        assert session.reconsider(older) is newer
        assert session.renew(older) is newer
        session.confirm(older)
        session.drop(older)
        assert session.current is newer


def test_a_server_that_says_what_it_said_before_is_no_reason_to_try_again(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        session = client._session
        older = session.connection()
        assert session.reconsider(older) is None
        assert session.current is not older


def test_a_pinned_version_is_not_reconsidered(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={}, protocol_version=MODERN) as client:
        session = client._session
        assert session.reconsider(session.connection()) is None
        session.note_log_level("error")
    assert peer.received == []


def test_a_level_that_is_noted_before_there_is_a_connection_is_asked_for(peer: HTTPPeer) -> None:
    client = Client(peer.url, verdicts={})
    client._session.note_log_level("error")
    client.connect()
    connection = client._session.current
    assert connection is not None
    assert connection.meta["io.modelcontextprotocol/logLevel"] == "error"
    client.close()


def test_a_legacy_session_whose_place_nothing_takes_is_given_up(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        old = client._session.connection()
        post = sessions.post
        sessions.post = lambda handler, *_: sessions.send(handler, 503, b"")  # type: ignore[method-assign]
        assert client._session.reconsider(old) is None
        assert client._session.current is None
        sessions.post = post  # type: ignore[method-assign]
        assert client.era == "legacy"


def test_a_modern_connection_that_cannot_be_asked_again_stays(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        old = client._session.connection()
        peer.faults = [Fault(status=503)] * 3
        assert client._session.reconsider(old) is None
        assert client._session.current is old
        peer.faults = []


@pytest.mark.parametrize("version", [None, LEGACY])
def test_a_server_that_refuses_leaves_nothing_remembered(peer: HTTPPeer, version: str | None) -> None:
    peer.become(Way(modern=False, legacy=False, refusal=Refusal(status=400, text="No")))
    verdicts = {peer.url: LEGACY}
    client = Client(peer.url, verdicts=verdicts, protocol_version=version)
    with pytest.raises((HTTPStatusError, MCPError, NegotiationError)):
        client.connect()
    client.close()
    assert verdicts == ({} if version is None else {peer.url: LEGACY})


def test_a_pinned_version_that_is_refused_leaves_what_others_remember(peer: HTTPPeer) -> None:
    peer.become(Way(modern=True, legacy=False))
    verdicts = {peer.url: MODERN}
    client = Client(peer.url, verdicts=verdicts, protocol_version=LEGACY)
    with pytest.raises(UnsupportedVersionError):
        client.connect()
    client.close()
    assert verdicts == {peer.url: MODERN}


def test_only_a_list_that_is_kept_is_begun_anew() -> None:
    server = Server("s", page_size=1)

    @server.tool
    def one() -> None:
        pass

    @server.tool
    def two() -> None:
        pass

    with Client(server) as client, pytest.raises(InvalidParamsError):
        client.list_tools(cursor="no cursor")


# After a fork


def test_what_another_thread_had_locked_is_free_in_a_forked_process(sessions: SessionPeer) -> None:
    """The fork itself is tried elsewhere; here the locks are held for certain."""
    client = Client(sessions.url, verdicts={}, cache=True, on_notification=lambda message: None)
    listener = client.listen(tools_list_changed=True)
    held = [client._session._lock, client._changes._lock, client._tools._lock, client._inbox._wake]
    held += [client._cache._lock, client._calls._doubts._lock]  # type: ignore[union-attr]
    taken, go = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in held:
            lock.acquire()
        taken.set()
        go.wait(60)
        for lock in held:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(30)
    forks._after_fork()
    assert client.call_tool("which").text == "session-2"
    assert client.list_tools() == ()
    with pytest.raises(TransportError, match="forked process"):
        listener.next(30)
    listener.close()
    client.close()
    go.set()
    thread.join()


# Parts


def test_nothing_is_listened_for_once_a_client_is_closing(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        client._changes.close()
        with pytest.raises(ClientClosedError):
            client.listen(tools_list_changed=True)
        assert client.call_tool("which").text == "session-1"


def test_a_message_for_a_client_that_is_gone_is_dropped() -> None:
    inbox = Inbox(_fail, _fail)
    put = _put_while_alive(inbox)
    del inbox
    gc.collect()
    put({"method": "a"})


def test_listening_changes_nothing_at_a_modern_server(peer: HTTPPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        client._session.listen()
        old = client._session.connection()
        assert client._session.reconsider(old) is None
    assert "initialize" not in peer.received


def test_no_more_tools_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wsgi.client.tools.MAX_TOOLS", 2)
    known = KnownTools()
    tools = [ToolInfo.from_wire({"name": name, "inputSchema": {"type": "object"}}) for name in "abc"]
    known.remember(tools, mirrored=True)
    assert [known.find(name) is not None for name in "abc"] == [True, True, False]
    known.remember(tools[:1], mirrored=False)
    assert known.find("a") is not None
    known.forget()
    assert known.find("a") is None


def test_a_cache_is_used_after_a_fork() -> None:
    cache = ResultCache()
    cache._lock.acquire()
    cache.begin_anew()
    cache.put("tools/list", {}, {"tools": [], "ttlMs": 1000})
    assert cache.get("tools/list", {}) == {"tools": [], "ttlMs": 1000}


def test_a_message_waits_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[Any] = []
    refused: list[Any] = []
    inbox = Inbox(got.append, refused.append)
    notice, question = {"method": "a"}, {"method": "b", "id": 1}
    done = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(inbox_module.threading.Thread, "start", _none_left)
        inbox.put(notice)
        inbox.put(question)
        assert "no thread can be started" in caplog.text
    last = {"method": "c"}
    receive: Callable[[Any], None] = got.append
    inbox._receive = lambda message: (receive(message), done.set() if message is last else None)  # type: ignore[func-returns-value]
    inbox.put(last)
    assert done.wait(30)
    assert (got, refused) == ([notice, last], [question])
    inbox.close()


def _fail(message: Any) -> None:
    raise AssertionError(message)


def _none_left(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
