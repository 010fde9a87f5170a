"""Event streams of the legacy era: where one was left, and the stream that stays open for what belongs to no request.

2025-11-25, basic/transports, Resumability and Redelivery, Listening for Messages from the Server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from ..exceptions import ClientError, InvalidParamsError, InvalidRequestError, ParseError, RemoteProtocolError
from ..protocol.jsonrpc import Response, parse_message
from ..protocol.sse import Event, EventDecoder, FramingError
from ..server.reasons import shown
from .base import Deadline, Message
from .http_answer import Answer
from .http_messages import LOGGER, Faults, read_messages
from .watch import Watch

__all__ = ["ATTEMPTS", "EVENT_STREAM", "Inbox", "Position", "iterate_events"]

EVENT_STREAM = "text/event-stream"
#: How often a stream is asked for again without anything new.
ATTEMPTS = 5
#: A stream that was open for so long was no failure, though it brought nothing, in seconds.
_LASTED = 5.0
_DEFAULT_WAIT, _LEAST_WAIT, _MOST_WAIT = 1.0, 0.05, 30.0
_MAX_ID_LENGTH = 1_000


class Position:
    """Where a stream was left, and how long to wait before it is asked for again."""

    __slots__ = ("event_id", "wait")

    def __init__(self) -> None:
        self.event_id: str | None = None
        self.wait = _DEFAULT_WAIT

    def note(self, decoder: EventDecoder) -> None:
        """Take over what a stream has said so far."""
        found = decoder.last_event_id
        # It becomes a header. One that cannot be sent back is none.
        if found is not None and len(found) <= _MAX_ID_LENGTH and found.isascii() and found.isprintable():
            self.event_id = found
        if decoder.retry_ms is not None:
            self.wait = min(max(decoder.retry_ms / 1000, _LEAST_WAIT), _MOST_WAIT)

    def headers(self) -> list[tuple[str, str]]:
        """Give the headers that ask for what came after it."""
        return [("Accept", EVENT_STREAM), *([("Last-Event-ID", self.event_id)] if self.event_id is not None else [])]


def iterate_events(answer: Answer, max_size: int, position: Position) -> Iterator[Event]:
    """Give the events of a stream as they come; those of another name than ``message`` too.

    Raises:
        RemoteProtocolError: An event is larger than allowed, or its encoding cannot be read.
        ClientError: The exchange was given up, no time is left, or the connection failed.
    """
    decoder = EventDecoder(max_size)
    try:
        for piece in answer.pieces():
            events = decoder.feed(piece)
            position.note(decoder)
            yield from events
        decoder.close()
    except FramingError:
        raise RemoteProtocolError(
            f"An event of the server has more than {max_size} bytes; raise max_message_size to read it"
        ) from None


class Inbox:
    """Read the stream that a server sends outside of requests, in a thread of its own, for as long as it lasts.

    Args:
        ask: Sends the GET that asks for what came after a position.
        deliver: Called with each message.
        max_size: The most bytes of one event.
        connect_timeout: Seconds for making a connection.
    """

    def __init__(
        self,
        ask: Callable[[Position, Watch], Answer],
        deliver: Callable[[Message], None],
        max_size: int,
        connect_timeout: float,
    ) -> None:
        self._ask = ask
        self._deliver = deliver
        self._max_size = max_size
        self._position = Position()
        self._faults = Faults()
        self._watch = Watch(Deadline(None), connect_timeout)
        self._opened = threading.Event()
        self._heard = False
        self._thread = threading.Thread(target=self._run, name="mcp_wsgi inbox", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether the stream was there and does not come back."""
        return self._heard and not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until the server has answered the first GET, or so long."""
        self._opened.wait(seconds)

    def stop(self, seconds: float = 1.0) -> None:
        """End it, and wait so long for its thread, unless this is it."""
        self._watch.close()
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        failures = 0
        while failures < ATTEMPTS:
            start, seen = time.monotonic(), self._position.event_id
            try:
                if not self._read():
                    return
            except Exception as error:  # noqa: BLE001 - also what a caller's authentication raises
                if self._watch.stopped is not None:
                    return
                LOGGER.info("The server's event stream failed: %s", shown(str(error), 200))
            moved = self._position.event_id != seen or time.monotonic() - start >= _LASTED
            failures = 0 if moved else failures + 1
            try:
                self._watch.sleep(min(self._position.wait * 2**failures, _MOST_WAIT))
            except ClientError:
                return
        LOGGER.warning("The server's event stream could not be read and is given up; notifications do not arrive")

    def _read(self) -> bool:
        """Read the stream to its end, and say whether to ask again."""
        try:
            answer = self._ask(self._position, self._watch)
        finally:
            self._opened.set()
        try:
            if answer.status >= 500:
                return True
            if answer.status != 200 or answer.media_type != EVENT_STREAM:
                # 405 is the usual word of a server that has no such stream; 401 is for the next request to settle.
                quiet = answer.status in (404, 405)
                say = LOGGER.debug if quiet else LOGGER.warning
                kind = shown(answer.media_type)
                say("The server has no event stream for notifications: HTTP %d, %s", answer.status, kind)
                return False
            self._heard = True
            for event in iterate_events(answer, self._max_size, self._position):
                if event.event == "message":
                    self._take(event.data)
        finally:
            answer.finish()
        return True

    def _take(self, data: str) -> None:
        try:
            for value in read_messages(data.encode("utf-8")):
                if isinstance(parse_message(value), Response):
                    self._faults.log("An answer on the server's event stream belongs to no request and is ignored")
                else:
                    self._deliver(value)
        except (ParseError, InvalidRequestError, InvalidParamsError) as error:
            self._faults.log("A message of the server is skipped: %s", shown(error.message, 200))
        except Exception:  # noqa: BLE001 - one that cannot be taken does not end the stream
            LOGGER.exception("A message of the server could not be taken")
