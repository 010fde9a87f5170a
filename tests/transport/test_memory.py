"""A server in this process is reached without a socket and answers the same."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from mcp_wsgi import Context, Server
from mcp_wsgi.exceptions import ClientClosedError, RemoteProtocolError, RequestCancelledError, RequestTimeoutError
from mcp_wsgi.transport.base import Deadline, Exchange
from mcp_wsgi.transport.memory import MemoryTransport
from tests.modern import message

LISTEN = "subscriptions/listen"


def make_server() -> Server:
    server = Server("memory", version="1")

    @server.tool
    def steps(count: int, ctx: Context) -> int:
        for number in range(count):
            ctx.report_progress(number + 1, count)
        return count

    @server.tool
    def wait(ctx: Context) -> str:
        end = time.monotonic() + 10
        while not ctx.cancelled and time.monotonic() < end:
            time.sleep(0.005)
        return "cancelled" if ctx.cancelled else "waited"

    return server


def call(name: str, arguments: dict[str, Any], **params: Any) -> dict[str, Any]:
    return message("tools/call", name=name, arguments=arguments, **params)


def exchange(timeout: float | None = 10, **options: Any) -> Exchange:
    return Exchange(Deadline(timeout), **options)


def test_a_request_is_answered_in_the_thread_that_asks_and_tells_what_it_reports() -> None:
    transport = MemoryTransport(make_server())
    told: list[dict[str, Any]] = []
    asked = call("steps", {"count": 3})
    asked["params"]["_meta"]["progressToken"] = 7
    answer = transport.request(asked, exchange(on_message=told.append))
    assert answer["result"]["structuredContent"] == {"result": 3} or answer["result"]["content"][0]["text"] == "3"
    assert [each["params"]["progress"] for each in told] == [1, 2, 3]
    assert transport.address == "memory:memory"


def test_an_answer_shares_nothing_with_the_server() -> None:
    transport = MemoryTransport(make_server())
    first = transport.request(message("tools/list"), exchange())
    first["result"]["tools"].clear()
    second = transport.request(message("tools/list"), exchange())
    assert [tool["name"] for tool in second["result"]["tools"]] == ["steps", "wait"]


def test_what_the_caller_raises_at_a_report_ends_the_call() -> None:
    transport = MemoryTransport(make_server())
    asked = call("steps", {"count": 3})
    asked["params"]["_meta"]["progressToken"] = 7

    def take(told: dict[str, Any]) -> None:
        raise LookupError(told["params"]["progress"])

    with pytest.raises(LookupError, match="1"):
        transport.request(asked, exchange(on_message=take))


@pytest.mark.parametrize("closes", [False, True])
def test_a_call_is_given_up_from_another_thread(closes: bool) -> None:
    transport = MemoryTransport(make_server())
    given = exchange()
    timer = threading.Timer(0.05, transport.close if closes else given.cancel)
    timer.start()
    with pytest.raises(ClientClosedError if closes else RequestCancelledError):
        transport.request(call("wait", {}), given)
    timer.join()


def test_what_was_given_up_before_is_not_asked() -> None:
    asked: list[Any] = []
    transport = MemoryTransport(lambda message: asked.append(message))
    given = exchange()
    given.cancel()
    with pytest.raises(RequestCancelledError):
        transport.request(message("tools/list"), given)
    assert asked == []


def test_a_function_is_a_server() -> None:
    got: list[dict[str, Any]] = []

    def answer(asked: dict[str, Any]) -> dict[str, Any] | None:
        got.append(asked)
        return {"jsonrpc": "2.0", "id": asked["id"], "result": {}} if "id" in asked else None

    transport = MemoryTransport(answer)
    assert transport.request(message("x/y"), exchange())["result"] == {}
    transport.post({"jsonrpc": "2.0", "method": "notifications/x"}, Deadline(1))
    assert [each["method"] for each in got] == ["x/y", "notifications/x"]
    assert transport.address.startswith("memory:")


@pytest.mark.parametrize("answer", [None, {}, [], "x", {"jsonrpc": "2.0", "id": 1}])
def test_a_function_that_gives_no_answer_is_an_error(answer: Any) -> None:
    with pytest.raises(RemoteProtocolError, match="no JSON-RPC answer"):
        MemoryTransport(lambda message: answer).request(message("tools/list"), exchange())


def test_a_closed_transport_takes_nothing() -> None:
    transport = MemoryTransport(make_server())
    transport.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, Deadline(1))
    transport.close()
    transport.close()
    with pytest.raises(ClientClosedError):
        transport.request(message("tools/list"), exchange())
    with pytest.raises(ClientClosedError):
        transport.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, Deadline(1))


def test_changes_are_told_until_the_server_ends_the_subscription() -> None:
    server = make_server()
    transport = MemoryTransport(server)
    told: list[str] = []

    def take(got: dict[str, Any]) -> None:
        told.append(got["method"])
        if got["method"].endswith("acknowledged"):
            server.notify_tools_changed()
        else:
            server.close()

    asked = message(LISTEN, notifications={"toolsListChanged": True})
    answer = transport.request(asked, exchange(on_message=take))
    assert told == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"]
    assert answer["result"]["resultType"] == "complete"
    assert len(server.bus) == 0


def test_a_subscription_can_be_given_up_and_has_an_end() -> None:
    server = make_server()
    transport = MemoryTransport(server)
    given = exchange()
    timer = threading.Timer(0.05, given.cancel)
    timer.start()
    with pytest.raises(RequestCancelledError):
        transport.request(message(LISTEN, notifications={"toolsListChanged": True}), given)
    timer.join()
    with pytest.raises(RequestTimeoutError):
        transport.request(message(LISTEN, notifications={"toolsListChanged": True}), exchange(0.05))
    assert len(server.bus) == 0


def test_a_subscription_that_asks_wrongly_is_refused() -> None:
    answer = MemoryTransport(make_server()).request(message(LISTEN), exchange())
    assert answer["error"]["code"] == -32602
