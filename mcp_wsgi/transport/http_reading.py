"""Where the answer to a request is: in the body of the response, in its stream, or in what resumes the stream."""

from __future__ import annotations

from typing import Any

from ..exceptions import RemoteProtocolError, TransportError
from ..server.reasons import shown
from .base import Exchange, Message
from .http_answer import Answer
from .http_messages import Inquiry
from .http_streams import EVENT_STREAM, Position, iterate_events

__all__ = ["Reading"]

_JSON = "application/json"
#: The codes that only a modern server sends.
_MODERN_CODES = frozenset({-32020, -32021, -32022})
#: The methods whose answer says what kind of server this is. A server that fails has said nothing of the sort.
_PROBES = frozenset({"server/discover", "initialize"})


class Reading:
    """Look for the answer to one request.

    Args:
        message: The request.
        exchange: Where what comes before the answer goes.
        max_size: The most bytes that one message may have.
        resumable: Whether a stream that ends early can be asked for again, which the modern era does not know.

    Attributes:
        position: How far the stream was read.
    """

    def __init__(self, message: Message, exchange: Exchange, max_size: int, *, resumable: bool) -> None:
        self._id = message["id"]
        self._method = message["method"]
        self._inquiry = Inquiry(self._id, exchange.on_message)
        self._max_size = max_size
        self._resumable = resumable
        self.position = Position()

    def read(self, answer: Answer) -> Message | None:
        """Read the response to the POST.

        Returns:
            The answer, ``None`` where the stream ended before it and has to be resumed.

        Raises:
            HTTPStatusError: The status says that it failed, and no message says why.
            TransportError: The connection failed, or the stream ended.
            RemoteProtocolError: There is something else than an answer.
        """
        if not 200 <= answer.status < 300:
            return self._read_refusal(answer)
        if answer.media_type == EVENT_STREAM:
            return self._read_events(answer)
        if answer.status in (202, 204):
            raise RemoteProtocolError(f"The server answered a request with HTTP {answer.status}, as a notification")
        if answer.media_type not in (_JSON, ""):
            raise RemoteProtocolError(
                f"The server answered HTTP {answer.status} with {shown(answer.media_type)}, "
                "which is neither JSON nor an event stream"
            )
        body = answer.read(self._max_size)
        if not body:
            raise RemoteProtocolError(f"The server answered a request with HTTP {answer.status} and no body")
        return self._inquiry.take_own(body)

    def read_again(self, answer: Answer) -> Message | None:
        """Read the response to a GET that resumes the stream; ``None`` where it did not bring the answer either.

        Raises:
            TransportError: The server does not resume the stream.
            RemoteProtocolError: There is something else than an answer.
        """
        if answer.status >= 500:
            return None
        if answer.status != 200 or answer.media_type != EVENT_STREAM:
            raise TransportError(
                f"{answer.address}: the stream ended without the answer, and the server does not resume it "
                f"(HTTP {answer.status})"
            )
        return self._read_events(answer)

    def _read_refusal(self, answer: Answer) -> Message:
        body = b""
        try:
            body = answer.read(self._max_size)
            found: dict[str, Any] = self._inquiry.take_own(body)
        except RemoteProtocolError:
            raise answer.error(body=body) from None
        error = found.get("error")
        if error is None or (answer.status >= 500 and not self._is_certain(found, error["code"])):
            raise answer.error(body=body)
        return found

    def _is_certain(self, found: Message, code: int) -> bool:
        """Say whether an error that comes with a 5xx is the server's word on this request, not that of its fall."""
        return code in _MODERN_CODES or (self._method not in _PROBES and found.get("id") == self._id)

    def _read_events(self, answer: Answer) -> Message | None:
        events = iterate_events(answer, self._max_size, self.position)
        while True:
            try:
                event = next(events, None)
            except TransportError:
                if answer.stopped or not self._can_resume():
                    raise
                return None
            if event is None:
                break
            if event.event == "message":
                found = self._inquiry.take_event(event.data)
                if found is not None:
                    return found
        if self._can_resume():
            return None
        raise TransportError(f"{answer.address}: the stream ended without the answer to the request")

    def _can_resume(self) -> bool:
        return self._resumable and self.position.event_id is not None
