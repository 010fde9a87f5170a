"""HTTP as it is on the wire: send exactly these bytes, and say exactly what came back.

HTTP libraries tidy up what the doctor has to send (repeated headers, lengths, chunks) and hide what it has to see. Each
request has a connection of its own, one deadline for everything, and a bound on what is read.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ...protocol.sse import EventDecoder

__all__ = ["Answer", "Headers", "NoAnswer", "Sent", "Wire", "chunked"]

Headers = Sequence[tuple[str, str]]

_MAX_HEAD = 64 * 1024
_MAX_BODY = 4 * 1024 * 1024
_STATUS = re.compile("[1-9][0-9][0-9]")
_LENGTH = re.compile("[0-9]{1,18}")


class NoAnswer(Exception):  # noqa: N818 - a finding rather than an error
    """Say why a request got no HTTP answer.

    Args:
        reason: What happened, as the end of the sentence "The server ...".
        connected: Whether there was a connection.
    """

    def __init__(self, reason: str, *, connected: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.connected = connected


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One request: its body's framing headers are among its headers. ``what`` says in words what it is."""

    what: str
    method: str
    path: str
    headers: Headers = ()
    body: bytes = b""
    #: Whether to read no further than the headers, as of a stream that never ends.
    head_only: bool = False


def chunked(body: bytes, size: int = 32) -> bytes:
    """Write a body in chunked transfer coding, several chunks of it."""
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer as it came; the names of headers are in lower case."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    seconds: float = 0.0
    #: Whether the body was read.
    has_body: bool = True
    #: The JSON-RPC messages of the body, or of the events of a stream, as far as they were read.
    messages: Sequence[Any] = field(default=())

    def header(self, name: str) -> str | None:
        """Give a header's value, several lines of it joined; ``None`` where it is absent."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str:
        """The type of the body without parameters, empty where none is named."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def is_redirect(self) -> bool:
        """Whether the answer points elsewhere."""
        return 300 <= self.status < 400

    @cached_property
    def message(self) -> dict[str, Any]:
        """The response or error that came, or an empty mapping."""
        for message in self.messages:
            if isinstance(message, dict) and ("result" in message or "error" in message):
                return message
        return {}

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, where it is one."""
        result = self.message.get("result")
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> dict[str, Any]:
        """The JSON-RPC error, empty where there is none."""
        error = self.message.get("error")
        return error if isinstance(error, dict) else {}

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, ``None`` where there is none."""
        code = self.error.get("code")
        return code if isinstance(code, int) else None

    @property
    def supported(self) -> list[Any] | None:
        """The versions that the error names, ``None`` where it names none."""
        data = self.error.get("data")
        supported = data.get("supported") if isinstance(data, dict) else None
        return supported if isinstance(supported, list) else None

    @property
    def error_text(self) -> str:
        """The message of the JSON-RPC error, or an empty text."""
        text = self.error.get("message")
        return text if isinstance(text, str) else ""


class Wire:
    """Send requests to one server.

    Args:
        url: Its URL.
        timeout: How long an answer may take, in seconds.
        headers: What to send with each request.

    Raises:
        ValueError: The URL is not one of HTTP.
    """

    def __init__(self, url: str, *, timeout: float = 10.0, headers: Headers = ()) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("it does not begin with http:// or https:// and a host")
        if parts.username is not None:
            raise ValueError("it holds a password; use --header or --bearer-env")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        try:
            port = parts.port
        except ValueError:
            raise ValueError("its port is no number up to 65535") from None
        self.port = port or (443 if self.secure else 80)
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = name if port is None else f"{name}:{port}"
        self.timeout = timeout
        self.headers = list(headers)

    def send(self, sent: Sent) -> Answer:
        """Send a request and give its answer.

        Raises:
            NoAnswer: None came: the reason says why.
        """
        start = time.monotonic()
        deadline = start + self.timeout
        with self._connect() as connection:
            reader = _Reader(connection, deadline)
            try:
                connection.sendall(self._bytes(sent))
            except TimeoutError:
                raise NoAnswer("does not read what is sent to it") from None
            except OSError:
                pass  # It may have answered before it has read everything.
            status, headers = reader.head()
            body: bytes = b""
            messages: list[Any] = []
            has_body = not (sent.method == "HEAD" or sent.head_only or status in (204, 304))
            if has_body:
                body, messages = _read_body(reader, headers)
        seconds = time.monotonic() - start
        return Answer(
            status=status, headers=headers, body=body, has_body=has_body, messages=tuple(messages), seconds=seconds
        )

    def _connect(self) -> socket.socket:
        try:
            plain = socket.create_connection((self.host, self.port), timeout=self.timeout)
        except TimeoutError:
            raise NoAnswer("does not accept connections", connected=False) from None
        except socket.gaierror:
            raise NoAnswer(f"has a name that is not known: {self.host}", connected=False) from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NoAnswer(f"cannot be reached: {reason}", connected=False) from None
        if not self.secure:
            return plain
        try:
            return ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise NoAnswer(f"has a certificate that is refused: {error.verify_message}", connected=False) from None
        except OSError as error:
            plain.close()
            raise NoAnswer(f"does not speak TLS: {error.strerror or error}", connected=False) from None

    def _bytes(self, sent: Sent) -> bytes:
        names = {name.lower() for name, _ in sent.headers}
        pairs = [(name, value) for name, value in self.headers if name.lower() not in names]
        host = [] if "host" in names else [("Host", self.authority)]
        lines = [f"{name}: {value}" for name, value in (*host, *pairs, *sent.headers, ("Connection", "close"))]
        return "\r\n".join([f"{sent.method} {sent.path} HTTP/1.1", *lines, "", ""]).encode("utf-8") + sent.body


class _Reader:
    """Read from a connection up to a deadline."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._buffer = b""

    def more(self) -> bool:
        """Read once; ``False`` at the end."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise NoAnswer("did not answer in time")
        self._connection.settimeout(left)
        try:
            data = self._connection.recv(65536)
        except TimeoutError:
            raise NoAnswer("did not answer in time") from None
        except OSError:
            data = b""
        self._buffer += data
        return bool(data)

    def until(self, mark: bytes) -> bytes:
        """Read up to a mark, which is left out."""
        while mark not in self._buffer:
            if len(self._buffer) > _MAX_HEAD or not self.more():
                raise NoAnswer("closed the connection without an answer" if not self._buffer else "sent no HTTP")
        piece, _, self._buffer = self._buffer.partition(mark)
        return piece

    def rest(self, size: int | None = None) -> Iterator[bytes]:
        """Give what comes, up to a number of bytes or to the end."""
        while size is None or size > 0:
            if not self._buffer and not self.more():
                return
            piece, self._buffer = self._buffer[:size], self._buffer[size:] if size is not None else b""
            size = None if size is None else size - len(piece)
            yield piece

    def chunks(self) -> Iterator[bytes]:
        """Give the content of chunks, up to the last."""
        while True:
            try:
                size = int(self.until(b"\r\n").split(b";")[0], 16)
            except ValueError:
                raise NoAnswer("sent broken chunks") from None
            if size <= 0:
                return
            yield from self.rest(size)
            self.until(b"\r\n")

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        """Read the status and the headers, passing over answers before the answer."""
        while True:
            first, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            version, _, rest = first.partition(" ")
            if not version.startswith("HTTP/") or not _STATUS.match(rest):
                raise NoAnswer("sent no HTTP")
            if int(rest[:3]) >= 200:
                pairs = (line.partition(":") for line in lines)
                return int(rest[:3]), [(name.strip().lower(), value.strip()) for name, _, value in pairs]


def _read_body(reader: _Reader, headers: Headers) -> tuple[bytes, list[Any]]:
    """Read a body, of a stream no more than its answer needs."""
    named = dict(headers)
    if "chunked" in named.get("transfer-encoding", "").lower():
        pieces = reader.chunks()
    else:
        length = named.get("content-length", "")
        pieces = reader.rest(int(length) if _LENGTH.fullmatch(length) else None)
    if named.get("content-type", "").lower().startswith("text/event-stream"):
        return _read_events(pieces)
    body = b"".join(_bounded(pieces))
    message = _parse(body)
    return body, [] if message is None else [message]


def _bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    left = _MAX_BODY
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            return
        yield piece


def _read_events(pieces: Iterable[bytes]) -> tuple[bytes, list[Any]]:
    decoder = EventDecoder(_MAX_BODY)  # no event can be larger: all of them together are not
    body, messages = bytearray(), []
    try:
        for piece in _bounded(pieces):
            body += piece
            for event in decoder.feed(piece):
                message = _parse(event.data.encode("utf-8", "replace"))
                messages.append(message)
                if isinstance(message, dict) and ("result" in message or "error" in message):
                    return bytes(body), messages
    except NoAnswer:
        if not messages:
            raise
    return bytes(body), messages


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
