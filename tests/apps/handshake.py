"""Tools that go on only when their client says that it has seen their report, so that nobody's pace matters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from mcp_wsgi import Context, Server

__all__ = ["add_to"]

_PATIENCE, _MOMENT = 30.0, 0.005


def add_to(server: Server) -> None:
    """Add the tools to a server; each call has a key of its own, that of the client's next words about it."""
    begun: set[str] = set()
    seen: dict[str, int] = {}

    def reports(ctx: Context, key: str, times: int) -> Iterator[None]:
        """Report the time of each report; give the moments to wait until the client says that it has come."""
        begun.add(key)
        for step in range(times):
            ctx.report_progress(step + 1, times, repr(time.time()))
            start = time.monotonic()
            while seen.get(key, 0) <= step:
                if time.monotonic() - start > _PATIENCE:
                    return
                yield

    @server.tool
    def handed_over(ctx: Context, key: str, times: int) -> int:
        """Go on only when the last report has come; give how many have."""
        for _ in reports(ctx, key, times):
            time.sleep(_MOMENT)
        return seen.get(key, 0)

    @server.tool
    async def handed_over_async(ctx: Context, key: str, times: int) -> int:
        """Do the same on a loop."""
        for _ in reports(ctx, key, times):
            await asyncio.sleep(_MOMENT)
        return seen.get(key, 0)

    @server.tool
    async def has_begun(key: str) -> bool:
        """Say whether a handler reports and waits by now."""
        return key in begun

    @server.tool
    def has_come(key: str, number: int) -> int:
        """Say that a report has come."""
        seen[key] = number
        return number
