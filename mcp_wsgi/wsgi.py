"""The WSGI door: an MCP server as a WSGI application, or in front of one (PEP 3333)."""

from __future__ import annotations

import copy
import functools
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from .exceptions import ConfigurationError
from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, BodyReader, HTTPRequest, HTTPResponse
from .http.paths import EndpointPaths
from .http.policy import HTTPPolicy
from .http.streams import ThreadStreams
from .server import Server

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["WSGIApp", "WSGIMiddleware", "make_request", "unbuffer"]

logger = logging.getLogger("mcp_wsgi")

_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_LONGEST = 18  # digits of a length that can be meant
_CHUNK = 64 * 1024

# nginx hands these two over twice, and their CGI names (without HTTP_) are the ones that count.
_TWICE = frozenset({"HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH"})
_KEYS = {"content-type": "CONTENT_TYPE"} | {
    name: "HTTP_" + name.upper().replace("-", "_")
    for name in ("accept", "content-encoding", "host", "mcp-method", "mcp-name", "mcp-protocol-version", "origin")
}


class _Headers(Mapping[str, str]):
    """Read the headers of an environ as they are asked for: a request is decided by few of those that it brings."""

    __slots__ = ("_environ",)

    def __init__(self, environ: WSGIEnvironment) -> None:
        self._environ = environ

    def get(self, name: str, default: Any = None) -> Any:
        """Give the value of a header, its name in lower case."""
        key = _KEYS.get(name)
        value = self._environ.get(key if key is not None else "HTTP_" + name.upper().replace("-", "_"))
        return default if value is None else value

    def __getitem__(self, name: str) -> str:
        value: str | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        for key in self._environ:
            if key[:5] == "HTTP_" and key not in _TWICE:
                yield key[5:].replace("_", "-").lower()
        if self._environ.get("CONTENT_TYPE"):
            yield "content-type"

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _read(stream: Any, size: int) -> bytes:
    try:
        data: bytes = stream.read(size)
        if len(data) == size or not data:
            return data
        chunks = [data]
        missing = size - len(data)
        while missing > 0:
            chunk = stream.read(min(missing, _CHUNK))
            if not chunk:
                break
            chunks.append(chunk)
            missing -= len(chunk)
    except Exception:  # noqa: BLE001 - each server raises something else for a broken body
        raise BodyError(400, "The body could not be read to its end") from None
    return b"".join(chunks)[:size]


def _read_waiting(read_body: Callable[[int], Any], size: int) -> bytes:
    """Read what nobody wants any more: one byte, and what has come with it.

    uWSGI has patience anew for each byte. Whoever sends one every few seconds would hold a worker for days.
    """
    data: bytes = read_body(1)
    more = min(_waiting(), size - 1)
    return data + read_body(more) if data and more > 0 else data


def _waiting() -> int:
    """Say how many bytes of the request have come to the worker."""
    try:
        import fcntl
        import termios

        import uwsgi

        return int.from_bytes(fcntl.ioctl(uwsgi.connection_fd(), termios.FIONREAD, bytes(4)), sys.byteorder)
    except (ImportError, AttributeError, OSError, ValueError):
        return 0


class _UWSGIChunks:
    """Read a chunked body under uWSGI, which hands it to a function of its own and nothing to ``wsgi.input``."""

    def read(self, size: int) -> bytes:  # noqa: ARG002 - one chunk, however long
        import uwsgi

        chunk: bytes = uwsgi.chunked_read()
        return chunk


def make_request(environ: WSGIEnvironment, *, stream: Any = None, raw: Any = None) -> HTTPRequest:
    """Translate an environ, for this door and for those of frameworks that are built on WSGI.

    Args:
        environ: The environ.
        stream: What the body is read from, where a framework has taken over ``wsgi.input``.
        raw: What handlers find as ``ctx.request.raw``, by default the environ.
    """
    if stream is None:
        stream = environ["wsgi.input"]
    announced = environ.get("CONTENT_LENGTH") or None
    coding = environ.get("HTTP_TRANSFER_ENCODING")
    length: int | None = None
    if announced is not None and not (announced.isascii() and announced.isdigit()):
        read_body = _refuse(400, "The Content-Length header is not a number")
    elif announced is not None:
        length = known = int(announced) if len(announced) <= _LONGEST else 10**_LONGEST
        # With both, the decoded stream is read to its end and has to have that length. A stream that nobody ends is
        # what a gateway has decoded, or else the bytes of the chunks: they begin with a number and are no message.
        both = coding is not None and environ.get("wsgi.input_terminated")

        def read_body(size: int) -> bytes:
            return _read(stream, size if both else min(size, known)) if known else b""

    elif environ.get("wsgi.input_terminated"):

        def read_body(size: int) -> bytes:
            return _read(stream, size)

    elif "uwsgi.version" in environ and (coding or "").strip().lower() == "chunked":

        def read_body(size: int) -> bytes:
            return _read(_UWSGIChunks(), size)

    else:
        read_body = _refuse(411, "The length of the body is not known; send a Content-Length header")
    request = HTTPRequest(
        environ["REQUEST_METHOD"],
        None,
        read_body,
        folded=_Headers(environ),
        content_length=length,
        raw=environ if raw is None else raw,
        exclusive=not environ.get("wsgi.multithread"),
    )
    if "uwsgi.version" in environ:
        request.router = True
        if length is not None:
            request.discard = functools.partial(_read_waiting, read_body)
    return request


def _refuse(status: int, reason: str) -> BodyReader:
    def read_body(size: int) -> bytes:  # noqa: ARG001
        raise BodyError(status, reason)

    return read_body


def unbuffer(environ: WSGIEnvironment) -> None:
    """Let a stream through at once where the server would collect it; for this door and for those built on WSGI.

    waitress sends nothing before ``send_bytes`` (18,000) are there. The limit is lifted for this connection only.
    """
    channel = getattr(environ.get("waitress.client_disconnected"), "__self__", None)
    if channel is not None and hasattr(channel, "adj"):
        channel.adj = copy.copy(channel.adj)
        channel.adj.send_bytes = 1


def _respond(response: HTTPResponse, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response(_STATUS_LINES[response.status], response.headers)
    if response.stream is not None:
        unbuffer(environ)
        stream: Iterable[bytes] = response.stream
        return stream
    return [response.body] if response.body else []


class WSGIApp:
    """Serve an MCP server as a WSGI application.

    The endpoint is at ``path``, with and without a trailing slash, and never redirects. Mounted below another
    application (with a ``SCRIPT_NAME``), it is also at the mount point itself. Everything else is a JSON 404.

    Args:
        server: The server.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.
        path: Where the endpoint is.

    Raises:
        ConfigurationError: ``auth`` is missing, or ``path`` is not a path.
    """

    def __init__(
        self, server: Server, *, auth: Auth | None = None, policy: HTTPPolicy | None = None, path: str = "/mcp"
    ) -> None:
        policy = policy if policy is not None else HTTPPolicy()
        self.endpoint = Endpoint(server, auth=auth, policy=policy, streams=ThreadStreams(policy))
        self._paths = EndpointPaths(path)
        self._hinted = False

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        path = environ.get("PATH_INFO", "")
        if not self._paths.is_endpoint(path, mounted=bool(environ.get("SCRIPT_NAME"))):
            return _respond(not_found(environ["REQUEST_METHOD"]), environ, start_response)
        response = self.endpoint.handle(make_request(environ))
        if response.status != 200:
            self._suit(response, environ)
        return _respond(response, environ, start_response)

    def _suit(self, response: HTTPResponse, environ: WSGIEnvironment) -> None:
        """Suit an answer to the server that will send it."""
        if response.status == HTTPStatus.NO_CONTENT and "uwsgi.version" in environ:
            # uWSGI's router would add a chunked body of no chunks, and the next answer would begin behind it.
            response.headers.append(("Content-Length", "0"))
        elif response.status == HTTPStatus.UNAUTHORIZED and not self._hinted:
            self._hint(environ)

    def _hint(self, environ: WSGIEnvironment) -> None:
        if "mod_wsgi.version" in environ and "HTTP_AUTHORIZATION" not in environ:
            self._hinted = True
            logger.warning("mod_wsgi hides the Authorization header; set WSGIPassAuthorization On")


class WSGIMiddleware:
    """Put an MCP server in front of a WSGI application, at a path of its own.

    Requests for ``path`` and below it are the server's; all others reach the application untouched.

    Args:
        app: The application.
        server: The server.
        path: Where the endpoint is, below the application's own mount point.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.

    Raises:
        ConfigurationError: ``auth`` is missing, or ``path`` is not a path below the root.
    """

    def __init__(
        self,
        app: WSGIApplication,
        server: Server,
        *,
        path: str = "/mcp",
        auth: Auth | None = None,
        policy: HTTPPolicy | None = None,
    ) -> None:
        self.app: Callable[..., Iterable[bytes]] = app
        self._mcp = WSGIApp(server, auth=auth, policy=policy, path=path)
        self._paths = EndpointPaths(path)
        if self._paths.is_root:
            raise ConfigurationError("path must not be the root: the application would never be reached")

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that answers."""
        return self._mcp.endpoint

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, or let the application do it (PEP 3333)."""
        if self._paths.contains(environ.get("PATH_INFO", "")):
            return self._mcp(environ, start_response)
        return self.app(environ, start_response)
