"""What a server says by itself: notifications, and in the legacy era questions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from ..exceptions import ClientClosedError, InternalError, MCPError, MethodNotFoundError
from ..protocol.jsonrpc import error_response, result_response
from ..transport.base import Deadline, Message
from .meanwhile import Meanwhile
from .options import Options
from .relay import Relay
from .results import LogMessage
from .session import POST_SECONDS, Connection, Session

__all__ = ["Incoming"]

logger = logging.getLogger("mcp_wsgi.client")


class Incoming:
    """Take the messages of a server that are no answers.

    Args:
        session: The session.
        options: Those of the client.
        notified: Called with each notification, wherever it came.
    """

    def __init__(self, session: Session, options: Options, notified: Callable[[Message], None]) -> None:
        self._session = session
        self._options = options
        self._notified = notified
        #: The requests on their way whose progress is wanted, by their ids.
        self.reporting: dict[int, Meanwhile] = {}

    def receive(self, message: Message) -> None:
        """Take a message that belongs to no request."""
        if "method" not in message:
            return
        if "id" in message:
            connection = self._session.connection()
            self.answer(connection, message)
            return
        if message["method"] == "notifications/progress":
            params = message.get("params")
            token = params.get("progressToken") if isinstance(params, Mapping) else None
            meanwhile = self.reporting.get(token) if isinstance(token, int) else None
            if meanwhile is not None:
                meanwhile.take_aside(message)
                return
        self.notice(message)

    def notice(self, message: Message) -> None:
        """Tell the client of a notification."""
        params = message.get("params")
        if message["method"] == "notifications/message" and self._options.on_log is not None:
            with suppress(ValueError):  # it has no level: no log message
                self._options.on_log(LogMessage.from_wire(params if isinstance(params, Mapping) else {}))
        self._notified(message)
        if self._options.on_notification is not None:
            self._options.on_notification(message)

    def relayed(self, relay: Relay, message: Message) -> None:
        """Tell the other client that a call is made for, else this one, of a notification."""
        if not relay.takes(message):
            self.notice(message)

    def answer(self, connection: Connection, question: Message) -> None:
        """Answer a request of a legacy server; in the modern era servers send none.

        "The server MUST NOT send JSON-RPC requests" (2026-07-28, basic/transports/streamable-http).
        """
        if connection.modern:
            logger.warning(
                "%s sent a request, which no server of this protocol version may; ignored", self._session.address
            )
            return
        with suppress(ClientClosedError):
            connection.transport.post(self._answer_to(question), Deadline(POST_SECONDS))

    def refuse(self, question: Message) -> None:
        """Refuse a question because too many are being answered."""
        connection = self._session.connection()
        if not connection.modern:
            busy = error_response(question["id"], InternalError("The client is busy with other questions"))
            connection.transport.post(busy, Deadline(POST_SECONDS))

    def _answer_to(self, question: Message) -> Message:
        method, handlers = question["method"], self._options.answers
        try:
            if method == "ping":
                return result_response(question["id"], {})
            if not handlers.can_answer(str(method)):
                raise MethodNotFoundError(f"This client does not answer {str(method)[:80]}")
            return result_response(question["id"], handlers.answer(question))
        except MCPError as error:
            return error_response(question["id"], error)
