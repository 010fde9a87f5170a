"""The plain WSGI application."""

from __future__ import annotations

from mcp_wsgi import public
from mcp_wsgi.wsgi import WSGIApp
from tests.streaming.apps.tools import POLICY, make_server

__all__ = ["application"]

application = WSGIApp(make_server(), auth=public, policy=POLICY)
