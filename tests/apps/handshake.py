"""Tools that go on only when their client says that it has seen their report, so that nobody's pace matters."""

from __future__ import annotations

import asyncio
import time

from mcp_wsgi import Context, Server

__all__ = ["add_to"]

_PATIENCE = 30.0


def add_to(server: Server) -> None:
    """Add the tools to a server; each call has a key of its own, that of the client's next words about it."""
    begun: set[str] = set()
    seen: dict[str, int] = {}

    @server.tool
    def handed_over(ctx: Context, key: str, times: int) -> int:
        """Report with the time of each report, and go on only when the client says that it has come."""
        begun.add(key)
        for step in range(times):
            ctx.report_progress(step + 1, times, repr(time.time()))
            start = time.monotonic()
            while seen.get(key, 0) <= step:
                if time.monotonic() - start > _PATIENCE:
                    return step
                time.sleep(0.005)
        return times

    @server.tool
    async def handed_over_async(ctx: Context, key: str, times: int) -> int:
        """Do the same on a loop."""
        for step in range(times):
            ctx.report_progress(step + 1, times, repr(time.time()))
            start = time.monotonic()
            while seen.get(key, 0) <= step:
                if time.monotonic() - start > _PATIENCE:
                    return step
                await asyncio.sleep(0.005)
        return times

    @server.tool
    async def has_begun(key: str) -> bool:
        """Say whether a handler reports and waits by now."""
        return key in begun

    @server.tool
    def has_come(key: str, number: int) -> int:
        """Say that a report has come."""
        seen[key] = number
        return number
