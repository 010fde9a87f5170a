"""HTTP as values: what a door hands to the endpoint, and what it gets back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias

__all__ = ["BodyError", "BodyReader", "HTTPRequest", "HTTPResponse", "HeaderPairs"]

HeaderPairs: TypeAlias = "list[tuple[str, str]]"

#: Reads at most the given number of bytes, and less only at the end of the body; an async door's gives an awaitable.
BodyReader: TypeAlias = "Callable[[int], bytes | Awaitable[bytes]]"


class BodyError(Exception):
    """Say that a body cannot be read as announced.

    Args:
        status: The HTTP status: 400 for a false length, 411 for a missing one.
        reason: What was wrong and what to do.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


class HTTPRequest:
    """Hold one HTTP request.

    Attributes:
        method: The HTTP method, in upper case.
        headers: Name and value pairs as they came; names in lower case. A door that sees lines keeps repeated ones.
        folded: The same as a mapping, from a door that sees each name once; it need give no pairs then.
        read_body: Reads the body, never more than it is asked for.
        content_length: The announced length in bytes, ``None`` where there is none.
        raw: What the door itself was called with (a WSGI environ, a framework's request), for handlers.
        is_async: Whether ``read_body`` gives something to await.
        disconnected: Gives what ends when the client goes away, for a door that can tell; else ``None``.
        exclusive: Whether the request occupies the only thread of its worker, as under gunicorn's sync workers.
        router: Whether a router of the server's, as uWSGI's, drops an answer that is given before the body is read.
        discard: Reads what nobody wants any more, where ``read_body`` does more than to read.
    """

    # Plain attributes with defaults on the class: most requests set few of them.
    content_length: int | None = None
    disconnected: Callable[[], Awaitable[None]] | None = None
    exclusive: bool = False
    is_async: bool = False
    router: bool = False
    discard: BodyReader | None = None
    #: What waits for ``disconnected``, if anything does; the door ends it with the request.
    watcher: Any = None

    def __init__(
        self,
        method: str,
        headers: Collection[tuple[str, str]] | None,
        read_body: BodyReader,
        *,
        folded: Mapping[str, str] | None = None,
        content_length: int | None = None,
        raw: Any = None,
        is_async: bool = False,
        exclusive: bool = False,
        disconnected: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.method = method
        self._pairs = headers
        self.folded = folded
        self.read_body = read_body
        self.raw = raw
        if content_length is not None:
            self.content_length = content_length
        if is_async:
            self.is_async = True
        if exclusive:
            self.exclusive = True
        if disconnected is not None:
            self.disconnected = disconnected

    @property
    def headers(self) -> Collection[tuple[str, str]]:
        """Name and value pairs as they came."""
        if self._pairs is None:
            self._pairs = list((self.folded or {}).items())
        return self._pairs

    def header(self, name: str) -> str | None:
        """Return the value of a header, in any case; ``None`` where it is absent or came in several lines."""
        values = self.get_all(name)
        return values[0] if len(values) == 1 else None

    def get_all(self, name: str) -> list[str]:
        """Give the values of a header, one for each line that came."""
        wanted = name.lower()
        return [value for key, value in self.headers if key == wanted]


class HTTPResponse:
    """Hold one HTTP response: status, header pairs, and the whole body or a stream of it.

    A stream is what the door's own :class:`~mcp_wsgi.http.streams.Streams` made: an iterator of bytes with ``close()``,
    or an asynchronous one with ``aclose()``. The door closes it, however the request ends.
    """

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(self, status: int, headers: HeaderPairs, body: bytes = b"", stream: Any = None) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream
