"""The plain ASGI application."""

from __future__ import annotations

from mcp_wsgi import public
from mcp_wsgi.asgi import ASGIApp
from tests.streaming.apps.tools import POLICY, make_server

__all__ = ["application"]

application = ASGIApp(make_server(), auth=public, policy=POLICY)
