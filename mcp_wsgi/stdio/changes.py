"""Change notifications: from the server's bus to the client, by one thread for all subscriptions.

2026-07-28, basic/patterns/subscriptions; 2025-11-25, server/resources, Subscriptions, and the ``list_changed`` of
tools, resources and prompts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..protocol.jsonrpc import notification
from ..server.bus import Subscription
from ..server.peer import Peer
from .calls import Call

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["Changes"]

#: How long further changes are waited for before the client is told, in seconds.
DEBOUNCE = 0.05
#: How many subscriptions may be open.
MAX_LISTENS = 100

Send = Callable[["list[dict[str, Any]]", "Call | None"], None]
End = Callable[["list[dict[str, Any]]", "Call"], None]


class Changes:
    """Tell the client of changes.

    Args:
        server: Whose changes.
        send: Writes messages, all in one; those of a call only if it was not cancelled.
        end: Ends the call of a subscription with its last messages.
    """

    def __init__(self, server: Server, send: Send, end: End) -> None:
        self._server = server
        self._send = send
        self._end = end
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[Call, Subscription] = {}
        self._thread: threading.Thread | None = None
        self._following = False
        self._closing = threading.Event()
        #: The legacy client, as far as it is one.
        self.peer = Peer(self.wake)
        server.bus.subscribe(self.peer.feed)

    @property
    def count(self) -> int:
        """How many subscriptions are open."""
        return len(self._open)

    def wake(self) -> None:
        """Say that something is due."""
        self._wake.set()

    def listen(self, call: Call, honoured: dict[str, Any]) -> bool:
        """Acknowledge a subscription and open it, unless as many are open as may."""
        if len(self._open) >= MAX_LISTENS:
            return False
        subscription = Subscription(call.request.id, honoured, self.wake)
        # First, so that no change is missed: it waits until the subscription is acknowledged.
        self._server.bus.subscribe(subscription)
        self._send([subscription.acknowledgement()], call)
        with self._lock:
            self._open[call] = subscription
            self._start()
        if call.silenced or self._closing.is_set():  # meanwhile
            self.drop(call)
        self.wake()
        return True

    def follow(self) -> None:
        """Tell the legacy client of what it is to be told, from now on."""
        with self._lock:
            self._following = True
            self._start()
        self.wake()

    def drop(self, call: Call) -> None:
        """End a subscription without a word, if the call is one."""
        with self._lock:
            subscription = self._open.pop(call, None)
        if subscription is not None:
            self._server.bus.unsubscribe(subscription)

    def close(self, seconds: float) -> bool:
        """End all subscriptions with their results.

        Args:
            seconds: How long to wait for that.

        Returns:
            Whether the thread has ended.
        """
        with self._lock:
            self._closing.set()
            thread = self._thread
        self._server.bus.unsubscribe(self.peer.feed)
        self.wake()
        if thread is not None:
            thread.join(seconds)
        for call in list(self._open):
            self.drop(call)
        return thread is None or not thread.is_alive()

    def _start(self) -> None:
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._run, name="mcp_wsgi stdio changes", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        closing = False
        while not closing:
            self._wake.wait()
            closing = self._closing.wait(DEBOUNCE)
            self._wake.clear()
            self._tell(closing=closing)

    def _tell(self, *, closing: bool) -> None:
        if self._following and (due := self.peer.feed.take()):
            self._send([notification(change.method, change.params or None) for change in due], None)
        with self._lock:
            subscriptions = list(self._open.items())
        for call, subscription in subscriptions:
            if due_here := subscription.drain():
                self._send(due_here, call)
            if subscription.closed or closing:
                self.drop(call)
                # "it MUST send notifications/cancelled referencing the subscriptions/listen request ID (stdio)", and
                # the completion result, by which a subscription ends on any transport.
                cancelled = notification("notifications/cancelled", {"requestId": subscription.request_id})
                self._end([cancelled, subscription.completion(self._server.info)], call)
