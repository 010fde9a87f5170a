"""Streamable HTTP of both eras against servers that say anything.

2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from mcp_wsgi import expected_headers
from mcp_wsgi.exceptions import (
    HTTPStatusError,
    RemoteProtocolError,
    RequestTimeoutError,
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import HTTPTransport
from tests.clock import Clock
from tests.modern import message
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
    refusal,
    result,
    scripted,
    stream_head,
    until,
)

CALL = message("tools/list")


def ask(
    server: Scripted, request: dict[str, Any] = CALL, *, timeout: float | None = 30.0, told: Any = None, **options: Any
) -> dict[str, Any]:
    """Send one request over a transport of its own, and see that it leaves nothing behind."""
    with no_leaks():
        transport = HTTPTransport(server.url, **options)
        try:
            return transport.request(request, an_exchange(timeout, told))
        finally:
            transport.close()


def an_exchange(timeout: float | None = 30.0, told: Any = None) -> Exchange:
    return Exchange(Deadline(timeout), on_message=(lambda _: None) if told is None else told.append)


def always(answer: bytes) -> Any:
    def script(got: Got, peer: Peer) -> None:
        peer.send(answer)

    return script


# What is sent


def test_a_modern_request_carries_the_headers_of_its_message_and_nothing_else_of_the_protocol():
    request = message("tools/call", name="wetter", arguments={"city": "Köln"})
    tool = {"inputSchema": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}}
    with scripted(lambda got, peer: peer.send(json_answer(result(got.id)))) as server:
        transport = HTTPTransport(server.url)
        transport.adopt("2025-11-25")
        transport.request(request, Exchange(Deadline(30), tool=tool))
        transport.close()
    got = server.requests[0]
    assert got.json() == request
    assert got.body.isascii()
    assert got.headers["content-type"] == "application/json"
    assert got.headers["accept"] == "application/json, text/event-stream"
    assert {name: value for name, value in got.headers.items() if name.startswith("mcp-")} == {
        name.lower(): value for name, value in expected_headers(request, tool)
    }


def test_a_legacy_session_is_that_of_the_result_of_initialize():
    def script(got: Got, peer: Peer) -> None:
        method = got.json().get("method") if got.body else got.method
        if method == "ping":
            peer.send(json_answer(refusal(-32600, "server-error"), 400, {"Mcp-Session-Id": "of-an-error"}))
        else:
            session = {"initialize": "the-session", "tools/list": "of-something-else"}.get(method)
            headers = {"Mcp-Session-Id": session} if session else {}
            peer.send(json_answer(result(got.id) if got.body else {}, headers=headers))

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        for method in ("ping", "initialize"):
            transport.request(legacy(method), an_exchange())
        transport.adopt("2025-06-18")
        for method in ("tools/list", "tools/list", "initialize"):
            transport.request(legacy(method), an_exchange())
        transport.request(CALL, an_exchange())
        transport.close()
    sent = [(got.headers.get("mcp-protocol-version"), got.headers.get("mcp-session-id")) for got in server.requests]
    session = ("2025-06-18", "the-session")
    assert sent == [(None, None), (None, None), session, session, (None, None), ("2026-07-28", None), session]
    assert server.requests[-1].method == "DELETE"


@pytest.mark.parametrize("session", ["a b", "a\tb", "é", "x" * 4097, ""])
def test_a_session_id_that_cannot_be_sent_back_is_ignored(session, caplog):
    with scripted(lambda got, peer: peer.send(json_answer(result(1), headers={"Mcp-Session-Id": session}))) as server:
        transport = HTTPTransport(server.url)
        transport.request(legacy("initialize"), an_exchange())
        transport.request(legacy(), an_exchange())
        transport.close()
    assert "mcp-session-id" not in server.requests[1].headers
    assert "session id" in caplog.text
    assert len(server.requests) == 2


def test_a_restart_forgets_the_session_and_its_version():
    with scripted(lambda got, peer: peer.send(json_answer(result(1), headers={"Mcp-Session-Id": "s"}))) as server:
        transport = HTTPTransport(server.url)
        transport.request(legacy("initialize"), an_exchange())
        transport.adopt("2025-11-25")
        transport.restart()
        transport.request(legacy(), an_exchange())
        transport.close()
    assert not [name for name in server.requests[1].headers if name.startswith("mcp-")]


# Answers


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=utf-8", "application/json;", " application/json ; a=b", None],
)
def test_json_is_read_whatever_the_parameters_of_its_type(content_type):
    with scripted(always(plain(200, b'{"jsonrpc":"2.0","id":1,"result":{"x":1}}', content_type))) as server:
        assert ask(server)["result"] == {"x": 1}


@pytest.mark.parametrize("request_id", [None, "server-error", "", 99])
@pytest.mark.parametrize("status", [200, 400, 404, 405, 422])
def test_an_error_in_the_posts_own_answer_is_its_own_whatever_its_id(request_id, status):
    exchange = an_exchange()
    with scripted(always(json_answer(refusal(-32000, request_id), status))) as server:
        transport = HTTPTransport(server.url)
        answer = transport.request(CALL, exchange)
        transport.close()
    assert answer["error"]["code"] == -32000
    assert exchange.status == status


def test_an_error_without_a_content_type_is_read_too():
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}'
    with scripted(always(plain(400, body))) as server:
        assert ask(server)["error"]["code"] == -32000


def test_a_result_must_name_its_request():
    with scripted(always(json_answer(result(2)))) as server, pytest.raises(RemoteProtocolError, match="not its answer"):
        ask(server)


def test_a_stringified_id_is_taken_and_logged(caplog):
    with scripted(always(json_answer(result("1", x=1)))) as server:
        assert ask(server) == result(1, x=1)
    assert "as a string" in caplog.text


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'{"id":1,"id":1}', b'{"jsonrpc":"2.0","id":1,"result":NaN}'])
def test_what_is_no_strict_json_is_no_answer(body):
    with scripted(always(plain(200, body, "application/json"))) as server, pytest.raises(RemoteProtocolError):
        ask(server)


@pytest.mark.parametrize(
    "value", [5, {}, [], {"jsonrpc": "2.0", "id": 1, "result": 3}, legacy(), result(1) | {"error": 1}]
)
def test_json_that_is_no_answer_is_said_to_be_none(value):
    with scripted(always(json_answer(value))) as server, pytest.raises(RemoteProtocolError):
        ask(server)


@pytest.mark.parametrize("status", [202, 204, 200])
def test_a_request_without_an_answer_is_a_fault(status):
    with scripted(always(plain(status))) as server, pytest.raises(RemoteProtocolError, match=str(status)):
        ask(server)


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", "application/jsonp"])
def test_a_page_is_named_by_status_and_type(content_type):
    with scripted(always(plain(200, b"<html>", content_type))) as server:
        with pytest.raises(RemoteProtocolError, match=r"HTTP 200.*(text/html|text/plain|jsonp)"):
            ask(server)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("body", [b"", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"who?"}}'])
def test_401_and_403_are_raised_with_the_challenge_whatever_the_body(status, body):
    answer = plain(status, body, "application/json", {"WWW-Authenticate": 'Bearer realm="x"'})
    with scripted(always(answer)) as server, pytest.raises(UnauthorizedError) as caught:
        ask(server)
    assert (caught.value.status, caught.value.challenge) == (status, 'Bearer realm="x"')


@pytest.mark.parametrize(
    ("status", "body"), [(400, b""), (404, b"<h1>no</h1>"), (500, b"\x1b[31moops\n\n" + b"x" * 500), (502, b"{}")]
)
def test_a_status_without_a_message_is_said_with_a_printable_excerpt(status, body):
    with scripted(always(plain(status, body, "Text/HTML"))) as server, pytest.raises(HTTPStatusError) as caught:
        ask(server)
    assert (caught.value.status, caught.value.content_type) == (status, "text/html")
    assert caught.value.excerpt.isprintable()
    assert len(caught.value.excerpt) <= 203


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_a_modern_code_is_the_servers_word_whatever_the_status(code):
    with scripted(always(json_answer(refusal(code), 503))) as server:
        assert ask(server, message("server/discover"))["error"]["code"] == code


@pytest.mark.parametrize("method", ["server/discover", "initialize"])
def test_a_server_that_fails_says_nothing_about_its_era(method):
    with scripted(always(json_answer(refusal(-32603, 1), 500))) as server, pytest.raises(HTTPStatusError):
        ask(server, legacy(method))


def test_an_error_of_the_request_on_a_500_is_the_answer_and_that_of_a_gateway_is_not():
    with scripted(always(json_answer(refusal(-32603, 1), 500))) as server:
        assert ask(server)["error"]["code"] == -32603
    with scripted(always(json_answer(refusal(-32603, None), 500))) as server, pytest.raises(HTTPStatusError):
        ask(server)


def test_a_404_to_a_session_ends_it_once():
    def script(got: Got, peer: Peer) -> None:
        if "mcp-session-id" in got.headers:
            peer.send(json_answer(refusal(-32600, "server-error"), 404))
        else:
            peer.send(json_answer(result(got.id), headers={"Mcp-Session-Id": "s"}))

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        transport.request(legacy("initialize"), an_exchange())
        with pytest.raises(SessionExpiredError):
            transport.request(legacy(), an_exchange())
        transport.request(legacy(), an_exchange())
        transport.close()
    assert len(server.requests) == 3


def test_a_404_to_a_session_that_was_renewed_meanwhile_leaves_the_new_one():
    renewed = threading.Event()

    def script(got: Got, peer: Peer) -> None:
        method = got.json()["method"] if got.body else "DELETE"
        if method == "initialize":
            peer.send(json_answer(result(got.id), headers={"Mcp-Session-Id": "b" if got.id else "a"}))
        elif method == "slow":
            assert renewed.wait(30)
            peer.send(plain(404))
        else:
            peer.send(json_answer(result(1)))

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        transport.request(legacy("initialize", 0), an_exchange())

        def slow() -> None:
            with pytest.raises(SessionExpiredError):
                transport.request(legacy("slow"), an_exchange())

        thread = threading.Thread(target=slow)
        thread.start()
        until(lambda: len(server.requests) == 2)
        transport.request(legacy("initialize", 1), an_exchange())
        renewed.set()
        thread.join()
        transport.close()
    assert [got.headers.get("mcp-session-id") for got in server.requests] == [None, "a", None, "b"]


def test_of_a_long_refusal_the_beginning_is_kept():
    script = always(plain(401, b"who " * 100_000, "text/plain"))
    with scripted(script) as server, pytest.raises(UnauthorizedError) as caught:
        ask(server)
    assert caught.value.excerpt.startswith("who who")
    assert len(caught.value.excerpt) == 203


# Streams


def test_all_of_a_stream_is_told_as_it_comes_until_the_answer():
    going_on = threading.Event()
    told: list[Any] = []

    def script(got: Got, peer: Peer) -> None:
        peer.send(stream_head())
        peer.send(chunk(b": hello\n\nid: 1\ndata:\n\nevent: ping\ndata: x\n\nretry: abc\n\n"))
        peer.send(event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": 1}}))
        assert going_on.wait(30)
        peer.send(event(legacy("ping", 0)))
        peer.send(event(result(77)))
        peer.send(chunk(b"data: {broken\n\ndata: 5\n\n"))
        peer.send(event(result(1, x="\u2028")))
        peer.send(event({"jsonrpc": "2.0", "method": "late"}) + chunk(b""))

    with scripted(script) as server:
        exchange = Exchange(Deadline(30), on_message=lambda found: (told.append(found), going_on.set()))
        transport = HTTPTransport(server.url)
        assert transport.request(CALL, exchange)["result"] == {"x": "\u2028"}
        transport.close()
    assert [each["method"] for each in told] == ["notifications/message", "ping"]


def test_an_error_without_an_id_on_a_stream_is_the_answer():
    with scripted(lambda got, peer: peer.send(stream_head() + event(refusal(-32600)) + chunk(b""))) as server:
        assert ask(server)["error"]["code"] == -32600


def test_an_answer_on_a_stream_that_is_none_ends_the_request():
    broken = {"jsonrpc": "2.0", "id": 1, "result": "text"}
    script = always(stream_head() + event(broken))
    with scripted(script) as server, pytest.raises(RemoteProtocolError, match="no JSON-RPC"):
        ask(server)


def test_what_the_caller_raises_ends_the_exchange():
    left = threading.Event()

    def script(got: Got, peer: Peer) -> None:
        peer.send(stream_head() + event({"jsonrpc": "2.0", "method": "x"}))
        if peer.wait_for_end():
            left.set()

    def fail(found: dict[str, Any]) -> None:
        raise LookupError("mine")

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        with pytest.raises(LookupError, match="mine"):
            transport.request(CALL, Exchange(Deadline(30), on_message=fail))
        assert left.wait(30)
        transport.close()


def test_a_stream_is_read_over_one_connection_again_and_again(monkeypatch):
    # The end of the stream comes by itself, and so a moment after the answer.
    monkeypatch.setattr("mcp_wsgi.transport.http_answer._REST_SECONDS", 30.0)

    def script(got: Got, peer: Peer) -> None:
        peer.send(stream_head() + event(result(got.id)))
        peer.send(chunk(b""))

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        for number in range(10):
            transport.request(message("x", request_id=number), an_exchange())
        transport.close()
    assert server.connections == 1


@pytest.mark.parametrize("ending", ["close", "reset", "last chunk"])
def test_a_modern_stream_that_ends_without_the_answer_is_said_to(ending):
    def script(got: Got, peer: Peer) -> None:
        peer.send(stream_head() + event({"jsonrpc": "2.0", "method": "x"}, "id: 1\n"))
        time.sleep(0.05)
        {"close": peer.close, "reset": peer.reset, "last chunk": lambda: peer.send(chunk(b""))}[ending]()

    with scripted(script) as server, pytest.raises(TransportError, match=r"ended|closed the connection"):
        ask(server)
    assert len(server.requests) == 1


def test_a_legacy_stream_that_ends_is_resumed_after_the_time_it_asked_for(monkeypatch):
    monkeypatch.setattr("mcp_wsgi.transport.http_streams._DEFAULT_WAIT", 30.0)
    times: list[float] = []

    def script(got: Got, peer: Peer) -> None:
        times.append(time.monotonic())
        if got.method == "POST":
            peer.send(stream_head() + chunk(b"id: 7\nretry: 300\ndata:\n\n") + chunk(b""))
        else:
            peer.send(stream_head() + event(result(1, x=1), "id: 8\n") + chunk(b""))

    with scripted(script) as server:
        assert ask(server, legacy())["result"] == {"x": 1}
    assert [got.method for got in server.requests] == ["POST", "GET"]
    assert server.requests[1].headers["last-event-id"] == "7"
    assert server.requests[1].headers["accept"] == "text/event-stream"
    assert 0.29 < times[1] - times[0] < 20


def test_the_stream_of_initialize_is_resumed_in_its_session():
    def script(got: Got, peer: Peer) -> None:
        if got.method == "POST":
            peer.send(stream_head({"Mcp-Session-Id": "s"}) + chunk(b"id: 7\nretry: 1\ndata:\n\n") + chunk(b""))
        elif got.method == "GET":
            peer.send(stream_head() + event(result(1)) + chunk(b""))
        else:
            peer.send(plain(405))

    with scripted(script) as server:
        ask(server, legacy("initialize"))
    assert [got.headers.get("mcp-session-id") for got in server.requests] == [None, "s", "s"]


@pytest.mark.parametrize("status", [405, 400, 200])
def test_a_stream_that_the_server_does_not_resume_is_an_error(status):
    def script(got: Got, peer: Peer) -> None:
        if got.method == "POST":
            peer.send(stream_head() + chunk(b"id: 7\nretry: 1\ndata:\n\n") + chunk(b""))
        else:
            peer.send(plain(status, b"<html>", "text/html"))

    with scripted(script) as server, pytest.raises(TransportError, match="does not resume"):
        ask(server, legacy())
    assert len(server.requests) == 2


def test_resuming_without_anything_new_ends_after_some_attempts():
    def script(got: Got, peer: Peer) -> None:
        if got.method == "POST":
            peer.send(stream_head() + chunk(b"id: 7\nretry: 1\ndata:\n\n"))
            peer.reset()
        elif len(server.requests) == 2:
            peer.reset()
        elif len(server.requests) == 3:
            peer.send(plain(503))
        else:
            peer.send(stream_head() + chunk(b""))

    with scripted(script) as server, pytest.raises(TransportError, match="resumed"):
        ask(server, legacy())
    assert [got.method for got in server.requests] == ["POST"] + ["GET"] * 5


def test_resuming_ends_with_the_time_of_the_request():
    clock = Clock()

    def script(got: Got, peer: Peer) -> None:
        if got.method == "POST":
            peer.send(stream_head() + chunk(b"id: 7\nretry: 1\ndata:\n\n") + chunk(b""))
        else:
            clock.now += 31
            peer.send(stream_head())  # it is read, and then it is too late
            peer.wait_for_end()

    with scripted(script) as server, no_leaks():
        transport = HTTPTransport(server.url)
        with pytest.raises(RequestTimeoutError):
            transport.request(legacy(), Exchange(Deadline(30, None, clock)))
        transport.close()
    assert [got.method for got in server.requests] == ["POST", "GET"]


def test_a_legacy_stream_without_an_event_id_cannot_be_resumed():
    script = always(stream_head() + chunk(b":\n\n") + chunk(b""))
    with scripted(script) as server, pytest.raises(TransportError, match="ended"):
        ask(server, legacy())
    assert len(server.requests) == 1
