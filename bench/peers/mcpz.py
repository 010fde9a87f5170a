"""django-mcpz with the same tool, in the same project."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest
from django_mcpz.server import MCPServer, public

from bench.django_project import application

__all__ = ["app"]

_server = MCPServer(name="bench", version="0", auth=public)


class Pair(msgspec.Struct):
    """The arguments."""

    a: int
    b: int


@_server.tool(description="Add two numbers.")
def add(request: HttpRequest, pair: Pair) -> int:
    """Add two numbers."""
    return pair.a + pair.b


app = application(_server)
