"""End open subscriptions when the process is told to stop.

A server waits for its open responses before it exits, and a subscription is open for minutes: on SIGTERM (and SIGINT,
where a server handles it) the subscriptions of this process send their completion results at once, then the server's
own handler runs as before (2026-07-28, basic/patterns/subscriptions, Graceful Closure).

Where no server has installed a handler of its own, nothing is changed: the process then dies as it always did.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["close_on_signals", "close_with_hypercorn"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_servers: WeakSet[Server] = WeakSet()


class _Chained:
    """Run before the handler that was installed."""

    def __init__(self, previous: Callable[[int, FrameType | None], Any]) -> None:
        self._previous = previous

    def __call__(self, number: int, frame: FrameType | None) -> None:
        # In a thread: the handler interrupts this one anywhere, also while it holds a lock that closing needs. By the
        # plain function: Thread.start() waits for its thread, which gevent forbids in a signal handler.
        _thread.start_new_thread(_close_all, ())
        self._previous(number, frame)


def _close_all() -> None:
    for server in list(_servers):
        server.close()


def close_on_signals(server: Server) -> bool:
    """Close a server's subscriptions when a signal tells this process to stop.

    Doors call it when they are made and when a subscription opens. Only the main thread can install a handler, and
    a server may install its own later and drop this one: an application that is loaded before its worker exists
    (``gunicorn --preload``) calls it again in the worker, from gunicorn's ``post_worker_init`` hook.

    Returns:
        Whether the handlers are in place.
    """
    _servers.add(server)
    if threading.current_thread() is not threading.main_thread():
        return False
    placed = False
    for number in _SIGNALS:
        current = signal.getsignal(number)
        if isinstance(current, _Chained):
            placed = True
        elif callable(current) and current is not signal.default_int_handler:
            signal.signal(number, _Chained(current))
            placed = True
    return placed


def close_with_hypercorn() -> None:
    """Close the servers' subscriptions when hypercorn tells the worker on this loop to stop.

    Its workers get no signal, and the lifespan's end comes when the open responses have ended or were cut. What they
    have is a task that waits for an event of the parent process; the end of that task is the sign.
    """
    if "hypercorn" in sys.modules:
        import asyncio

        for task in asyncio.all_tasks():
            if getattr(task.get_coro(), "__qualname__", "") == "raise_shutdown":
                task.add_done_callback(lambda _: _close_all())
