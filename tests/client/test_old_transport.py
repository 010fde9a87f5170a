"""Servers that speak only the transport of 2024-11-05 are found, remembered, and left when they are gone."""

from __future__ import annotations

import gc
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from mcp_wsgi.client import CallResult, Client
from mcp_wsgi.exceptions import ClientClosedError, HTTPStatusError, TransportError
from tests.client.loopback import answer, serving
from tests.patience import wait_until

OLD = "2024-11-05"


class OldPeer:
    """A server with an event stream at /sse and a place for messages; `modern` makes it another one at once."""

    def __init__(self) -> None:
        self.url = ""
        self.posts: list[str] = []
        self.waiting: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.is_old = True
        self.broken = False
        self.mute = False

    def post(self, handler: BaseHTTPRequestHandler) -> None:
        message = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.posts.append(f"{handler.path} {message.get('method')}")
        if handler.path == "/sse" and not self.is_old:
            self.answer_modern(handler, message)
            return
        if handler.path == "/sse" or not self.is_old:
            self.send(handler, 405, b"Method Not Allowed")
            return
        if "id" in message and not self.mute:
            result: dict[str, Any] = {"content": [{"type": "text", "text": "old"}]}
            if message["method"] == "initialize":
                result = {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
            self.waiting.put({"jsonrpc": "2.0", "id": message["id"], "result": result})
        self.send(handler, 202, b"Accepted")

    def answer_modern(self, handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        result: dict[str, Any] = {"resultType": "complete", "content": [{"type": "text", "text": "new"}]}
        if message["method"] == "server/discover":
            result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.send(handler, 200, body, kind="application/json")

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        if not self.is_old or self.broken:
            self.send(handler, 404, b"Not Found")
            return
        waiting = self.waiting = queue.Queue()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.close_connection = True
        handler.wfile.write(b"event: endpoint\ndata: /messages?session=1\n\n")
        handler.wfile.flush()
        with suppress(queue.Empty, OSError):
            while (message := waiting.get(timeout=30)) is not None:
                handler.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
                handler.wfile.flush()

    @staticmethod
    def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, *, kind: str = "text/plain") -> None:
        answer(handler, status, body, kind)


@contextmanager
def old_peer() -> Iterator[OldPeer]:
    peer = OldPeer()

    def handle(handler: BaseHTTPRequestHandler) -> None:
        (peer.get if handler.command == "GET" else peer.post)(handler)

    with serving(handle) as port:
        peer.url = f"http://127.0.0.1:{port}/sse"
        try:
            yield peer
        finally:
            peer.waiting.put(None)


@pytest.fixture
def peer() -> Iterator[OldPeer]:
    with old_peer() as peer:
        yield peer


def text_of(client: Client) -> str:
    result = client.call_tool("which")
    assert isinstance(result, CallResult)
    return result.text


def test_it_is_the_last_thing_that_is_tried(peer: OldPeer) -> None:
    verdicts: dict[str, str] = {}
    with Client(peer.url, verdicts=verdicts) as client:
        assert (client.era, client.protocol_version, text_of(client)) == ("legacy", OLD, "old")
    assert peer.posts == [
        "/sse server/discover",
        "/sse initialize",
        "/messages?session=1 initialize",
        "/messages?session=1 notifications/initialized",
        "/messages?session=1 tools/call",
    ]
    assert verdicts == {peer.url: f"sse {OLD}"}


def test_what_is_remembered_spares_the_refusals(peer: OldPeer) -> None:
    verdicts = {peer.url: f"sse {OLD}"}
    with Client(peer.url, verdicts=verdicts) as client:
        assert text_of(client) == "old"
    assert not [post for post in peer.posts if post.startswith("/sse")]


def test_what_is_remembered_is_dropped_when_the_server_has_become_another_one(peer: OldPeer) -> None:
    verdicts = {peer.url: f"sse {OLD}"}
    peer.is_old = False
    with Client(peer.url, verdicts=verdicts) as client:
        assert (client.era, text_of(client)) == ("modern", "new")
    assert verdicts == {peer.url: "2026-07-28"}


def test_where_there_is_no_stream_either_the_refusal_of_the_handshake_is_raised(peer: OldPeer) -> None:
    peer.broken = True
    verdicts: dict[str, str] = {}
    client = Client(peer.url, verdicts=verdicts)
    with pytest.raises(HTTPStatusError) as caught:
        client.connect()
    assert caught.value.status == 405
    assert verdicts == {}
    peer.broken = False
    assert text_of(client) == "old"
    client.close()


def test_a_pinned_version_reaches_such_a_server_too(peer: OldPeer) -> None:
    client = Client(peer.url, verdicts={}, protocol_version=OLD)
    assert text_of(client) == "old"
    client.close()
    with pytest.raises(TransportError):
        Client(peer.url, verdicts={}, protocol_version="2026-07-28").list_tools()


def test_forgetting_leads_back_to_the_first_question(peer: OldPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        assert text_of(client) == "old"
        peer.is_old = False
        peer.waiting.put(None)
        client.forget()
        assert (text_of(client), client.era) == ("new", "modern")
        peer.is_old = True
        client.forget()
        assert (text_of(client), client.era) == ("old", "legacy")


def test_a_stream_that_ended_is_opened_again_or_leads_to_another_server(peer: OldPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        assert text_of(client) == "old"
        peer.waiting.put(None)
        wait_until(lambda: client._session.transports[-1].failed)
        assert text_of(client) == "old"
        peer.waiting.put(None)
        wait_until(lambda: client._session.transports[-1].failed)
        peer.is_old = False
        assert text_of(client) == "new"
        assert len(client._session.transports) == 1


def test_it_is_closed_while_it_waits(peer: OldPeer) -> None:
    peer.mute = True
    client = Client(peer.url, verdicts={peer.url: f"sse {OLD}"})
    timer = threading.Timer(0.3, client.close)
    timer.start()
    with pytest.raises(ClientClosedError):
        client.connect()
    timer.join()


def test_one_that_nobody_closes_is_ended_when_it_is_collected(peer: OldPeer) -> None:
    client = Client(peer.url, verdicts={})
    client.connect()
    del client
    gc.collect()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith(("mcp_", "mcp-"))])
