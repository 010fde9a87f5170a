"""The end: of the input, of the output, of patience."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest

from mcp_wsgi import Context, Server
from mcp_wsgi.stdio import serve_stdio
from mcp_wsgi.stdio.serving import _Ending
from tests.modern import message
from tests.patience import wait_until
from tests.stdio_door.client import PATIENCE, Client, legacy, serving


def a_server():
    server = Server("test", version="1")
    server.begun = threading.Semaphore(0)  # type: ignore[attr-defined]
    server.gate = threading.Event()  # type: ignore[attr-defined]

    @server.tool
    def wait(seconds: float, ctx: Context) -> str:
        """Wait, unless it is cancelled."""
        server.begun.release()  # type: ignore[attr-defined]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if ctx.cancelled:
                return "cancelled"
            time.sleep(0.01)
        return "done"

    @server.tool
    def stubborn() -> str:
        """Wait for the gate only."""
        server.begun.release()  # type: ignore[attr-defined]
        server.gate.wait(3 * PATIENCE)  # type: ignore[attr-defined]
        return "done"

    return server


def call(request_id, tool, **arguments):
    return message("tools/call", request_id=request_id, name=tool, arguments=arguments)


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def test_what_runs_and_what_waits_is_answered_after_the_end_of_the_input():
    with serving(a_server(), max_threads=1) as client:
        client.send(*[call(number, "wait", seconds=0.1) for number in range(3)])
        client.end_input()
        assert [(each["id"], text_of(each)) for each in client.rest()] == [(0, "done"), (1, "done"), (2, "done")]


def test_the_end_of_the_input_ends_an_idle_server_at_once():
    with serving(a_server(), stop_seconds=10 * PATIENCE) as client:
        assert client.is_quiet()
        client.end_input()
        assert client.rest() == []


def test_a_handler_that_takes_too_long_is_cancelled():
    server = a_server()
    with serving(server, stop_seconds=0.1) as client:
        client.send(call(1, "wait", seconds=PATIENCE))
        assert server.begun.acquire(timeout=PATIENCE)
        client.end_input()
        assert [text_of(each) for each in client.rest()] == ["cancelled"]


def test_a_handler_that_does_not_stop_is_left_behind(monkeypatch):
    monkeypatch.setattr("mcp_wsgi.stdio.serving.CANCEL_SECONDS", 0.5)
    server = a_server()
    with serving(server, stop_seconds=0.1, leaves_threads=True) as client:
        client.send(call(1, "stubborn"))
        assert server.begun.acquire(timeout=PATIENCE)
        assert text_of(client.ask(call(2, "wait", seconds=0))) == "done"
        client.end_input()
        assert client.rest() == []
    server.gate.set()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("mcp_wsgi stdio")])


def test_subscriptions_end_in_order_whatever_a_handler_does():
    server = a_server()
    with serving(server, stop_seconds=0) as client:
        client.send(message("subscriptions/listen", request_id="l", notifications={"toolsListChanged": True}))
        client.read()
        client.send(call(1, "stubborn"))
        assert server.begun.acquire(timeout=PATIENCE)
        client.end_input()
        assert [client.read().get("id") for _ in range(2)] == [None, "l"]
        server.gate.set()
        assert [each["id"] for each in client.rest()] == [1]


def test_an_output_that_nobody_reads_ends_the_server_which_waits_for_input():
    server = a_server()
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    ended = threading.Event()

    def serve() -> None:
        with os.fdopen(server_in, "rb") as stdin, os.fdopen(server_out, "wb") as stdout:
            serve_stdio(server, stdin=stdin, stdout=stdout)
        ended.set()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    os.write(client_out, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert os.read(client_in, 1000) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    os.close(client_in)
    assert ended.wait(PATIENCE)
    thread.join(PATIENCE)
    os.close(client_out)


def test_a_client_that_does_not_read_is_waited_for_and_its_cancellations_are_read():
    """However much waits to be written, the reader goes on."""
    server = a_server()

    @server.tool
    def big() -> str:
        return "x" * (1 << 20)

    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()

    def serve() -> None:
        with os.fdopen(server_in, "rb") as stdin, os.fdopen(server_out, "wb") as stdout:
            serve_stdio(server, stdin=stdin, stdout=stdout)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    encoded = [call(1, "big"), call(2, "wait", seconds=PATIENCE)]
    os.write(client_out, b"".join(json.dumps(each).encode() + b"\n" for each in encoded))
    assert server.begun.acquire(timeout=PATIENCE)
    # More than a pipe holds, all of it lines that are answered.
    os.write(client_out, b"no message\n" * 900)
    os.write(client_out, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n')
    client = Client(client_out, client_in)
    seen = [client.read() for _ in range(901)]
    assert sum(each.get("id") == 1 for each in seen) == 1
    assert client.is_quiet()
    client.end_input()
    client.join()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_client_that_never_reads_does_not_keep_the_server(monkeypatch):
    monkeypatch.setattr("mcp_wsgi.stdio.serving.CANCEL_SECONDS", 0.5)
    server = a_server()

    @server.tool
    def big() -> str:
        return "x" * (1 << 20)

    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    stdin, stdout = os.fdopen(server_in, "rb"), os.fdopen(server_out, "wb")
    thread = threading.Thread(
        target=serve_stdio, args=(server,), kwargs={"stdin": stdin, "stdout": stdout, "stop_seconds": 0.1}, daemon=True
    )
    thread.start()
    for name in ("first", "second"):
        listen = message("subscriptions/listen", request_id=name, notifications={"toolsListChanged": True})
        os.write(client_out, json.dumps(listen).encode() + b"\n")
        assert b"acknowledged" in os.read(client_in, 1000)
    os.write(client_out, b"".join(json.dumps(call(number, "big")).encode() + b"\n" for number in range(3)))
    os.close(client_out)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    wait_until(lambda: len(server.bus) == 0)  # a thread that is just opening a subscription sees to that itself
    os.close(client_in)  # which ends the thread that was writing
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("mcp_wsgi stdio")])
    stdin.close()
    stdout.close()


def interrupted_at(step, ending):
    """Note the end of the input, and a second signal before this step of it; say whether it has so many steps."""
    left = step

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code is not _Ending.begin.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                ending.begin(0)  # which is not traced: it runs within what traces
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ending.begin()
    finally:
        sys.settrace(before)
    return left <= 0


def test_a_signal_while_the_end_of_the_input_is_noted_is_not_forgotten():
    """Its handler runs in the same thread, between any two steps of it."""

    def look() -> int:
        step = 1
        while interrupted_at(step, ending := _Ending(10 * PATIENCE)):
            assert ending.is_late(), f"forgotten at step {step}"
            step += 1
        return step

    # In a thread of its own, where nothing has traced before.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() > 10


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_stream_that_is_closed_is_an_end(stream):
    streams = {"stdin": BytesIO(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'), "stdout": BytesIO()}
    streams[stream].close()
    serve_stdio(a_server(), **streams)


def test_an_input_that_does_not_block_is_waited_for():
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    os.set_blocking(server_in, False)
    os.set_blocking(server_out, False)
    server = a_server()

    @server.tool
    def big() -> str:
        return "x" * (1 << 20)

    def serve() -> None:
        with os.fdopen(server_in, "rb", buffering=0) as stdin, os.fdopen(server_out, "wb", buffering=0) as stdout:
            serve_stdio(server, stdin=stdin, stdout=stdout)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    time.sleep(0.05)
    client = Client(client_out, client_in)
    assert len(text_of(client.ask(call(1, "big")))) == 1 << 20
    assert client.ask(legacy(2, "ping"))["result"] == {}
    client.end_input()
    client.join()
    thread.join(PATIENCE)
    assert not thread.is_alive()
