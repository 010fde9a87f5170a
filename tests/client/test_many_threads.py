"""One client in many threads while its server changes: sessions are lost, other eras come, listeners go on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import ClientError, HTTPStatusError, MCPError
from tests.client.peers import HTTPPeer, Refusal, Way, http_peer
from tests.client.session_peer import SessionPeer, session_peer
from tests.patience import wait_until

MODERN, LEGACY = Way(modern=True, legacy=False), Way(modern=False, legacy=True)


@pytest.fixture
def sessions() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


@pytest.fixture
def peer() -> Iterator[HTTPPeer]:
    with http_peer() as peer:
        yield peer


def at_once(count: int, work: Callable[[], Any]) -> list[Any]:
    """Do something in many threads at the same moment; give what came of it."""
    gate = threading.Barrier(count)

    def wait_and_work(_: int) -> Any:
        gate.wait(30)
        return work()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_work, range(count)))


def test_a_client_connects_once_for_all(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        client.close()
    sessions.made = 0
    client = Client(sessions.url, verdicts={})
    assert {result.text for result in at_once(30, lambda: client.call_tool("which"))} == {"session-1"}
    client.close()


@pytest.mark.parametrize("status", [404, 400])
def test_a_lost_session_is_renewed_once_for_all(sessions: SessionPeer, status: int) -> None:
    """With 400 and some text only the handshake shows what is wrong."""
    send = sessions.send

    def say(handler: Any, given: int, body: bytes, **options: Any) -> None:
        send(handler, status if given == 404 else given, body, **options)

    sessions.send = say  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        for lost in range(1, 4):
            assert {result.text for result in at_once(20, lambda: client.call_tool("which"))} == {f"session-{lost}"}
            sessions.forget_sessions()
        at_once(20, lambda: client.call_tool("which"))
    assert sessions.made == 4


@pytest.mark.parametrize("refusal", [Refusal(code=-32601), Refusal(status=400, text="No"), Refusal(status=404)])
def test_the_server_becomes_another_one_under_way(peer: HTTPPeer, refusal: Refusal) -> None:
    legacy = Way(modern=False, legacy=True, refusal=refusal)
    with Client(peer.url, verdicts={}) as client:
        for way in (MODERN, legacy, MODERN, legacy):
            peer.become(way)
            before = Counter(peer.received)
            found = at_once(50, client.list_tools)
            assert {tools[0].name for tools in found} == {"now"}
            assert client.era == ("modern" if way.modern else "legacy")
            asked = Counter(peer.received) - before
            assert asked["server/discover"] <= 2, asked
            assert asked["initialize"] <= 2, asked


def test_threads_that_call_while_the_server_changes_all_the_time(peer: HTTPPeer) -> None:
    stop = threading.Event()
    faults: list[Exception] = []
    done: list[int] = []

    def work() -> None:
        while not stop.is_set():
            try:
                assert client.list_tools()[0].name == "now"
                done.append(1)
            except (ClientError, MCPError) as error:  # noqa: PERF203
                faults.append(error)  # it has changed twice during one call

    with Client(peer.url, verdicts={}) as client:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for change in range(6):
            peer.become(LEGACY if change % 2 else MODERN)
            enough = len(done) + 50
            wait_until(lambda enough=enough: len(done) >= enough, 30)
        stop.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert client.list_tools()[0].name == "now"
    assert len(faults) < len(done) / 4


def test_too_many_requests_are_no_doubt_about_the_version(sessions: SessionPeer) -> None:
    post = sessions.post

    def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message.get("method") == "tools/call":
            sessions.requests.append(("tools/call", {}))
            sessions.send(handler, 429, b"Slowly", kind="text/plain")
        else:
            post(handler, identity, message)

    sessions.post = refusing  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        for _ in range(3):
            with pytest.raises(HTTPStatusError) as caught:
                client.call_tool("which")
            assert caught.value.status == 429
    assert (sessions.made, sessions.methods().count("tools/call")) == (1, 3)


def test_who_listens_is_told_when_the_server_becomes_a_modern_one(sessions: SessionPeer) -> None:
    """Its subscriptions have ended with the session, and nothing would ever come."""
    with Client(sessions.url, verdicts={}) as client:
        listener = client.listen(resources=["x://a"])

        def modern(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
            result["content"] = []
            if "io.modelcontextprotocol/protocolVersion" in (message.get("params") or {}).get("_meta", {}):
                sessions.send(handler, 200, sessions.result(message, result))
            else:
                sessions.send(handler, 400, b"Bad Request", kind="text/plain")

        sessions.post = modern  # type: ignore[method-assign]
        client.call_tool("which")
        assert client.era == "modern"
        with pytest.raises(ClientError, match="has ended"):
            listener.next(30)
        wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "mcp_wsgi inbox"])


def test_who_listens_is_told_when_no_other_session_can_be_had(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        listener = client.listen(resources=["x://a"])
        post = sessions.post

        def failing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message.get("method") == "initialize":
                sessions.send(handler, 503, b"")
            else:
                post(handler, identity, message)

        sessions.post = failing  # type: ignore[method-assign]
        sessions.forget_sessions()
        with pytest.raises(ClientError):
            client.call_tool("which")
        with pytest.raises(ClientError, match="has ended"):
            listener.next(30)
        sessions.post = post  # type: ignore[method-assign]
        assert client.call_tool("which").text == "session-2"


def test_the_stream_of_a_session_is_that_of_the_newest(sessions: SessionPeer) -> None:
    """A refusal that leads to another session moves what is heard to it too."""
    with Client(sessions.url, verdicts={}) as client, client.listen(resources=["x://a"]) as listener:
        wait_until(lambda: sessions.streams == 1)
        post = sessions.post

        def refusing_once(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message.get("method") == "tools/call" and identity == "session-1":
                sessions.send(handler, 400, b"Bad Request", kind="text/plain")
            else:
                post(handler, identity, message)

        sessions.post = refusing_once  # type: ignore[method-assign]
        assert client.call_tool("which").text == "session-2"
        del sessions.sessions["session-1"]
        wait_until(lambda: sessions.streams == 2)
        sessions.tell("notifications/resources/updated", uri="x://a")
        change = listener.next(30)
        assert change is not None
        assert change.uri == "x://a"


def test_leaving_a_server_that_is_silent_waits_for_one_answer_only(sessions: SessionPeer, monkeypatch: Any) -> None:
    monkeypatch.setattr("mcp_wsgi.client.changes.POST_SECONDS", 0.3)
    release, told = threading.Event(), []
    with Client(sessions.url, verdicts={}) as client:
        listener = client.listen(resources=[f"x://{number}" for number in range(20)])
        post = sessions.post

        def silent(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message.get("method") == "resources/unsubscribe":
                told.append(message)
                release.wait(300)
            post(handler, identity, message)

        sessions.post = silent  # type: ignore[method-assign]
        start = time.monotonic()
        listener.close()
        assert time.monotonic() - start < 30
        client.list_tools()
        assert len(told) <= 1
        release.set()
