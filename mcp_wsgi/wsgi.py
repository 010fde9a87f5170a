"""The WSGI door: an MCP server as a WSGI application, or in front of one (PEP 3333)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from .exceptions import ConfigurationError
from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, HTTPRequest, HTTPResponse
from .http.paths import EndpointPaths
from .http.policy import HTTPPolicy
from .http.streams import ThreadStreams
from .server import Server

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["WSGIApp", "WSGIMiddleware", "make_request", "unbuffer"]

_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_DIGITS = re.compile(r"[0-9]{1,19}\Z")
_CHUNK = 64 * 1024

# Environ keys are few and repeat with each request; the bound is for a client that invents header names.
_NAMES: dict[str, str] = {"CONTENT_TYPE": "content-type"}
_MAX_NAMES = 500


def _name(key: str) -> str:
    name = key[5:].replace("_", "-").lower()
    if len(_NAMES) < _MAX_NAMES:
        _NAMES[key] = name
    return name


def _headers(environ: WSGIEnvironment) -> list[tuple[str, str]]:
    names = _NAMES
    headers = [
        (names.get(key) or _name(key), value)
        for key, value in environ.items()
        if key[:5] == "HTTP_" or key == "CONTENT_TYPE"
    ]
    return [pair for pair in headers if pair[1]] if environ.get("CONTENT_TYPE") == "" else headers


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
    return b"".join(chunks)


def _read_uwsgi(size: int) -> bytes:
    import uwsgi

    chunks, total = [], 0
    try:
        while total < size:
            chunk = uwsgi.chunked_read()
            if not chunk:
                break
            chunks.append(chunk)
            total += len(chunk)
    except OSError:
        raise BodyError(400, "The body could not be read to its end") from None
    return b"".join(chunks)[:size]


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
    length: int | None = None

    if announced is not None and _DIGITS.match(announced):
        known = length = int(announced)

        def read_body(size: int) -> bytes:
            return _read(stream, min(size, known)) if known else b""

    elif announced is not None:

        def read_body(size: int) -> bytes:  # noqa: ARG001
            raise BodyError(400, "The Content-Length header is not a number")

    elif environ.get("wsgi.input_terminated"):

        def read_body(size: int) -> bytes:
            return _read(stream, size)

    elif "uwsgi.version" in environ and "HTTP_TRANSFER_ENCODING" in environ:
        # uWSGI hands a chunked body to its own function, and nothing to wsgi.input.
        read_body = _read_uwsgi
    else:

        def read_body(size: int) -> bytes:  # noqa: ARG001
            raise BodyError(411, "The length of the body is not known; send a Content-Length header")

    return HTTPRequest(
        environ["REQUEST_METHOD"],
        _headers(environ),
        read_body,
        content_length=length,
        raw=environ if raw is None else raw,
        exclusive=not environ.get("wsgi.multithread"),
    )


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

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        path = environ.get("PATH_INFO", "")
        if not self._paths.is_endpoint(path, mounted=bool(environ.get("SCRIPT_NAME"))):
            return _respond(not_found(environ["REQUEST_METHOD"]), environ, start_response)
        return _respond(self.endpoint.handle(make_request(environ)), environ, start_response)


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
