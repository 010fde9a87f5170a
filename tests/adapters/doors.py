"""One small client for each door: the same raw request in, the answer out, all in this process.

The clients hand a request over as servers do: header names with an underscore are dropped (gunicorn, nginx), blanks
around values are stripped, and where a door sees an environ, repeated lines are joined.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from types import ModuleType
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from mcp_wsgi import HTTPPolicy, Server, public

__all__ = ["DOORS", "SEES_LINES", "Answer", "Client", "RawRequest", "missing"]


@dataclass(frozen=True, kw_only=True)
class RawRequest:
    """A request as it is on the wire, without its framing."""

    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()
    method: str = "POST"
    target: str = "/mcp"

    def lines(self) -> list[tuple[str, str]]:
        """Give the header lines that a server hands on, with the length."""
        lines = [(name, value.strip(" \t")) for name, value in self.headers if "_" not in name]
        if not any(name.lower() == "host" for name, _ in lines):
            lines.insert(0, ("Host", "test"))
        return [*lines, ("Content-Length", str(len(self.body)))] if self.body or self.method == "POST" else lines


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back: header names are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Client = Callable[[RawRequest], Answer]


def wsgi_client(app: Any) -> Client:
    """Call a WSGI application as a server would."""

    def ask(request: RawRequest) -> Answer:
        started: list[tuple[int, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            started.append((int(status.split(" ")[0]), [(name.lower(), value) for name, value in headers]))

        result = app(_environ(request), start_response)
        try:
            body = b"".join(result)
        finally:
            if hasattr(result, "close"):
                result.close()
        assert len(started) == 1
        return Answer(status=started[0][0], headers=started[0][1], body=body)

    return ask


def _environ(request: RawRequest) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "test",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(request.body),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.lines():
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    return environ


def asgi_client(app: Any) -> Client:
    """Call an ASGI application as a server would, on a loop of its own."""

    def ask(request: RawRequest) -> Answer:
        return asyncio.run(asyncio.wait_for(_exchange(app, request), 30))

    return ask


async def _exchange(app: Any, request: RawRequest) -> Answer:
    path, _, query = request.target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in request.lines()],
        "server": ("test", 80),
        "client": ("test", 1),
    }
    coming = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if coming:
            return coming.pop()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
    return Answer(status=start["status"], headers=headers, body=b"".join(each.get("body", b"") for each in rest))


def _wsgi(server: Server, policy: HTTPPolicy) -> Client:
    from mcp_wsgi.wsgi import WSGIApp

    return wsgi_client(WSGIApp(server, auth=public, policy=policy))


def _asgi(server: Server, policy: HTTPPolicy) -> Client:
    from mcp_wsgi.asgi import ASGIApp

    return asgi_client(ASGIApp(server, auth=public, policy=policy))


def _flask(server: Server, policy: HTTPPolicy) -> Client:
    from flask import Flask

    from mcp_wsgi.flask import create_blueprint

    app = Flask(__name__)
    app.register_blueprint(create_blueprint(server, auth=public, policy=policy))
    return wsgi_client(app)


def _django(server: Server, policy: HTTPPolicy) -> Client:
    def make() -> Client:
        from django.core.handlers.wsgi import WSGIHandler

        return wsgi_client(WSGIHandler())

    return _overridden(_django_urls(server, policy), make)


def _django_asgi(server: Server, policy: HTTPPolicy) -> Client:
    def make() -> Client:
        from django.core.handlers.asgi import ASGIHandler

        return asgi_client(ASGIHandler())

    return _overridden(_django_urls(server, policy), make)


def _django_urls(server: Server, policy: HTTPPolicy) -> ModuleType:
    """Make URLs with the endpoint. Django is set up once in a process, and its own tests want these settings."""
    import django
    from django.conf import settings

    if not settings.configured:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.apps.django_library.settings")
        django.setup()
    from mcp_wsgi.django import mcp_urls

    urls = ModuleType("urls_of_the_parity_suite")
    urls.urlpatterns = mcp_urls(server, auth=public, policy=policy)  # type: ignore[attr-defined]
    return urls


def _overridden(urls: ModuleType, make: Callable[[], Client]) -> Client:
    """Make a client, and let it ask, with these URLs and Django's usual middleware."""
    from django.test import override_settings

    middleware = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
    options = {"ROOT_URLCONF": urls, "MIDDLEWARE": middleware, "ALLOWED_HOSTS": ["*"]}
    with override_settings(**options):
        client = make()

    def ask(request: RawRequest) -> Answer:
        with override_settings(**options):
            return client(request)

    return ask


DOORS: Mapping[str, Callable[[Server, HTTPPolicy], Client]] = {
    "wsgi": _wsgi,
    "asgi": _asgi,
    "flask": _flask,
    "django": _django,
    "django-asgi": _django_asgi,
}
#: The doors that see each header line by itself.
SEES_LINES = frozenset({"asgi", "django-asgi"})


def missing(door: str) -> bool:
    """Say whether the framework of a door is not installed."""
    framework = door.partition("-")[0]
    return framework in ("flask", "django") and importlib.util.find_spec(framework) is None
