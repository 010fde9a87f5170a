"""Progress that a legacy server reports on the stream of its session, as the Python SDK did up to 1.12."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi.client import Client, Progress
from tests.client import session_peer as peers
from tests.client.session_peer import SessionPeer, session_peer
from tests.client.times import take_call_time
from tests.patience import wait_until


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch, go_on: threading.Event) -> Iterator[SessionPeer]:
    """Serve one whose tools report progress aside, and answer when they are told to."""
    monkeypatch.setattr(peers, "LEGACY", "2025-06-18")
    with session_peer() as peer:
        post = peer.post

        def reporting(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message.get("method") == "tools/call" and identity is not None:
                peer.begin(handler)
                token = message["params"].get("_meta", {}).get("progressToken")
                peer.tell("notifications/progress", progressToken=token)
                peer.tell("notifications/progress", progressToken="another", progress=7)
                peer.tell("notifications/progress", progressToken=4711, progress=7)
                for step in range(1, 1_000):
                    peer.tell("notifications/progress", progressToken=token, progress=step, total=1_000)
                    handler.wfile.write(b": working\n\n")  # no message, and no progress
                    if go_on.wait(0.05):
                        break
                result = {"content": [{"type": "text", "text": identity}]}
                peer.event(handler, json.loads(peer.result(message, result)))
                return
            post(handler, identity, message)

        peer.post = reporting  # type: ignore[method-assign]
        yield peer


def test_it_reaches_the_call(peer: SessionPeer, go_on: threading.Event) -> None:
    reports: list[Progress] = []

    def take(report: Progress) -> None:
        reports.append(report)
        go_on.set()

    others: list[dict[str, Any]] = []
    with Client(peer.url, verdicts={}, on_notification=others.append) as client:
        assert client.call_tool("which", on_progress=take).text == "session-1"
    # The server may have said more before it was told to go on.
    assert [(report.progress, report.total) for report in reports] == [
        (step, 1_000) for step in range(1, len(reports) + 1)
    ]
    assert reports
    assert all(other["params"]["progress"] == 7 for other in others)


def test_it_is_listened_for_only_where_it_is_wanted(peer: SessionPeer, go_on: threading.Event) -> None:
    go_on.set()
    with Client(peer.url, verdicts={}) as client:
        client.call_tool("which")
        assert peer.streams == 0
        client.call_tool("which", on_progress=lambda report: None)
        wait_until(lambda: peer.streams == 1)
        client.call_tool("which", on_progress=lambda report: None)
        assert peer.streams == 1


def test_it_extends_the_time(peer: SessionPeer, go_on: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    call_time = take_call_time(monkeypatch)
    call_time.before_each = 40

    def take(report: Progress) -> None:
        if report.progress == 6:
            go_on.set()
            call_time.before_each = 0

    with Client(peer.url, verdicts={}) as client:
        assert client.call_tool("which", timeout=60, on_progress=take).text == "session-1"
    assert call_time.now > 6 * 40


def test_what_the_callback_raises_ends_the_call(peer: SessionPeer) -> None:
    def take(report: Progress) -> None:
        raise ZeroDivisionError

    with Client(peer.url, verdicts={}) as client, pytest.raises(ZeroDivisionError):
        client.call_tool("which", on_progress=take)
    assert "notifications/cancelled" in peer.methods()
