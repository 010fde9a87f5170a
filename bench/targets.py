"""The applications that are measured, and the messages they are sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_wsgi import HTTPPolicy, Server, expected_headers, public
from mcp_wsgi.protocol.jsonrpc import request
from mcp_wsgi.protocol.meta import build_meta
from mcp_wsgi.protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION
from mcp_wsgi.wsgi import WSGIApp

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["ORIGIN", "PATH", "answer", "bare", "body_of", "headers_of", "legacy", "make_server", "mcp", "modern"]

ORIGIN = "https://app.example.com"
PATH = "/mcp"
_INFO = {"name": "bench", "version": "0"}
_PAIR = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def make_server(tools: int = 0) -> Server:
    """Make a server with a typed tool, or with so many tools.

    Args:
        tools: How many tools there are instead of the usual ones.
    """
    server = Server("bench", version="0")
    if tools:
        for number in range(tools):
            server.tool(add, name=f"add_{number}")
        return server
    server.tool(add)
    server.add_tool(
        {
            "name": "add_mapping",
            "description": "Add two numbers.",
            "parameters": _PAIR,
            "handler": lambda arguments, ctx: {"sum": arguments["a"] + arguments["b"]},
        }
    )
    server.resource("docs://intro", name="intro")(lambda: "An introduction of one line.")
    return server


def modern(method: str, **params: Any) -> dict[str, Any]:
    """Make a request of the modern era, with the envelope that clients send."""
    meta = build_meta(version=LATEST_VERSION, capabilities={"elicitation": {}}, client_info=_INFO)
    return request(1, method, {**params, "_meta": meta})


def legacy(method: str, **params: Any) -> dict[str, Any]:
    """Make a request of the legacy era."""
    return request(1, method, params)


def body_of(message: dict[str, Any]) -> bytes:
    """Write a message as most clients do, without spaces between its tokens."""
    return json.dumps(message, separators=(",", ":")).encode()


def headers_of(message: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the headers that a client sends with a message."""
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    if "_meta" in message["params"]:
        return headers + expected_headers(message)
    return [*headers, ("MCP-Protocol-Version", LATEST_LEGACY_VERSION)]


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Add, and give the same answer as the MCP server: the least that any application does."""
    arguments = message["params"]["arguments"]
    total = arguments["a"] + arguments["b"]
    result = {
        "content": [{"type": "text", "text": str(total)}],
        "structuredContent": total,
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": _INFO},
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def bare(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Parse JSON, add, write the answer, with nothing but WSGI."""
    body = body_of(answer(json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))))
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start_response("200 OK", headers)
    return [body]


mcp = WSGIApp(make_server(), auth=public, policy=HTTPPolicy(allowed_origins=[ORIGIN]), path=PATH)
