"""What comes before the answer of a request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..transport.base import Exchange, Message
from .results import Progress
from .session import Connection

if TYPE_CHECKING:
    from .incoming import Incoming

__all__ = ["Meanwhile", "token_of"]

logger = logging.getLogger("mcp_wsgi.client")

#: The most digits of a token that is read as a number.
_LONGEST = 20


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
        failure: What the caller's functions raised.
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
        self.failure: BaseException | None = None

    def paused(self) -> AbstractContextManager[None]:
        """Stop the time of the request while the block runs."""
        return self._exchange.deadline.paused()

    def take_aside(self, message: Message) -> None:
        """Take progress that comes outside of the request, in a thread of the client."""
        try:
            with self.paused():
                self._progress(message)
        except BaseException as error:  # noqa: BLE001 - it is raised where the request is waited for
            self.failure = error
            self._exchange.cancel()

    def take(self, message: Message) -> None:
        """Take what comes with the request. What the caller's functions do meanwhile is no silence of the server."""
        try:
            with self.paused():
                self._take(message)
        except BaseException as error:
            self.failure = error
            raise

    def _take(self, message: Message) -> None:
        method = message.get("method")
        if method == "notifications/progress":
            self._progress(message)
        elif "id" in message:
            connection = self._connection
            self._incoming.answer(None if connection.modern else connection.transport, message)
        elif self._rest is not None and method is not None:
            self._rest(message)
        elif method is not None:
            self._incoming.notice(message)

    def _progress(self, message: Message) -> None:
        params = message.get("params")
        if not isinstance(params, Mapping) or token_of(params) != self._id:
            return
        self._exchange.deadline.extend()
        if self._on_progress is not None:
            try:
                progress = Progress.from_wire(params)
            except ValueError as error:
                logger.warning("A report of progress cannot be read: %s", error)
                return
            self._on_progress(progress)


def token_of(params: Mapping[str, Any]) -> int | None:
    """Read the progress token of a notification; a number also where a server has made a string of it."""
    token = params.get("progressToken")
    if isinstance(token, str) and len(token) <= _LONGEST and token.isascii() and token.isdigit():
        return int(token)
    return token if type(token) is int else None
