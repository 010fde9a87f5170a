"""Server-sent events, written and read (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .framing import DEFAULT_MAX_SIZE, ChunkDecoder, FramingError, check_cap

__all__ = ["Event", "EventDecoder", "FramingError", "encode_comment", "encode_event"]

# Lines end with CR, LF or CRLF and with nothing else: not with U+2028, U+0085 or a form feed.
_LINE_END = re.compile(rb"\r\n|\r|\n")
_UNSAFE = re.compile("[\r\n\0]")
_BOM = b"\xef\xbb\xbf"
_LF = 0x0A
_FIELD_ROOM = 64
_MAX_RETRY_DIGITS = 15


def encode_event(
    data: bytes, *, event: str | None = None, event_id: str | None = None, retry_ms: int | None = None
) -> bytes:
    """Write one event.

    Args:
        data: What the event carries: one line of ASCII JSON. Line breaks in it become several ``data`` lines,
            which the reader joins with LF.
        event: The event's name, ``message`` for the reader when left out.
        event_id: What a client sends back as ``Last-Event-ID``.
        retry_ms: How long a client should wait before it reconnects, in milliseconds.

    Returns:
        The event with the blank line that ends it.

    Raises:
        ValueError: The data is empty (readers drop such an event, and some stop at it), a name or id holds
            CR, LF, NUL or a lone surrogate, or the wait is negative.
    """
    if not data:
        raise ValueError("An event needs data; use encode_comment() to keep a stream alive")
    fields = bytearray()
    if event is not None:
        fields += _encode_field("event", event)
    if event_id is not None:
        fields += _encode_field("id", event_id)
    if retry_ms is not None:
        if retry_ms < 0:
            raise ValueError(f"retry_ms must not be negative: {retry_ms}")
        fields += b"retry: %d\n" % retry_ms
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_LINE_END.split(data))
    return b"%bdata: %b\n\n" % (bytes(fields), data)


def _encode_field(name: str, value: str) -> bytes:
    if _UNSAFE.search(value):
        raise ValueError(f"The {name} of an event must not hold CR, LF or NUL: {value[:80]!r}")
    return f"{name}: {value}\n".encode()


def encode_comment(text: str = "") -> bytes:
    """Write a comment, which readers skip: it keeps an idle stream open.

    Args:
        text: The comment; line breaks in it make several comment lines.

    Returns:
        The comment and a blank line.

    Raises:
        ValueError: The text holds a lone surrogate.
    """
    if not text:
        return b":\n\n"
    return b": " + b"\n: ".join(_LINE_END.split(text.encode())) + b"\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a stream.

    Args:
        event: Its name.
        data: Its data, never empty.
        event_id: The last id the stream has named so far, ``None`` when there is none.
        retry_ms: The wait before reconnecting that this event asks for, ``None`` when it asks for none.
    """

    event: str = "message"
    data: str
    event_id: str | None = None
    retry_ms: int | None = None


class EventDecoder(ChunkDecoder[Event]):
    """Read a stream of server-sent events (WHATWG HTML, section 9.2.6).

    Comments, unknown fields and events without data are skipped; an event whose blank line never came is
    dropped. ``last_event_id`` and ``retry_ms`` hold what a client needs to reconnect, also when it came
    without data.

    Args:
        max_event_size: The most bytes of data one event may carry.
        max_line_size: The most bytes one line may hold, its end not counted; a little over ``max_event_size``
            unless set.

    Raises:
        ValueError: A cap is not positive.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_event",
        "_first",
        "_id",
        "_line",
        "_max_event",
        "_max_line",
        "_retry",
        "last_event_id",
        "retry_ms",
    )

    def __init__(self, max_event_size: int = DEFAULT_MAX_SIZE, max_line_size: int | None = None) -> None:
        super().__init__()
        self._max_event = check_cap("max_event_size", max_event_size)
        if max_line_size is None:
            max_line_size = max_event_size + _FIELD_ROOM
        self._max_line = check_cap("max_line_size", max_line_size)
        self.last_event_id: str | None = None
        self.retry_ms: int | None = None
        self._first = True
        self._after_cr = False
        self._line = bytearray()
        self._id: str | None = None
        self._reset()

    def _reset(self) -> None:
        self._data = bytearray()
        self._event = ""
        self._retry: int | None = None

    def close(self) -> None:
        """End the stream; what is not ended by a blank line is dropped.

        Raises:
            FramingError: The decoder failed, or was closed already.
        """
        self._end()
        self._line = bytearray()
        self._reset()

    def _decode(self, chunk: bytes, items: list[Event]) -> None:
        start = 0
        if self._after_cr and chunk:
            self._after_cr = False
            start = 1 if chunk[0] == _LF else 0
        for match in _LINE_END.finditer(chunk, start):
            line = chunk[start : match.start()]
            start = match.end()
            self._check_line(len(line))
            if self._line:
                line = bytes(self._line) + line
                self._line.clear()
            # The line is over at its CR, so an event never waits for a byte that may not come.
            self._after_cr = start == len(chunk) and match[0] == b"\r"
            self._take_line(line, items)
        self._check_line(len(chunk) - start)
        self._line += chunk[start:]

    def _check_line(self, more: int) -> None:
        if len(self._line) + more > self._max_line:
            self._line = bytearray()
            raise FramingError(
                f"A line of events is longer than {self._max_line} bytes; raise max_line_size to read it"
            )

    def _take_line(self, line: bytes, items: list[Event]) -> None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(items)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._take_data(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            # "If the field value does not contain U+0000 NULL [...] Otherwise, ignore the field."
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace") or None
        elif name == b"retry":
            self._take_retry(value)

    def _take_data(self, value: bytes) -> None:
        if len(self._data) + len(value) > self._max_event:
            self._data = bytearray()
            raise FramingError(
                f"An event carries more than {self._max_event} bytes of data; raise max_event_size to read it"
            )
        self._data += value
        self._data += b"\n"

    def _take_retry(self, value: bytes) -> None:
        # bytes.isdigit() knows ASCII digits only. A wait of more digits is centuries long: no wait at all.
        if value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self._retry = self.retry_ms = int(value)

    def _dispatch(self, items: list[Event]) -> None:
        self.last_event_id = self._id
        # One empty `data` line leaves only its LF. A browser would see an event without data there, but
        # servers send those to open a stream or to name an id, and no message is empty.
        if len(self._data) > 1:
            items.append(
                Event(
                    event=self._event or "message",
                    data=self._data[:-1].decode("utf-8", "replace"),
                    event_id=self._id,
                    retry_ms=self._retry,
                )
            )
        self._reset()
