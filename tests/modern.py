"""Modern requests for tests: the message, its headers and its bytes, made the way a client makes them."""

from __future__ import annotations

from typing import Any

from mcp_wsgi import expected_headers
from mcp_wsgi.protocol.codec import encode
from mcp_wsgi.protocol.meta import build_meta

__all__ = ["BOTH", "headers_of", "message", "post_headers"]

BOTH = "application/json, text/event-stream"


def message(
    method: str,
    *,
    request_id: str | int = 1,
    capabilities: dict[str, Any] | None = None,
    progress_token: str | int | None = None,
    log_level: str | None = None,
    **params: Any,
) -> dict[str, Any]:
    """Make a modern request with a complete envelope."""
    meta = build_meta(
        version="2026-07-28",
        capabilities=capabilities or {},
        client_info={"name": "test", "version": "1"},
        progress_token=progress_token,
        log_level=log_level,
    )
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": meta}}


def post_headers(request: dict[str, Any], *, accept: str | None = BOTH) -> list[tuple[str, str]]:
    """Give the headers a client sends with a modern request, its length included."""
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(encode(request))))]
    if accept is not None:
        headers.append(("Accept", accept))
    return [*headers, *expected_headers(request)]


def headers_of(request: dict[str, Any], *, accept: str | None = BOTH) -> list[tuple[str, str]]:
    """Give the same headers with their names in lower case, as a door hands them on."""
    return [(name.lower(), value) for name, value in post_headers(request, accept=accept)]
