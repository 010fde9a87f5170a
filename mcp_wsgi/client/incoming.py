"""What a server says by itself: notifications, and in the legacy era questions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from ..exceptions import ClientError, InternalError, MCPError, MethodNotFoundError
from ..protocol.jsonrpc import error_response, result_response
from ..transport.base import Deadline, Message, Transport
from .meanwhile import Meanwhile, token_of
from .options import Options
from .relay import Relay
from .results import LogMessage
from .session import POST_SECONDS, Session

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
        #: The requests on their way, by their ids.
        self.under_way: dict[int, Meanwhile] = {}

    def receive(self, message: Message) -> None:
        """Take a message that belongs to no request."""
        if "method" not in message:
            return
        if "id" in message:
            # Which request it is about is not said: the time of none goes on while somebody thinks.
            with ExitStack() as pauses:
                for meanwhile in list(self.under_way.values()):
                    pauses.enter_context(meanwhile.paused())
                self.answer(self._session.legacy_transport, message)
            return
        if message["method"] == "notifications/progress":
            params = message.get("params")
            token = token_of(params) if isinstance(params, Mapping) else None
            reported = None if token is None else self.under_way.get(token)
            if reported is not None:
                reported.take_aside(message)
                return
        self.notice(message)

    def notice(self, message: Message) -> None:
        """Tell the client of a notification."""
        params = message.get("params")
        if message["method"] == "notifications/message" and self._options.on_log is not None:
            try:
                logged = LogMessage.from_wire(params if isinstance(params, Mapping) else {})
            except ValueError:
                pass  # it has no level: no log message
            else:
                self._options.on_log(logged)
        self._notified(message)
        if self._options.on_notification is not None:
            self._options.on_notification(message)

    def notice_aside(self, message: Message) -> None:
        """Tell the client of a notification in a thread where nobody is to get what its functions raise."""
        try:
            self.notice(message)
        except BaseException:
            logger.exception("Working off a message of the server failed")

    def relayed(self, relay: Relay, message: Message) -> None:
        """Tell the other client that a call is made for, else this one, of a notification."""
        if not relay.takes(message):
            self.notice(message)

    def answer(self, transport: Transport | None, question: Message) -> None:
        """Answer a request of a legacy server; in the modern era servers send none, and ``transport`` is ``None``.

        "The server MUST NOT send JSON-RPC requests" (2026-07-28, basic/transports/streamable-http).
        """
        if transport is None:
            logger.warning(
                "%s sent a request, which no server of this protocol version may; ignored", self._session.address
            )
            return
        self._post(transport, self._answer_to(question))

    def refuse(self, question: Message) -> None:
        """Refuse a question because too many are being answered."""
        transport = self._session.legacy_transport
        if transport is not None:
            self._post(transport, error_response(question["id"], InternalError("The client answers other questions")))

    def _post(self, transport: Transport, answer: Message) -> None:
        """Send an answer. What becomes of it is no failure of the request that may wait in the same thread."""
        try:
            transport.post(answer, Deadline(POST_SECONDS))
        except ClientError as error:
            logger.info("%s did not take an answer: %s", self._session.address, error)

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
