"""One client on two streams: its lines become calls, and what they say becomes lines."""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import EncodeError, InternalError, InvalidParamsError, InvalidRequestError, MCPError, ParseError
from ..protocol.codec import decode
from ..protocol.jsonrpc import Message, Notification, Request, Response, error_response, parse_message
from ..protocol.lines import encode_line
from ..protocol.meta import has_envelope
from ..server.bus import honoured_filter
from ..server.context import Context
from ..server.dispatch import check_version, dispatch, failure_id
from ..server.drive import run_sync
from ..server.encoding import encode_message
from ..server.results import error_result
from .calls import Call, Calls
from .changes import Changes
from .lanes import Lane
from .questions import Questions, UnansweredError
from .streams import Sink

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["Around", "Connection", "Options"]

Around = Callable[[], "AbstractContextManager[Any]"]

LISTEN = "subscriptions/listen"
#: The methods that run handlers, each of which may take its time. All others are answered by a thread of their own.
_SLOW = frozenset({"tools/call", "resources/read", "prompts/get", "completion/complete"})
#: How many requests may wait for a thread.
MAX_WAITING = 1_000
#: How many answers of a handler to its own questions: the same bound as within one request.
MAX_ROUNDS = 100
#: How long a legacy request waits for the answer of an ``initialize`` that was sent just before it, in seconds.
_HANDSHAKE_SECONDS = 10.0
#: How often it is looked whether all is answered, in seconds.
_PATIENCE = 0.01


class Options(NamedTuple):
    """Hold what a connection is served with.

    Attributes:
        principal: Who the client is.
        max_threads: How many handlers may run at a time.
        max_message_size: How long a line may be, in bytes; four of them may wait.
        around: Makes what each request is answered in.
    """

    principal: str
    max_threads: int
    max_message_size: int
    around: Around


class Connection:
    """Serve one client.

    Args:
        server: What is served.
        sink: Where messages are written.
        options: How.
        is_over: Says whether the client is no longer served.
    """

    def __init__(self, server: Server, sink: Sink, options: Options, is_over: Callable[[], bool]) -> None:
        self._server = server
        self._sink = sink
        self._options = options
        self._is_over = is_over
        self._variables = contextvars.copy_context()
        # What it signs comes back to this process, or to none.
        self._signer = None if server.has_keys else server.make_signer([os.urandom(32)])
        self._calls = Calls()
        max_weight = 4 * options.max_message_size
        self._handlers = Lane("mcp_wsgi stdio handler", options.max_threads, MAX_WAITING, max_weight)
        self._quick = Lane("mcp_wsgi stdio", 1, MAX_WAITING, max_weight)
        self._changes = Changes(server, self._send, self._end)
        self._questions = Questions(self._send)
        self._handshake = threading.Event()
        self._handshake.set()

    # What comes

    def receive(self, line: bytes | None) -> None:
        """Take a line of the client, ``None`` for one that was too long. It never raises, nor waits for a handler."""
        if line is None:
            self._refuse(InvalidRequestError(f"The line is longer than {self._options.max_message_size} bytes"))
            return
        if line.isspace():
            return
        try:
            value = decode(line)
        except ParseError as error:
            self._refuse(error)
            return
        try:
            message = parse_message(value)
        except MCPError as error:
            self._receive_malformed(value, error)
        else:
            self._accept(message, len(line))

    def _receive_malformed(self, value: Any, error: MCPError) -> None:
        if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
            if error.request_id is not None:  # a response is never answered, but whoever waits for it should know
                problem = {"code": int(error.code), "message": error.message}
                self._questions.answer(Response(error.request_id, None, problem))
            return
        if isinstance(error, InvalidParamsError) and error.request_id is None:
            return  # the params of a notification
        self._refuse(error)

    def _accept(self, message: Message, size: int) -> None:
        if isinstance(message, Response):
            self._questions.answer(message)
        elif isinstance(message, Notification):
            self._notice(message)
        else:
            self._begin(Call(message), size)

    def _notice(self, message: Notification) -> None:
        if message.method == "notifications/cancelled":
            call = self._calls.cancel(message.params.get("requestId"))
            if call is not None:
                self._changes.drop(call)
                self._questions.drop(call)
        elif message.method == "notifications/initialized":
            self._changes.follow()

    def _begin(self, call: Call, size: int) -> None:
        request = call.request
        if not self._calls.add(call):
            self._refuse(InvalidRequestError(f"A request with this id is in progress: {request.id!r:.80}"), request.id)
            return
        if request.method == "initialize":
            self._handshake.clear()
        if request.method not in _SLOW:
            self._quick.put(self._job(call), size, given_up=self._is_over)
        elif not self._handlers.offer(self._job(call), size):
            error = InternalError("Too many requests are waiting on this server; try again later")
            answer = error_response(request.id, error)
            self._quick.put(lambda: self._end([answer], call), given_up=self._is_over)

    def _refuse(self, error: MCPError, request_id: str | int | None = None) -> None:
        answer = error_response(error.request_id if request_id is None else request_id, error)
        # Not here: a client that does not read must not keep its own cancellations from being read.
        self._quick.put(lambda: self._send([answer], None), given_up=self._is_over)

    # What is done

    def _job(self, call: Call) -> Callable[[], None]:
        variables = self._variables.copy()
        return lambda: variables.run(self._answer, call)

    def _answer(self, call: Call) -> None:
        if call.silenced:
            return
        try:
            if call.request.method in _SLOW and not has_envelope(call.request.params):
                self._handshake.wait(_HANDSHAKE_SECONDS)
            with self._options.around():
                answer = self._listen(call) if call.request.method == LISTEN else self._dispatch(call)
        except MCPError as error:
            answer = error_response(call.request.id, error)
        except BaseException:  # noqa: BLE001 - an exit, say: the client waits for an answer, and others are served
            answer = self._failed(call)
        if answer is not None:
            call.pause()
            self._end([answer], call)
        if call.request.method == "initialize":
            self._handshake.set()

    def _failed(self, call: Call) -> dict[str, Any]:
        failure = failure_id(f"The method {call.request.method[:80]!r}")
        return error_response(call.request.id, InternalError(f"Internal error (id {failure})"))

    def _context(self, call: Call, params: dict[str, Any]) -> Context:
        return self._server.make_context(
            Request(call.request.id, call.request.method, params),
            principal=self._options.principal,
            notify=lambda message: self._send([message], call) if call.admits(message) else None,
            cancellation=call.cancellation,
            signer=lambda: self._signer,
            peer=self._changes.peer,
        )

    def _dispatch(self, call: Call) -> dict[str, Any]:
        """Answer a request; ask a legacy client what its handler wants to know."""
        params = call.request.params
        if has_envelope(params):
            return run_sync(dispatch(self._context(call, params)))
        params = {name: value for name, value in params.items() if name not in ("requestState", "inputResponses")}
        for _ in range(MAX_ROUNDS):
            context = self._context(call, params)
            answer = run_sync(dispatch(context))
            result = answer.get("result")
            if result is None or result.get("resultType") != "input_required":
                return answer
            try:
                answers = {
                    key: self._questions.ask(call, asked, context.protocol_version)
                    for key, asked in result.get("inputRequests", {}).items()
                }
            except UnansweredError as reason:
                return self._unanswered(call, str(reason))
            params = {**params, "inputResponses": answers, "requestState": result["requestState"]}
        return self._unanswered(call, f"The handler asked more than {MAX_ROUNDS} times")

    def _unanswered(self, call: Call, reason: str) -> dict[str, Any]:
        if call.request.method == "tools/call":
            return {"jsonrpc": "2.0", "id": call.request.id, "result": error_result(reason)}
        return error_response(call.request.id, InvalidParamsError(reason))

    def _listen(self, call: Call) -> dict[str, Any] | None:
        """Open a subscription, whose answer is its end; a legacy client has no such method."""
        context = self._context(call, call.request.params)
        if context.envelope is None:
            return run_sync(dispatch(context))
        check_version(context)
        if not self._changes.listen(call, honoured_filter(context)):
            raise InternalError("Too many subscriptions are open; end one before you open another")
        return None

    # What is said

    def _send(self, messages: list[dict[str, Any]], call: Call | None) -> None:
        self._sink.write(b"".join(encode_line(encode_message(message)) for message in messages), call)

    def _end(self, messages: list[dict[str, Any]], call: Call) -> None:
        """Write the last messages of a call."""
        try:
            data = b"".join(encode_line(encode_message(message)) for message in messages)
        except EncodeError:
            data = encode_line(encode_message(self._failed(call)))
        with self._calls.ending(call):
            self._sink.write(data, call)

    # The end

    def _is_idle(self) -> bool:
        return len(self._calls) == self._changes.count and self._quick.is_idle

    def finish(self, is_late: Callable[[], bool]) -> None:
        """Answer what was asked, until nothing is left or it is too late. The client sends nothing more."""
        self._questions.close()
        while not (self._is_idle() or self._sink.closed or is_late()):
            time.sleep(_PATIENCE)

    def close(self, seconds: float) -> bool:
        """Cancel what still runs and end everything.

        Args:
            seconds: How long to wait for it.

        Returns:
            Whether no thread is left.
        """
        deadline = time.monotonic() + seconds
        self._calls.cancel_all()
        self._handshake.set()
        ended = [
            part.close(max(0.0, deadline - time.monotonic()))
            for part in (self._quick, self._changes, self._handlers, self._sink)
        ]
        return all(ended)
