"""Serve the conformance fixture on a real server: python tests/conformance/serve.py DOOR PORT

DOOR is one of wsgi, flask, django (gunicorn with threads), asgi and django-asgi (uvicorn). The endpoint is
http://127.0.0.1:PORT/mcp. This process becomes the server.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
__all__ = ["DOORS", "command"]

#: Each door with its factory in this module and whether it is an ASGI application.
DOORS = {
    "wsgi": ("wsgi_app", False),
    "flask": ("flask_app", False),
    "django": ("django_app", False),
    "asgi": ("asgi_app", True),
    "django-asgi": ("django_asgi_app", True),
}


def wsgi_app() -> Any:
    """Make the plain WSGI application."""
    from mcp_wsgi import public
    from mcp_wsgi.wsgi import WSGIApp
    from tests.conformance.fixture import POLICY, server

    return WSGIApp(server, auth=public, policy=POLICY)


def asgi_app() -> Any:
    """Make the plain ASGI application."""
    from mcp_wsgi import public
    from mcp_wsgi.asgi import ASGIApp
    from tests.conformance.fixture import POLICY, server

    return ASGIApp(server, auth=public, policy=POLICY)


def flask_app() -> Any:
    """Make a Flask application with the endpoint as a blueprint."""
    from flask import Flask

    from mcp_wsgi import public
    from mcp_wsgi.flask import create_blueprint
    from tests.conformance.fixture import POLICY, server

    app = Flask(__name__)
    app.config["SECRET_KEY"] = "only for the conformance suite"
    app.register_blueprint(create_blueprint(server, auth=public, policy=POLICY))
    return app


def django_app() -> Any:
    """Make a Django project with the endpoint as its only URL, for WSGI."""
    _set_up_django()
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def django_asgi_app() -> Any:
    """Make the same project for ASGI."""
    _set_up_django()
    from django.core.asgi import get_asgi_application

    return get_asgi_application()


def _set_up_django() -> None:
    from types import ModuleType

    from django.conf import settings

    # Django wants the URLs in a module; this one is imported only where there are settings.
    urls = ModuleType("conformance_urls")
    sys.modules[urls.__name__] = urls
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1", "localhost", "[::1]"],
        MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
        ROOT_URLCONF=urls.__name__,
        SECRET_KEY="only for the conformance suite",
        USE_TZ=True,
    )
    from mcp_wsgi import public
    from mcp_wsgi.django import mcp_urls
    from tests.conformance.fixture import POLICY, server

    urls.urlpatterns = mcp_urls(server, path="mcp", auth=public, policy=POLICY)  # type: ignore[attr-defined]


def command(door: str, port: int) -> list[str]:
    """Return the command of the server for a door."""
    factory, is_asgi = DOORS[door]
    target = f"tests.conformance.serve:{factory}"
    if is_asgi:
        where = ["--host", "127.0.0.1", "--port", str(port), "--app-dir", str(ROOT)]
        options = ["--factory", "--log-level", "warning", "--timeout-graceful-shutdown", "3"]
        return [sys.executable, "-m", "uvicorn", *where, *options, target]
    where = ["--bind", f"127.0.0.1:{port}", "--chdir", str(ROOT)]
    # One process, since a subscription only hears of changes in its own.
    options = ["--config", str(ROOT / "tests" / "gunicorn_conf.py"), "--worker-class", "gthread", "--threads", "32"]
    return [sys.executable, "-m", "gunicorn", *where, *options, f"{target}()"]


def main(words: list[str]) -> None:
    """Become the server."""
    if len(words) != 2 or words[0] not in DOORS or not words[1].isdigit():
        sys.exit(f"usage: serve.py {'|'.join(DOORS)} PORT")
    program = command(words[0], int(words[1]))
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
