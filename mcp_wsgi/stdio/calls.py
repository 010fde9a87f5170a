"""The requests that are being answered, by their ids."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..protocol.jsonrpc import Request, RequestId
from ..server.context import Cancellation

__all__ = ["Call", "Calls"]


#: The least time between the last progress of a call and its answer, in seconds.
PROGRESS_GAP = 0.01


class Call:
    """Hold one request from its line to its answer."""

    __slots__ = ("_progress", "_reported", "cancellation", "request", "silenced")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.cancellation = Cancellation()
        #: Whether the client cancelled it: nothing more is sent for it.
        self.silenced = False
        self._progress: float | None = None
        self._reported = 0.0

    def cancel(self) -> None:
        """Do as the client asks."""
        self.silenced = True
        self.cancellation.cancel()

    def admits(self, notification: dict[str, Any]) -> bool:
        """Say whether a notification may be sent: a handler that runs again begins to count again, its client does not.

        "The progress value MUST increase with each notification" (basic/patterns/progress).
        """
        if notification["method"] != "notifications/progress":
            return True
        progress = notification["params"]["progress"]
        if self._progress is not None and progress <= self._progress:
            return False
        self._progress = progress
        self._reported = time.monotonic()
        return True

    def pause(self) -> None:
        """Keep the answer a moment away from the last progress.

        A client may handle notifications later than answers, and read both at once. It has then forgotten who wanted
        to know of the progress, as the TypeScript SDK has.
        """
        wait = self._reported + PROGRESS_GAP - time.monotonic()
        if self._progress is not None and wait > 0:
            time.sleep(wait)


class Calls:
    """Hold the calls that are neither answered nor cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[RequestId, Call] = {}
        self._ending: set[Call] = set()

    def __len__(self) -> int:
        with self._lock:
            return len(self._calls) + len(self._ending)

    def add(self, call: Call) -> bool:
        """Begin a call, unless one with its id has begun."""
        with self._lock:
            if call.request.id in self._calls:
                return False
            self._calls[call.request.id] = call
            return True

    @contextmanager
    def ending(self, call: Call) -> Iterator[None]:
        """End a call while its answer is written: whoever has read that may use the id again."""
        with self._lock:
            if self._calls.get(call.request.id) is call:
                del self._calls[call.request.id]
                self._ending.add(call)
        try:
            yield
        finally:
            with self._lock:
                self._ending.discard(call)

    def cancel(self, request_id: object) -> Call | None:
        """Cancel a call as the client asks; what is unknown, or cannot be cancelled, is left alone."""
        if type(request_id) is not str and type(request_id) is not int:
            return None
        with self._lock:
            call = self._calls.get(request_id)
            # "The initialize request MUST NOT be cancelled by clients" (2025-11-25, basic/utilities/cancellation)
            if call is None or call.request.method == "initialize":
                return None
            call.cancel()
            del self._calls[request_id]
            return call

    def cancel_all(self) -> None:
        """Tell all handlers to stop; what they still answer is sent."""
        with self._lock:
            for call in self._calls.values():
                call.cancellation.cancel()
