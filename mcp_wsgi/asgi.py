"""The ASGI door: an MCP server as an ASGI application, or in front of one. It needs no lifespan.

Async handlers run on the loop, sync ones in a bounded pool of threads with the context variables copied.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable
from typing import Any, TypeVar

from .exceptions import ConfigurationError
from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, HTTPRequest, HTTPResponse
from .http.paths import EndpointPaths
from .http.policy import HTTPPolicy
from .http.shutdown import close_on_signals
from .http.streams import CAPACITY, COMMENT, DEBOUNCE, Outcome, Overload, failed, frame
from .server import Cancellation, Context, Server
from .server.bus import Subscription
from .server.dispatch import dispatch
from .server.drive import Steps

__all__ = ["ASGIApp", "ASGIMiddleware", "AsyncStreams", "ThreadPool", "run_async"]

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApplication = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Calls a function off the loop, with its arguments as a tuple and a mapping, and gives what it returns.
InThread = Callable[[Callable[..., Any], "tuple[Any, ...]", "Mapping[str, Any]"], Awaitable[Any]]

#: How many sync handlers of one application run at a time; the others wait for a thread.
DEFAULT_THREADS = 40
#: How long an async handler may go on after its client has gone, in seconds; then its task is cancelled.
GRACE = 1.0


async def run_async(steps: Steps[T], in_thread: InThread) -> T:
    """Drive steps on the running loop: the asynchronous counterpart of ``run_sync``.

    Args:
        steps: What to perform.
        in_thread: Calls a sync handler off the loop: ``await in_thread(function, args, kwargs)``.
    """
    try:
        call = next(steps)
        while True:
            try:
                if call.is_async:
                    value = call.function(*call.args, **call.kwargs)
                else:
                    value = await in_thread(call.function, call.args, call.kwargs)
                if isawaitable(value):
                    value = await value
            except BaseException as error:  # noqa: BLE001, PERF203 - the steps decide what becomes of it
                call = steps.throw(error)
            else:
                call = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


class ThreadPool:
    """Call sync handlers in a bounded pool of threads, with the context variables of the request copied.

    The pool belongs to the process that first uses it; its threads start when they are needed.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._made: tuple[int, ThreadPoolExecutor] | None = None

    async def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a function in a thread and give what it returns."""
        made = self._made
        if made is None or made[0] != os.getpid():
            made = self._made = (os.getpid(), ThreadPoolExecutor(self._threads, thread_name_prefix="mcp_wsgi"))
        run = functools.partial(contextvars.copy_context().run, _without_stop, function, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(made[1], run)


def _without_stop(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        # A future cannot carry it, and inside the steps it would look like their end.
        raise RuntimeError("The handler raised StopIteration") from error


class _Mailbox:
    """Carry the messages of one request from its handler, on the loop or in a thread, to the task that sends them.

    A handler on the loop cannot wait for the client, so what it reports beyond the capacity is dropped, oldest first:
    progress and logs are theirs to lose (2026-07-28, basic/patterns/progress), the answer is not among them.
    """

    __slots__ = ("_items", "_loop", "ready")

    def __init__(self) -> None:
        self._items: deque[dict[str, Any]] = deque(maxlen=CAPACITY * 10)
        self._loop = asyncio.get_running_loop()
        self.ready = asyncio.Event()

    def put(self, message: dict[str, Any]) -> None:
        self._items.append(message)
        self._loop.call_soon_threadsafe(self.ready.set)

    def take(self) -> dict[str, Any] | None:
        return self._items.popleft() if self._items else None


async def _wait(event: asyncio.Event, timeout: float) -> bool:
    """Wait for an event, but not longer; say whether it came."""
    if event.is_set():
        return True
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except asyncio.TimeoutError:
        return False
    return True


class AsyncStreams:
    """Streams for the ASGI door: handlers are tasks, and nothing waits in a thread but sync handlers.

    Args:
        policy: The keep-alive interval and the bounds of listeners.
        in_thread: Calls a sync handler off the loop.
    """

    is_async = True

    def __init__(self, policy: HTTPPolicy, in_thread: InThread) -> None:
        self._policy = policy
        self._in_thread = in_thread
        self._listens = 0

    def attach(self, server: Server) -> None:
        """End the server's subscriptions when the process is told to stop."""
        close_on_signals(server)

    async def start(self, context: Context) -> Outcome:
        """Dispatch a request as a task and wait for the first thing it has to say."""
        mailbox, cancellation = _Mailbox(), Cancellation()
        context.connect(mailbox.put, cancellation)
        task = asyncio.ensure_future(run_async(dispatch(context), self._in_thread))
        task.add_done_callback(lambda _: mailbox.ready.set())
        await _wait(mailbox.ready, self._policy.comment_interval)
        first = mailbox.take()
        if first is None and task.done():
            return Outcome(_answer_of(task, context))
        return Outcome(None, self._follow(context, mailbox, first, task, cancellation))

    async def _follow(
        self,
        context: Context,
        mailbox: _Mailbox,
        message: dict[str, Any] | None,
        task: asyncio.Future[dict[str, Any]],
        cancellation: Cancellation,
    ) -> AsyncIterator[bytes]:
        try:
            yield COMMENT if message is None else frame(message)
            while True:
                while (message := mailbox.take()) is not None:
                    yield frame(message)
                if task.done():
                    break
                mailbox.ready.clear()
                if not await _wait(mailbox.ready, self._policy.comment_interval):
                    yield COMMENT
            yield frame(_answer_of(task, context))
        finally:
            if not task.done():
                cancellation.cancel()
                _cancel_later(task)

    async def listen(self, context: Context, honoured: dict[str, Any]) -> AsyncIterator[bytes]:
        """Open the stream of a listener.

        Raises:
            Overload: As many are open as the policy allows.
        """
        close_on_signals(context.server)
        if self._listens >= self._policy.listen_limit(exclusive=None):
            raise Overload
        self._listens += 1
        return self._changes(context, honoured)

    async def _changes(self, context: Context, honoured: dict[str, Any]) -> AsyncIterator[bytes]:
        event, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(event.set)

        subscription = Subscription(context.request_id, honoured, wake)
        bus = context.server.bus
        bus.subscribe(subscription)
        deadline = time.monotonic() + self._policy.lifetime(exclusive=None)
        try:
            yield frame(subscription.acknowledgement())
            while True:
                left = deadline - time.monotonic()
                woken = left > 0 and await _wait(event, min(left, self._policy.comment_interval))
                if subscription.is_due and not subscription.closed:
                    await asyncio.sleep(DEBOUNCE)
                event.clear()
                for message in subscription.drain():
                    yield frame(message)
                if subscription.closed or time.monotonic() >= deadline:
                    yield frame(subscription.completion(context.server.info))
                    return
                if not woken:
                    yield COMMENT
        finally:
            bus.unsubscribe(subscription)
            self._listens -= 1


def _answer_of(task: asyncio.Future[dict[str, Any]], context: Context) -> dict[str, Any]:
    if task.cancelled() or task.exception() is not None:
        return failed(context)
    return task.result()


def _cancel_later(task: asyncio.Future[Any]) -> None:
    """Give a handler a moment to see ``ctx.cancelled``, then cancel its task."""
    asyncio.get_running_loop().call_later(GRACE, task.cancel)


def _headers(scope: Scope) -> list[tuple[str, str]]:
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]


def _length(headers: list[tuple[str, str]]) -> int | None:
    values = {value.strip(" \t") for name, value in headers if name == "content-length"}
    if not values:
        return None
    value = values.pop()
    if values or not (value.isascii() and value.isdigit() and len(value) < 20):
        raise BodyError(400, "The Content-Length header is not a number")
    return int(value)


class _Disconnected(Exception):  # noqa: N818 - nobody is there to be told
    """Say that the client went away before its request was complete."""


def _make_request(scope: Scope, receive: Receive) -> HTTPRequest:
    headers = _headers(scope)
    problem: BodyError | None = None
    try:
        length = _length(headers)
    except BodyError as error:
        length, problem = None, error

    async def read_body(size: int) -> bytes:
        if problem is not None:
            raise problem
        chunks, total = [], 0
        while total < size:
            message = await receive()
            if message["type"] != "http.request":
                raise _Disconnected
            chunk = message.get("body", b"")
            chunks.append(chunk)
            total += len(chunk)
            if not message.get("more_body", False):
                break
        return b"".join(chunks)[:size]

    return HTTPRequest(scope["method"], headers, read_body, content_length=length, raw=scope, is_async=True)


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
        root = scope.get("root_path", "")
        path = scope["path"]
        # Since ASGI 2.4 the path holds the mount point too; older servers and some routers leave it out.
        below = path[len(root) :] if root and path.startswith(root) else path
        if not self._paths.is_endpoint(below, mounted=bool(root)):
            await _send(not_found(scope["method"]), send)
            return
        request = _make_request(scope, receive)
        try:
            response = await run_async(self.endpoint.steps(request), self._in_thread)
        except _Disconnected:
            return
        if response.stream is None:
            await _send(response, send)
        else:
            await _send_stream(response, receive, send)


async def _send(response: HTTPResponse, send: Send) -> None:
    headers = [(name.encode("latin-1").lower(), value.encode("latin-1")) for name, value in response.headers]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def _send_stream(response: HTTPResponse, receive: Receive, send: Send) -> None:
    headers = [(name.encode("latin-1").lower(), value.encode("latin-1")) for name, value in response.headers]
    sender = asyncio.ensure_future(_send_frames(response.status, headers, response.stream, send))
    watcher = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({sender, watcher}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watcher.cancel()
        if not sender.done():
            sender.cancel()
        await asyncio.wait({sender, watcher})
    if not sender.cancelled() and isinstance(sender.exception(), OSError):
        return  # the server says so where the client went away while something was sent
    if not sender.cancelled():
        sender.result()


async def _send_frames(status: int, headers: Any, frames: AsyncIterator[bytes], send: Send) -> None:
    try:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        async for data in frames:
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        await frames.aclose()  # type: ignore[attr-defined]


async def _disconnect(receive: Receive) -> None:
    """Wait until the client goes away. The body has been read, so nothing else can come."""
    while (await receive())["type"] != "http.disconnect":
        pass


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
        if scope["type"] == "http":
            root, path = scope.get("root_path", ""), scope["path"]
            below = path[len(root) :] if root and path.startswith(root) else path
            if self._paths.contains(below):
                await self._mcp(scope, receive, send)
                return
        await self.app(scope, receive, send)
