"""Requests and answers of the endpoint for the tests of mcp_wsgi.http, without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_wsgi import HTTPPolicy, Server, public
from mcp_wsgi.http.endpoint import Endpoint
from mcp_wsgi.http.messages import HTTPRequest, HTTPResponse
from mcp_wsgi.protocol.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION

ABSENT: Any = object()
LEGACY, MODERN = "2025-11-25", "2026-07-28"
JSON = ("content-type", "application/json")
LEGACY_HEADERS = (JSON, ("accept", "application/json, text/event-stream"), ("mcp-protocol-version", LEGACY))
Pairs = Sequence[tuple[str, str]]


def make_server(calls: list[Any] | None = None, **options: Any) -> Server:
    """Make a server whose one tool notes that it ran."""
    server = Server("test", **options)

    @server.tool
    def add(a: int, b: int) -> int:
        if calls is not None:
            calls.append((a, b))
        return a + b

    return server


def make_endpoint(server: Server | None = None, *, auth: Any = public, **policy: Any) -> Endpoint:
    return Endpoint(server or make_server(), auth=auth, policy=HTTPPolicy(**policy) if policy else None)


def envelope(version: Any = MODERN, **more: Any) -> dict[str, Any]:
    return {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}, **more}


def message(method: str, params: Any = ABSENT, request_id: Any = 1) -> dict[str, Any]:
    built: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if request_id is not ABSENT:
        built["id"] = request_id
    if params is not ABSENT:
        built["params"] = params
    return built


def modern_message(method: str, params: Mapping[str, Any] | None = None, request_id: Any = 1) -> dict[str, Any]:
    return message(method, {"_meta": envelope(), **(params or {})}, request_id)


def modern_headers(method: str, name: str | None = None, version: str = MODERN) -> list[tuple[str, str]]:
    headers = [JSON, ("mcp-protocol-version", version), ("mcp-method", method)]
    return headers if name is None else [*headers, ("mcp-name", name)]


ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}


def http_request(
    body: Any = b"",
    headers: Pairs = LEGACY_HEADERS,
    *,
    method: str = "POST",
    length: int | None = ABSENT,
    read_body: Callable[[int], bytes] | None = None,
) -> HTTPRequest:
    """Make a request; a body that is not bytes is written as JSON, and announced with its length."""
    data: bytes = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HTTPRequest(
        method,
        list(headers),
        read_body or (lambda size: data[:size]),
        content_length=len(data) if length is ABSENT else length,
    )


def ask(endpoint: Endpoint, body: Any, headers: Pairs = LEGACY_HEADERS, **options: Any) -> HTTPResponse:
    return endpoint.handle(http_request(body, headers, **options))


def call_modern(endpoint: Endpoint, *more: tuple[str, str], params: Any = ADD) -> HTTPResponse:
    return ask(endpoint, modern_message("tools/call", params), [*modern_headers("tools/call", params["name"]), *more])


def header(response: HTTPResponse, name: str) -> str | None:
    values = [value for key, value in response.headers if key.lower() == name.lower()]
    assert len(values) < 2, f"{name} is repeated: {values}"
    return values[0] if values else None


def read(response: HTTPResponse) -> dict[str, Any]:
    """Read an answer, and see that it is framed and typed as JSON."""
    assert header(response, "content-type") == "application/json"
    assert header(response, "content-length") == str(len(response.body))
    answer: dict[str, Any] = json.loads(response.body)
    assert answer["jsonrpc"] == "2.0"
    return answer


def outcome(response: HTTPResponse) -> tuple[int, int | None, Any]:
    """Give status, JSON-RPC code (None for a result) and id."""
    answer = read(response)
    return response.status, answer.get("error", {}).get("code"), answer.get("id", ABSENT)
