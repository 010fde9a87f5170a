"""Lists: one page by default, opaque cursors where pages are asked for, caching hints.

2026-07-28, server/utilities/pagination and server/utilities/caching (SEP-2549).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidParamsError
from .registry import Page, View

if TYPE_CHECKING:
    from .context import Context
    from .server import Server

__all__ = ["ListResult", "cache_hints", "list_result"]


class ListResult(dict[str, Any]):
    """Hold a list result together with the prepared JSON of its longest member.

    It is an ordinary result object; :func:`mcp_wsgi.server.encoding.encode_message` saves the work of
    encoding the definitions again.
    """

    __slots__ = ("member", "prepared")

    member: str
    prepared: str


def _encode_cursor(method: str, after: int) -> str:
    return base64.urlsafe_b64encode(f"{method} {after}".encode()).decode("ascii")


def _decode_cursor(method: str, cursor: object) -> int:
    if type(cursor) is str:
        try:
            text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
            owner, _, after = text.rpartition(" ")
            if owner == method and after.isdigit() and len(after) <= 12:
                return int(after)
        except (binascii.Error, ValueError):
            pass
    raise InvalidParamsError('"cursor" is not one that this method gave out; list again from the start')


def cache_hints(server: Server, context: Context, *, varies: bool, ttl_ms: int | None = None) -> dict[str, Any]:
    """Give the caching hints of a modern result.

    A result is "private" as soon as anything filters by request: somebody's list must never be served to
    somebody else (SEP-2549, Cache scope).
    """
    scope = "private" if varies or context.principal is not None else "public"
    return {"ttlMs": server.ttl_ms if ttl_ms is None else ttl_ms, "cacheScope": scope}


def _visible(view: View[Any], begin: int, context: Context) -> Iterator[tuple[int, Any]]:
    """Yield what exists for the caller, with its number, from an index on."""
    for number, item in islice(zip(view.order, view, strict=True), begin, None):
        if item.visible is None or item.visible(context):
            yield number, item


def list_result(
    server: Server, context: Context, view: View[Any], member: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Build one page of a list.

    Raises:
        InvalidParamsError: The cursor is not one of this method's.
    """
    modern = context.envelope is not None
    begin = 0
    if params.get("cursor") is not None:
        begin = view.start(_decode_cursor(context.method, params["cursor"]))
    size = server.page_size
    result = ListResult()
    if view.has_filter:
        # Pages of what the caller sees: gaps in them, or a page behind the last one, would tell of what is hidden.
        found = list(islice(_visible(view, begin, context), None if size is None else size + 1))
        last = found[size - 1][0] if size is not None and len(found) > size else None
        result[member] = [item.to_wire(modern=modern) for _, item in found[:size]]
        result.member = ""
    else:
        page: Page = view.page(begin, size, modern=modern)
        last = view.order[begin + size - 1] if size is not None and begin + size < len(view.order) else None
        result[member] = page
        result.member, result.prepared = member, page.json
    if last is not None:
        # "a missing nextCursor means the end": it is never null or empty.
        result["nextCursor"] = _encode_cursor(context.method, last)
    if modern:
        result.update(cache_hints(server, context, varies=view.has_filter))
    return result
