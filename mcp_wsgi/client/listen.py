"""Changes of a server as an iterator: ``subscriptions/listen`` on modern, the older notifications on legacy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from ..exceptions import (
    ClientClosedError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    TransportError,
)
from ..transport.base import Message
from .cancel import Cancel
from .results import Change

__all__ = ["ListenFilter", "Listener"]

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_LISTS = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
#: How often somebody who waits looks whether the server is still there, in seconds.
LOOK_SECONDS = 0.5
#: How long closing waits for the thread that reads, in seconds.
CLOSE_SECONDS = 5.0


class ListenFilter:
    """Hold what a listener wants to hear.

    Args:
        wanted: The ``notifications`` member of a listen request.
    """

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self.wanted = dict(wanted)
        self._methods = {method for member, method in _LISTS.items() if wanted.get(member)}
        self._uris = frozenset(wanted.get("resourceSubscriptions", ()))

    @property
    def uris(self) -> frozenset[str]:
        """The resources that are listened for."""
        return self._uris

    def honoured_by(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """Give the part that a legacy server says it can do."""

        def can(name: str, part: str) -> bool:
            settings = capabilities.get(name)
            return isinstance(settings, Mapping) and bool(settings.get(part))

        honoured: dict[str, Any] = {}
        for member, method in _LISTS.items():
            if method in self._methods and can(method.split("/")[1], "listChanged"):
                honoured[member] = True
        if self._uris and can("resources", "subscribe"):
            honoured["resourceSubscriptions"] = list(self.wanted["resourceSubscriptions"])
        return honoured

    def change(self, message: Message) -> Change | None:
        """Read a notification as a change, if it is one that is wanted.

        A server may tell of a resource below the one that was named ("the server may send notifications for
        sub-resources"), so an update of any resource counts where resources are listened for.
        """
        method, params = message.get("method"), message.get("params")
        if method in self._methods:
            return Change(method=str(method), uri=None, raw=message)
        uri = params.get("uri") if isinstance(params, Mapping) else None
        if method == _UPDATED and self._uris and isinstance(uri, str):
            return Change(method=_UPDATED, uri=uri, raw=message)
        return None


class Listener:
    """Iterate over the changes of a server until it ends the subscription or :meth:`close` is called.

    A change that has not been taken yet is not told twice: it says that something is different, not how often.

    Args:
        wanted: What is listened for.
        run: Called in a thread of its own with a :class:`Cancel` and a function that takes messages; it returns when
            the server has ended the subscription. ``None`` where changes come by :meth:`post` (legacy).
        end: Called once when it is over.
        look: Called now and then while somebody waits, where nothing else notices that the server has ended.
    """

    def __init__(
        self,
        wanted: ListenFilter,
        run: Callable[[Cancel, Callable[[Message], None]], None] | None,
        end: Callable[[Listener], None],
        look: Callable[[], None] | None = None,
    ) -> None:
        self.filter = wanted
        #: What the server honours of what was wanted, in the words of the specification.
        self.honoured: Mapping[str, Any] = {}
        self._run = run
        self._end = end
        self._look = look
        self._cancel = Cancel()
        self._ready = threading.Condition()
        self._due: dict[tuple[str, str | None], Change] = {}
        self._is_open = False
        self._over = False
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None

    def open(self, timeout: float | None, honoured: Mapping[str, Any] | None = None) -> None:
        """Begin, and wait for the server's acknowledgement.

        Args:
            timeout: How long to wait for it, in seconds.
            honoured: What is honoured, where that is known already.

        Raises:
            RequestTimeoutError: It did not come.
            MCPError: The server refuses.
            ClientError: The request failed.
        """
        if honoured is not None:
            self.honoured, self._is_open = honoured, True
            return
        thread = threading.Thread(target=self._work, name="mcp-client-listen", daemon=True)
        try:
            thread.start()  # in here: who is interrupted while it starts leaves no subscription either
            self._thread = thread
            with self._ready:
                self._ready.wait_for(lambda: self._is_open or self._over, timeout)
                if not self._is_open and self._over:
                    raise self._failure or RemoteProtocolError("The server has ended the subscription at once")
                if not self._is_open:
                    raise RequestTimeoutError("The server has not acknowledged the subscription in time")
        except BaseException:
            self.close()
            raise

    def post(self, message: Message) -> None:
        """Take a notification of the server."""
        with self._ready:
            if message.get("method") == _ACKNOWLEDGED:
                params = message.get("params")
                honoured = params.get("notifications") if isinstance(params, Mapping) else None
                self.honoured = honoured if isinstance(honoured, Mapping) else {}
                self._is_open = True
            else:
                change = self.filter.change(message)
                if change is None:
                    return
                self._is_open = True  # a server that forgets to acknowledge has acknowledged by now
                self._due.setdefault((change.method, change.uri), change)
            self._ready.notify_all()

    def next(self, timeout: float | None = None) -> Change | None:
        """Wait for the next change.

        Args:
            timeout: How long, in seconds; ``None`` for any time.

        Returns:
            The change; ``None`` when there was none in that time, or the subscription is over.

        Raises:
            MCPError: The server ended the subscription with an error.
            ClientError: The connection failed, or the client was closed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._ready:
                if self._due:
                    return self._due.pop(next(iter(self._due)))
                if self._over:
                    failure, self._failure = self._failure, None
                    break
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return None
                pause = None if self._look is None else LOOK_SECONDS
                self._ready.wait(min((each for each in (left, pause) if each is not None), default=None))
            if self._look is not None:
                self._look()
        if failure is not None:
            raise failure
        return None

    def __iter__(self) -> Iterator[Change]:
        while (change := self.next()) is not None:
            yield change

    @property
    def is_fed(self) -> bool:
        """Whether its changes come by :meth:`post` from elsewhere: those of a legacy server do."""
        return self._run is None

    @property
    def closed(self) -> bool:
        """Whether the subscription is over, by whichever side."""
        return self._over

    def close(self) -> None:
        """End the subscription."""
        self._finish(None)
        self._cancel.cancel()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)

    def fail(self, error: Exception) -> None:
        """End the subscription from the client's side: it was closed, or its connection failed."""
        self._finish(error)
        self._cancel.cancel()

    def begin_anew(self) -> None:
        """End the subscription in a forked process, in which nothing is read for it."""
        self._ready, self._thread, self._look = threading.Condition(), None, None
        if not self._over:
            self._over, self._failure = True, TransportError("Nothing is heard in a forked process; listen there anew")

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _finish(self, failure: Exception | None) -> None:
        with self._ready:
            if self._over:
                return
            self._over, self._failure = True, failure
            self._ready.notify_all()
        self._end(self)

    def _work(self) -> None:
        assert self._run is not None  # noqa: S101 - for the type checker: open() starts the thread only then
        failure: Exception | None = None
        try:
            self._run(self._cancel, self.post)
        except (RequestCancelledError, ClientClosedError) as error:
            failure = None if self._cancel.cancelled else error
        except Exception as error:  # noqa: BLE001 - also what a caller's authentication raises
            failure = error
        self._finish(failure)
