"""Streams on an event loop: handlers are tasks, and nothing waits in a thread but sync handlers.

The counterpart of :class:`~mcp_wsgi.http.streams.ThreadStreams`.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from ..http.policy import HTTPPolicy
from ..http.shutdown import close_on_signals, close_with_hypercorn
from ..http.streams import CAPACITY, COMMENT, DEBOUNCE, Outcome, Overload, failed, frame
from ..server import Cancellation, Context, Server
from ..server.bus import Subscription
from ..server.dispatch import dispatch
from .drive import InThread, run_async

__all__ = ["GRACE", "AsyncStreams"]

#: How long an async handler may go on after its client has gone, in seconds; then its task is cancelled.
GRACE = 1.0


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
