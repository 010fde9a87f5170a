"""The probe's endpoint, plainly and wrapped as views are."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.urls import include, path, re_path

from mcp_wsgi import HTTPPolicy, public
from mcp_wsgi.django import mcp_urls, mcp_view, user_auth
from tests.apps.django_probe.tools import server

POLICY = HTTPPolicy(
    body_limit=4 * 1024 * 1024,
    # Long where nobody says otherwise: a handler that is silent for a fifth of it is answered with a stream.
    keep_alive=float(os.environ.get("LIBRARY_KEEP_ALIVE", "600")),
    allowed_origins=["https://inspector.example"],
)


def sync_decorator(view: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a view as most decorators that one finds do."""

    @functools.wraps(view)
    def wrapper(request: Any, *args: Any, **kwargs: Any) -> Any:
        return view(request, *args, **kwargs)

    return wrapper


view = mcp_view(server, auth=public, policy=POLICY)
urlpatterns = [
    *mcp_urls(server, auth=public, policy=POLICY),
    path("single", view),
    path("below/", include([path("mcp/", view)])),
    path("tenants/<slug:tenant>/mcp", view),
    re_path(r"^pattern/mcp/?$", view),
    path("wrapped", sync_decorator(view)),
    path("members", login_required(view)),
    path("users", mcp_view(server, auth=user_auth)),
]
