"""The Django door in a project."""

from __future__ import annotations

from mcp_wsgi import public
from mcp_wsgi.django import mcp_view

from .django_project import application
from .targets import make_server

__all__ = ["mcp"]

mcp = application(mcp_view(make_server(), auth=public))
