"""The Django door: a view that serves an MCP server, and an installable app around it.

A view of your own: ``urlpatterns = [*mcp_urls(server, auth=...)]``. With ``"mcp_wsgi.django"`` in ``INSTALLED_APPS``
also: settings in ``MCP``, ``include("mcp_wsgi.django.urls")``, discovery of ``mcp.py`` modules, system checks and
``manage.py mcp``. Importing this package needs no settings; asking for :data:`server` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .auth import drf_auth, user_auth
from .database import non_atomic
from .views import MCPView, mcp_urls, mcp_view

if TYPE_CHECKING:
    from ..server import Server

    #: The server that the ``mcp.py`` modules of apps register on, where ``MCP["SERVER"]`` names no other.
    server: Server

__all__ = ["MCPView", "drf_auth", "mcp_urls", "mcp_view", "non_atomic", "server", "user_auth"]


def __getattr__(name: str) -> Any:
    # Its name and version are settings, and this module is imported before there are any.
    if name == "server":
        from .conf import default_server

        return default_server()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
