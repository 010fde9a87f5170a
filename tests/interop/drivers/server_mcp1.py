"""The tools of tests/apps/interop.py on the official Python SDK 1.x: python server_mcp1.py stdio | http PORT"""

from __future__ import annotations

import sys
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

transport, *port = sys.argv[1:]
options: dict[str, Any] = {"host": "127.0.0.1", "port": int(port[0])} if port else {}
server = FastMCP("upstream", log_level="ERROR", **options)


class Area(BaseModel):
    area: float
    unit: str


@server.tool()
def repeat(word: str, times: int) -> str:
    """Repeat a word."""
    return word * times


@server.tool()
def measure(width: int, height: float) -> Area:
    """Measure a rectangle."""
    return Area(area=width * height, unit="m2")


@server.tool()
async def count(to: int, ctx: Context[Any, Any, Any]) -> int:
    """Count to a number, and say so at each step."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return to


server.run("stdio" if transport == "stdio" else "streamable-http")
