"""ASGI applications that are measured: the door with an async tool, and a bare one that does the same work."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp_wsgi import Server, public
from mcp_wsgi.asgi import ASGIApp

from .targets import PATH, answer, body_of

__all__ = ["bare", "mcp"]

Message = MutableMapping[str, Any]

_server = Server("bench", version="0")


@_server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


async def bare(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Read the body, parse, add, serialise."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    data = body_of(answer(json.loads(body)))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": data})


mcp = ASGIApp(_server, auth=public, path=PATH)
