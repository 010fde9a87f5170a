"""Keep results as long as the server says they are fresh.

2026-07-28, server/utilities/caching; SEP-2549. Only complete results of methods that carry hints are kept, never those
of requests with answers to questions, and never ``private`` ones where several users share a client.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..exceptions import EncodeError, ParseError
from ..protocol.codec import decode, encode
from ..protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from .forks import begin_anew_after_fork
from .results import result_type
from .wire import get_integer, get_mapping, get_text

__all__ = ["ResultCache"]

_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_READ = "resources/read"
_CACHEABLE = frozenset({"server/discover", _READ, *_LISTS})
_UPDATED = "notifications/resources/updated"
#: What each notification says has changed.
_CHANGED = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
#: What the client says of itself in each request, and what only names one request.
_ENVELOPE = frozenset(
    {
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        "progressToken",
        "traceparent",
        "tracestate",
        "baggage",
    }
)
#: No result is kept longer, in milliseconds: a week. A server can say a number of any size.
_LONGEST = 7 * 24 * 3600 * 1000

_Key = tuple[str, bytes]


class _Entry(NamedTuple):
    data: bytes
    end: float
    uri: str | None


class ResultCache:
    """Keep results by method and params, the least recently used ones first to go. Any number of threads may use it.

    Results are kept as text, so what a caller does with one changes no other.

    Args:
        clock: The time in seconds, from any beginning.
        shared: Whether several users stand behind the client: then only ``public`` results are kept. A result whose
            scope is missing counts as private.
        max_entries: The most results that are kept.
        max_bytes: The most bytes of text that are kept.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        shared: bool = False,
        max_entries: int = 1000,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._clock = clock
        self._shared = shared
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._size = 0
        self._changes = 0
        # "If the first page [...] has `cacheScope: "private"`, all subsequent pages for that request MUST also be
        # treated as `"private"`" (SEP-2549): the cursors that continue such pages, for shared clients.
        self._private: OrderedDict[tuple[str, str | None], None] = OrderedDict()
        begin_anew_after_fork(self)

    def begin_anew(self) -> None:
        """Take another lock in a forked process."""
        self._lock = threading.Lock()

    def moment(self) -> int:
        """Name this moment, for :meth:`put`: take it before the request is sent."""
        return self._changes

    def get(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Give a fresh result, the caller's own copy; ``None`` where there is none."""
        key = _key(method, params)
        if key is None:
            return None
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.end <= self._clock():
                self._remove(key)
                return None
            self._entries.move_to_end(key)
        try:
            result: dict[str, Any] = decode(entry.data)
        except ParseError:  # more than may come over a wire, from a server in this process
            return None
        return result

    def put(
        self, method: str, params: Mapping[str, Any] | None, result: Mapping[str, Any], *, since: int | None = None
    ) -> None:
        """Keep a result, where it may be kept.

        Args:
            method: The method of the request.
            params: Its params, as the caller gave them or as they were sent.
            result: The result as it came. It must not be that of a request which answered questions; where ``params``
                show that, it is not kept.
            since: What :meth:`moment` gave before the request was sent. A result is not kept where a change was told
                since then: it may be older than the change.
        """
        key = _key(method, params)
        if key is None or result_type(result) != "complete":
            return
        params = params or {}
        ttl = min(get_integer(result, "ttlMs") or 0, _LONGEST)
        data = _encode(result) if ttl > 0 else None
        with self._lock:
            # What was kept before is older than this.
            self._remove(key)
            if self._shared and self._is_private(method, params, result):
                return
            if data is None or len(data) > self._max_bytes or since not in (None, self._changes):
                return
            self._entries[key] = _Entry(data, self._clock() + ttl / 1000, get_text(params, "uri"))
            self._size += len(data)
            while len(self._entries) > self._max_entries or self._size > self._max_bytes:
                self._remove(next(iter(self._entries)))

    def invalidate(self, change: str, uri: str | None = None) -> None:
        """Drop what a notification says has changed: lists with all their pages, or what was read of a resource.

        Args:
            change: The method of the notification; others than those about changes drop nothing.
            uri: The resource that was updated. It may be part of one that was read, which is dropped too; without it
                everything that was read is.
        """
        if change == _UPDATED:
            self._drop(lambda method, read: method == _READ and _concerns(read, uri))
        elif change in _CHANGED:
            self.drop(*_CHANGED[change])

    def drop(self, *methods: str) -> None:
        """Drop all results of methods, as when a cursor has become invalid."""
        self._drop(lambda method, _: method in methods)

    def clear(self) -> None:
        """Drop everything."""
        self._drop(lambda *_: True)

    def _drop(self, concerned: Callable[[str, str | None], bool]) -> None:
        with self._lock:
            self._changes += 1
            for key in [key for key, entry in self._entries.items() if concerned(key[0], entry.uri)]:
                self._remove(key)

    def _remove(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= len(entry.data)

    def _is_private(self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
        """Say whether a result is of one user only, and remember what continues it."""
        if result.get("cacheScope") == "public" and (method, get_text(params, "cursor")) not in self._private:
            return False
        following = get_text(result, "nextCursor")
        if following is not None:
            self._private[method, following] = None
            if len(self._private) > self._max_entries:
                self._private.popitem(last=False)
        return True


def _encode(result: Mapping[str, Any]) -> bytes | None:
    try:
        return encode(result)
    except EncodeError:
        return None


def _key(method: str, params: Mapping[str, Any] | None) -> _Key | None:
    """Make the key of a request; ``None`` where its result is never kept.

    "Results produced by retrying a request through the multi round-trip requests mechanism [...] MUST NOT be cached"
    """
    if method not in _CACHEABLE:
        return None
    given = dict(params or {})
    if "inputResponses" in given or "requestState" in given:
        return None
    # A cursor that is null is none.
    given = {name: value for name, value in given.items() if name != "_meta" and value is not None}
    meta = {name: value for name, value in (get_mapping(params or {}, "_meta") or {}).items() if name not in _ENVELOPE}
    if meta:
        given["_meta"] = meta
    try:
        return method, encode(_sorted(given))
    except (EncodeError, RecursionError, TypeError):
        return None


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, (list, tuple)) else value


def _concerns(read: str | None, updated: str | None) -> bool:
    """Say whether what was read holds what was updated: it is the same, or the updated one is a part of it."""
    if read is None or updated is None or read == updated:
        return True
    return updated.startswith(tuple(read.removesuffix("/") + mark for mark in "/?#"))
