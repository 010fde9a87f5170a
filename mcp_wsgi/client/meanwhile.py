"""What comes before the answer of a request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..transport.base import Exchange, Message
from .results import Progress
from .session import Connection

if TYPE_CHECKING:
    from .incoming import Incoming

__all__ = ["Meanwhile"]

logger = logging.getLogger("mcp_wsgi.client")


class Meanwhile:
    """Take what comes before the answer of one request, in the thread that waits for it.

    Args:
        incoming: What takes the server's other messages.
        connection: The connection of the request.
        exchange: Its exchange.
        request_id: Its id, which is its progress token too.
        on_progress: Called with each report of progress.
        rest: Takes the notifications that are no progress, in place of ``incoming``.

    Attributes:
        failure: What the caller's function raised in another thread.
    """

    __slots__ = ("_connection", "_exchange", "_id", "_incoming", "_on_progress", "_rest", "failure")

    def __init__(
        self,
        incoming: Incoming,
        connection: Connection,
        exchange: Exchange,
        request_id: int,
        on_progress: Callable[[Progress], object] | None,
        rest: Callable[[Message], None] | None,
    ) -> None:
        self._incoming = incoming
        self._connection = connection
        self._exchange = exchange
        self._id = request_id
        self._on_progress = on_progress
        self._rest = rest
        self.failure: Exception | None = None

    def take_aside(self, message: Message) -> None:
        """Take progress that comes outside of the request, in a thread of the client."""
        try:
            self._progress(message)
        except Exception as error:  # noqa: BLE001 - it is raised where the request is waited for
            self.failure = error
            self._exchange.cancel()

    def take(self, message: Message) -> None:
        """Take what comes with the request."""
        method = message.get("method")
        if method == "notifications/progress":
            self._progress(message)
        elif "id" in message:
            with self._exchange.deadline.paused():
                self._incoming.answer(self._connection, message)
        elif self._rest is not None and method is not None:
            self._rest(message)
        elif method is not None:
            self._incoming.notice(message)

    def _progress(self, message: Message) -> None:
        params = message.get("params")
        if not isinstance(params, Mapping) or params.get("progressToken") != self._id:
            return
        self._exchange.deadline.extend()
        if self._on_progress is not None:
            try:
                progress = Progress.from_wire(params)
            except ValueError as error:
                logger.warning("A report of progress cannot be read: %s", error)
                return
            self._on_progress(progress)
