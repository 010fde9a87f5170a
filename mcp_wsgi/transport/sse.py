"""The HTTP+SSE transport of 2024-11-05: answers come on a stream that a GET opens, and requests are posted elsewhere.

2024-11-05, basic/transports, HTTP with SSE. The revisions since 2025-03-26 have replaced it, but such servers still
run. Its session is the stream: when that ends, a handshake has to begin another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, TypeAlias

from ..exceptions import (
    ClientError,
    RemoteProtocolError,
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)
from ..protocol.codec import encode
from ..protocol.sse import Event
from ..server.reasons import shown
from .base import Deadline, Exchange, Message
from .http_answer import Answer
from .http_base import WireTransport
from .http_streams import EVENT_STREAM, Position, iterate_events
from .http_wire import join
from .routing import Router
from .watch import PATIENCE, Watch, closed

__all__ = ["SSETransport"]

_POST_HEADERS = [("Content-Type", "application/json"), ("Accept", f"application/json, {EVENT_STREAM}")]
_MAX_URL_LENGTH = 8_192
#: How long the thread that reads is waited for, in seconds.
_STOP = 1.0


_Aborting: TypeAlias = "Callable[[Callable[[], None]], AbstractContextManager[None]]"


def _never(abort: Callable[[], None]) -> AbstractContextManager[None]:  # noqa: ARG001 - the form of Exchange.aborting
    """Let nobody give up what is not a request."""
    return nullcontext()


class _StreamEndedError(SessionExpiredError):
    """Say that the session has ended with its stream; nothing was sent."""

    def __str__(self) -> str:
        return "The server's event stream has ended, and its session with it"


class _Stream:
    """One session: the stream that is open, the thread that reads it, and where its messages are posted."""

    def __init__(self, answer: Answer, events: Iterator[Event], url: str, router: Router, watch: Watch) -> None:
        self.url = url
        self.router = router
        self._answer = answer
        self._events = events
        self._watch = watch
        self._thread = threading.Thread(target=self._run, name="mcp_wsgi event stream", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        return self.router.failure is None

    def _run(self) -> None:
        address = self._answer.address
        failure: type[ClientError] = TransportError
        reason = f"{address}: its event stream ended before the answer"
        try:
            for event in self._events:
                if event.event == "message":
                    self.router.receive(event.data.encode("utf-8"))
                    if not self.is_open:
                        break
        except ClientError as error:
            failure, reason = type(error), str(error)
        finally:
            self.router.fail(lambda: failure(reason))
            self._answer.finish()

    def stop(self, reason: Callable[[], ClientError]) -> None:
        """End it; all that wait for an answer get the error that ``reason`` makes."""
        self.router.fail(reason)
        self._watch.abort(reason)
        if self._thread is not threading.current_thread():
            self._thread.join(_STOP)


class SSETransport(WireTransport):
    """Reach a server over HTTP+SSE.

    Args:
        url: Where the stream is opened. A user and password in it become the authentication.
        headers: To be sent with each request. Those of the protocol cannot be set.
        auth: As requests knows it: a pair of user and password, or a ``requests.auth`` object.
        verify: As requests knows it.
        cert: As requests knows it.
        connect_timeout: Seconds for making a connection, TLS included.
        max_message_size: The most bytes that a message of the server may have, after decompression.
        session: A ``requests.Session`` whose settings and cookies are used; see
            :class:`~mcp_wsgi.transport.http.HTTPTransport`.

    Raises:
        ConfigurationError: The URL or a header cannot be used.
    """

    kind: ClassVar[str] = "sse"

    _opening: threading.Lock
    _stream: _Stream | None

    @property
    def failed(self) -> bool:
        """Whether the stream has ended, and the session with it."""
        stream = self._stream
        return stream is not None and not stream.is_open

    def request(self, message: Message, exchange: Exchange) -> Message:
        """Send a request and wait for its answer; see :meth:`Transport.request`."""
        stream = self._ready(message, exchange.deadline, exchange.aborting)
        with self._watching(exchange.deadline) as watch, stream.router.expect(message["id"]) as mailbox:

            def give_up() -> None:
                watch.cancel()
                mailbox.wake()

            with exchange.aborting(give_up):
                exchange.status = self._send(message, stream, watch)
                return mailbox.wait(exchange)

    def post(self, message: Message, deadline: Deadline) -> None:
        """Send a notification, or the answer to a request of the server; see :meth:`Transport.post`."""
        stream = self._ready(message, deadline, _never)
        with self._watching(deadline) as watch:
            self._send(message, stream, watch)

    def restart(self) -> None:
        """End the session; the next request opens a stream of its own."""
        self._refresh()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop(lambda: TransportError("The connection was begun anew"))

    def close(self) -> None:
        """End the stream and the connections; whoever waits gets ``ClientClosedError``."""
        self._refresh()
        self._closed = True
        self._close_watches()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop(closed)
        self._wire.close()

    def _begin_process(self) -> None:
        # The session of a parent cannot be shared, and its lock may be held for ever.
        self._opening, self._stream = threading.Lock(), None

    def _ready(self, message: Message, deadline: Deadline, aborting: _Aborting) -> _Stream:
        """Give the session that a message goes to, and begin one where there is none."""
        self._refresh()
        stream = self._stream
        if stream is not None and stream.is_open:
            return stream
        with self._watching(deadline) as watch, aborting(watch.cancel):
            while not self._opening.acquire(timeout=PATIENCE):
                watch.check()
            try:
                # A close meanwhile finds the watch, or the stream.
                stream = self._stream
                if stream is None or (not stream.is_open and message.get("method") == "initialize"):
                    stream = self._stream = self._open(watch)
                elif not stream.is_open:
                    raise _StreamEndedError(404)
            finally:
                self._opening.release()
        return stream

    def _open(self, watch: Watch) -> _Stream:
        answer = self._wire.send("GET", None, [("Accept", EVENT_STREAM)], watch)
        try:
            if answer.status != 200:
                raise answer.error(UnauthorizedError if answer.status in (401, 403) else None)
            if answer.media_type != EVENT_STREAM:
                raise RemoteProtocolError(
                    f"The server answered HTTP 200 with {shown(answer.media_type)}, which is no event stream"
                )
            events = iterate_events(answer, self._max_size, Position())
            url = self._find_endpoint(events)
        except BaseException:
            answer.finish()
            raise
        # So far the request that needs the stream bounds it. From here on it lasts as long as it does.
        watch.deadline = Deadline(None)
        return _Stream(answer, events, url, Router(self._deliver, self.address, self._max_size), watch)

    def _find_endpoint(self, events: Iterator[Event]) -> str:
        for event in events:
            if event.event == "endpoint":
                url = join(self._wire.url, event.data) if len(event.data) <= _MAX_URL_LENGTH else None
                if url is None:
                    raise RemoteProtocolError("The server wants messages to be posted to another origin than its own")
                return url
        raise TransportError(f"{self.address}: its event stream ended before it said where to post messages")

    def _send(self, message: Message, stream: _Stream, watch: Watch) -> int:
        answer = self._wire.send("POST", encode(message), _POST_HEADERS, watch, stream.url)
        try:
            if answer.status in (401, 403):
                raise answer.error(UnauthorizedError)
            if answer.status == 404:
                raise answer.error(SessionExpiredError)
            if not 200 <= answer.status < 300:
                raise answer.error()
        finally:
            answer.finish()
        return answer.status
