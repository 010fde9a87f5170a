"""The official SDK's server with the same tool: stateless, plain JSON answers."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

__all__ = ["app"]

_server = MCPServer("bench", version="0", log_level="WARNING")


@_server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


app = _server.streamable_http_app(stateless_http=True, json_response=True)
