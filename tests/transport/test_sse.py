"""HTTP+SSE: one stream for all answers, and requests posted elsewhere (2024-11-05, basic/transports)."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_wsgi.exceptions import (
    ClientClosedError,
    HTTPStatusError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.sse import SSETransport
from tests.transport.scripted import (
    Got,
    Peer,
    Scripted,
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


class Old:
    """A server of the old transport: what is put into `outbox` goes to the newest stream, and `None` ends it."""

    def __init__(self, endpoint: str = "/messages?session={}", status: int = 202, answer: Any = None) -> None:
        self.endpoint = endpoint
        self.status = status
        self.answer = answer or (lambda got: [result(got.id)] if "id" in got.json() else [])
        self.streams: list[queue.Queue[Any]] = []

    @property
    def outbox(self) -> queue.Queue[Any]:
        return self.streams[-1]

    def __call__(self, got: Got, peer: Peer) -> None:
        if got.method == "POST":
            peer.send(plain(self.status, b"Accepted"))
            if self.status < 300:
                number = got.path.partition("session=")[2]
                for each in self.answer(got):
                    self.streams[int(number or 0)].put(each)
            return
        self.streams.append(outbox := queue.Queue())
        endpoint = self.endpoint.replace("{}", str(len(self.streams) - 1))
        peer.send(stream_head() + chunk(f"event: endpoint\ndata: {endpoint}\n\n".encode()))
        while not peer.stopping.is_set():
            try:
                item = outbox.get(timeout=0.02)
            except queue.Empty:
                peer.send(chunk(b":\n\n"))
                continue
            if item is None:
                peer.send(chunk(b""))
                return
            peer.send(item if isinstance(item, bytes) else event(item, "event: message\n"))


@contextmanager
def connected(script: Any = None, **options: Any) -> Iterator[tuple[Scripted, SSETransport]]:
    with no_leaks(), scripted(script or Old()) as server:
        transport = SSETransport(f"{server.origin}/sse", **options)
        try:
            yield server, transport
        finally:
            transport.close()


def an_exchange(timeout: float | None = 30.0, told: Any = None) -> Exchange:
    return Exchange(Deadline(timeout), on_message=(lambda _: None) if told is None else told.append)


def ask(script: Any, timeout: float = 30.0, **options: Any) -> dict[str, Any]:
    with connected(script, **options) as (_, transport):
        return transport.request(legacy(), an_exchange(timeout))


def test_requests_are_posted_where_the_stream_says_and_answered_on_it():
    with connected() as (server, transport):
        assert not transport.failed
        exchange = an_exchange()
        assert transport.request(legacy("initialize", 0), exchange) == result(0)
        transport.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, Deadline(30))
        assert transport.request(legacy("ping", "a"), an_exchange()) == result("a")
        assert exchange.status == 202
        assert transport.address == f"{server.origin}/sse"
        assert (transport.kind, transport.cancels_by_message) == ("sse", True)
    assert [got.path for got in server.requests] == ["/sse", *["/messages?session=0"] * 3]
    assert not [name for got in server.requests for name in got.headers if name.startswith("mcp-")]


def test_an_absolute_endpoint_of_the_same_origin_is_taken():
    script = Old()
    with connected(script) as (server, transport):
        script.endpoint = f"{server.origin}/there"
        transport.request(legacy(), an_exchange())
    assert server.of("POST")[0].path == "/there"


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/x", "//elsewhere/x", "http://127.0.0.1:1/x", "http://[", "/" * 9000]
)
def test_an_endpoint_elsewhere_is_refused(url):
    with pytest.raises(RemoteProtocolError, match="origin"):
        ask(Old(url))


def test_messages_go_to_the_request_that_they_name_and_the_others_to_the_inbox():
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    stray = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    question = legacy("roots/list", 1)
    told: list[Any] = []
    inbox: list[Any] = []
    nonsense = chunk(b": hi\n\nevent: ping\ndata: x\n\ndata: nonsense\n\n")
    script = Old(answer=lambda got: [stray, question, progress, nonsense, result(99), result("1", x=2)])
    with connected(script) as (_, transport):
        transport.inbox = inbox.append
        assert transport.request(legacy(), an_exchange(told=told)) == result(1, x=2)
    assert told == [progress]
    assert inbox == [stray, question]


def test_fifty_threads_share_one_stream():
    script = Old(answer=lambda got: [result(got.id, same=got.json()["params"]["n"])])
    found: list[bool] = []
    with connected(script) as (server, transport):

        def work(number: int) -> None:
            for step in range(4):
                answer = transport.request(legacy("x", number * 10 + step, n=[number, step]), an_exchange(60))
                found.append(answer["result"]["same"] == [number, step])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.of("GET")) == 1
    assert found == [True] * 200


@pytest.mark.parametrize("status", [401, 403])
def test_an_unknown_caller_is_told(status):
    with pytest.raises(UnauthorizedError):
        ask(lambda got, peer: peer.send(plain(status)))
    with pytest.raises(UnauthorizedError):
        ask(Old(status=status))


def test_other_statuses_are_errors():
    with pytest.raises(HTTPStatusError, match="HTTP 405"):
        ask(lambda got, peer: peer.send(plain(405)))
    with pytest.raises(HTTPStatusError, match="HTTP 500"):
        ask(Old(status=500))
    with pytest.raises(SessionExpiredError):
        ask(Old(status=404))


def test_what_is_no_stream_is_named():
    with pytest.raises(RemoteProtocolError, match="application/json"):
        ask(lambda got, peer: peer.send(json_answer({})))


def test_a_stream_that_ends_before_its_endpoint_is_an_error():
    with pytest.raises(TransportError, match="where to post"):
        ask(lambda got, peer: peer.send(stream_head() + chunk(b"")))


@pytest.mark.parametrize("ending", [None, chunk(b"data: " + b"x" * 2000 + b"\n\n")])
def test_all_that_wait_are_told_when_the_stream_ends_and_a_handshake_begins_another(ending):
    script = Old(answer=lambda got: [ending])
    with connected(script, max_message_size=1000) as (server, transport):
        with pytest.raises(TransportError if ending is None else RemoteProtocolError):
            transport.request(legacy(), an_exchange())
        assert transport.failed
        with pytest.raises(SessionExpiredError, match="stream has ended"):
            transport.request(legacy(), an_exchange())
        script.answer = lambda got: [result(got.id)]
        transport.request(legacy("initialize"), an_exchange())
        transport.request(legacy(), an_exchange())
        assert len(server.of("GET")) == 2


def test_a_restart_opens_another_stream_with_the_next_request():
    script = Old()
    with connected(script) as (server, transport):
        transport.restart()
        transport.request(legacy(), an_exchange())
        transport.restart()
        transport.request(legacy(), an_exchange())
        assert len(server.of("GET")) == 2


def test_a_notification_may_be_the_first_that_needs_the_stream():
    with connected() as (server, transport):
        transport.post({"jsonrpc": "2.0", "method": "x"}, Deadline(30))
        assert [got.method for got in server.requests] == ["GET", "POST"]


def test_a_stream_of_nothing_but_nonsense_is_left():
    script = Old(answer=lambda got: [chunk(b"data: " + b"x" * 100_000 + b"\n\n")] * 20)
    with connected(script) as (_, transport):
        with pytest.raises(TransportError, match="no messages"):
            transport.request(legacy(), an_exchange())
        assert transport.failed


def test_the_inbox_may_close_the_transport_itself():
    ended = threading.Event()
    with connected(Old(answer=lambda got: [legacy("ping")])) as (_, transport):
        transport.inbox = lambda _: (transport.close(), ended.set())
        with pytest.raises(ClientClosedError):
            transport.request(legacy(), an_exchange())
        assert ended.wait(30)


def silent(got: Got, peer: Peer) -> None:
    peer.wait_for_end()


def without_an_endpoint(got: Got, peer: Peer) -> None:
    peer.send(stream_head(chunked=False))
    peer.drip(b": \n\n" * 1000)


def without_an_answer_to_the_post(got: Got, peer: Peer) -> None:
    if got.method == "GET":
        peer.send(stream_head() + chunk(b"data: x\n\nevent: endpoint\ndata: /there\n\n"))
    peer.wait_for_end()


WAITS = [silent, without_an_endpoint, without_an_answer_to_the_post, Old(answer=lambda got: [])]


@pytest.mark.parametrize("script", WAITS)
def test_a_server_that_keeps_one_waiting_is_left_in_time(script):
    start = time.monotonic()
    with pytest.raises(RequestTimeoutError):
        ask(script, 0.3)
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("script", WAITS)
@pytest.mark.parametrize("how", ["cancel", "close"])
def test_another_thread_wakes_the_one_that_waits(script, how):
    with connected(script) as (_, transport):
        exchange = an_exchange(None)
        timer = threading.Timer(0.2, exchange.cancel if how == "cancel" else transport.close)
        timer.start()
        start = time.monotonic()
        with pytest.raises(RequestCancelledError if how == "cancel" else ClientClosedError):
            transport.request(legacy(), exchange)
        assert time.monotonic() - start < 15
        timer.join()


def test_one_thread_opens_the_stream_and_the_others_wait_within_their_time():
    opening = an_exchange(None)

    def first() -> None:
        with pytest.raises(RequestCancelledError):
            transport.request(legacy(), opening)

    with connected(silent) as (server, transport):
        thread = threading.Thread(target=first)
        thread.start()
        until(lambda: server.requests)
        with pytest.raises(RequestTimeoutError):
            transport.request(legacy(), an_exchange(0.3))
        assert len(server.requests) == 1
        opening.cancel()
        thread.join()


def test_who_waits_for_a_stream_to_be_opened_uses_it():
    class Slow(Old):
        def __call__(self, got: Got, peer: Peer) -> None:
            if got.method == "GET":
                assert going_on.wait(30)
            super().__call__(got, peer)

    going_on, found = threading.Event(), []
    with connected(Slow()) as (server, transport):

        def work(number: int) -> None:
            found.append(transport.request(legacy("x", number), an_exchange()))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        going_on.set()
        for thread in threads:
            thread.join()
        assert len(server.of("GET")) == 1
    assert len(found) == 3


def test_a_closed_transport_refuses():
    transport = SSETransport("http://127.0.0.1:1/sse")
    transport.close()
    with pytest.raises(ClientClosedError):
        transport.request(legacy(), an_exchange())
    with pytest.raises(ClientClosedError):
        transport.post(legacy(), Deadline(1))
