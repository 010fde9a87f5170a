"""The server of tests/apps/interop.py on the standard streams: ``python -m tests.apps.interop_stdio``."""

from __future__ import annotations

from mcp_wsgi.stdio import serve_stdio
from tests.apps.interop import server

if __name__ == "__main__":
    serve_stdio(server)
