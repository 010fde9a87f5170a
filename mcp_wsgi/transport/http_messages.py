"""What a server sent, read as messages: which of them answers a request, and what becomes of the others. No I/O."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from ..exceptions import InvalidParamsError, InvalidRequestError, ParseError, RemoteProtocolError
from ..protocol.codec import decode
from ..protocol.jsonrpc import Response, parse_message
from ..server.reasons import shown
from .base import Message

__all__ = ["LOGGER", "Faults", "Inflater", "Inquiry", "media_type", "read_messages"]

#: Warnings of the client side go here.
LOGGER = logging.getLogger("mcp_wsgi.client")
_BLOCK = 65536
#: How many faults of one stream are logged.
_LOGGED = 10


def media_type(content_type: str | None) -> str:
    """Give the media type that a ``Content-Type`` header names, in lower case and without its parameters."""
    return (content_type or "").partition(";")[0].strip(" \t").lower()


def read_messages(data: bytes) -> list[Any]:
    """Read a body or event: one message, or the several of a batch, which 2025-03-26 still allowed.

    Raises:
        ParseError: It is not strict JSON.
    """
    value = decode(data)
    return value if isinstance(value, list) else [value]


class Faults:
    """Log what is wrong with what a server sends, but no more than a few of it: it may be all that it sends."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def log(self, text: str, *details: str) -> None:
        """Log a fault."""
        self._count += 1
        if self._count <= _LOGGED:
            LOGGER.warning(text, *details)


class Inquiry:
    """Hold a request that waits for its answer, and say which message that is.

    Args:
        request_id: Its id.
        tell: Called with what comes before the answer: notifications, and requests of the server.
    """

    __slots__ = ("_faults", "_id", "_tell")

    def __init__(self, request_id: str | int, tell: Callable[[Message], None]) -> None:
        self._id = request_id
        self._tell = tell
        self._faults = Faults()

    def take_own(self, data: bytes) -> Message:
        """Read the body of the request's own answer. An error in it is the request's whatever its id says.

        Old servers refuse with the id ``null`` or ``"server-error"``. A result must name the request.

        Raises:
            RemoteProtocolError: There is no answer in it.
        """
        try:
            for value in read_messages(data):
                answer = self._match(value, own=True)
                if answer is not None:
                    return answer
        except ParseError as error:
            raise RemoteProtocolError(f"The answer cannot be read: {error.message}") from None
        raise RemoteProtocolError("The server answered the request with something that is not its answer")

    def take_event(self, data: str) -> Message | None:
        """Read an event of the request's stream; give the answer when it is there.

        What is no message is logged and skipped: the answer may still come.

        Raises:
            RemoteProtocolError: The answer is there, and is none of this protocol.
        """
        try:
            values = read_messages(data.encode("utf-8"))
        except ParseError as error:
            self._faults.log("An event of the server is skipped: %s", error.message)
            return None
        answer = None
        for value in values:
            found = self._match(value, own=False)
            answer = found if answer is None else answer
        return answer

    def _match(self, value: Any, *, own: bool) -> Message | None:
        try:
            message = parse_message(value)
        except (InvalidRequestError, InvalidParamsError) as error:
            if own or (error.request_id == self._id and "method" not in value):
                raise RemoteProtocolError(f"The answer is no JSON-RPC message: {error.message}") from None
            self._faults.log("A message of the server is skipped: %s", error.message)
            return None
        if not isinstance(message, Response):
            if not own:
                self._tell(value)
            return None
        if message.id == self._id and type(message.id) is type(self._id):
            return value  # type: ignore[no-any-return]
        if type(self._id) is int and message.id == str(self._id):
            self._faults.log("The server answers the request %s with its id as a string", str(self._id))
            return {**value, "id": self._id}
        if message.error is not None and (own or message.id is None):
            return value  # type: ignore[no-any-return]
        self._faults.log("An answer to the unknown request %s is ignored", shown(str(message.id)))
        return None


class Inflater:
    """Take ``Content-Encoding`` off a body as it comes, a bounded piece at a time.

    Args:
        encoding: The header's value.

    Raises:
        RemoteProtocolError: It is none that was asked for.
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip(" \t").lower()
        if name not in ("gzip", "x-gzip", "deflate"):
            raise RemoteProtocolError(f"The answer is encoded as {shown(name)}, which was not asked for")
        self._bits = zlib.MAX_WBITS if name == "deflate" else 16 + zlib.MAX_WBITS
        self._raw_deflate = name == "deflate"
        self._decoder = zlib.decompressobj(self._bits)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what the next bytes become, in pieces of at most 64 KiB.

        Raises:
            RemoteProtocolError: They are not encoded as was said.
        """
        while data:
            if self._decoder.eof:
                self._decoder = zlib.decompressobj(self._bits)  # gzip files may follow each other
            piece = None
            # Where the piece is full, more may be waiting although all bytes were taken.
            while piece is None or len(piece) == _BLOCK or self._decoder.unconsumed_tail:
                try:
                    piece = self._decompress(data)
                except zlib.error:
                    raise RemoteProtocolError("The answer is not encoded as its Content-Encoding says") from None
                data = self._decoder.unconsumed_tail
                if piece:
                    yield piece
            data = self._decoder.unused_data

    def _decompress(self, data: bytes) -> bytes:
        try:
            piece = self._decoder.decompress(data, _BLOCK)
        except zlib.error:
            # Some servers mean the bare format by "deflate", without the frame of zlib.
            if self._begun or not self._raw_deflate:
                raise
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            piece = self._decoder.decompress(data, _BLOCK)
        self._begun = True
        return piece
