"""A gateway in front of the server that UPSTREAM names."""

from __future__ import annotations

import os

from mcp_wsgi import Server, public
from mcp_wsgi.bridge import connect_servers
from mcp_wsgi.wsgi import WSGIApp

__all__ = ["application"]

tools = connect_servers([os.environ["UPSTREAM"]], strict=True)
application = WSGIApp(Server("gateway", version="1.0", tools=tools, keys=["g" * 32]), auth=public)
