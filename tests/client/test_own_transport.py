"""A client over a transport of the caller's own, which shows what is done with each message of a server."""

from __future__ import annotations

import logging
import queue
import threading
from typing import Any, ClassVar

import pytest

from mcp_wsgi.client import Client, Progress
from mcp_wsgi.client.incoming import Incoming
from mcp_wsgi.exceptions import ConfigurationError, HeaderMismatchError, NegotiationError, TransportError
from mcp_wsgi.transport.base import Deadline, Exchange, Message, Transport
from tests.patience import wait_until

MODERN, LEGACY = "2026-07-28", "2025-11-25"


class Wire(Transport):
    """Say before each answer what a test wants to be said, and keep what is posted."""

    kind: ClassVar[str] = "wire"

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version
        self.before: list[Message] = []
        self.error: dict[str, Any] | None = None
        self.posted: queue.Queue[Message] = queue.Queue()
        self.sent: list[Message] = []
        self.is_broken = self.is_closed = False

    @property
    def address(self) -> str:
        return "wire:"

    def request(self, message: Message, exchange: Exchange) -> Message:
        self.sent.append(message)
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "server/discover":
            if self.version != MODERN:
                return {**answer, "error": {"code": -32601, "message": "No"}}
            return {**answer, "result": {"supportedVersions": [self.version], "capabilities": {}}}
        if message["method"] == "initialize":
            return {**answer, "result": {"protocolVersion": self.version, "capabilities": {}}}
        for each in self.before:
            exchange.on_message(each)
        return {**answer, "error": self.error} if self.error else {**answer, "result": {"content": []}}

    def post(self, message: Message, deadline: Deadline) -> None:
        if self.is_broken:
            raise TransportError("It is broken")
        self.posted.put(message)

    def close(self) -> None:
        self.is_closed = True


def progress(**params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def question(request_id: Any = "q", method: str = "ping") -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method}


def test_a_transport_of_the_callers_own_is_used_as_it_is() -> None:
    wire = Wire(MODERN)
    with pytest.raises(ConfigurationError, match="a transport, which has its own"):
        Client(wire, headers={"a": "b"})
    with Client(wire) as client:
        assert (client.address, client.era) == ("wire:", "modern")
        client.call_tool("x")
    assert wire.is_closed


def test_reports_that_cannot_be_read_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    got: list[float] = []

    def take(report: Progress) -> None:
        got.append(report.progress)

    wire = Wire(MODERN)
    with Client(wire) as client:
        wire.before = [
            {"jsonrpc": "2.0"},
            {"jsonrpc": "2.0", "method": "notifications/progress"},
            progress(progressToken=2),
            progress(progressToken=True, progress=1),
            progress(progressToken="-2", progress=2),
            progress(progressToken="2" * 30, progress=3),
            progress(progressToken=99, progress=4),
            progress(progressToken=2, progress=5),
            progress(progressToken="2", progress=6),
        ]
        client.call_tool("x", on_progress=take)
    assert got == [5, 6]
    assert "A report of progress cannot be read" in caplog.text


def test_progress_that_nobody_asked_for_is_dropped() -> None:
    wire = Wire(MODERN)
    with Client(wire) as client:
        wire.before = [progress(progressToken=2, progress=1)]
        client.call_tool("x")


def test_a_modern_server_that_asks_is_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire(MODERN)
    with Client(wire) as client:
        wire.before = [question()]
        client.call_tool("x")
        wire.inbox(question("aside"))
        wait_until(lambda: caplog.text.count("which no server of this protocol version may") == 2)
    assert wire.posted.empty()


@pytest.mark.parametrize("broken", [False, True])
def test_an_answer_that_is_not_taken_is_logged(caplog: pytest.LogCaptureFixture, broken: bool) -> None:
    caplog.set_level(logging.INFO)
    wire = Wire(LEGACY)
    with Client(wire) as client:
        assert wire.posted.get(timeout=30)["method"] == "notifications/initialized"
        wire.is_broken, wire.before = broken, [question(7), question(8, "roots/list")]
        client.call_tool("x")
    assert ("did not take an answer: It is broken" in caplog.text) is broken
    if not broken:
        assert wire.posted.get(timeout=30) == {"jsonrpc": "2.0", "id": 7, "result": {}}
        refusal = wire.posted.get(timeout=30)
        assert (refusal["id"], refusal["error"]["code"]) == (8, -32601)


def test_questions_beyond_those_that_can_be_answered_are_refused() -> None:
    go = threading.Event()

    def think(asked: Any) -> dict[str, Any]:
        go.wait(60)
        return {}

    wire = Wire(LEGACY)
    with Client(wire, elicit=think) as client:
        wire.posted.get(timeout=30)
        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        for number in range(9):
            wire.inbox({**question(number, "elicitation/create"), "params": form})
        refusal = wire.posted.get(timeout=30)
        assert (refusal["id"], refusal["error"]["message"]) == (8, "The client answers other questions")
        go.set()
        answers = [wire.posted.get(timeout=30) for _ in range(8)]
        assert {answer["result"]["action"] for answer in answers} == {"accept"}
        assert client.era == "legacy"


def test_what_comes_before_there_is_a_connection_is_not_answered() -> None:
    got: list[str] = []
    wire = Wire(LEGACY)
    client = Client(wire, on_notification=lambda message: got.append(message["method"]))
    incoming: Incoming = client._incoming
    incoming.receive({"jsonrpc": "2.0", "id": 1, "result": {}})
    incoming.receive(question())
    incoming.refuse(question())
    wire.inbox({"jsonrpc": "2.0", "method": "notifications/early"})
    wait_until(lambda: got == ["notifications/early"])
    client.close()
    assert wire.posted.empty()


def test_a_message_for_a_client_that_is_gone_is_dropped() -> None:
    wire = Wire(LEGACY)
    Client(wire).close()
    for _ in range(100):  # it is collected by its references, or a little later
        wire.inbox({"jsonrpc": "2.0", "method": "notifications/late"})
    assert not wire.posted.qsize()


def test_a_header_that_is_refused_where_none_was_sent_is_told() -> None:
    wire = Wire(MODERN)
    with Client(wire) as client:
        wire.error = {"code": -32020, "message": "No"}
        with pytest.raises(HeaderMismatchError):
            client.call_tool("x")
    assert [message["method"] for message in wire.sent].count("tools/list") == 0


def test_a_server_that_has_another_version_than_the_pinned_one_is_refused() -> None:
    wire = Wire("2025-06-18")
    client = Client(wire, protocol_version=LEGACY)
    with pytest.raises(NegotiationError, match="No protocol version in common"):
        client.connect()
    client.close()


def test_what_a_callback_raises_in_a_second_subscription_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A session that took another one's place is asked for all of what the other one told of."""

    def fail(message: Any) -> None:
        raise LookupError("the callback's own fault")

    wire = Wire(LEGACY)
    with Client(wire, on_notification=fail) as client:
        connection = client._session.connection()
        wire.before = [{"jsonrpc": "2.0", "method": "notifications/x"}]
        client._changes._subscribe_again(connection, "x://a")
    assert "could not be asked again to tell of x://a: the callback's own fault" in caplog.text
