"""What a server may cost: the size of its messages, the time it takes, and how a wait for it ends."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time
import tracemalloc
import zlib
from typing import Any

import pytest

from mcp_wsgi.exceptions import (
    ClientClosedError,
    ConfigurationError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    TransportError,
)
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import _FAREWELL, HTTPTransport
from mcp_wsgi.transport.http_messages import Inflater
from tests.clock import Clock
from tests.modern import message
from tests.patience import least
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
)

CALL = message("tools/list")


def ask(url: str, request: dict[str, Any] = CALL, *, timeout: float | None = 30.0, **options: Any) -> dict[str, Any]:
    """Send one request over a transport of its own, and see that it leaves nothing behind."""
    with no_leaks():
        transport = HTTPTransport(url, **options)
        try:
            return transport.request(request, Exchange(Deadline(timeout)))
        finally:
            transport.close()


def an_exchange(timeout: float | None = 30.0) -> Exchange:
    return Exchange(Deadline(timeout))


def always(answer: bytes) -> Any:
    return lambda got, peer: peer.send(answer)


# Sizes


@pytest.mark.parametrize("how", ["length", "chunks", "gzip", "deflate", "bare deflate", "event", "endless line"])
def test_a_message_over_the_size_is_refused_without_being_held(how):
    big = b'"' + b"a" * 50_000_000 + b'"'

    def script(got: Got, peer: Peer) -> None:
        if how == "length":
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")
            peer.wait_for_end()
            return
        if how in ("gzip", "deflate", "bare deflate"):
            packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "bare deflate": -15}[how])
            body = packer.compress(big) + packer.flush()
            peer.send(plain(200, body, "application/json", {"Content-Encoding": how.split()[-1]}))
            return
        kind = b"application/json" if how == "chunks" else b"text/event-stream"
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = {"chunks": b"a" * 65536, "event": b"data: " + b"a" * 65000 + b"\n", "endless line": b"a" * 65536}[how]
        peer.pour(chunk(piece), 10_000)

    with scripted(script) as server, pytest.raises(RemoteProtocolError, match="max_message_size"):
        ask(server.url, max_message_size=1_000_000)


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "bare", "identity", "two"])
def test_compressed_answers_are_read(encoding):
    body = b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"y" * 100_000 + b'"}}'
    packed = {
        "gzip": gzip.compress(body),
        "x-gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "bare": zlib.compress(body)[2:-4],
        "identity": body,
        "two": gzip.compress(body[:50]) + gzip.compress(body[50:]),
    }[encoding]
    name = {"bare": "deflate", "two": "gzip"}.get(encoding, encoding)
    with scripted(always(plain(200, packed, "application/json", {"Content-Encoding": name}))) as server:
        assert len(ask(server.url)["result"]["x"]) == 100_000
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(("encoding", "body"), [("br", b"x"), ("gzip", b"not gzip"), ("deflate", b"\xff\xff\xff")])
def test_an_encoding_that_cannot_be_read_is_said(encoding, body):
    script = always(plain(200, body, "application/json", {"Content-Encoding": encoding}))
    with scripted(script) as server, pytest.raises(RemoteProtocolError, match="encoded"):
        ask(server.url)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 131_072, 1_000_000])
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_what_is_packed_comes_out_whole_in_pieces_however_it_is_cut(encoding, size, step):
    body = bytes(size)
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    inflater, found = Inflater(encoding), []
    for start in range(0, len(packed), step):
        found += inflater.feed(packed[start : start + step])
    assert b"".join(found) == body
    assert max(map(len, found), default=0) <= 65_536


@pytest.mark.parametrize("how", ["bomb", "endless event", "endless line"])
def test_what_is_too_large_takes_no_memory(how):
    packer = zlib.compressobj(wbits=31)
    size = 300 if how == "bomb" else 0
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(size)) + packer.flush()
    lines = {"endless event": b"data: " + b"a" * 60_000 + b"\n", "endless line": b"a" * 60_000}

    def script(got: Got, peer: Peer) -> None:
        if how == "bomb":
            peer.send(plain(200, packed, "application/json", {"Content-Encoding": "gzip"}))
        else:
            peer.send(stream_head())
            peer.pour(chunk(lines[how]), 5_000)

    with scripted(script) as server:
        tracemalloc.start()
        with pytest.raises(RemoteProtocolError, match="max_message_size"):
            ask(server.url, max_message_size=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8_000_000


# Time


def silent(got: Got, peer: Peer) -> None:
    peer.wait_for_end()


def dripping_head(got: Got, peer: Peer) -> None:
    peer.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: y\r\n" * 1000)


def dripping_body(got: Got, peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    peer.drip(b"x" * 100_000)


def dripping_comments(got: Got, peer: Peer) -> None:
    peer.send(stream_head(chunked=False))
    peer.drip(b":\n\n" * 10_000)


@pytest.mark.parametrize("script", [silent, dripping_head, dripping_body, dripping_comments])
def test_a_server_that_keeps_one_waiting_is_left_in_time(script):
    with scripted(script) as server:
        start = time.monotonic()
        with pytest.raises(RequestTimeoutError, match=r"0\.3 seconds"):
            ask(server.url, timeout=0.3)
        assert time.monotonic() - start < 15


@pytest.mark.parametrize("script", [silent, dripping_head, dripping_body, dripping_comments])
@pytest.mark.parametrize("how", ["cancel", "close"])
def test_another_thread_wakes_the_one_that_waits(script, how):
    with scripted(script) as server, no_leaks():
        transport, exchange = HTTPTransport(server.url), an_exchange(None)
        timer = threading.Timer(0.3, exchange.cancel if how == "cancel" else transport.close)
        timer.start()
        start = time.monotonic()
        with pytest.raises(RequestCancelledError if how == "cancel" else ClientClosedError):
            transport.request(CALL, exchange)
        assert time.monotonic() - start < 15
        timer.join()
        transport.close()


def test_progress_extends_the_time():
    clock, taken = Clock(), threading.Semaphore(0)

    def script(got: Got, peer: Peer) -> None:
        peer.send(stream_head())
        for _ in range(6):
            peer.send(event({"jsonrpc": "2.0", "method": "notifications/progress"}))
            while not taken.acquire(timeout=0.05):
                if peer.stopping.is_set():
                    return
        peer.send(event(result(1)) + chunk(b""))

    def take(extends: bool) -> None:
        if extends:
            exchange.deadline.extend()
        clock.now += 20
        taken.release()

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        exchange = Exchange(Deadline(30, None, clock), on_message=lambda _: take(extends=True))
        assert "result" in transport.request(CALL, exchange)
        exchange = Exchange(Deadline(30, None, clock), on_message=lambda _: take(extends=False))
        with pytest.raises(RequestTimeoutError):
            transport.request(CALL, exchange)
        transport.close()


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_server_that_closes_within_its_answer_is_said_to(ending):
    def script(got: Got, peer: Peer) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        time.sleep(0.05)
        getattr(peer, ending)()

    with scripted(script) as server, pytest.raises(TransportError, match="closed the connection before"):
        ask(server.url)


def test_a_closed_transport_refuses_and_closes_again():
    transport = HTTPTransport("http://127.0.0.1:1/mcp")
    transport.close()
    transport.close()
    with pytest.raises(ClientClosedError):
        transport.request(CALL, an_exchange())
    with pytest.raises(ClientClosedError):
        transport.post(legacy(), Deadline(1))


def test_a_close_that_meets_a_black_hole_returns(caplog, monkeypatch):
    def script(got: Got, peer: Peer) -> None:
        if got.method == "DELETE":
            peer.wait_for_end()
        else:
            peer.send(json_answer(result(1), headers={"Mcp-Session-Id": "s"}))

    assert _FAREWELL == 2.0  # as it was before these tests began: all of them have more time, and this one has less
    caplog.set_level(logging.DEBUG, "mcp_wsgi.client")
    with scripted(script) as server, no_leaks():
        transport = HTTPTransport(server.url)
        transport.request(legacy("initialize"), an_exchange())
        monkeypatch.setattr("mcp_wsgi.transport.http._FAREWELL", 0.3)
        start = time.monotonic()
        transport.close()
        assert 0.3 <= time.monotonic() - start < 15
    assert "RequestTimeoutError" in caplog.text


def test_a_name_that_is_not_found_and_a_port_that_nobody_has_are_said(monkeypatch):
    real = socket.getaddrinfo

    def find(host: str, *args: Any, **options: Any) -> Any:
        """Say of a name at once what a resolver on the network says of it when it gets to it."""
        if host == "nowhere.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", find)
    with no_leaks():
        for url, reason in (("http://nowhere.invalid/mcp?key=secret", "name"), ("http://127.0.0.1:9/mcp", "refused")):
            transport = HTTPTransport(url)
            with pytest.raises(TransportError, match=reason) as caught:
                transport.request(CALL, an_exchange())
            assert "secret" not in str(caught.value)
            transport.close()


@pytest.mark.parametrize("url", ["", "mcp", "ftp://x/", "http://", "http://[::1", "http://x:y/", 5])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(ConfigurationError):
        HTTPTransport(url)


def test_time_passes_while_few_bytes_become_many() -> None:
    comments = gzip.compress(b":\n" * 40_000_000)  # less than a tenth of a megabyte
    with scripted(always(plain(200, comments, "text/event-stream", {"Content-Encoding": "gzip"}))) as server:

        def measure() -> float:
            start = time.monotonic()
            with pytest.raises(RequestTimeoutError):
                ask(server.url, timeout=0.2)
            return time.monotonic() - start

        assert least(measure, 1.0) < 1.0
