"""What a handler knows of its request and may do while it runs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..exceptions import ArgumentError, EncodeError, InvalidParamsError, ToolError
from ..protocol.jsonrpc import notification
from ..protocol.meta import LOG_LEVELS, Envelope
from ..protocol.types import Content, Message
from .questions import (
    Elicited,
    Root,
    Sampled,
    elicit_request,
    elicit_url_request,
    roots_request,
    sample_request,
)

if TYPE_CHECKING:
    from .drive import Call
    from .interaction import Interaction
    from .peer import Peer
    from .server import Server
    from .state import StateSigner
    from .tools import Tool

__all__ = ["Cancellation", "CancelledError", "Context", "Notify", "Wrap"]

T = TypeVar("T")

#: What a transport gives a request to carry its notifications; without one they are dropped.
Notify = Callable[[dict[str, Any]], None]

#: What a door may do to the call of a handler: give another call in its place.
Wrap = Callable[["Call"], "Call"]

_UNUSED_LOCK = threading.RLock()
_SEVERITY = {level: rank for rank, level in enumerate(LOG_LEVELS)}


def _number(value: float) -> float:
    """Give an int or float that is finite; other kinds of numbers (a Decimal, say) are not JSON."""
    try:
        number = value if type(value) is int else float(value)
        if math.isfinite(number):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError("progress and total must be finite numbers")


def _loggable(data: Any) -> Any:
    from .returns import to_builtins

    try:
        return to_builtins(data)
    except EncodeError:
        return str(data)


class CancelledError(ToolError):
    """Say that the client has gone: nothing that the handler still does will be seen."""


class Cancellation:
    """Hold the flag that a transport sets when the client goes away or cancels."""

    __slots__ = ("_callbacks", "_lock", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False
        self._callbacks: dict[object, Callable[[], object]] = {}
        # A stream that was dropped sets the flag when it is collected, in whatever thread that happens.
        self._lock = threading.RLock()

    def cancel(self) -> None:
        """Set the flag, which is never cleared, and call what waits for it."""
        with self._lock:
            self.cancelled = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Have a function called if the flag is set while the block runs, at once where it is set already.

        Args:
            callback: Called at most once, in the thread that sets the flag. It must neither block nor raise.
        """
        key = object()
        with self._lock:
            cancelled = self.cancelled
            if not cancelled:
                self._callbacks[key] = callback
        if cancelled:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)


class Context:
    """Give a handler its request. It is filled in by annotation: ``def tool(x: int, ctx: Context)``.

    Attributes:
        server: The server that dispatches the request.
        request_id: The JSON-RPC id.
        method: The JSON-RPC method.
        params: The params as they came.
        envelope: The request metadata of a modern request, ``None`` on legacy.
        principal: Who asks, as the door's authentication says; ``None`` where it is public.
        request: What the door was called with: an :class:`~mcp_wsgi.http.messages.HTTPRequest`, or ``None``.
        peer: What a transport knows of the one client that it has; ``None`` for a modern request, which says all
            itself, and where anybody may have sent a legacy one.
    """

    __slots__ = (
        "_can_stream",
        "_cancellation",
        "_done",
        "_interaction",
        "_lock",
        "_notify",
        "_progress",
        "_signer",
        "_token",
        "_wrap",
        "envelope",
        "found_tool",
        "method",
        "params",
        "peer",
        "principal",
        "request",
        "request_id",
        "server",
    )

    def __init__(
        self,
        server: Server,
        request_id: str | int,
        method: str,
        params: dict[str, Any],
        envelope: Envelope | None,
        principal: str | None = None,
        request: Any = None,
        notify: Notify | None = None,
        cancellation: Cancellation | None = None,
        progress_token: str | int | None = None,
        can_stream: bool = False,
        signer: Callable[[], StateSigner | None] | None = None,
        wrap: Wrap | None = None,
        peer: Peer | None = None,
    ) -> None:
        self.server = server
        self.request_id = request_id
        self.method = method
        self.params = params
        self.envelope = envelope
        self.principal = principal
        self.request = request
        self.peer = peer
        self._notify = notify
        self._cancellation = cancellation
        self._token = progress_token
        self._interaction: Interaction | None = None
        self._progress: float = -math.inf
        # Most requests send nothing: they share one lock that none of them takes.
        self._lock = threading.RLock() if notify is not None else _UNUSED_LOCK
        self._done = False
        #: The tool that the request names, once it has been found.
        self.found_tool: Tool | None = None
        self._can_stream = can_stream or notify is not None
        self._signer = signer
        self._wrap = wrap

    @property
    def can_listen(self) -> bool:
        """Whether the client can be told of changes: it opens a stream for them, or is the transport's only one."""
        return self._can_stream and (self.envelope is not None or self.peer is not None)

    def wrapped(self, call: Call) -> Call:
        """Give a handler's call as the door wants it made, in a transaction for example."""
        return call if self._wrap is None else self._wrap(call)

    def connect(self, notify: Notify, cancellation: Cancellation) -> None:
        """Give the request a stream: where its notifications go, and the flag that ends it."""
        self._notify = notify
        self._cancellation = cancellation
        self._lock = threading.RLock()

    def cancel(self) -> None:
        """Set the flag that the handler finds as :attr:`cancelled`."""
        self.cancellation.cancel()

    @property
    def cancellation(self) -> Cancellation:
        """The flag behind :attr:`cancelled`, for what has to be told of it at once."""
        with self._lock:
            if self._cancellation is None:
                self._cancellation = Cancellation()
            return self._cancellation

    @property
    def reports(self) -> bool:
        """Whether the client asked to be told something before the answer: progress or logs."""
        return self._token is not None or (self.envelope is not None and self.envelope.log_level is not None)

    @property
    def protocol_version(self) -> str | None:
        """The version in the envelope or of the handshake; ``None`` for a legacy request of no known client."""
        if self.envelope is not None:
            return self.envelope.version
        return self.peer.version if self.peer is not None else None

    @property
    def client_info(self) -> Mapping[str, Any]:
        """What the client says of itself, unverified; empty where it says nothing."""
        if self.envelope is not None:
            return self.envelope.client_info or {}
        return self.peer.info if self.peer is not None else {}

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declares in this request, or declared in its handshake."""
        if self.envelope is not None:
            return self.envelope.capabilities
        return self.peer.capabilities if self.peer is not None else {}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's ``_meta`` object."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def cancelled(self) -> bool:
        """Whether the client has gone or cancelled; a long tool looks at it from time to time."""
        return self._cancellation is not None and self._cancellation.cancelled

    @property
    def can_notify(self) -> bool:
        """Whether the transport can carry notifications of this request."""
        return self._can_stream

    def raise_if_cancelled(self) -> None:
        """End the handler when the client has gone.

        Raises:
            CancelledError: It has.
        """
        if self.cancelled:
            raise CancelledError("The client cancelled the request")

    def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is, if it asked with a progress token.

        "The progress value MUST increase with each notification": a value that does not is dropped
        (2026-07-28, basic/patterns/progress).

        Args:
            progress: How much is done, in any unit.
            total: How much there is in all, in the same unit.
            message: What is being done.

        Raises:
            ValueError: ``progress`` or ``total`` is not a finite number.
        """
        progress, total = _number(progress), None if total is None else _number(total)
        if self._token is None or self._notify is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = str(message)
        # A handler may report from threads of its own: what is compared is also sent in that order.
        with self._lock:
            if progress > self._progress:
                self._progress = progress
                self._send("notifications/progress", params)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send the client a log message, if it asked for that level in this request (or on legacy stdio before).

        "If absent, the server MUST NOT send any notifications/message" (2026-07-28, server/utilities/logging).

        Args:
            level: One of debug, info, notice, warning, error, critical, alert, emergency.
            data: Any JSON-like value; something else (an exception, say) is sent as its text.
            logger: The name of what logs.

        Raises:
            ValueError: The level is unknown.
        """
        if level not in _SEVERITY:
            raise ValueError(f"The level must be one of: {', '.join(LOG_LEVELS)}")
        asking = self.envelope if self.envelope is not None else self.peer
        wanted = asking.log_level if asking is not None else None
        if wanted is None or _SEVERITY[level] < _SEVERITY[wanted]:
            return
        params: dict[str, Any] = {"level": level, "data": _loggable(data)}
        if logger is not None:
            params["logger"] = logger
        self._send("notifications/message", params)

    def debug(self, data: Any) -> None:
        """Log at level debug; see :meth:`log`."""
        self.log("debug", data)

    def info(self, data: Any) -> None:
        """Log at level info; see :meth:`log`."""
        self.log("info", data)

    def warning(self, data: Any) -> None:
        """Log at level warning; see :meth:`log`."""
        self.log("warning", data)

    def error(self, data: Any) -> None:
        """Log at level error; see :meth:`log`."""
        self.log("error", data)

    def _send(self, method: str, params: dict[str, Any]) -> None:
        if self._notify is None or self.cancelled:
            return
        with self._lock:
            if not self._done:
                self._notify(notification(method, params))

    @overload
    def elicit(self, message: str, schema: type[T], *, key: str | None = None) -> Elicited[T]: ...

    @overload
    def elicit(
        self, message: str, schema: Mapping[str, Any], *, key: str | None = None
    ) -> Elicited[dict[str, Any]]: ...

    def elicit(self, message: str, schema: type[T] | Mapping[str, Any], *, key: str | None = None) -> Elicited[Any]:
        """Ask the user to fill in a form.

        It reads like a blocking call. On the first round the answer is not there yet: the round ends, the
        client asks the user and sends the request again, and the handler runs again from its top. So what
        comes before a question must be safe to repeat.

        Args:
            message: What the user is asked.
            schema: A flat form: a dataclass, Struct, TypedDict or pydantic model, or a JSON Schema.
            key: A stable name for the question; by default its place in the handler.

        Returns:
            The answer; ``data`` is a value of the type (or a dict) when the user accepted.

        Raises:
            MissingClientCapabilityError: The client does not support forms.
            InvalidParamsError: The client's answer does not fit the form.
            RegistrationError: The schema is not a flat form.
            ToolError: This connection cannot carry questions.
        """
        answer = self._ask("elicit", key, elicit_request(message, schema))
        if answer["action"] != "accept":
            return Elicited(answer["action"])
        content = answer["content"]
        if isinstance(schema, Mapping):
            return Elicited("accept", dict(content))
        from .forms import convert_form

        try:
            return Elicited("accept", convert_form(schema, content))
        except ArgumentError as error:
            raise InvalidParamsError(f"The accepted form does not fit: {error}") from None

    def elicit_url(self, message: str, url: str, *, key: str | None = None) -> Elicited[None]:
        """Ask the user to do something at a URL, such as signing in or paying; see :meth:`elicit`.

        The answer says whether the user agreed to open it, not what happened there.
        """
        return Elicited(self._ask("elicit-url", key, elicit_url_request(message, url))["action"])

    def sample(
        self,
        messages: str | Sequence[Message | Content | str],
        *,
        max_tokens: int = 1000,
        key: str | None = None,
        **params: Any,
    ) -> Sampled:
        """Ask the client's model; see :meth:`elicit` for how a question works.

        Args:
            messages: A text, or messages in order.
            max_tokens: The most tokens to generate.
            key: A stable name for the question.
            params: Other members of ``CreateMessageRequestParams``, such as ``system_prompt``.

        Raises:
            MissingClientCapabilityError: The client does not support sampling (or tools or context in it).
            TypeError: A member is unknown.
        """
        answer = self._ask("sample", key, sample_request(messages, max_tokens=max_tokens, **params))
        return Sampled(answer["content"], answer["model"], answer["role"], answer.get("stopReason"))

    def list_roots(self, *, key: str | None = None) -> list[Root]:
        """Ask for the roots of the client's file system; see :meth:`elicit` for how a question works.

        Raises:
            MissingClientCapabilityError: The client does not support roots.
        """
        answer = self._ask("roots", key, roots_request())
        return [Root(root["uri"], root.get("name")) for root in answer["roots"]]

    def _ask(self, kind: str, key: str | None, request: dict[str, Any]) -> Mapping[str, Any]:
        interaction = self.interaction()
        return interaction.ask(key if key is not None else interaction.key_for(kind), request)

    @property
    def _can_ask(self) -> bool:
        return self.envelope is not None or self.peer is not None

    def interaction(self) -> Interaction:
        """Give the rounds of this request so far, checking ``requestState`` on the first use.

        Raises:
            ToolError: This connection cannot carry questions: a legacy client without an open stream.
            InvalidParamsError: ``requestState`` or ``inputResponses`` is not valid.
        """
        if self._interaction is None:
            if not self._can_ask:
                raise ToolError(
                    "This needs an answer from the user or the client, and a client of this protocol version "
                    "cannot be asked over this connection."
                )
            from .interaction import Interaction

            self._interaction = Interaction(
                (self._signer() if self._signer is not None else None) or self.server.state_signer,
                self.method,
                self.params,
                self.principal,
                self.client_capabilities,
            )
        return self._interaction

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """The client's answers so far by key, in wire form, for a handler that builds its questions itself.

        They have the shape of an answer; whether an accepted form's content is what was asked, the handler checks.
        """
        return self.interaction().responses() if self._can_ask else {}

    @property
    def request_state(self) -> str | None:
        """The ``state`` that this handler's last :class:`InputRequired` carried."""
        return self.interaction().state if self._can_ask else None

    def finish(self) -> None:
        """Close the context: nothing that is reported from now on is sent."""
        if self._notify is None:
            self._done = True
            return
        with self._lock:
            self._done = True
