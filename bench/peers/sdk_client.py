"""The official client calls a tool many times: sdk_client.py URL CALLS prints the microseconds of one call."""

from __future__ import annotations

import asyncio
import sys
import time

from mcp.client import Client


async def main(url: str, calls: int) -> None:
    """Connect, warm up, and measure."""
    async with Client(url) as client:
        for _ in range(10):
            await client.call_tool("add", {"a": 2, "b": 3})
        start = time.perf_counter()
        for _ in range(calls):
            await client.call_tool("add", {"a": 2, "b": 3})
        print((time.perf_counter() - start) / calls * 1e6)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
