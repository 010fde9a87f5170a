"""Lists of several pages, and results that may have been kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..exceptions import InvalidParamsError, RemoteProtocolError
from ..protocol.codec import encode
from .cache import ResultCache
from .calls import Call, Calls
from .results import Listing
from .wire import need_list

__all__ = ["MAX_LIST_SIZE", "Lists", "read_result"]

logger = logging.getLogger("mcp_wsgi.client")

T = TypeVar("T")

#: How much of a list is fetched in all, in bytes; the rest of a longer one is had by its cursor.
MAX_LIST_SIZE = 64 * 1024 * 1024


def read_result(read: Callable[[Any], T], raw: Any) -> T:
    """Read what a server answered.

    Raises:
        RemoteProtocolError: It cannot be read.
    """
    try:
        return read(raw)
    except ValueError as error:
        raise RemoteProtocolError(f"The server's answer cannot be read: {error}") from None


class Lists:
    """Fetch lists, and other results that a server may call fresh.

    Args:
        calls: What performs requests.
        cache: What keeps results, where any are kept.
        max_pages: How many pages of a list are followed.
        address: What names the server, for warnings.
    """

    def __init__(self, calls: Calls, cache: ResultCache | None, max_pages: int, address: str) -> None:
        self._calls = calls
        self._cache = cache
        self._max_pages = max_pages
        self._address = address

    def fetch(self, call: Call) -> dict[str, Any]:
        """Get a result that may have been kept.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        cache = self._cache
        if cache is None:
            return self._calls.perform(call)
        key = {**call.params, "_meta": dict(call.meta or {})}
        kept = cache.get(call.method, key)
        if kept is not None:
            return kept
        since = cache.moment()
        result = self._calls.perform(call)
        if not call.answered:  # what somebody's answer made of it is for nobody else (server/utilities/caching)
            cache.put(call.method, key, result, since=since)
        return result

    def all_pages(
        self,
        method: str,
        member: str,
        read: Callable[[list[Any]], Sequence[T]],
        cursor: str | None,
        follow: bool,
        timeout: float | None,
    ) -> Listing[T]:
        """Fetch a list.

        "If a cursor becomes invalid [...], the client SHOULD discard all cached pages and re-fetch from the beginning"
        (SEP-2549). A cursor of the caller's own is the caller's to begin anew.

        Args:
            method: The method of the list.
            member: The member of its results that has the entries.
            read: Makes values of the entries of a page.
            cursor: Where to begin.
            follow: Whether pages behind the first one are fetched too.
            timeout: How long the server may be silent, in seconds.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer, or it is no list.
        """
        try:
            return self._pages(method, member, read, cursor, follow, timeout)
        except InvalidParamsError:
            if self._cache is None:
                raise
            self._cache.drop(method)
            if cursor is not None:
                raise
        return self._pages(method, member, read, None, follow, timeout)

    def _pages(
        self,
        method: str,
        member: str,
        read: Callable[[list[Any]], Sequence[T]],
        cursor: str | None,
        follow: bool,
        timeout: float | None,
    ) -> Listing[T]:
        """Fetch pages. "Clients MUST NOT treat an empty string as the end" (server/utilities/pagination)."""
        items: list[T] = []
        pages: list[dict[str, Any]] = []
        seen: set[str] = set()
        size = 0
        while True:
            page = self.fetch(Call(method=method, params={} if cursor is None else {"cursor": cursor}, timeout=timeout))
            items += read(read_result(lambda page: need_list(page, member, f"The result of {method}"), page))
            pages.append(page)
            found = page.get("nextCursor")
            cursor = found if isinstance(found, str) else None
            if cursor is None or not follow:
                break
            size += len(encode(page))
            if cursor in seen or len(pages) >= self._max_pages or size > MAX_LIST_SIZE:
                why = "repeats a cursor" if cursor in seen else f"has more than {len(pages)} pages of {size} bytes"
                logger.warning("%s: %s %s; the rest is left out", self._address, method, why)
                break
            seen.add(cursor)
        return Listing(items, cursor, pages)
