"""Flask applications that are measured: the door, and a bare view that does the same work."""

from __future__ import annotations

from flask import Flask, Response, jsonify, request

from mcp_wsgi import public
from mcp_wsgi.flask import create_blueprint

from .targets import PATH, answer, make_server

__all__ = ["bare", "mcp"]

bare = Flask("bare")


@bare.post(PATH)
def add() -> Response:
    """Parse, add, serialise, as a view of Flask does it."""
    return jsonify(answer(request.get_json()))


mcp = Flask("mcp")
mcp.register_blueprint(create_blueprint(make_server(), auth=public, url_prefix=PATH))
