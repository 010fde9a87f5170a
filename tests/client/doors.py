"""The doors of the conformance fixture, whose server has a slow tool besides."""

from __future__ import annotations

import time

from tests.conformance.fixture import server
from tests.conformance.serve import asgi_app, django_app, django_asgi_app, flask_app, wsgi_app

__all__ = ["asgi_app", "django_app", "django_asgi_app", "flask_app", "wsgi_app"]

SECONDS = 4


@server.tool
def take_some_time() -> str:
    """Answer after some seconds."""
    time.sleep(SECONDS)
    return "Done."
