"""What a client needs of a transport: a request goes out, its answer comes back, and what comes in between is told.

A transport moves messages. It knows neither tools nor eras; it matches answers to requests, bounds what it reads, and
says in one exception of :mod:`mcp_wsgi.exceptions` why there is no answer.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias

from ..exceptions import RequestCancelledError, RequestTimeoutError
from ..protocol.headers import HasParamHeaders

__all__ = ["Deadline", "Exchange", "Message", "Transport", "ignore"]

#: A JSON-RPC message in its wire form.
Message: TypeAlias = "dict[str, Any]"


def ignore(message: Message) -> None:
    """Take a message and do nothing with it."""


class Deadline:
    """Say how long a request may still take.

    Args:
        timeout: Seconds of silence that are allowed, ``None`` for any time.
        maximum: Seconds for the whole request however much it reports, ``None`` for any time.
        clock: The time in seconds, from any beginning.
    """

    __slots__ = ("_clock", "_end", "_limit", "timeout")

    def __init__(
        self, timeout: float | None, maximum: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.timeout = timeout
        self._clock = clock
        now = clock()
        self._limit = None if maximum is None else now + maximum
        self._end: float | None = None
        self.extend()

    def extend(self) -> None:
        """Begin the allowed silence anew: the server has said that it works (basic/patterns/cancellation, Timeouts)."""
        end = None if self.timeout is None else self._clock() + self.timeout
        if self._limit is not None and (end is None or end > self._limit):
            end = self._limit
        self._end = end

    def remaining(self) -> float | None:
        """Give the seconds that are left, never negative; ``None`` where there is no end."""
        return None if self._end is None else max(0.0, self._end - self._clock())

    def check(self) -> float | None:
        """Give the seconds that are left.

        Raises:
            RequestTimeoutError: None are.
        """
        left = self.remaining()
        if left is not None and left <= 0:
            raise self.error()
        return left

    def error(self) -> RequestTimeoutError:
        """Make the error of a request that took too long."""
        if self._limit is not None and self._clock() >= self._limit:
            return RequestTimeoutError("The server has not answered within the longest time allowed")
        return RequestTimeoutError(f"The server has not answered within {self.timeout:g} seconds")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the time while the caller itself is at work, as when a person answers a question."""
        start = self._clock()
        try:
            yield
        finally:
            spent = self._clock() - start
            self._limit = None if self._limit is None else self._limit + spent
            self._end = None if self._end is None else self._end + spent


class Exchange:
    """Hold what a transport has to know of one request on its way, and where it tells what comes before the answer.

    Args:
        deadline: How long it may take.
        on_message: Called with each notification of the request and each request of the server that comes with it, in
            the thread that waits for the answer. What it raises ends the exchange and is raised to the caller.
        tool: For ``tools/call`` on HTTP: what says which arguments are mirrored into headers.

    Attributes:
        status: The HTTP status of the answer, ``None`` where there is none.
    """

    __slots__ = ("_abort", "_cancelled", "_lock", "deadline", "on_message", "status", "tool")

    def __init__(
        self,
        deadline: Deadline,
        *,
        on_message: Callable[[Message], None] = ignore,
        tool: HasParamHeaders | Mapping[str, Any] | None = None,
    ) -> None:
        self.deadline = deadline
        self.on_message = on_message
        self.tool = tool
        self.status: int | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._abort: Callable[[], None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the request was given up."""
        return self._cancelled

    def cancel(self) -> None:
        """Give the request up, from any thread: whoever waits for it gets ``RequestCancelledError``."""
        with self._lock:
            self._cancelled = True
            abort = self._abort
        if abort is not None:
            abort()

    def check(self) -> float | None:
        """Give the seconds that are left.

        Raises:
            RequestCancelledError: The request was given up.
            RequestTimeoutError: No time is left.
        """
        if self._cancelled:
            raise RequestCancelledError("The request was cancelled")
        return self.deadline.check()

    @contextmanager
    def aborting(self, abort: Callable[[], None]) -> Iterator[None]:
        """Say, while the block runs, how a thread that waits is woken when the request is given up.

        Args:
            abort: Called at most once, in the thread that cancels. It must not block.

        Raises:
            RequestCancelledError: The request was given up before.
        """
        with self._lock:
            self._abort = abort
            cancelled = self._cancelled
        try:
            if cancelled:
                raise RequestCancelledError("The request was cancelled")
            yield
        finally:
            with self._lock:
                self._abort = None


class Transport(ABC):
    """Carry messages to one server and back. Any number of threads may use it at once.

    ``inbox`` is set by the client before the transport is opened: it is called, in a thread of the transport and for
    each message that belongs to no request, and must not block.
    """

    #: What kind it is: ``http``, ``sse``, ``stdio`` or ``memory``.
    kind: ClassVar[str]
    #: Whether a request is cancelled by a message, also in the modern era. On HTTP closing the answer does it.
    cancels_by_message: ClassVar[bool] = True

    def __init__(self) -> None:
        self.inbox: Callable[[Message], None] = ignore

    @property
    @abstractmethod
    def address(self) -> str:
        """What names the server, in messages and as the key of what is remembered of it; it holds no secret."""

    @property
    def failed(self) -> bool:
        """Whether every request fails until :meth:`restart` is called."""
        return False

    @property
    def deaf(self) -> bool:
        """Whether what a legacy server sends outside of requests has arrived, and does no more before a restart."""
        return False

    @abstractmethod
    def request(self, message: Message, exchange: Exchange) -> Message:
        """Send a request and wait for its answer; the connection is made where there is none.

        Args:
            message: The request, with its id.
            exchange: What is known of it. ``exchange.on_message`` gets what belongs to the request and comes before
                the answer: progress whose token is the request's id, messages tagged with its id as subscription id,
                and on HTTP all that the answer's stream carries.

        Returns:
            The answer, with ``result`` or ``error``. An error counts as the answer where it can be no other's.

        Raises:
            TransportError: There is none: the kind of error says why.
            RemoteProtocolError: What came is no message of this protocol.
        """

    @abstractmethod
    def post(self, message: Message, deadline: Deadline) -> None:
        """Send a notification, or the answer to a request of a legacy server.

        Raises:
            TransportError: It could not be sent.
        """

    def adopt(self, version: str | None) -> None:  # noqa: B027 - most transports carry no version of their own
        """Take note of the version that a legacy handshake agreed on, ``None`` before the handshake."""

    def restart(self) -> None:  # noqa: B027 - most transports have nothing to forget
        """Begin anew: forget a legacy session, or stop the server's process so that the next request starts one."""

    def open_inbox(self) -> None:  # noqa: B027 - on most transports it is always open
        """Begin to take what a legacy server sends outside of requests. A server that sends nothing is no error."""

    @abstractmethod
    def close(self) -> None:
        """End the connection within a bounded time; whoever still waits gets ``ClientClosedError``. It never fails."""
