"""Both HTTP transports in real life: our own doors under real servers, and a process that forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi.exceptions import RequestCancelledError
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import HTTPTransport
from tests.modern import message
from tests.servers import Running, available, serve
from tests.transport.scripted import (
    Got,
    Peer,
    chunk,
    event,
    json_answer,
    legacy,
    no_leaks,
    plain,
    result,
    scripted,
    stream_head,
    until,
)

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = {
    "gunicorn-gthread": "tests.streaming.apps.wsgi_app:application",
    "waitress": "tests.streaming.apps.wsgi_app:application",
    "uvicorn": "tests.streaming.apps.asgi_app:application",
}
# By default they close an idle connection after 2 and 5 s, which is soon enough to meet a request on its way.
KEEPING = {"gunicorn-gthread": ("--keep-alive", "75"), "uvicorn": ("--timeout-keep-alive", "75")}


@pytest.fixture(scope="module", params=APPS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    if not available(request.param):
        pytest.skip("not installed")
    with serve(request.param, APPS[request.param], threads=8, options=KEEPING.get(request.param, ())) as running:
        yield running
        running.assert_clean()


def call(name: str, token: Any = None, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", progress_token=token, name=name, arguments=arguments)


@pytest.mark.servers
def test_a_modern_server_is_asked_over_one_connection_kept_alive(server):
    with no_leaks():
        transport = HTTPTransport(server.url + "/mcp")
        for number in range(20):
            answer = transport.request(call("add", a=number, b=1), Exchange(Deadline(30)))
            assert answer["result"]["structuredContent"] == number + 1
        assert transport.request(message("nope"), exchange := Exchange(Deadline(30)))["error"]["code"] == -32601
        assert exchange.status == 404
        transport.close()


@pytest.mark.servers
def test_progress_is_told_while_the_tool_runs(server):
    said: list[float] = []

    def tell(found: dict[str, Any]) -> None:
        """Let the tool go on: it waits for that after each of its reports."""
        said.append(found["params"]["progress"])
        other.request(call("has_come", key=key, number=len(said)), Exchange(Deadline(30)))

    key = uuid.uuid4().hex
    transport, other = HTTPTransport(server.url + "/mcp"), HTTPTransport(server.url + "/mcp")
    answer = transport.request(call("handed_over", 0, key=key, times=5), Exchange(Deadline(30), on_message=tell))
    other.close()
    transport.close()
    assert answer["result"]["structuredContent"] == 5
    assert said == [1, 2, 3, 4, 5]


@pytest.mark.servers
def test_a_legacy_handshake_is_made(server):
    transport = HTTPTransport(server.url + "/mcp")
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answer = transport.request(legacy("initialize", 0, **params), Exchange(Deadline(30)))
    transport.adopt(answer["result"]["protocolVersion"])
    transport.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, Deadline(30))
    transport.open_inbox()
    listed = transport.request(legacy("tools/list", "a"), Exchange(Deadline(30)))
    assert "add" in {tool["name"] for tool in listed["result"]["tools"]}
    transport.close()


@pytest.mark.servers
def test_a_tool_learns_that_its_request_was_given_up(server):
    key = uuid.uuid4().hex
    begun = threading.Event()
    transport = HTTPTransport(server.url + "/mcp")
    exchange = Exchange(Deadline(60), on_message=lambda _: begun.set())

    def give_up() -> None:
        begun.wait(60)
        exchange.cancel()

    other = threading.Thread(target=give_up)
    other.start()
    with pytest.raises(RequestCancelledError):
        transport.request(call("wait", 1, key=key, reports=True), exchange)
    other.join()
    transport.close()
    server.wait_for_log(f"cancelled {key} True", seconds=30)


def http(got: Got, peer: Peer) -> None:
    if got.method == "GET":
        peer.send(plain(405))
    elif got.method == "DELETE":
        peer.send(plain(200))
    elif got.json()["method"] == "slow":
        peer.send(stream_head() + event({"jsonrpc": "2.0", "method": "begun"}))
        peer.wait_for_end()
    else:
        peer.send(json_answer(result(got.id), headers={"Mcp-Session-Id": "s"}))


class Old:
    """A server of HTTP+SSE with a stream for each GET."""

    def __init__(self) -> None:
        self.streams: list[Peer] = []

    def __call__(self, got: Got, peer: Peer) -> None:
        if got.method == "GET":
            self.streams.append(peer)
            peer.send(stream_head() + chunk(f"event: endpoint\ndata: /{len(self.streams) - 1}\n\n".encode()))
            peer.wait_for_end()
            return
        stream = self.streams[int(got.path[1:])]
        if got.id == "slow":
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "slow"}}
            stream.send(event(note))
        else:
            stream.send(event(result(got.id)))
        peer.send(plain(202))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("kind", "script"), [("http", http), ("sse", Old())])
def test_a_forked_child_shares_no_connection_and_leaves_the_session_alone(kind, script):
    with scripted(script) as server:
        program = [sys.executable, str(Path(__file__).with_name("programs") / "forking.py"), kind, server.url]
        done = subprocess.run(
            program,
            check=False,
            capture_output=True,
            text=True,
            timeout=110,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        until(lambda: kind == "sse" or server.of("DELETE"))
    ends = [got.headers.get("mcp-session-id") for got in server.requests if got.method == "DELETE"]
    assert ends == (["s"] if kind == "http" else [])
    if kind == "sse":
        assert len(script.streams) == 2
