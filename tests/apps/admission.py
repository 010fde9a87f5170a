"""The server of tests.raw_table and tests.test_async_tools: what it does is not the point, what it lets in is."""

from __future__ import annotations

import asyncio
import contextvars

from mcp_wsgi import HTTPPolicy, Server, public
from mcp_wsgi.wsgi import WSGIApp

__all__ = ["BODY_LIMIT", "ORIGIN", "application", "server"]

BODY_LIMIT = 64 * 1024
ORIGIN = "https://app.example"

server = Server("admission", version="1.0")
_current: contextvars.ContextVar[int] = contextvars.ContextVar("current")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(name="größe")
def size(text: str) -> int:
    """Measure a text."""
    return len(text)


@server.tool(structured=False)
def fail() -> str:
    """Fail."""
    raise RuntimeError("a secret of the application")


@server.tool
def double(number: int) -> dict[str, int | bool]:
    """Double a number, and say whether an event loop runs here."""
    _current.set(number)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        running = False
    else:
        running = True
    return {"double": 2 * _current.get(), "loop": running}


@server.tool
async def double_later(number: int, seconds: float) -> dict[str, int | bool]:
    """Double a number after a while, by way of a context variable."""
    _current.set(number)
    await asyncio.sleep(seconds)
    return {"double": 2 * _current.get(), "loop": asyncio.get_running_loop().is_running()}


@server.resource("test://text")
def text() -> str:
    """Give a text."""
    return "text"


application = WSGIApp(
    server,
    auth=public,
    policy=HTTPPolicy(body_limit=BODY_LIMIT, allowed_origins=[ORIGIN]),
)
