"""Middleware as applications have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sync_only(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Be a middleware of the plainest kind."""

    def middleware(request: Any) -> Any:
        response = get_response(request)
        response["X-Seen"] = "yes"
        return response

    return middleware


def body_reader(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Read the body before the view does, as loggers and signature checks do."""

    def middleware(request: Any) -> Any:
        size = len(request.body)
        response = get_response(request)
        response["X-Body"] = str(size)
        return response

    return middleware
