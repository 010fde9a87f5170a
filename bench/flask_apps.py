"""Flask applications that are measured: the door, and a bare view that does the same work."""

from __future__ import annotations

from flask import Flask, Response, request

from mcp_wsgi import public
from mcp_wsgi.flask import create_blueprint

from .targets import PATH, answer, make_server

__all__ = ["bare", "mcp"]

bare = Flask("bare")


@bare.post(PATH)
def add() -> Response:
    """Read the body, parse, add, serialise."""
    data = answer(request.get_data())
    return Response(data, headers={"X-Content-Type-Options": "nosniff"}, content_type="application/json")


mcp = Flask("mcp")
mcp.register_blueprint(create_blueprint(make_server(), auth=public, url_prefix=PATH))
