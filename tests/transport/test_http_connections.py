"""Connections: how they are made, shared by threads, kept from a child, and given up."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import requests
from urllib3.util.wait import wait_for_write

from mcp_wsgi.exceptions import ClientClosedError, RequestCancelledError, RequestTimeoutError, TransportError
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import HTTPTransport
from mcp_wsgi.transport.http_connections import WatchedAdapter
from mcp_wsgi.transport.http_names import _Lookup as Lookup
from mcp_wsgi.transport.http_names import is_loopback
from mcp_wsgi.transport.watch import Watch, bare_socket
from tests.clock import Clock
from tests.modern import message
from tests.transport.scripted import (
    Got,
    Peer,
    chunk,
    event,
    json_answer,
    no_leaks,
    result,
    scripted,
    stream_head,
    until,
)

CALL = message("tools/list")


def echo(got: Got, peer: Peer) -> None:
    peer.send(json_answer(result(got.id, same=got.json()["params"].get("n"))))


def ask(transport: HTTPTransport, timeout: float | None = 30.0, **params: Any) -> dict[str, Any]:
    return transport.request(message("x", **params), Exchange(Deadline(timeout)))


@contextlib.contextmanager
def black_hole() -> Iterator[int]:
    """Listen on a port whose queue is full, so that no further connection is ever made."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@pytest.mark.parametrize("how", ["connect time", "time", "cancel", "close"])
def test_a_connection_that_is_never_made_ends_in_time(how):
    with black_hole() as port, no_leaks():
        transport = HTTPTransport(f"http://127.0.0.1:{port}/mcp", connect_timeout=0.3 if how == "connect time" else 20)
        exchange = Exchange(Deadline(0.3 if how == "time" else 20))
        timer = threading.Timer(0.3, {"cancel": exchange.cancel, "close": transport.close}.get(how, lambda: None))
        timer.start()
        kinds = {"cancel": RequestCancelledError, "close": ClientClosedError, "time": RequestTimeoutError}
        begun = time.monotonic()
        with pytest.raises(kinds.get(how, TransportError)) as caught:
            transport.request(CALL, exchange)
        assert time.monotonic() - begun < 15
        if how == "connect time":
            assert not isinstance(caught.value, RequestTimeoutError)
            assert "within 0.3 seconds" in str(caught.value)
        timer.join()
        transport.close()


def test_an_address_that_leads_nowhere_leaves_time_for_the_next(monkeypatch):
    real, clock = socket.getaddrinfo, Clock()

    def wait(sock: socket.socket, seconds: float) -> bool:
        """Let the time pass only while nothing answers, not while this process stands still."""
        answered = wait_for_write(sock, 0.02)
        clock.now += 0 if answered else seconds
        return answered

    monkeypatch.setattr("mcp_wsgi.transport.watch.wait_for_write", wait)
    monkeypatch.setattr("mcp_wsgi.transport.watch.Deadline", partial(Deadline, clock=clock))
    with scripted(echo) as server, black_hole() as port, no_leaks():

        def both(host: str, wanted: Any, **options: Any) -> list[Any]:
            assert host == "two.test"
            return real("127.0.0.1", port, **options) + real("127.0.0.1", wanted, **options)

        monkeypatch.setattr(socket, "getaddrinfo", both)
        transport = HTTPTransport(f"http://two.test:{server.port}/mcp", connect_timeout=4)
        assert "result" in ask(transport)
        assert 102 <= clock.now < 104
        transport.close()


def test_of_several_addresses_that_refuse_the_last_is_told(monkeypatch):
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **options: real("127.0.0.1", 9, **options) * 2)
    transport = HTTPTransport("http://two.test/mcp")
    with pytest.raises(TransportError, match="refused"):
        ask(transport)
    transport.close()


def test_a_host_without_an_address_is_not_found(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    transport = HTTPTransport("http://none.test/mcp")
    with pytest.raises(TransportError, match="name was not found"):
        ask(transport)
    transport.close()


def test_a_name_that_is_none_is_not_found(monkeypatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise UnicodeError("label too long")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    transport = HTTPTransport("http://none.test/mcp")
    with pytest.raises(TransportError, match="name was not found"):
        ask(transport)
    transport.close()


def test_a_resolver_that_does_not_answer_is_asked_once_and_left_in_time(monkeypatch):
    real, asked, going_on, wait = socket.getaddrinfo, [], threading.Event(), Lookup.wait

    def slow(host: str, port: Any, **options: Any) -> list[Any]:
        asked.append(host)
        going_on.wait(60)
        return real("127.0.0.1", port, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with scripted(echo) as server, no_leaks():
        transport = HTTPTransport(f"http://slow.test:{server.port}/mcp")
        for _ in range(2):
            with pytest.raises(RequestTimeoutError):
                ask(transport, 0.2)
        exchange = Exchange(Deadline(20))
        timer = threading.Timer(0.2, exchange.cancel)
        timer.start()
        with pytest.raises(RequestCancelledError):
            transport.request(CALL, exchange)
        timer.join()
        monkeypatch.setattr(Lookup, "wait", lambda lookup, left: (going_on.set(), wait(lookup, left))[1])
        assert "result" in ask(transport)
        assert asked == ["slow.test"]
        transport.close()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "x.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"])
def test_what_is_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "localhost.example", "10.0.0.1", "128.0.0.1", "[::2]", "127.0.0.1.nip.io"])
def test_what_may_be_elsewhere(host):
    assert not is_loopback(host)


def test_fifty_threads_share_a_transport_without_a_mix_up_a_wait_or_a_warning(caplog):
    here = threading.Barrier(50)
    found: list[bool] = []

    def script(got: Got, peer: Peer) -> None:
        number, step = got.json()["params"]["n"]
        if step == 0:
            here.wait(60)  # so that all fifty are under way at once
        if number % 2:
            echo(got, peer)
            return
        said = {"jsonrpc": "2.0", "method": "said", "params": {"n": [number, step]}}
        peer.send(stream_head() + event(said) + event(result(got.id, same=[number, step])) + chunk(b""))

    with scripted(script) as server, no_leaks():
        transport = HTTPTransport(server.url)

        def work(number: int) -> None:
            for step in range(5):
                told: list[Any] = []
                exchange = Exchange(Deadline(60), on_message=told.append)
                answer = transport.request(message("x", n=[number, step]), exchange)
                mine = [each["params"]["n"] for each in told] == [[number, step]] * (1 - number % 2)
                found.append(mine and answer["result"]["same"] == [number, step])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        transport.close()
        assert server.connections == 50
    assert found == [True] * 250
    assert "pool" not in caplog.text


def test_a_close_wakes_all_that_wait():
    with scripted(lambda got, peer: peer.wait_for_end()) as server, no_leaks():
        transport, ended = HTTPTransport(server.url), []

        def work() -> None:
            with pytest.raises(ClientClosedError):
                ask(transport, None)
            ended.append(1)

        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        until(lambda: len(server.requests) == 20)
        transport.close()
        for thread in threads:
            thread.join(30)
        assert len(ended) == 20


def test_cancelling_what_has_ended_touches_no_other_request():
    with scripted(echo) as server:
        transport = HTTPTransport(server.url)
        for number in range(20):
            exchange = Exchange(Deadline(30))
            assert transport.request(message("x", n=number), exchange)["result"]["same"] == number
            exchange.cancel()
        transport.close()
    assert server.connections == 1


def test_a_server_that_closed_meanwhile_is_connected_to_again():
    closed: list[Peer] = []

    def script(got: Got, peer: Peer) -> None:
        echo(got, peer)
        peer.close()
        closed.append(peer)

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        for number in range(3):
            assert "result" in ask(transport)
            until(lambda number=number: len(closed) > number)
            time.sleep(0.05)  # on its way there is no thread that could be late
        transport.close()
    assert server.connections == 3


def test_a_request_is_one_packet_and_a_large_one_arrives_whole():
    with scripted(echo) as server:
        transport = HTTPTransport(server.url)
        assert ask(transport, n="x" * 3_000_000)["result"]["same"] == "x" * 3_000_000
        transport.close()


def test_a_server_that_does_not_read_is_left_in_time():
    def begin(peer: Peer) -> None:
        peer.stopping.wait(60)
        peer.closed = True

    with no_leaks(), scripted(echo, begin) as server:
        transport = HTTPTransport(server.url)
        with pytest.raises(RequestTimeoutError):
            ask(transport, 0.3, n="x" * 30_000_000)
        transport.close()


def test_a_server_that_answers_before_it_has_read_all_is_heard():
    def begin(peer: Peer) -> None:
        peer.sock.recv(1000)
        peer.send(json_answer({"jsonrpc": "2.0", "error": {"code": -32600, "message": "too large"}}, 413))
        peer.sock.shutdown(socket.SHUT_WR)
        peer.wait_for_end()

    with scripted(echo, begin) as server:
        transport = HTTPTransport(server.url)
        assert ask(transport, n="x" * 1_000_000)["error"]["message"] == "too large"
        transport.close()


def test_an_adapter_is_one_of_requests_outside_of_an_exchange_too():
    with scripted(echo) as server, requests.Session() as session:
        session.mount("http://", WatchedAdapter())
        for _ in range(2):
            assert session.post(server.url, json=CALL, timeout=30).json()["id"] == 1


def test_an_address_that_is_refused_at_once_is_told(monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("255.255.255.255", 9))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with no_leaks():
        for scheme in ("http", "https"):
            transport = HTTPTransport(f"{scheme}://two.test/mcp")
            with pytest.raises(TransportError, match=r"the connection failed \("):
                ask(transport)
            transport.close()


def test_below_tls_through_a_proxy_of_tls_there_is_a_socket():
    class Layer:
        def __init__(self, sock: Any) -> None:
            self.socket = sock

    with socket.socket() as sock:
        assert bare_socket(Layer(Layer(sock))) is sock


def test_a_watch_lets_nobody_sleep_longer_than_the_exchange():
    Watch(Deadline(30), 1).sleep(0.01)
    begun = time.monotonic()
    with pytest.raises(RequestTimeoutError):
        Watch(Deadline(0.1), 1).sleep(60)
    assert time.monotonic() - begun < 15
    Watch(Deadline(None), 1).sleep(0.01)
    watch = Watch(Deadline(None), 1)
    watch.cancel()
    watch.close()
    assert isinstance(watch.stopped, RequestCancelledError)
    with pytest.raises(RequestCancelledError):
        watch.attach(None)
