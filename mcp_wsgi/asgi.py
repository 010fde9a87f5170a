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
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from inspect import isawaitable
from types import CoroutineType
from typing import Any, TypeVar

from .exceptions import ConfigurationError
from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, HTTPRequest, HTTPResponse
from .http.paths import EndpointPaths
from .http.policy import HTTPPolicy
from .http.shutdown import close_on_signals, close_with_hypercorn
from .http.streams import CAPACITY, COMMENT, DEBOUNCE, Outcome, Overload, failed, frame
from .server import Cancellation, Context, Server
from .server.bus import Subscription
from .server.dispatch import dispatch
from .server.drive import Steps

__all__ = ["DEFAULT_THREADS", "ASGIApp", "ASGIMiddleware", "AsyncStreams", "ThreadPool", "make_request", "run_async"]

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
_MAX_NAMES, _MAX_NAME = 500, 100
#: How long to wait before ``receive`` is asked again where it gives what cannot come, in seconds.
REPLAY_PAUSE = 0.5


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
                if type(value) is CoroutineType or isawaitable(value):
                    value = await value
            except BaseException as error:  # noqa: BLE001, PERF203 - the steps decide what becomes of it
                call = steps.throw(_bearable(error))
            else:
                call = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _bearable(error: BaseException) -> BaseException:
    """Make an ordinary failure of what a handler raises and what, out of a task, would mean the task or its loop."""
    if isinstance(error, asyncio.CancelledError):
        # What a handler awaits may be cancelled by others; then this request is not. Python 3.10 cannot tell.
        cancelling = getattr(asyncio.current_task(), "cancelling", None)
        if cancelling is None or cancelling():
            return error
    elif not isinstance(error, SystemExit):
        return error
    failure = RuntimeError(f"The handler raised {type(error).__name__}")
    failure.__cause__ = error
    return failure


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

    __slots__ = ("_items", "loop", "ready")

    def __init__(self) -> None:
        self._items: deque[dict[str, Any]] = deque(maxlen=CAPACITY * 10)
        self.loop = asyncio.get_running_loop()
        self.ready = asyncio.Event()

    def put(self, message: dict[str, Any]) -> None:
        self._items.append(message)
        _notify(self.loop, self.ready)

    def take(self) -> dict[str, Any] | None:
        return self._items.popleft() if self._items else None


async def _wait(event: asyncio.Event, timeout: float) -> bool:
    """Wait for an event, but not longer; say whether it came. Where it did not, it is set all the same.

    Not by ``asyncio.wait_for``, which before Python 3.12 loses a cancellation that comes together with the event.
    """
    if event.is_set():
        return True
    late: list[bool] = []

    def end() -> None:
        late.append(True)
        event.set()

    timer = asyncio.get_running_loop().call_later(timeout, end)
    try:
        await event.wait()
    finally:
        timer.cancel()
    return not late


def _notify(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of a loop from any thread; where the loop has ended, nobody waits."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)


class _CallStream:
    """The body of a streamed answer. Whoever sends it closes it, however the request ends."""

    def __init__(
        self,
        mailbox: _Mailbox,
        task: asyncio.Future[dict[str, Any]],
        cancellation: Cancellation,
        frames: AsyncGenerator[bytes, None],
    ) -> None:
        self._mailbox = mailbox
        self._task = task
        self._cancellation = cancellation
        self._frames = frames

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Cancel the handler, if it has not ended."""
        _abandon(self._task, self._cancellation, self._mailbox.loop)

    async def aclose(self) -> None:
        """End the iteration, and cancel the handler if it has not ended."""
        self.close()
        await self._frames.aclose()

    def __del__(self) -> None:
        # A framework that is cancelled, or whose hook fails, drops the response unclosed.
        self.close()


async def _messages(
    context: Context,
    mailbox: _Mailbox,
    message: dict[str, Any] | None,
    task: asyncio.Future[dict[str, Any]],
    interval: float,
) -> AsyncGenerator[bytes, None]:
    yield COMMENT if message is None else frame(message)
    while True:
        while (message := mailbox.take()) is not None:
            yield frame(message)
        if task.done():
            break
        mailbox.ready.clear()
        if not await _wait(mailbox.ready, interval):
            yield COMMENT
    yield frame(_answer_of(task, context))


class _ListenStream:
    """The body of a ``subscriptions/listen`` answer."""

    def __init__(
        self, context: Context, honoured: dict[str, Any], policy: HTTPPolicy, ended: Callable[[], None]
    ) -> None:
        event = asyncio.Event()
        wake = functools.partial(_notify, asyncio.get_running_loop(), event)
        self._subscription = Subscription(context.request_id, honoured, wake)
        self._server = context.server
        self._ended = ended
        self._server.bus.subscribe(self._subscription)
        # Not a method: it would hold this stream, which is to end with whoever drops it.
        self._frames = _changes(self._server, self._subscription, event, policy)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Stop to listen, and make room for another listener."""
        self._server.bus.unsubscribe(self._subscription)
        self._ended()

    async def aclose(self) -> None:
        """End the iteration and stop to listen."""
        self.close()
        await self._frames.aclose()

    def __del__(self) -> None:
        self.close()


async def _changes(
    server: Server, subscription: Subscription, event: asyncio.Event, policy: HTTPPolicy
) -> AsyncGenerator[bytes, None]:
    deadline = time.monotonic() + policy.lifetime(exclusive=None)
    yield frame(subscription.acknowledgement())
    while True:
        left = deadline - time.monotonic()
        woken = left > 0 and await _wait(event, min(left, policy.comment_interval))
        if subscription.is_due and not subscription.closed:
            await asyncio.sleep(DEBOUNCE)
        event.clear()
        for message in subscription.drain():
            yield frame(message)
        if subscription.closed or time.monotonic() >= deadline:
            yield frame(subscription.completion(server.info))
            return
        if not woken:
            yield COMMENT


class AsyncStreams:
    """Streams for the ASGI door: handlers are tasks, and nothing waits in a thread but sync handlers.

    The streams are iterated asynchronously. They have ``aclose()``, and for doors that close from another thread
    ``close()``, which frees what they hold; both may be called more than once.

    Args:
        policy: The keep-alive interval and the bounds of listeners.
        in_thread: Calls a sync handler off the loop.
    """

    is_async = True

    def __init__(self, policy: HTTPPolicy, in_thread: InThread) -> None:
        self._policy = policy
        self._in_thread = in_thread
        self._opened: set[object] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, server: Server) -> None:
        """End the server's subscriptions when the process is told to stop."""
        close_on_signals(server)

    def watch(self, context: Context) -> None:
        """Notice that the client goes away while a handler runs, which then sees ``ctx.cancelled``."""
        request = context.request
        if request.disconnected is not None:
            request.watcher = asyncio.ensure_future(_watch(request.disconnected, context, asyncio.current_task()))

    async def start(self, context: Context) -> Outcome:
        """Dispatch a request as a task and wait for the first thing it has to say."""
        mailbox, cancellation = _Mailbox(), Cancellation()
        context.connect(mailbox.put, cancellation)
        task = asyncio.ensure_future(run_async(dispatch(context), self._in_thread))
        task.add_done_callback(lambda _: mailbox.ready.set())
        interval = self._policy.comment_interval
        try:
            await _wait(mailbox.ready, interval)
        except asyncio.CancelledError:
            # Some servers end the request's task when its client goes away.
            _abandon(task, cancellation, mailbox.loop)
            raise
        first = mailbox.take()
        if first is None and task.done():
            return Outcome(_answer_of(task, context))
        frames = _messages(context, mailbox, first, task, interval)
        return Outcome(None, _CallStream(mailbox, task, cancellation, frames))

    async def listen(self, context: Context, honoured: dict[str, Any]) -> _ListenStream:
        """Open the stream of a listener.

        Raises:
            Overload: As many are open as the policy allows.
        """
        close_on_signals(context.server)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            close_with_hypercorn()
        if len(self._opened) >= self._policy.listen_limit(exclusive=None):
            raise Overload
        place = object()
        self._opened.add(place)
        return _ListenStream(context, honoured, self._policy, functools.partial(self._opened.discard, place))


async def _watch(disconnected: Callable[[], Awaitable[None]], context: Context, task: asyncio.Task[Any] | None) -> None:
    await disconnected()
    context.cancel()
    await asyncio.sleep(GRACE)
    if task is not None:
        task.cancel()


def _answer_of(task: asyncio.Future[dict[str, Any]], context: Context) -> dict[str, Any]:
    if task.cancelled() or task.exception() is not None:
        return failed(context)
    return task.result()


def _abandon(task: asyncio.Future[Any], cancellation: Cancellation, loop: asyncio.AbstractEventLoop) -> None:
    """Tell a handler that its client has gone, give it a moment to see it, then cancel its task."""
    if not task.done():
        cancellation.cancel()
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: loop.call_later(GRACE, task.cancel))


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

    async def read_body(size: int) -> bytes:
        if problem is not None:
            raise problem
        chunks, total, more = [], 0, True
        while more and total < size:
            message = await receive()
            if message["type"] != "http.request":
                raise _Disconnected
            chunk = message.get("body", b"")
            chunks.append(chunk)
            total += len(chunk)
            more = message.get("more_body", False)
        return (chunks[0] if len(chunks) == 1 else b"".join(chunks))[:size]

    return HTTPRequest(
        scope["method"],
        headers,
        read_body,
        content_length=length,
        raw=scope if raw is None else raw,
        is_async=True,
        disconnected=functools.partial(_disconnect, receive),
    )


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
