"""Event streams, cut anywhere and written in every way that is allowed, and the stream of what belongs to no request.

WHATWG HTML, section 9.2; 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wsgi.exceptions import ClientError, RemoteProtocolError, TransportError
from mcp_wsgi.protocol.sse import EventDecoder
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import HTTPTransport
from mcp_wsgi.transport.http_messages import Inquiry
from mcp_wsgi.transport.http_streams import Position
from mcp_wsgi.transport.watch import Watch
from tests.modern import message
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

CALL = message("tools/list", request_id=7)
MAX = 4_000

# Streams as Hypothesis writes them

#: Sets of line ends of which each can follow each: a CR before an empty line that ends with LF would be one end.
ENDS = st.sampled_from([["\r"], ["\n"], ["\r\n"], ["\n", "\r\n"], ["\r", "\r\n"]])
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\u2028\u2029\u0085\x0b\x0c\x1c\ufeff:"), max_size=20
)


def json_lines(value: Any, pretty: bool) -> list[str]:
    """Write JSON as the lines of one event: what is not ASCII as it is, one line or several."""
    return json.dumps(value, ensure_ascii=False, indent=1 if pretty else None).split("\n")


@dataclass(frozen=True)
class Piece:
    """What a stream holds: its lines, and what is told of it."""

    lines: list[str]
    told: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    is_oversize: bool = False


def of_message(value: Any, pretty: bool, named: bool) -> list[str]:
    return [*(["event: message"] if named else []), *(f"data: {line}" for line in json_lines(value, pretty)), ""]


notifications = st.builds(
    lambda text: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}, TEXT
)
questions = st.builds(lambda number: {"jsonrpc": "2.0", "id": number, "method": "ping"}, st.integers(0, 9))
messages = st.one_of(notifications, questions)
foreign = st.one_of(
    st.builds(lambda text: result(text, x=1), TEXT.filter(lambda text: text != "7")),
    st.sampled_from([result(8), result(70), {"jsonrpc": "2.0", "id": "other", "error": {"code": 1, "message": ""}}]),
)
skipped = st.sampled_from(
    [
        [": comment"],
        [":"],
        ["data:", ""],
        ["id: 5", "data:", ""],
        ["event: ping", "data: x", ""],
        ["event: endpoint", "data: {}", ""],
        ["retry: abc", ""],
        ["retry: 10"],
        ["field without colon", ""],
        ["data: {broken", ""],
        ["data: 5", ""],
        ["data: {}", ""],
        ["id: a\0b", ""],
        ["", "", ""],
    ]
)


def told_piece(value: Any, pretty: bool, named: bool) -> Piece:
    return Piece(of_message(value, pretty, named), told=value)


pieces = st.one_of(
    st.builds(told_piece, messages, st.booleans(), st.booleans()),
    st.builds(lambda value: Piece(of_message(value, False, False)), foreign),
    st.builds(Piece, skipped),
)
answers = st.one_of(
    st.builds(lambda text: result(7, x=text), TEXT),
    st.just({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}),
    st.just({"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}),
)
#: A line, a comment or an event of several lines that is too large.
oversize = st.sampled_from([["data: " + "x" * 3 * MAX], [": " + "x" * 3 * MAX], ["data: " + "x" * 1_500] * 4])


@st.composite
def streams(draw: Any) -> tuple[list[Piece], bytes, list[bytes]]:
    """Give what a stream holds, its bytes, and these cut anywhere."""
    parts: list[Piece] = draw(st.lists(pieces, max_size=8))
    if draw(st.integers(0, 4)) == 0:
        lines = draw(oversize)
        parts.insert(draw(st.integers(0, len(parts))), Piece([*lines, ""], is_oversize=True))
    if draw(st.integers(0, 4)):
        answer = draw(answers)
        parts.append(Piece(of_message(answer, draw(st.booleans()), draw(st.booleans())), answer=answer))
        parts += draw(st.lists(pieces, max_size=2))
    ends = draw(ENDS)
    text = "".join(line + draw(st.sampled_from(ends)) for part in parts for line in part.lines)
    data = ("\ufeff" if draw(st.booleans()) else "").encode() + text.encode()
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=12)) | {0, len(data)})
    if len(data) < 400 and draw(st.booleans()):
        cuts = list(range(len(data) + 1))
    return parts, data, [data[start:end] for start, end in pairwise(cuts)]


def expected(parts: list[Piece]) -> tuple[list[dict[str, Any]], Any]:
    """Say what is told of a stream, and how it ends: with an answer, or an error of a kind."""
    told = []
    for part in parts:
        if part.is_oversize:
            return told, RemoteProtocolError
        if part.told is not None:
            told.append(part.told)
        if part.answer is not None:
            return told, part.answer
    return told, TransportError


@given(streams())
def test_a_stream_says_the_same_however_it_is_written_and_cut(stream):
    parts, _, cut = stream
    told: list[Any] = []
    inquiry, decoder, end = Inquiry(7, told.append), EventDecoder(MAX), None
    try:
        for piece in [*cut, None]:
            if piece is None:
                decoder.close()
                break
            for each in decoder.feed(piece):
                if each.event == "message" and end is None:
                    end = inquiry.take_event(each.data)
            if end is not None:
                break
    except ValueError:
        end = RemoteProtocolError
    assert (told, end or TransportError) == expected(parts)


class Player:
    """A server that plays streams."""

    def __init__(self) -> None:
        self.cut: list[bytes] = []
        self.chunked = True

    def __call__(self, got: Got, peer: Peer) -> None:
        cut, chunked = self.cut, self.chunked  # the next stream may be set before this one is over
        peer.send(stream_head(chunked=chunked))
        for piece in cut:
            if piece:
                peer.send(chunk(piece) if chunked else piece)
        if chunked:
            peer.send(chunk(b""))
        else:
            peer.close()


@pytest.fixture(scope="module")
def player() -> Iterator[tuple[Player, HTTPTransport]]:
    play = Player()
    with scripted(play) as server:
        transport = HTTPTransport(server.url, max_message_size=MAX)
        yield play, transport
        transport.close()


@given(streams(), st.booleans())
def test_a_stream_says_the_same_over_a_socket(player, stream, chunked):
    parts, _, cut = stream
    play, transport = player
    play.cut, play.chunked = cut, chunked
    told: list[Any] = []
    try:
        end: Any = transport.request(CALL, Exchange(Deadline(30), on_message=told.append))
    except ClientError as error:
        end = type(error)
    assert (told, end) == expected(parts)


@settings(max_examples=50)
@given(streams(), st.data())
def test_a_stream_that_breaks_off_gives_what_was_whole_and_an_error(player, stream, data):
    parts, whole, _ = stream
    play, transport = player
    size = data.draw(st.integers(0, len(whole)))
    play.cut, play.chunked = [whole[:size]], False
    told: list[Any] = []
    wanted, end = expected(parts)
    try:
        found: Any = transport.request(CALL, Exchange(Deadline(30), on_message=told.append))
    except ClientError as error:
        found = type(error)
    assert told == wanted[: len(told)]
    assert found in (end, TransportError)
    if size == len(whole):
        assert (told, found) == (wanted, end)


# Batches, which 2025-03-26 had


def test_the_messages_of_a_batch_are_taken_one_by_one():
    told: list[Any] = []
    note = {"jsonrpc": "2.0", "method": "x"}
    inquiry = Inquiry(1, told.append)
    assert inquiry.take_event(json.dumps([note, result(2), note])) is None
    assert inquiry.take_event(json.dumps([note, result(1), note])) == result(1)
    assert told == [note] * 4
    assert inquiry.take_own(json.dumps([note, result(1)]).encode()) == result(1)


def test_a_flood_of_faults_is_not_a_flood_of_the_log(caplog):
    inquiry = Inquiry(1, lambda _: None)
    for _ in range(1_000):
        assert inquiry.take_event("{") is None
        assert inquiry.take_event('{"jsonrpc":"2.0","id":5,"result":{}}') is None
    assert len(caplog.records) == 10


# Positions


@pytest.mark.parametrize(
    ("stream", "event_id", "wait"),
    [
        (b"", None, 1.0),
        (b"id: 5\n\n", "5", 1.0),
        (b"retry: 250\n\n", None, 0.25),
        (b"retry: 0\n\n", None, 0.05),
        (b"retry: 99999999\n\n", None, 30.0),
        ("id: é\n\n".encode(), None, 1.0),
        (b"id: a\x01b\n\n", None, 1.0),
        (b"id: " + b"x" * 1001 + b"\n\n", None, 1.0),
    ],
)
def test_where_a_stream_was_left_is_what_can_be_sent_back(stream, event_id, wait):
    position, decoder = Position(), EventDecoder()
    decoder.feed(stream)
    position.note(decoder)
    assert (position.event_id, position.wait) == (event_id, wait)
    assert position.headers()[1:] == ([] if event_id is None else [("Last-Event-ID", event_id)])


# The stream of what belongs to no request


class Listening:
    """A legacy server whose GET stream does what `script` says, and which gives a session."""

    def __init__(self, script: Any) -> None:
        self.script = script
        self.count = 0

    def __call__(self, got: Got, peer: Peer) -> None:
        if got.method == "GET":
            self.count += 1
            self.script(self.count, got, peer)
        elif got.method == "DELETE":
            peer.send(plain(405))
        else:
            peer.send(json_answer(result(got.id), headers={"Mcp-Session-Id": "s"}))


def opened(url: str, inbox: Any = None) -> HTTPTransport:
    transport = HTTPTransport(url)
    transport.inbox = inbox or (lambda _: None)
    transport.request(legacy("initialize"), Exchange(Deadline(30)))
    transport.adopt("2025-11-25")
    transport.open_inbox()
    transport.open_inbox()
    return transport


def inbox_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "mcp_wsgi inbox"]


def test_the_inbox_takes_messages_and_goes_on_after_each_end(caplog):
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    found: list[Any] = []

    def take(value: Any) -> None:
        found.append(value)
        if len(found) == 1:
            raise LookupError("mine")

    def script(count: int, got: Got, peer: Peer) -> None:
        peer.send(stream_head() + event(changed, f"id: {count}\nretry: 20\n"))
        if count == 1:
            peer.send(chunk(b"event: ping\ndata: x\n\ndata: {\n\n") + event(result(1)) + event(legacy("ping", 3)))
            peer.send(chunk(b""))
        elif count == 2:
            peer.reset()
        else:
            peer.wait_for_end()

    with scripted(Listening(script)) as server, no_leaks():
        transport = opened(server.url, take)
        until(lambda: len(found) == 4)
        assert len(inbox_threads()) == 1
        transport.close()
    gets = server.of("GET")
    assert [got.headers.get("last-event-id") for got in gets] == [None, "1", "2"]
    assert {(got.headers["mcp-session-id"], got.headers["mcp-protocol-version"]) for got in gets} == {
        ("s", "2025-11-25")
    }
    assert {got.headers["accept"] for got in gets} == {"text/event-stream"}
    assert found == [changed, legacy("ping", 3), changed, changed]
    assert "could not be taken" in caplog.text


def test_what_is_wrong_on_the_stream_is_not_logged_without_end(caplog):
    def script(count: int, got: Got, peer: Peer) -> None:
        peer.send(stream_head())
        for number in range(100):
            peer.send(event(result(number)) + chunk(b"data: {\n\n"))
        peer.send(event(legacy("ping", 3)))
        peer.wait_for_end()

    found: list[Any] = []
    with scripted(Listening(script)) as server, no_leaks():
        transport = opened(server.url, found.append)
        until(lambda: found)
        transport.close()
    assert len(caplog.records) == 10


@pytest.mark.parametrize(
    "answer",
    [plain(405), plain(404), plain(401), plain(400), plain(200, b"<html>", "text/html"), plain(204)],
)
def test_a_server_without_such_a_stream_is_asked_once(answer):
    with scripted(Listening(lambda count, got, peer: peer.send(answer))) as server, no_leaks():
        transport = opened(server.url)
        until(lambda: server.of("GET") and not inbox_threads())
        time.sleep(0.1)
        assert len(server.of("GET")) == 1
        transport.close()


def test_a_server_that_fails_again_and_again_is_given_up(caplog, monkeypatch):
    waits: list[float] = []

    def sleep(watch: Watch, seconds: float) -> None:
        waits.append(seconds)
        real_sleep(watch, seconds)

    real_sleep = Watch.sleep
    monkeypatch.setattr(Watch, "sleep", sleep)
    monkeypatch.setattr("mcp_wsgi.transport.http_streams._DEFAULT_WAIT", 0.02)
    monkeypatch.setattr("mcp_wsgi.transport.http_streams._LASTED", 60.0)

    def script(count: int, got: Got, peer: Peer) -> None:
        if count == 1:
            peer.send(plain(503))
        elif count == 2:
            peer.close()
        else:
            peer.send(stream_head() + chunk(b": x\n\n") + chunk(b""))

    listening = Listening(script)
    with scripted(listening) as server, no_leaks():
        transport = opened(server.url)
        until(lambda: not inbox_threads())
        transport.close()
    assert listening.count == 5
    assert "given up" in caplog.text
    assert waits[:4] == [0.04, 0.08, 0.16, 0.32]


@pytest.mark.parametrize("how", ["close", "restart"])
@pytest.mark.parametrize("where", ["head", "stream", "wait"])
def test_the_inbox_ends_with_the_session(how, where, monkeypatch):
    # The longest wait there is: it does not end by itself before it is looked whether it has ended.
    monkeypatch.setattr("mcp_wsgi.transport.http_streams._DEFAULT_WAIT", 30.0)
    monkeypatch.setattr("mcp_wsgi.transport.http._OPENING", 0.2)

    def script(count: int, got: Got, peer: Peer) -> None:
        if where == "wait":
            peer.send(plain(503))
            return
        peer.send(stream_head() if where == "stream" else b"")
        peer.wait_for_end()

    with scripted(Listening(script)) as server, no_leaks():
        transport = opened(server.url)
        until(lambda: server.of("GET"))
        time.sleep(0.05)
        getattr(transport, how)()
        until(lambda: not inbox_threads())
        transport.close()


def test_the_inbox_may_close_the_transport_itself():
    def script(count: int, got: Got, peer: Peer) -> None:
        peer.send(stream_head() + event(legacy("ping")))
        peer.wait_for_end()

    with scripted(Listening(script)) as server, no_leaks():
        transport = HTTPTransport(server.url)
        transport.inbox = lambda _: transport.close()
        transport.open_inbox()
        until(lambda: server.of("GET") and not inbox_threads())
        transport.open_inbox()
        assert not inbox_threads()


def test_an_inbox_that_cannot_authenticate_is_given_up(caplog, monkeypatch):
    monkeypatch.setattr("mcp_wsgi.transport.http_streams._DEFAULT_WAIT", 0.01)
    caplog.set_level(logging.INFO, "mcp_wsgi.client")

    def fail(request: Any) -> Any:
        raise LookupError("no\ntoken")

    transport = HTTPTransport("http://127.0.0.1:9/mcp", auth=fail)
    transport.open_inbox()
    until(lambda: not inbox_threads())
    assert "given up" in caplog.text
    assert "'no\\ntoken'" in caplog.text
    transport.close()
