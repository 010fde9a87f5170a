"""A client that notes when each event arrives, and can leave at any time."""

from __future__ import annotations

import json
import time
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

from mcp_wsgi import expected_headers
from mcp_wsgi.protocol.sse import EventDecoder
from tests.modern import message
from tests.raw import Address, Connection, Response, exchange, json_post

__all__ = ["LISTEN", "Stream", "call", "latencies", "post", "raw_post", "structured", "tool"]

LISTEN = {"toolsListChanged": True}


def tool(name: str, *, token: str | None = "t", **arguments: Any) -> dict[str, Any]:
    """Make a tools/call request that asks for progress."""
    return message("tools/call", progress_token=token, name=name, arguments=arguments)


def raw_post(request: dict[str, Any], *, path: str = "/mcp", compressed: bool = False) -> bytes:
    headers = list(expected_headers(request))
    if compressed:
        headers.append(("Accept-Encoding", "gzip"))
    return json_post(path, request, headers)


def post(server: Address, request: dict[str, Any], *, timeout: float = 30.0) -> Response:
    """Send a request on a connection of its own, and return the whole answer."""
    return exchange(server, raw_post(request), timeout=timeout)


def call(server: Address, name: str, **arguments: Any) -> Response:
    """Call a tool without asking for progress."""
    return post(server, tool(name, token=None, **arguments))


def structured(response: Response) -> Any:
    """Give the structured content of a tool's answer."""
    assert response.status == 200, response
    return response.json()["result"]["structuredContent"]


class Stream:
    """One streamed answer: iterate it for the events, with the time of arrival of each."""

    def __init__(self, server: Address, request: dict[str, Any], *, timeout: float = 60.0, **options: Any) -> None:
        self.connection = Connection(server, timeout=timeout)
        self.connection.send(raw_post(request, **options))
        try:
            self.start = self.connection.receive_head()
        except BaseException:
            self.connection.close()
            raise
        coded = self.start.header("content-encoding")
        self._inflate = zlib.decompressobj(31) if coded == "gzip" else None
        assert coded in (None, "gzip", "identity"), coded
        self._decoder = EventDecoder()
        self._events = self._read()

    @classmethod
    def listening(cls, server: Address, request_id: str | int = 1, **options: Any) -> Stream:
        """Open a subscription to changes of the tools and wait for its acknowledgement."""
        stream = cls(server, message("subscriptions/listen", request_id=request_id, notifications=LISTEN), **options)
        assert stream.start.status == 200, stream.start
        assert next(stream)[1]["method"] == "notifications/subscriptions/acknowledged"
        return stream

    def __iter__(self) -> Iterator[tuple[float, dict[str, Any]]]:
        return self._events

    def __next__(self) -> tuple[float, dict[str, Any]]:
        return next(self._events)

    def _read(self) -> Iterator[tuple[float, dict[str, Any]]]:
        with self.connection:
            for piece in self.connection.pieces(self.start):
                data = self._inflate.decompress(piece) if self._inflate else piece
                for event in self._decoder.feed(data):
                    yield time.time(), json.loads(event.data)

    def leave(self, *, abruptly: bool = False) -> float:
        """Close the connection, and give the time."""
        if abruptly:
            self.connection.reset()
        else:
            self.connection.close()
        return time.time()


def latencies(
    server: Address, name: str = "handed_over", *, times: int = 10, coding: str | None = None, **options: Any
) -> dict[str, float]:
    """Let a tool report that goes on only when its last report has come; give how long each was under way, by number.

    A machine that stands still for a moment makes one of them late, in one of several attempts: see `at_best`.
    """
    key = uuid.uuid4().hex
    stream = Stream(server, tool(name, key=key, times=times), **options)
    assert stream.start.status == 200
    assert stream.start.header("content-type") == "text/event-stream"
    assert coding is None or stream.start.header("content-encoding") == coding
    late, answers = [], []
    for arrived, event in stream:
        if "method" not in event:
            answers.append(event["result"]["structuredContent"])
            continue
        late.append(arrived - float(event["params"]["message"]))
        assert structured(call(server, "has_come", key=key, number=len(late))) == len(late)
    assert answers == [len(late)] == [times], "a report was held back"
    return {str(number): delay for number, delay in enumerate(late, 1)}
