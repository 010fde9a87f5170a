"""A small server on the official Python SDK, 1.x or 2.x, whichever is installed: python sdk_server.py PORT"""

import sys

PORT = int(sys.argv[1])

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("sdk", log_level="ERROR", host="127.0.0.1", port=PORT)
    where = {}
else:
    server = MCPServer("sdk", log_level="ERROR")
    where = {"host": "127.0.0.1", "port": PORT}


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


server.run("streamable-http", **where)
