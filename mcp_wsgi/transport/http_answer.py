"""One HTTP answer as it arrives: its body decoded and bounded, its connection kept where that is worth it."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterable, Iterator

import requests
from requests.exceptions import RequestException
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from ..exceptions import ClientError, HTTPStatusError, RemoteProtocolError
from .http_connections import read_some
from .http_faults import explain
from .http_messages import Inflater, media_type
from .watch import Watch

__all__ = ["FAULTS", "Answer"]

#: What is read of a body that nobody wants, so that its connection can be used again, in bytes.
_REST = 65536
#: How long the end of such a body is waited for, in seconds.
_REST_SECONDS = 0.02
#: How long, and how many characters of what a server says of its refusal are kept.
_REFUSAL_SECONDS, _EXCERPT = 1.0, 200
#: The headers of a request that hold no secret, and how short a word is none.
_PUBLIC = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "last-event-id"),
        *("mcp-method", "mcp-name", "mcp-protocol-version", "user-agent"),
    }
)
_SHORTEST_SECRET = 6
#: What can go wrong in a library. A TimeoutError of a socket is an OSError, and so is what TLS raises.
FAULTS = (RequestException, HTTPError, OSError, http.client.HTTPException, ValueError)


class Answer:
    """One HTTP answer, its body still to be read.

    Attributes:
        address: What to call the server.
        status: The HTTP status.
        headers: Its headers.
        media_type: What the body is, in lower case; empty where it is not said.
    """

    __slots__ = ("_raw", "_response", "_source", "_watch", "address", "headers", "media_type", "status")

    def __init__(self, response: requests.Response, watch: Watch, address: str) -> None:
        self._response = response
        self._watch = watch
        self.address = address
        self._raw = response.raw
        source = getattr(self._raw, "_original_response", None)
        self._source: http.client.HTTPResponse | None = source if isinstance(source, http.client.HTTPResponse) else None
        self.status: int = response.status_code
        self.headers: CaseInsensitiveDict[str] = response.headers
        self.media_type = media_type(self.headers.get("Content-Type"))

    @property
    def stopped(self) -> bool:
        """Whether the exchange was given up, or no time is left."""
        return self._watch.stopped is not None

    def pieces(self) -> Iterator[bytes]:
        """Give the body as it arrives, decoded, in pieces of at most 64 KiB.

        Raises:
            ClientError: The exchange was given up, no time is left, or the connection failed.
        """
        settled = self._response._content
        if isinstance(settled, bytes):
            yield from filter(None, [settled])
            return
        encoding = self.headers.get("Content-Encoding", "identity")
        inflater = None if encoding.strip().lower() in ("identity", "") else Inflater(encoding)
        while data := self._read():
            if inflater is None:
                yield data
            else:
                # Few bytes may become many, so it is not only between reads that time passes.
                for piece in inflater.feed(data):
                    self._watch.check()
                    yield piece

    def _read(self) -> bytes:
        try:
            if self._source is not None:
                return read_some(self._source)
            data: bytes = self._raw.read(_REST, decode_content=False)
        except FAULTS as error:
            raise explain(error, self._watch, self.address) from None
        else:
            return data

    def read(self, limit: int) -> bytes:
        """Give the whole body.

        Args:
            limit: The most bytes that are taken, counted as they are after decoding.

        Raises:
            RemoteProtocolError: There are more.
            ClientError: See :meth:`pieces`.
        """
        too_long = RemoteProtocolError(f"The answer has more than {limit} bytes; raise max_message_size to read it")
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and int(length[:20]) > limit:
            raise too_long
        body = bytearray()
        for piece in self.pieces():
            body += piece
            if len(body) > limit:
                raise too_long
        return bytes(body)

    def settle(self) -> None:
        """Read the body for whoever looks at it through requests; of a long one only the beginning.

        Raises:
            ClientError: The exchange was given up, no time is left, or the connection failed.
        """
        body = bytearray()
        try:
            for piece in self.pieces():
                body += piece
                if len(body) > _REST:
                    self._raw.close()  # or what is left would be taken for the next answer
                    break
        except RemoteProtocolError:
            self._raw.close()
        self._response._content = bytes(body[:_REST])
        self._response._content_consumed = True  # type: ignore[attr-defined]

    def error(self, kind: type[HTTPStatusError] | None = None, body: bytes | None = None) -> HTTPStatusError:
        """Make the error that says of this answer that it is none.

        Args:
            kind: Which, when not the general one.
            body: The body, where it was read already.
        """
        found = body or b""
        if body is None:
            # What a server says of its refusal is no reason to wait for it.
            with self._watch.limited(_REFUSAL_SECONDS), contextlib.suppress(ClientError):
                for piece in self.pieces():
                    found += piece
                    if len(found) > 4 * _EXCERPT:
                        break
        headers = {name.lower(): value for name, value in self.headers.items()}
        return (kind or HTTPStatusError)(self.status, self.media_type, _printable(found, self._secrets()), headers)

    def _secrets(self) -> list[str]:
        """Give what a server may repeat of the request, in a refusal of a token, say, and no log should show."""
        request = self._response.request
        texts = [_text(value) for name, value in request.headers.items() if name.lower() not in _PUBLIC]
        words = [word for text in texts for word in (text, text.rpartition(" ")[2])]
        query = str(request.url or "").partition("?")[2]
        return sorted({word for word in (*words, query) if len(word) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def finish(self) -> None:
        """Let the connection go: to be used again where the body is at its end or nearly there, else closed."""
        if self._source is not None:
            if not self._source.isclosed():
                self._drain(self._source)
            if self._source.isclosed():
                self._raw.release_conn()
                return
        with contextlib.suppress(*FAULTS):
            self._response.close()

    def _drain(self, source: http.client.HTTPResponse) -> None:
        # The end of a stream often comes right behind the answer. A connection is worth a few milliseconds.
        length = source.length
        if self.stopped or (length is not None and length > _REST):
            return
        left = _REST
        with self._watch.limited(_REST_SECONDS), contextlib.suppress(ClientError, *FAULTS):
            while left > 0 and (data := read_some(source)):
                left -= len(data)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)  # some authentication sets bytes


def _printable(data: bytes, secrets: Iterable[str] = ()) -> str:
    """Give the beginning of a text in printable characters, on one line, without some words."""
    text = " ".join(data[: 4 * _EXCERPT].decode("utf-8", "replace").split())
    for word in secrets:
        text = text.replace(word, "...")
    shortened = text if len(text) <= _EXCERPT else text[:_EXCERPT] + "..."
    return "".join(char if char.isprintable() else "?" for char in shortened)
