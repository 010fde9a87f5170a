"""The ASGI door: an MCP server as an ASGI application, or in front of one. It needs no lifespan.

Async handlers run on the loop, sync ones in a bounded pool of threads with the context variables copied.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from .aio.drive import DEFAULT_THREADS, ThreadPool, run_async
from .aio.streams import AsyncStreams
from .exceptions import ConfigurationError
from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, HTTPRequest, HTTPResponse
from .http.paths import EndpointPaths
from .http.policy import HTTPPolicy
from .server import Server

__all__ = ["ASGIApp", "ASGIMiddleware", "make_request"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApplication = Callable[[Scope, Receive, Send], Awaitable[None]]

_MAX_NAMES, _MAX_NAME = 500, 100
#: How long to wait before ``receive`` is asked again where it gives what cannot come, in seconds.
REPLAY_PAUSE = 0.5
#: How long to wait for the next piece of a body that was refused, in seconds.
DISCARD_PAUSE = 1.0


class _Names(dict[bytes, str]):
    """Map the names of headers to text in lower case.

    They are few and repeat with each request; the bounds are for a client that invents names.
    """

    def __missing__(self, raw: bytes) -> str:
        name = raw.decode("latin-1").lower()
        if len(self) < _MAX_NAMES and len(raw) <= _MAX_NAME:
            self[raw] = name
        return name


_NAMES = _Names()


def _headers(scope: Scope) -> list[tuple[str, str]]:
    return [(_NAMES[name], value.decode("latin-1")) for name, value in scope["headers"]]


def _length(headers: list[tuple[str, str]]) -> int | None:
    values = [value.strip(" \t") for name, value in headers if name == "content-length"]
    if not values:
        return None
    value = values[0]
    if values.count(value) != len(values) or not (value.isascii() and value.isdigit() and len(value) < 20):
        raise BodyError(400, "The Content-Length header is not a number")
    return int(value)


class _Disconnected(BaseException):
    """Say that the client went away before its request was complete: nobody is there to be told, so no rung answers."""


def make_request(scope: Scope, receive: Receive, *, raw: Any = None) -> HTTPRequest:
    """Translate a scope, for this door and for those of frameworks that are built on ASGI.

    Args:
        scope: The scope.
        receive: Gives the messages of the body.
        raw: What handlers find as ``ctx.request.raw``, by default the scope.
    """
    headers = _headers(scope)
    problem: BodyError | None = None
    try:
        length = _length(headers)
    except BodyError as error:
        length, problem = None, error

    more = True

    async def read_body(size: int) -> bytes:
        nonlocal more
        if problem is not None:
            raise problem
        chunks, total = [], 0
        while more and total < size:
            message = await receive()
            if message["type"] != "http.request":
                raise _Disconnected
            chunk = message.get("body", b"")
            chunks.append(chunk)
            total += len(chunk)
            more = message.get("more_body", False)
        return (chunks[0] if len(chunks) == 1 else b"".join(chunks))[:size]

    request = HTTPRequest(
        scope["method"],
        headers,
        read_body,
        content_length=length,
        raw=scope if raw is None else raw,
        is_async=True,
        disconnected=functools.partial(_disconnect, receive),
    )
    request.discard = functools.partial(_read_soon, read_body)
    return request


async def _read_soon(read_body: Callable[[int], Awaitable[bytes]], size: int) -> bytes:
    """Read what nobody wants any more, and do not wait for a client that waits for its answer."""
    return await asyncio.wait_for(read_body(size), DISCARD_PAUSE)


class ASGIApp:
    """Serve an MCP server as an ASGI application.

    The endpoint is at ``path``, with and without a trailing slash, and never redirects. Mounted below another
    application (with a ``root_path``), it is also at the mount point itself. Everything else is a JSON 404.

    Args:
        server: The server.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.
        path: Where the endpoint is.
        threads: How many sync handlers run at a time.

    Raises:
        ConfigurationError: ``auth`` is missing, or ``path`` is not a path.
    """

    def __init__(
        self,
        server: Server,
        *,
        auth: Auth | None = None,
        policy: HTTPPolicy | None = None,
        path: str = "/mcp",
        threads: int = DEFAULT_THREADS,
    ) -> None:
        if threads < 1:
            raise ConfigurationError("threads must be at least 1")
        self.server = server
        policy = policy if policy is not None else HTTPPolicy()
        self._in_thread = ThreadPool(threads)
        self.endpoint = Endpoint(server, auth=auth, policy=policy, streams=AsyncStreams(policy, self._in_thread))
        self._paths = EndpointPaths(path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or the lifespan."""
        kind = scope["type"]
        if kind == "http":
            await self._answer(scope, receive, send)
        elif kind == "lifespan":
            await self._lifespan(receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                self.server.bus.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        below = _below(scope)
        if not self._paths.is_endpoint(below, mounted=bool(scope.get("root_path"))):
            await _send(not_found(scope["method"]), send)
            return
        request = make_request(scope, receive)
        try:
            response = await run_async(self.endpoint.steps(request), self._in_thread)
        except _Disconnected:
            return
        except asyncio.CancelledError:
            if request.watcher is None or not request.watcher.done():
                raise
            return  # the client has gone, and its handler has been given up
        finally:
            if request.watcher is not None:
                request.watcher.cancel()
        if response.stream is None:
            await _send(response, send)
        else:
            await _send_stream(response, receive, send)


def _below(scope: Scope) -> str:
    """Give the path below the mount point: since ASGI 2.4 the path holds both, older servers leave the first out."""
    root: str = scope.get("root_path", "").rstrip("/")
    path: str = scope["path"]
    return path[len(root) :] if path == root or path.startswith(root + "/") else path


def _raw_header(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("latin-1").lower(), value.encode("latin-1")


#: What nearly every answer has, encoded once.
_USUAL = {
    pair: _raw_header(*pair) for pair in (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"))
}


def _raw_headers(response: HTTPResponse) -> list[tuple[bytes, bytes]]:
    return [_USUAL.get(pair) or _raw_header(*pair) for pair in response.headers]


async def _send(response: HTTPResponse, send: Send) -> None:
    headers = _raw_headers(response)
    try:
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})
    except OSError:
        # "If send is called on a closed connection the server should raise a server-specific subclass of OSError."
        pass


async def _send_stream(response: HTTPResponse, receive: Receive, send: Send) -> None:
    sender = asyncio.ensure_future(_send_frames(response, send))
    watcher = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({sender, watcher}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Before anything is awaited: the sender may not even have begun, and this task may be cancelled again.
        response.stream.close()
        watcher.cancel()
        sender.cancel()
        await asyncio.wait({sender, watcher})
    if not sender.cancelled():
        sender.result()


async def _send_frames(response: HTTPResponse, send: Send) -> None:
    headers = [*_raw_headers(response), (b"content-encoding", b"identity")]  # so that nothing compresses it
    try:
        with suppress(OSError):
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            async for data in response.stream:
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
    finally:
        await response.stream.aclose()


async def _disconnect(receive: Receive) -> None:
    """Wait until the client goes away. The body has been read, so nothing else should come."""
    with suppress(OSError):
        while (await receive())["type"] != "http.disconnect":
            # Middleware that replays a body may do so for ever, without giving way to the loop.
            await asyncio.sleep(REPLAY_PAUSE)


class ASGIMiddleware:
    """Put an MCP server in front of an ASGI application, at a path of its own.

    Requests for ``path`` and below it are the server's; all else, lifespan and websockets included, reaches the
    application untouched.

    Args:
        app: The application.
        server: The server.
        path: Where the endpoint is, below the application's own mount point.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.
        threads: How many sync handlers run at a time.

    Raises:
        ConfigurationError: ``auth`` is missing, or ``path`` is not a path below the root.
    """

    def __init__(
        self,
        app: ASGIApplication,
        server: Server,
        *,
        path: str = "/mcp",
        auth: Auth | None = None,
        policy: HTTPPolicy | None = None,
        threads: int = DEFAULT_THREADS,
    ) -> None:
        self.app = app
        self._mcp = ASGIApp(server, auth=auth, policy=policy, path=path, threads=threads)
        self._paths = EndpointPaths(path)
        if self._paths.is_root:
            raise ConfigurationError("path must not be the root: the application would never be reached")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let the application do it."""
        if scope["type"] == "http" and self._paths.contains(_below(scope)):
            await self._mcp(scope, receive, send)
            return
        await self.app(scope, receive, send)
