"""Event streams: the messages of one request, from where they arise to the bytes that leave.

2026-07-28, basic/transports/streamable-http, Receiving Messages. A stream is bounded in what it holds and in how long
it lives, says something at least every keep-alive interval, and ends with the answer to its request.

The endpoint asks a door's :class:`Streams` to start a request aside, and gets the first thing it has to say: the answer
(then it is plain JSON after all), or an open stream.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..exceptions import InternalError
from ..protocol.codec import encode
from ..protocol.jsonrpc import error_response
from ..protocol.sse import encode_comment, encode_event
from ..server.bus import Subscription
from ..server.context import Cancellation, Context
from ..server.dispatch import dispatch, failure_id
from ..server.drive import run_sync
from .policy import HTTPPolicy
from .shutdown import close_on_signals

if TYPE_CHECKING:
    from ..server import Server

__all__ = [
    "CAPACITY",
    "COMMENT",
    "DEBOUNCE",
    "STREAM_HEADERS",
    "Around",
    "Outcome",
    "Overload",
    "Streams",
    "ThreadStreams",
    "failed",
    "frame",
]

COMMENT = encode_comment()
#: How long a listener waits for further changes before it tells of one, in seconds.
DEBOUNCE = 0.05
#: How many messages of a request may wait to be written before its handler has to wait.
CAPACITY = 100
#: How many handlers may still run after their clients have gone. A server bounds the requests that are open, and would
#: not bound these: a client that leaves at once would start a thread with each request.
MOST_ABANDONED = 50
#: How often a waiting thread looks whether it is still wanted, in seconds.
_PATIENCE = 1.0

#: No length is known, and nothing on the way may hold back, compress or keep what passes: nginx obeys the second
#: header.
STREAM_HEADERS: list[tuple[str, str]] = [
    ("Content-Type", "text/event-stream"),
    ("X-Accel-Buffering", "no"),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Content-Type-Options", "nosniff"),
]

#: Called in the request's thread; the context manager it gives is entered in the thread that runs the handler.
Around = Callable[[], "AbstractContextManager[Any]"]


def _is_gevent_patched() -> bool:
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


class Overload(Exception):  # noqa: N818 - the endpoint's answer, not an error of its own
    """Say that as many listeners are open as the process takes."""


class Outcome(NamedTuple):
    """Hold the first thing that a request had to say: its answer, or the stream on which it goes on."""

    answer: dict[str, Any] | None
    stream: Any = None


class Streams(Protocol):
    """What a door gives the endpoint, so that answers can be streams."""

    #: Whether ``start`` and ``listen`` give something to await.
    is_async: bool

    def attach(self, server: Server) -> None:
        """Prepare to stream a server's answers."""

    def watch(self, context: Context) -> None:
        """Set ``ctx.cancelled`` when the client goes away before a plain answer, if the door can tell."""

    def start(self, context: Context) -> Any:
        """Dispatch a request aside; give an :class:`Outcome`."""

    def listen(self, context: Context, honoured: dict[str, Any]) -> Any:
        """Open the stream of a ``subscriptions/listen`` request, or raise :class:`Overload`."""


def frame(message: dict[str, Any]) -> bytes:
    """Write a message as one event."""
    return encode_event(encode(message), event="message")


def failed(context: Context) -> dict[str, Any]:
    """Log what ended a handler from outside (an exit, say) and make its answer."""
    failure = failure_id(f"The method {context.method[:80]!r}")
    return error_response(context.request_id, InternalError(f"Internal error (id {failure})"))


class _Channel:
    """Carry the messages of one request from the thread that makes them to the one that writes them."""

    __slots__ = ("_items", "_ready", "closed", "finished")

    def __init__(self) -> None:
        self._items: deque[tuple[dict[str, Any], bool]] = deque()
        self._ready = threading.Condition()
        self.closed = False
        #: Whether the handler's thread is at its end.
        self.finished = False

    def put(self, message: dict[str, Any], *, is_answer: bool = False) -> None:
        with self._ready:
            while len(self._items) >= CAPACITY and not self.closed:
                self._ready.wait(_PATIENCE)
            if not self.closed:
                self._items.append((message, is_answer))
                self._ready.notify_all()

    def get(self, timeout: float) -> tuple[dict[str, Any], bool] | None:
        with self._ready:
            if not self._items:
                self._ready.wait(timeout)
            item = self._items.popleft() if self._items else None
            self._ready.notify_all()
            return item

    def close(self) -> None:
        with self._ready:
            self.closed = True
            self._items.clear()
            self._ready.notify_all()


class _CallStream:
    """The body of a streamed answer. A WSGI server iterates it and closes it, however the request ends."""

    def __init__(
        self,
        channel: _Channel,
        first: tuple[dict[str, Any], bool] | None,
        cancellation: Cancellation,
        keep_alive: float,
        abandoned: set[_Channel],
    ) -> None:
        self._channel = channel
        self._first = first
        self._cancellation = cancellation
        self._abandoned = abandoned
        self._keep_alive = keep_alive
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._ended:
            raise StopIteration
        item, self._first = self._first, None
        if item is None:
            item = self._channel.get(self._keep_alive)
        if item is None:
            return COMMENT
        message, self._ended = item
        return frame(message)

    def close(self) -> None:
        if not self._ended:
            self._cancellation.cancel()
            self._abandoned.add(self._channel)
            if self._channel.finished:
                self._abandoned.discard(self._channel)
        self._ended = True
        self._channel.close()

    def __del__(self) -> None:
        # A framework whose hook fails drops the response unclosed.
        self.close()


class _ListenStream:
    """The body of a ``subscriptions/listen`` answer."""

    def __init__(
        self,
        context: Context,
        honoured: dict[str, Any],
        *,
        lifetime: float,
        keep_alive: float,
        ended: Callable[[], None],
    ) -> None:
        wake = threading.Event()
        self._subscription = Subscription(context.request_id, honoured, wake.set)
        self._server = context.server
        self._ended = ended
        self._server.bus.subscribe(self._subscription)
        # Not a method: it would hold this stream, which is to end with whoever drops it.
        deadline = time.monotonic() + lifetime
        self._frames = _changes(self._server, self._subscription, wake, deadline, keep_alive)

    def __iter__(self) -> Iterator[bytes]:
        return self._frames

    def close(self) -> None:
        self._server.bus.unsubscribe(self._subscription)
        self._ended()

    def __del__(self) -> None:
        self.close()


def _changes(
    server: Server, subscription: Subscription, wake: threading.Event, deadline: float, keep_alive: float
) -> Iterator[bytes]:
    yield frame(subscription.acknowledgement())
    while True:
        left = deadline - time.monotonic()
        woken = wake.wait(min(left, keep_alive)) if left > 0 else False
        if subscription.is_due and not subscription.closed:
            time.sleep(DEBOUNCE)
        wake.clear()
        for message in subscription.drain():
            yield frame(message)
        if subscription.closed or time.monotonic() >= deadline:
            yield frame(subscription.completion(server.info))
            return
        if not woken:
            yield COMMENT


class ThreadStreams:
    """Streams for doors that write from a thread: WSGI, and what is built on it.

    The handler runs in a thread of its own with the request's context variables copied, while the request's thread
    writes what it reports. Nothing is started before a request asks for it, so forked workers share nothing.

    Args:
        policy: The keep-alive interval and the bounds of listeners.
        around: Makes what the handler's thread is run in: a framework's context, closing of its connections.
    """

    is_async = False

    def __init__(self, policy: HTTPPolicy, around: Around = nullcontext) -> None:
        self._policy = policy
        self._around = around
        self._lock = threading.Lock()
        self._opened: set[object] = set()
        self._abandoned: set[_Channel] = set()

    def attach(self, server: Server) -> None:
        """End the server's subscriptions when the process is told to stop."""
        close_on_signals(server)

    def watch(self, context: Context) -> None:
        """Do nothing: a WSGI server tells that the client has gone only when something is written."""

    def start(self, context: Context) -> Outcome:
        """Dispatch a request in a thread and wait for the first thing it has to say.

        After a keep-alive interval of silence the stream is opened anyway, so that no proxy gives up and a client that
        has gone is noticed. Where too many handlers have been left by their clients, this one runs in this thread and
        reports nothing.
        """
        if len(self._abandoned) >= MOST_ABANDONED:
            return Outcome(run_sync(dispatch(context)))
        channel, cancellation = _Channel(), Cancellation()
        context.connect(channel.put, cancellation)
        manager = self._around()

        def work() -> None:
            try:
                with manager:
                    answer = run_sync(dispatch(context))
            except BaseException:  # noqa: BLE001 - the client is waiting for an answer, whatever ended the thread
                answer = failed(context)
            channel.put(answer, is_answer=True)
            channel.finished = True
            self._abandoned.discard(channel)

        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(work,), name="mcp_wsgi stream", daemon=True).start()
        first = channel.get(self._policy.comment_interval)
        if first is not None and first[1]:
            return Outcome(first[0])
        return Outcome(None, _CallStream(channel, first, cancellation, self._policy.comment_interval, self._abandoned))

    def listen(self, context: Context, honoured: dict[str, Any]) -> _ListenStream:
        """Open the stream of a listener.

        Raises:
            Overload: As many are open as the policy allows.
        """
        close_on_signals(context.server)
        # Under gevent a thread is a greenlet, and a listener costs no more than on an event loop.
        exclusive = None if _is_gevent_patched() else bool(getattr(context.request, "exclusive", False))
        place = object()
        with self._lock:
            if len(self._opened) >= self._policy.listen_limit(exclusive=exclusive):
                raise Overload
            self._opened.add(place)
        return _ListenStream(
            context,
            honoured,
            lifetime=self._policy.lifetime(exclusive=exclusive),
            keep_alive=self._policy.comment_interval,
            # Without the lock, which this thread may hold when a stream that was dropped is collected.
            ended=functools.partial(self._opened.discard, place),
        )
