"""A small but real server to try clients with: ``mcp-wsgi demo``.

:mod:`.library` is an application as anyone could have it, with an SQLite database and not a word about MCP;
:mod:`.server` makes it an MCP server; :mod:`.serving` and :mod:`.usage` are the command around them.
"""

from __future__ import annotations

from .library import Library
from .server import create_server

__all__ = ["Library", "create_server"]
