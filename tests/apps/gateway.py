"""A gateway: the tools of the servers that UPSTREAM names as JSON, served again, beside a resource and a prompt."""

from __future__ import annotations

import json
import os

from mcp_wsgi import Server, public
from mcp_wsgi.bridge import connect_servers
from mcp_wsgi.wsgi import WSGIApp
from tests.apps.interop import greet, static_text

__all__ = ["application", "server"]

server = Server("gateway", version="1.0", tools=connect_servers(json.loads(os.environ["UPSTREAM"]), strict=True))
server.resource("test://static-text", mime_type="text/plain")(static_text)
server.prompt(greet)
application = WSGIApp(server, auth=public)
