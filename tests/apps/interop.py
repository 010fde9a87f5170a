"""The server that real clients use in tests/interop: a little of everything they can ask for."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_wsgi import Context, Server, public
from mcp_wsgi.wsgi import WSGIApp

__all__ = ["application", "server"]

server = Server("interop", version="1.0")


@dataclass(frozen=True, kw_only=True)
class Area:
    """The size of a rectangle."""

    area: float
    unit: str


@server.tool
def repeat(word: str, times: int) -> str:
    """Repeat a word."""
    return word * times


@server.tool
def measure(width: int, height: float) -> Area:
    """Measure a rectangle."""
    return Area(area=width * height, unit="m2")


@server.tool
def count(to: int, ctx: Context) -> int:
    """Count to a number, and say so at each step."""
    for number in range(1, to + 1):
        ctx.report_progress(number, to)
    return to


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Return a text that never changes."""
    return "A text that never changes."


@server.prompt
def greet(name: str) -> str:
    """Ask for a greeting."""
    return f"Say hello to {name}."


application = WSGIApp(server, auth=public)
