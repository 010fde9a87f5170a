"""One request from its building to its result: the messages meanwhile, the rounds of questions, the second attempt."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ..errors import ErrorCode
from ..exceptions import (
    ClientClosedError,
    ClientError,
    HTTPStatusError,
    InternalError,
    MCPError,
    MethodNotFoundError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    SessionExpiredError,
    UnauthorizedError,
)
from ..protocol.headers import HasParamHeaders
from ..protocol.jsonrpc import error_response, notification, result_response
from ..transport.base import Deadline, Exchange, Message
from .errors import error_from_wire
from .options import Options
from .relay import Relay
from .results import LogMessage, Progress, result_type
from .session import POST_SECONDS, Connection, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Call", "Calls", "Cancel"]

logger = logging.getLogger("mcp_wsgi.client")

#: The methods whose answer may be a question (2026-07-28, basic/patterns/mrtr).
_ASKING = frozenset({"tools/call", "prompts/get", "resources/read"})
#: What only a modern server says, and of these what leaves no doubt about the version either.
_PROOF = (ErrorCode.HEADER_MISMATCH, ErrorCode.MISSING_CLIENT_CAPABILITY)
_VERSION_CODES = (*_PROOF, ErrorCode.UNSUPPORTED_PROTOCOL_VERSION)
#: What a legacy server says, with HTTP 400, to a request whose session it does not know.
_NO_SESSION = (ErrorCode.INVALID_REQUEST, -32000)
#: From this version on no SDK is known whose servers report progress elsewhere than on the stream of the request.
_REPORTS_IN_PLACE = "2025-11-25"
#: What a server of the other era says to a request of this one, and one of this era to none that this client sends.
_DOUBTFUL = (ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_PROTOCOL_VERSION, -32000)


class Cancel:
    """Give up calls from another thread: pass it as ``cancel=`` and call :meth:`cancel`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: set[Exchange] = set()
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Give up the calls that run, and those that begin later; whoever waits gets ``RequestCancelledError``."""
        with self._lock:
            self._cancelled = True
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.cancel()

    @contextmanager
    def holding(self, exchange: Exchange) -> Iterator[None]:
        """Cancel this exchange too, while the block runs."""
        with self._lock:
            self._exchanges.add(exchange)
            cancelled = self._cancelled
        try:
            if cancelled:
                raise RequestCancelledError("The request was cancelled")
            yield
        finally:
            with self._lock:
                self._exchanges.discard(exchange)


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
        notified: Called with each notification of the server, wherever it came.
    """

    def __init__(self, session: Session, options: Options, notified: Callable[[Message], None]) -> None:
        self._session = session
        self._options = options
        self._notified = notified
        #: The requests on their way whose progress is wanted.
        self._reporting: dict[int, _Meanwhile] = {}

    def perform(self, call: Call) -> dict[str, Any]:
        """Send a request, answer what the server asks meanwhile, and return the result.

        A result of type ``input_required`` is returned where no handler answers its questions.

        Raises:
            MCPError: The server answers with an error.
            ClientError: There is no answer.
        """
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
        connection = self._session.connection()
        if connection.transport.failed:  # the server has ended while nobody asked it anything
            self._session.drop(connection)
            connection = self._session.connection()
        try:
            result = self.send(connection, call, extra)
        except SessionExpiredError:
            connection = self._session.renew(connection)
        except (MCPError, HTTPStatusError) as error:
            if _has_lost_session(connection, error, call.status):
                connection = self._session.renew(connection)
            elif not _is_doubtful(connection, error):
                raise
            else:
                other = self._session.reconsider(connection)
                if other is None:
                    raise
                connection = other
        except ClientError:
            if connection.transport.failed:
                self._session.drop(connection)
            raise
        else:
            if connection.modern and not connection.verified and "resultType" in result:
                self._session.confirm(connection)
            return connection, result
        return connection, self.send(connection, call, extra)

    def send(self, connection: Connection, call: Call, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request once.

        Raises:
            MCPError: The server answers with an error.
            ClientError: There is no answer.
        """
        options = self._options
        request_id = next(self._session.ids)
        on_progress = call.on_progress or options.on_progress
        message = _message(connection, call, extra or {}, request_id, reports=on_progress is not None)
        exchange = Exchange(self._deadline(call), tool=call.tool)
        rest = call.on_message if call.relay is None else functools.partial(self._relayed, call.relay)
        meanwhile = _Meanwhile(self, connection, exchange, request_id, on_progress, rest)
        exchange.on_message = meanwhile.take
        if on_progress is not None:
            self._expect_reports(connection)
            self._reporting[request_id] = meanwhile
        try:
            if call.cancel is None:
                answer = connection.transport.request(message, exchange)
            else:
                with call.cancel.holding(exchange):
                    answer = connection.transport.request(message, exchange)
        except BaseException as error:
            self._give_up(connection, message, error)
            if meanwhile.failure is not None:
                raise meanwhile.failure from None
            raise
        finally:
            self._reporting.pop(request_id, None)
            call.status = exchange.status
        if "error" in answer:
            raise error_from_wire(answer["error"])
        result = answer.get("result")
        if not isinstance(result, dict):
            raise RemoteProtocolError(f"The result of {call.method} is not an object")
        return result

    def _deadline(self, call: Call) -> Deadline:
        if call.endless:
            return Deadline(None)
        options = self._options
        timeout = options.timeout if call.timeout is None else call.timeout
        maximum = options.max_timeout if call.max_timeout is None else call.max_timeout
        # Who allows a longer silence than the whole call may take has meant the silence.
        return Deadline(timeout, max(maximum, timeout) if maximum is not None and timeout is not None else maximum)

    def _give_up(self, connection: Connection, message: Message, error: BaseException) -> None:
        """Tell the server that nobody waits any more (basic/patterns/cancellation).

        Over HTTP a modern server sees it by the closed answer. "The initialize request MUST NOT be cancelled."
        """
        transport = connection.transport
        if isinstance(error, ClientError) and not isinstance(error, (RequestTimeoutError, RequestCancelledError)):
            return
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

    # What the server says by itself

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
            meanwhile = self._reporting.get(token) if isinstance(token, int) else None
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

    def _relayed(self, relay: Relay, message: Message) -> None:
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


class _Meanwhile:
    """Take what comes before the answer of one request, in the thread that waits for it.

    Attributes:
        failure: What the caller's function raised in another thread.
    """

    __slots__ = ("_calls", "_connection", "_exchange", "_id", "_on_progress", "_rest", "failure")

    def __init__(
        self,
        calls: Calls,
        connection: Connection,
        exchange: Exchange,
        request_id: int,
        on_progress: Callable[[Progress], object] | None,
        rest: Callable[[Message], None] | None,
    ) -> None:
        self._calls = calls
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
        method = message.get("method")
        if method == "notifications/progress":
            self._progress(message)
        elif "id" in message:
            with self._exchange.deadline.paused():
                self._calls.answer(self._connection, message)
        elif self._rest is not None and method is not None:
            self._rest(message)
        elif method is not None:
            self._calls.notice(message)

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


def _message(
    connection: Connection, call: Call, extra: Mapping[str, Any], request_id: int, *, reports: bool
) -> Message:
    params: dict[str, Any] = {**call.params, **extra}
    meta: dict[str, Any] = {**call.meta, **connection.meta} if call.meta else dict(connection.meta)
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


def _has_lost_session(connection: Connection, error: MCPError | HTTPStatusError, status: int | None) -> bool:
    """Say whether a legacy server refuses a request because it does not know its session (any more).

    "The server MUST respond to requests containing that session ID with HTTP 404" (2025-11-25, Session Management), yet
    servers in the field answer 400 with one of two codes. What the status refuses has not been carried out.
    """
    if connection.modern or not isinstance(error, MCPError):
        return False
    return status == HTTPStatus.BAD_REQUEST and error.code in _NO_SESSION


def _is_doubtful(connection: Connection, error: MCPError | HTTPStatusError) -> bool:
    """Say whether a refusal may come from a server of the other era, so that it is asked anew."""
    if isinstance(error, HTTPStatusError):
        return 400 <= error.status < 500 and not isinstance(error, UnauthorizedError)
    if not connection.modern:
        return error.code in _VERSION_CODES
    if not connection.verified and error.code not in _PROOF:
        return True
    return error.code in _DOUBTFUL
