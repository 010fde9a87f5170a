"""A server that asks, logs and changes, on the standard streams: ``python -m tests.apps.asking_stdio``."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_wsgi import Context, Server
from mcp_wsgi.stdio import serve_stdio

server = Server("asking", version="1.0")


@dataclass
class Seat:
    """What the user is asked for."""

    row: int


@server.tool
def book(city: str, ctx: Context) -> str:
    """Ask the user."""
    answer = ctx.elicit(f"Which seat to {city}?", Seat)
    return f"row {answer.data.row} to {city}" if answer.data else answer.action


@server.tool
def think(ctx: Context) -> str:
    """Ask the client's model."""
    return ctx.sample("What is six times seven?", max_tokens=5).text


@server.tool
def folders(ctx: Context) -> str:
    """Ask for the client's folders."""
    return ", ".join(root.uri for root in ctx.list_roots())


@server.tool
def warn(ctx: Context) -> str:
    """Log, and print where nobody should."""
    print("printed")
    ctx.warning("careful")
    return "warned"


@server.tool
def change() -> str:
    """Change the tools and a resource."""
    server.notify_tools_changed()
    server.notify_resource_updated("test://text")
    return "changed"


@server.resource("test://text")
def text() -> str:
    """Give a text."""
    return "A text."


if __name__ == "__main__":
    serve_stdio(server)
