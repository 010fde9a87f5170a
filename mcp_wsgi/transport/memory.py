"""A server in this process: no socket, no thread, the same answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from ..exceptions import ClientClosedError, MCPError, RemoteProtocolError, RequestCancelledError
from ..protocol.codec import decode
from ..protocol.jsonrpc import Request, error_response, parse_message
from ..protocol.meta import has_envelope
from ..server.bus import Subscription, honoured_filter
from ..server.context import Cancellation
from ..server.dispatch import check_version
from ..server.encoding import encode_message
from .base import Deadline, Exchange, Message, Transport

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["MemoryTransport"]

_LISTEN = "subscriptions/listen"


class MemoryTransport(Transport):
    """Give messages to a server, or to any function that takes a message and returns its answer.

    A handler runs in the thread that calls, so no deadline can end it; cancelling sets ``ctx.cancelled``.

    Args:
        target: A :class:`~mcp_wsgi.Server`, or a function of one message in wire form that returns the answer in wire
            form, and ``None`` for a notification.
    """

    kind: ClassVar[str] = "memory"

    def __init__(self, target: Server | Callable[[Message], Message | None]) -> None:
        super().__init__()
        from ..server import Server

        self._server = target if isinstance(target, Server) else None
        self._function: Callable[[Message], Message | None] | None = None if isinstance(target, Server) else target
        self._closed = False
        self._lock = threading.Lock()
        self._open: set[Exchange] = set()

    @property
    def address(self) -> str:
        """What names the server in messages: its own name, or the function's."""
        if self._server is not None:
            return f"memory:{self._server.name}"
        return f"memory:{getattr(self._function, '__qualname__', type(self._function).__qualname__)}"

    def request(self, message: Message, exchange: Exchange) -> Message:
        """Answer a request in this thread; see :meth:`Transport.request`."""
        with self._lock:
            if self._closed:
                raise ClientClosedError("The client is closed")
            self._open.add(exchange)
        try:
            exchange.check()
            cancellation = Cancellation()
            with exchange.aborting(cancellation.cancel):
                answer = self._answer(message, exchange, cancellation)
            if self._closed:
                raise ClientClosedError("The client was closed")
            if exchange.cancelled:
                raise RequestCancelledError("The request was cancelled")
            return answer
        finally:
            with self._lock:
                self._open.discard(exchange)

    def _answer(self, message: Message, exchange: Exchange, cancellation: Cancellation) -> Message:
        server = self._server
        if server is None:
            return self._checked(self._call(message))
        if message["method"] == _LISTEN and has_envelope(message.get("params", {})):
            return self._listen(server, message, exchange)
        faults: list[BaseException] = []

        def notify(notification: Message) -> None:
            # Raised in here it would be the handler's fault; it is the caller's, and ends the call.
            try:
                exchange.on_message(notification)
            except BaseException as fault:  # noqa: BLE001 - raised again below
                faults.append(fault)
                cancellation.cancel()

        answer = server.handle_message(message, notify=notify, cancellation=cancellation)
        if faults:
            raise faults[0]
        if answer is None:
            raise RemoteProtocolError("The server gave no answer to a request")
        # As over a wire: what the caller does to an answer never reaches the server's own lists.
        found: Message = decode(encode_message(answer))
        return found

    def _call(self, message: Message) -> object:
        function = self._function
        assert function is not None  # noqa: S101 - for the type checker: there is a server or a function
        return function(message)

    @staticmethod
    def _checked(answer: object) -> Message:
        if isinstance(answer, Mapping) and ("result" in answer or "error" in answer):
            return dict(answer)
        raise RemoteProtocolError("The function gave no JSON-RPC answer: an object with result or error")

    def _listen(self, server: Server, message: Message, exchange: Exchange) -> Message:
        """Tell of changes until the exchange is cancelled or the server closes its subscriptions."""
        wake = threading.Event()
        try:
            parsed = parse_message(message)
            assert isinstance(parsed, Request)  # noqa: S101 - for the type checker: it has a method and an id
            context = server.make_context(parsed, can_stream=True)
            check_version(context)
            honoured = honoured_filter(context)
        except MCPError as error:
            return error_response(message.get("id"), error)
        subscription = Subscription(parsed.id, honoured, wake.set)
        server.bus.subscribe(subscription)
        try:
            with exchange.aborting(wake.set):
                exchange.on_message(subscription.acknowledgement())
                while not subscription.closed and not exchange.cancelled:
                    wake.wait(exchange.check())
                    wake.clear()
                    for change in subscription.drain():
                        exchange.on_message(change)
        finally:
            server.bus.unsubscribe(subscription)
        return subscription.completion(server.info)

    def post(self, message: Message, deadline: Deadline) -> None:  # noqa: ARG002
        """Give the server a notification; what it answers is not looked at."""
        if self._closed:
            raise ClientClosedError("The client is closed")
        if self._server is not None:
            self._server.handle_message(message)
        else:
            self._call(message)

    def close(self) -> None:
        """Cancel what is running; see :meth:`Transport.close`."""
        with self._lock:
            self._closed = True
            running = list(self._open)
        for exchange in running:
            exchange.cancel()
