"""The stream for what belongs to no request is open before anything is asked that could make the server use it."""

from __future__ import annotations

import time

import pytest

from mcp_wsgi.transport import http
from mcp_wsgi.transport.http import HTTPTransport
from tests.transport.scripted import Got, Peer, scripted, stream_head, until


def open_inbox(head: bytes, after: float) -> tuple[float, list[Got]]:
    """Open the inbox at a server that sends this so much later; return how long that took, and what it was asked."""

    def script(got: Got, peer: Peer) -> None:
        peer.stopping.wait(after)
        peer.send(head)
        peer.wait_for_end()

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        try:
            start = time.monotonic()
            transport.open_inbox()
            took = time.monotonic() - start
            until(lambda: server.requests)
            return took, list(server.requests)
        finally:
            transport.close()


@pytest.mark.parametrize(
    "head",
    [stream_head(), b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n", b"nonsense\r\n\r\n"],
    ids=["a stream", "no stream", "nonsense"],
)
def test_opening_waits_for_the_answer(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_OPENING", 60.0)
    took, requests = open_inbox(head, after=0.2)
    assert [got.method for got in requests] == ["GET"]
    assert 0.2 <= took < 30


def test_a_server_that_sends_no_head_is_not_waited_for_long() -> None:
    assert http._OPENING == 1.0
    took, requests = open_inbox(b"", after=0)
    assert [got.method for got in requests] == ["GET"]
    assert 0.9 < took < 30
