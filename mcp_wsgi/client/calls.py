"""One request from its building to its result: the messages meanwhile, the rounds of questions, the second attempt."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from ..exceptions import (
    ClientClosedError,
    ClientError,
    EncodeError,
    HTTPStatusError,
    MCPError,
    MethodNotFoundError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    SessionExpiredError,
    UnsupportedVersionError,
)
from ..protocol.codec import decode, encode
from ..protocol.headers import HasParamHeaders
from ..protocol.jsonrpc import notification
from ..protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from ..transport.base import Deadline, Exchange, Message
from .cancel import Cancel
from .doubts import Doubts, has_lost_session
from .errors import error_from_wire
from .incoming import Incoming
from .meanwhile import Meanwhile
from .options import Options
from .patience import Patience
from .relay import Relay
from .results import Progress, result_type
from .session import POST_SECONDS, Connection, Session

__all__ = ["Call", "Calls"]

logger = logging.getLogger("mcp_wsgi.client")

#: The methods whose answer may be a question (2026-07-28, basic/patterns/mrtr).
_ASKING = frozenset({"tools/call", "prompts/get", "resources/read"})
#: From this version on no SDK is known whose servers report progress elsewhere than on the stream of the request.
_REPORTS_IN_PLACE = "2025-11-25"
#: What the client says in each modern request, and no caller says in a legacy one.
_ENVELOPE = (PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL)


class _CallerError(BaseException):
    """Carry what a function of the caller raised past all that looks at what a server refuses."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


@dataclass(slots=True, kw_only=True)
class Call:
    """Hold what a caller wants of one request; ``None`` stands for the client's own option."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    max_timeout: float | None = None
    on_progress: Callable[[Progress], object] | None = None
    tool: HasParamHeaders | None = None
    meta: Mapping[str, Any] | None = None
    cancel: Cancel | None = None
    relay: Relay | None = None
    #: Whether questions of the server were answered on the way, so that the result is this caller's only.
    answered: bool = False
    #: Whether it may take any time, as a subscription does.
    endless: bool = False
    #: Takes the notifications of the request that nobody else takes; a subscription's are all of these.
    on_message: Callable[[Message], None] | None = None
    #: The HTTP status of the last answer, where there was one.
    status: int | None = None


class Calls:
    """Perform requests over a session.

    Args:
        session: The session.
        options: Those of the client.
        incoming: What takes the messages that are no answers.
    """

    def __init__(self, session: Session, options: Options, incoming: Incoming) -> None:
        self._session = session
        self._options = options
        self._incoming = incoming
        self._doubts = Doubts()

    def perform(self, call: Call) -> dict[str, Any]:
        """Send a request, answer what the server asks meanwhile, and return the result.

        A result of type ``input_required`` is returned where no handler answers its questions.

        Raises:
            MCPError: The server answers with an error.
            ClientError: There is no answer.
            EncodeError: The params hold what JSON cannot carry; nothing was sent.
        """
        try:
            return self._perform(call)
        except _CallerError as caller:
            error = caller.error
        raise error

    def send(self, connection: Connection, call: Call) -> dict[str, Any]:
        """Send a request once, over this connection and no other.

        Raises:
            MCPError: The server answers with an error.
            ClientError: There is no answer.
        """
        try:
            return self._send(connection, call, {})
        except _CallerError as caller:
            error = caller.error
        raise error

    def _perform(self, call: Call) -> dict[str, Any]:
        extra: dict[str, Any] = {} if call.relay is None else call.relay.params()
        for _ in range(self._options.max_rounds + 1):
            connection, result = self._attempt(call, extra)
            if not connection.modern:
                return result
            kind = result_type(result)
            if kind == "complete":
                return result
            if kind != "input_required" or call.method not in _ASKING:
                raise RemoteProtocolError(f"The result of {call.method} is of the unknown type {kind[:40]!r}")
            answers = self._answers(result) if call.relay is None else None
            if answers is None:
                return result
            extra, call.answered = answers, True
        raise RemoteProtocolError(f"The server asked more than {self._options.max_rounds} times in one request")

    def _answers(self, result: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer the questions of a round; ``None`` where one of them is for nobody here."""
        requests = result.get("inputRequests")
        requests = requests if isinstance(requests, Mapping) else {}
        state = result.get("requestState")
        if not requests and not isinstance(state, str):
            raise RemoteProtocolError("The server wants input and says neither which nor for what")
        handlers = self._options.answers
        if not all(
            isinstance(each, Mapping) and handlers.can_answer(str(each.get("method"))) for each in requests.values()
        ):
            return None
        extra: dict[str, Any] = {}
        if requests:
            extra["inputResponses"] = {key: handlers.answer(each) for key, each in requests.items()}
        if isinstance(state, str):
            extra["requestState"] = state  # "Clients MUST echo it back exactly"
        return extra

    def _attempt(self, call: Call, extra: Mapping[str, Any]) -> tuple[Connection, dict[str, Any]]:
        """Send a request; once more where the session was gone, or the version that was spoken proved wrong."""
        connection = self._connection(call)
        try:
            result = self._send(connection, call, extra)
        except SessionExpiredError:
            connection = self._session.renew(connection)
        except (MCPError, HTTPStatusError) as error:
            if has_lost_session(connection, error, call.status):
                connection = self._session.renew(connection)
            else:
                connection = self._reconsidered(connection, call, error)
        except (RequestCancelledError, ClientClosedError):
            raise
        except ClientError:
            if connection.transport.failed or not (connection.verified or self._options.protocol_version):
                self._session.drop(connection)
            self._doubts.unanswered()
            raise
        else:
            self._doubts.answered(call.method)
            if connection.modern and not connection.verified and "resultType" in result:
                self._session.confirm(connection)
            return connection, result
        return connection, self._send(connection, call, extra)

    def _connection(self, call: Call) -> Connection:
        """Give the connection; another one where the server has ended, or has not answered for long."""
        connection = self._session.connection()
        if connection.transport.failed:  # the server has ended while nobody asked it anything
            self._session.drop(connection)
            return self._session.connection()
        if self._doubts.is_silent(connection):
            self._doubts.answered()
            patience = self._options.timeout if call.timeout is None else call.timeout
            return self._session.reconsider(connection, patience) or connection
        return connection

    def _reconsidered(self, connection: Connection, call: Call, error: MCPError | HTTPStatusError) -> Connection:
        """Give the connection for a second attempt, or raise the refusal where there is no doubt about it."""
        if not self._doubts.arise(connection, call.method, error):
            raise error
        other = self._session.reconsider(connection)
        if other is not None:
            return other
        if isinstance(error, UnsupportedVersionError):
            return connection  # it has just named the version as one that it speaks
        self._doubts.settle(call.method, error)
        raise error

    def _send(self, connection: Connection, call: Call, extra: Mapping[str, Any]) -> dict[str, Any]:
        if call.endless and not connection.modern:
            raise MethodNotFoundError("The server is a legacy one by now, which has no subscriptions of this kind")
        request_id = next(self._session.ids)
        on_progress = call.on_progress or self._options.on_progress
        message = _message(connection, call, extra, request_id, reports=on_progress is not None)
        if connection.transport.kind == "memory":
            message = decode(encode(message))  # as over a wire: nobody sees what the other does to it
        exchange = Exchange(self._deadline(call), tool=call.tool)
        rest = call.on_message if call.relay is None else functools.partial(self._incoming.relayed, call.relay)
        meanwhile = Meanwhile(self._incoming, connection, exchange, request_id, on_progress, rest)
        exchange.on_message = meanwhile.take
        if on_progress is not None:
            self._expect_reports(connection)
        self._incoming.under_way[request_id] = meanwhile
        try:
            with nullcontext() if call.cancel is None else call.cancel.holding(exchange):
                answer = connection.transport.request(message, exchange)
        except BaseException as error:
            if meanwhile.failure is None and not _is_last_word(error):
                self._give_up(connection, message, error)
            if meanwhile.failure is None:
                raise
        finally:
            self._incoming.under_way.pop(request_id, None)
            call.status = exchange.status
        if meanwhile.failure is not None:
            self._give_up(connection, message, meanwhile.failure)
            raise _CallerError(meanwhile.failure)
        if "error" in answer:
            raise error_from_wire(answer["error"])
        result = answer.get("result")
        if not isinstance(result, dict):
            raise RemoteProtocolError(f"The result of {call.method} is not an object")
        return result

    def _deadline(self, call: Call) -> Deadline:
        if call.endless:
            return Patience(None)
        options = self._options
        timeout = options.timeout if call.timeout is None else call.timeout
        maximum = options.longest if call.max_timeout is None else call.max_timeout
        if call.timeout is not None and call.max_timeout is None and maximum is not None:
            maximum = max(maximum, call.timeout)  # who allows this call a longer silence has meant it
        return Patience(timeout, maximum)

    def _give_up(self, connection: Connection, message: Message, error: BaseException) -> None:
        """Tell the server that nobody waits any more (basic/patterns/cancellation).

        Over HTTP a modern server sees it by the closed answer. "The initialize request MUST NOT be cancelled."
        """
        transport = connection.transport
        if connection.modern and not transport.cancels_by_message:
            return
        reason = "The request took too long" if isinstance(error, RequestTimeoutError) else "The caller gave up"
        cancelled = notification("notifications/cancelled", {"requestId": message["id"], "reason": reason})
        if connection.modern:
            cancelled["params"]["_meta"] = dict(connection.meta)
        with suppress(ClientError):
            transport.post(cancelled, Deadline(POST_SECONDS))

    def _expect_reports(self, connection: Connection) -> None:
        """Listen where an older server may send its progress: on the session's stream, not on that of the request."""
        if not connection.modern and connection.version < _REPORTS_IN_PLACE:
            self._session.listen()


def _message(
    connection: Connection, call: Call, extra: Mapping[str, Any], request_id: int, *, reports: bool
) -> Message:
    params: dict[str, Any] = {**call.params, **extra}
    params.pop("_meta", None)  # it is in call.meta
    meta: dict[str, Any] = {**call.meta, **connection.meta} if call.meta else dict(connection.meta)
    if call.meta and not connection.modern:
        for name in _ENVELOPE:
            meta.pop(name, None)
    if call.relay is not None and connection.modern:
        meta = call.relay.meta(meta)
    if reports:
        meta["progressToken"] = request_id
    if meta:
        params["_meta"] = meta
    message: Message = {"jsonrpc": "2.0", "id": request_id, "method": call.method}
    if params:
        message["params"] = params
    return message


def _is_last_word(error: BaseException) -> bool:
    """Say whether a server need not be told of a failure: it is the server's own, or nothing was sent."""
    if isinstance(error, (RequestTimeoutError, RequestCancelledError)):
        return False
    return isinstance(error, (ClientError, EncodeError))
