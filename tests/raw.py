"""A raw-socket HTTP/1.1 client: it sends exactly the bytes it is given and hides nothing of the answer.

HTTP libraries tidy up what a test wants to send (repeated headers, false lengths, broken chunks) and what
it wants to see (header order and repetition, chunk borders, an early close), so tests of the wire use this.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Connection", "Incomplete", "Response", "TooSlow", "chunked", "exchange", "json_post", "request"]

CRLF = b"\r\n"


class Incomplete(Exception):
    """The peer closed the connection before the message it had begun was complete."""


class TooSlow(Exception):
    """The peer sent nothing (more) before the deadline."""


class Address(Protocol):
    """Anything with a host and a port, such as a running server of tests.servers."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Response:
    """One answer as it came: header names are in lower case, everything else is untouched."""

    version: str
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes = b""

    def all(self, name: str) -> list[str]:
        """Return every value of a header, in order."""
        return [value for key, value in self.headers if key == name.lower()]

    def header(self, name: str) -> str | None:
        """Return a header's only value, None if it is absent; fail if it is repeated."""
        values = self.all(name)
        assert len(values) < 2, f"{name} is repeated: {values}"
        return values[0] if values else None

    def json(self) -> Any:
        """Return the body read as JSON."""
        return json.loads(self.body)


def request(
    method: str, path: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", *, host: str = "test"
) -> bytes:
    """Return a request's bytes. Only Host is added, unless given; framing headers are the caller's."""
    pairs = list(headers)
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, ("Host", host))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def json_post(path: str, message: Any, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a well-formed POST of a JSON body, with its length and the usual MCP media types."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    usual = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", str(len(body))),
    ]
    return request("POST", path, [*usual, *headers], body)


def chunked(pieces: Iterable[bytes], *, last: bool = True, trailers: Sequence[bytes] = ()) -> bytes:
    """Return the pieces in chunked transfer coding; without `last` the body is never finished."""
    out = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    if last:
        out += b"0\r\n" + b"".join(line + CRLF for line in trailers) + CRLF
    return out


class Connection:
    """A connection to a server; every receiving method ends within `timeout` seconds of its start."""

    def __init__(self, server: Address, *, timeout: float = 30.0) -> None:
        self.timeout = timeout
        self._socket = socket.create_connection((server.host, server.port), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._deadline = 0.0
        self._ended = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def reset(self) -> None:
        """Drop the connection abruptly: the peer sees a reset rather than an orderly end."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._socket.close()

    def finish(self) -> None:
        """Say that nothing more will be sent, and keep receiving."""
        self._socket.shutdown(socket.SHUT_WR)

    def send(self, data: bytes) -> None:
        """Send bytes; a peer that has already stopped reading is not an error, its answer is read next."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self._ended = True

    def receive(self, *, head: bool = False) -> Response:
        """Receive one whole answer; `head` says that it answers HEAD and so has no body."""
        start = self.receive_head()
        body = b"" if head else b"".join(self.pieces(start))
        return Response(
            version=start.version, status=start.status, reason=start.reason, headers=start.headers, body=body
        )

    def receive_head(self) -> Response:
        """Receive an answer up to the empty line, passing over 1xx answers; its body is still to be read."""
        self._deadline = time.monotonic() + self.timeout
        while True:
            start = _parse_head(self._until(CRLF + CRLF))
            if start.status >= 200:
                return start

    def pieces(self, start: Response) -> Iterator[bytes]:
        """Yield the body that follows `start` as it arrives: one piece per chunk if it is chunked."""
        self._deadline = time.monotonic() + self.timeout
        if start.status in (204, 304):
            return
        if (start.header("transfer-encoding") or "").lower() == "chunked":
            yield from self._chunks()
        elif start.header("content-length") is not None:
            yield self._exactly(int(start.header("content-length") or 0))
        else:
            yield from self._rest()

    def is_closed(self) -> bool:
        """Wait until the peer closes, and say whether it did; bytes before the end count as not closed."""
        self._deadline = time.monotonic() + self.timeout
        try:
            return not self._buffer and not self._more()
        except TooSlow:
            return False

    def _chunks(self) -> Iterator[bytes]:
        while True:
            size = int(self._until(CRLF).split(b";")[0], 16)
            if size == 0:
                while self._until(CRLF) != CRLF:
                    pass
                return
            data = self._exactly(size)
            assert self._exactly(2) == CRLF, "a chunk was not ended by CRLF"
            yield data

    def _rest(self) -> Iterator[bytes]:
        while self._buffer or self._more():
            piece, self._buffer = self._buffer, b""
            yield piece

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            if not self._more():
                raise Incomplete(f"the peer closed after {self._buffer!r}")
        piece, _, self._buffer = self._buffer.partition(mark)
        return piece + mark

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._more():
                raise Incomplete(f"the peer closed {count - len(self._buffer)} bytes early")
        piece, self._buffer = self._buffer[:count], self._buffer[count:]
        return piece

    def _more(self) -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TooSlow(f"not complete after {self.timeout:g} s: {self._buffer!r}")
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            raise TooSlow(f"nothing more within {self.timeout:g} s: {self._buffer!r}") from None
        except ConnectionResetError:
            data = b""
        self._buffer += data
        return bool(data)


def _parse_head(data: bytes) -> Response:
    first, *lines = data.decode("latin-1").rstrip("\r\n").split("\r\n")
    version, status, *reason = first.split(" ", 2)
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Response(version=version, status=int(status), reason="".join(reason), headers=headers)


def exchange(server: Address, data: bytes, *, timeout: float = 30.0, head: bool = False) -> Response:
    """Send bytes on a new connection and return the whole answer."""
    with Connection(server, timeout=timeout) as connection:
        connection.send(data)
        return connection.receive(head=head)
