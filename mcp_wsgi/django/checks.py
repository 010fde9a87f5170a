"""System checks: mistakes in the settings, with stable ids that ``SILENCED_SYSTEM_CHECKS`` can name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 - Django's own name for it
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from ..exceptions import ConfigurationError
from ..http.auth import public
from ..http.policy import HTTPPolicy
from .auth import user_auth
from .conf import KEYS, POLICY_KEYS, conf
from .views import MCPView, Unavailable

__all__ = ["check_all"]

_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"


def check_all(**kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's own arguments
    """Check the setting ``MCP``, and where the endpoints are."""
    try:
        values = conf.values
    except ConfigurationError as error:
        return [Error(str(error), id="mcp_wsgi.E004")]
    routes = list(_routes()) if getattr(settings, "ROOT_URLCONF", None) else []
    return [
        *_unknown(values),
        *_auth(values, included=_is_included(routes)),
        *_server(included=_is_included(routes)),
        *_policy(values),
        *_spellings(routes),
    ]


def _routes() -> Iterator[tuple[str, URLPattern]]:
    stack = [("", get_resolver())]
    while stack:
        prefix, resolver = stack.pop()
        for pattern in resolver.url_patterns:
            # Regular expressions and prefixes of a language can only be taken as text.
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLPattern):
                yield route, pattern
            else:
                stack.append((route, pattern))


def _is_included(routes: list[tuple[str, URLPattern]]) -> bool:
    from . import urls

    return any(pattern is ours for _, pattern in routes for ours in urls.urlpatterns)


def _unknown(values: Any) -> Iterator[CheckMessage]:
    for key in sorted(set(map(str, values)) - KEYS):
        yield Error(
            f'MCP["{key}"] is no setting', hint=f"The settings are: {', '.join(sorted(KEYS))}.", id="mcp_wsgi.E004"
        )


def _auth(values: Any, *, included: bool) -> Iterator[CheckMessage]:
    if values.get("AUTH") is None:
        if included:
            yield Error(
                'MCP["AUTH"] is missing: who may call the tools?',
                hint='Set it to "public" (everybody), to "mcp_wsgi.django.user_auth" (whom Django has signed in), or '
                "to the dotted path of a function of the request that returns the principal's name.",
                id="mcp_wsgi.E001",
            )
        return
    try:
        auth = conf.auth
    except ConfigurationError as error:
        yield Error(str(error), id="mcp_wsgi.E005")
        return
    if auth is user_auth and _AUTHENTICATION not in settings.MIDDLEWARE:
        yield Error(f'MCP["AUTH"] needs {_AUTHENTICATION} in MIDDLEWARE', id="mcp_wsgi.E006")
    if auth is public and values.get("ALLOW_CREDENTIALS"):
        yield Warning(
            'MCP["AUTH"] is "public", yet ALLOW_CREDENTIALS lets the pages of ALLOWED_ORIGINS send cookies: tools '
            "that look at request.user act for whoever visits such a page",
            hint='Leave ALLOW_CREDENTIALS out, or set AUTH to "mcp_wsgi.django.user_auth".',
            id="mcp_wsgi.W001",
        )


def _server(*, included: bool) -> Iterator[CheckMessage]:
    try:
        server = conf.server
    except ConfigurationError as error:
        yield Error(str(error), id="mcp_wsgi.E002")
        return
    if included and not server.declared:
        yield Warning(
            "The MCP server has no tools, resources or prompts",
            hint="Register them in mcp.py modules of installed apps: from mcp_wsgi.django import server.",
            id="mcp_wsgi.W003",
        )


def _policy(values: Any) -> Iterator[CheckMessage]:
    for key, option in POLICY_KEYS.items():
        if key in values:
            try:
                HTTPPolicy(**{option: values[key]})
            except (TypeError, ValueError, AttributeError) as error:
                yield Error(f'MCP["{key}"]: {error}', id="mcp_wsgi.E003")
    if not isinstance(values.get("PATH", ""), str):
        yield Error('MCP["PATH"] must be a string', id="mcp_wsgi.E003")


def _spellings(routes: list[tuple[str, URLPattern]]) -> Iterator[CheckMessage]:
    """Clients call both spellings of an endpoint, and replay no POST to where a redirect points."""
    written = {route for route, pattern in routes if isinstance(pattern.pattern, RoutePattern)}
    for route, pattern in routes:
        if isinstance(pattern.callback, (MCPView, Unavailable)) and isinstance(pattern.pattern, RoutePattern):
            other = route[:-1] if route.endswith("/") else route + "/"
            if other and other != "/" and other not in written:
                yield Warning(
                    f'The MCP endpoint is at "{route}", but not at "{other}"',
                    hint="Use mcp_urls(server, ...) in place of path(..., mcp_view(server, ...)).",
                    id="mcp_wsgi.W002",
                )
