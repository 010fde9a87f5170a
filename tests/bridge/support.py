"""Servers to connect, and ways to see what a connection left behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp_wsgi import Context, Server, ToolError
from tests.patience import wait_until

__all__ = ["bridge_threads", "closed_port", "shop", "wait_until", "weather"]


def weather() -> Server:
    """A server with three tools; one of its names is also in the shop."""
    server = Server("weather", version="1.0")

    @server.tool(title="Forecast", read_only=True)
    def forecast(city: str) -> dict[str, Any]:
        """Say how the weather will be."""
        return {"city": city, "degrees": 21.5}

    @server.tool
    def search(text: str) -> str:
        """Search for a city."""
        return f"weather: {text}"

    @server.tool
    def fail(text: str) -> str:
        """Fail with a text."""
        raise ToolError(text)

    return server


def shop() -> Server:
    """A server with two tools."""
    server = Server("shop", version="1.0")

    @server.tool
    def search(text: str) -> str:
        """Search for an article."""
        return f"shop: {text}"

    @server.tool
    def count(to: int, ctx: Context) -> int:
        """Count, and say so."""
        for number in range(1, to + 1):
            ctx.report_progress(number, to, f"number {number}")
        return to

    return server


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and that nobody else is given while the block runs."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def bridge_threads() -> list[str]:
    """The threads that connecting has started and that still run."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mcp_wsgi bridge")]
