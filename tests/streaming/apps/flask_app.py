"""The Flask application."""

from __future__ import annotations

from flask import Flask

from mcp_wsgi import public
from mcp_wsgi.flask import create_blueprint
from tests.streaming.apps.tools import POLICY, make_server

__all__ = ["application"]

application = Flask(__name__)
application.register_blueprint(create_blueprint(make_server(), auth=public, policy=POLICY))
