"""Raw requests for every door, beyond those of tests.raw_table: streams, subscriptions, negotiation, repeated lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mcp_wsgi import Context, HTTPPolicy, Server, ToolError, expected_headers
from mcp_wsgi.protocol.codec import encode
from tests.adapters.doors import RawRequest
from tests.modern import BOTH, message

__all__ = ["ORIGIN", "POLICY", "REQUESTS", "make_server"]

ORIGIN = "https://app.example"
POLICY = HTTPPolicy(
    body_limit=64 * 1024, allowed_origins=[ORIGIN], keep_alive=60, listen_lifetime=0.01, allow_credentials=True
)
SLASHES = ("/mcp", "/mcp/")


def make_server() -> Server:
    """Make a server whose answers are the same each time."""
    server = Server("parity", version="1.0")

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def add_later(a: int, b: int) -> int:
        """Add two numbers, asynchronously."""
        return a + b

    @server.tool
    def steps(count: int, ctx: Context) -> str:
        """Report each step."""
        for number in range(count):
            ctx.report_progress(number + 1, count, f"step {number}")
            ctx.log("info", {"step": number})
        return "done"

    @server.tool(structured=False)
    def fail() -> str:
        """Fail."""
        raise RuntimeError("a secret of the application")

    @server.tool(structured=False)
    def refuse() -> str:
        """Refuse in words that the model may read."""
        raise ToolError("not today")

    @server.tool(name="größe")
    def size(text: str) -> int:
        """Measure a text."""
        return len(text)

    @server.resource("test://text")
    def text() -> str:
        """Give a text."""
        return "täxt"

    @server.prompt
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Greet {name}."

    return server


def modern(
    method: str, *extra: tuple[str, str], accept: str | None = BOTH, without: Iterable[str] = (), **params: Any
) -> RawRequest:
    wire = message(method, **params)
    headers = [("Content-Type", "application/json"), *expected_headers(wire)]
    if accept is not None:
        headers.append(("Accept", accept))
    kept = [(name, value) for name, value in headers if name not in without]
    return RawRequest(body=encode(wire), headers=[*kept, *extra])


def legacy(method: str, params: Any = None, *extra: tuple[str, str], accept: str | None = BOTH) -> RawRequest:
    wire = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
    headers = [("Content-Type", "application/json"), ("MCP-Protocol-Version", "2025-11-25")]
    if accept is not None:
        headers.append(("Accept", accept))
    return RawRequest(body=json.dumps(wire).encode(), headers=[*headers, *extra])


def moved(request: RawRequest, target: str) -> RawRequest:
    return RawRequest(body=request.body, headers=request.headers, method=request.method, target=target)


def bare(method: str, *headers: tuple[str, str], body: bytes = b"", target: str = "/mcp") -> RawRequest:
    return RawRequest(body=body, headers=headers, method=method, target=target)


CALL = {"name": "add", "arguments": {"a": 1, "b": 2}}
STEPS = {"name": "steps", "arguments": {"count": 3}}
LISTEN = {"notifications": {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
JSON = ("Content-Type", "application/json")

REQUESTS: dict[str, RawRequest] = {
    # Plain answers
    "discover": modern("server/discover"),
    "list tools": modern("tools/list"),
    "list resources": modern("resources/list"),
    "list templates": modern("resources/templates/list"),
    "list prompts": modern("prompts/list"),
    "list with a false cursor": modern("tools/list", cursor="nowhere"),
    "call": modern("tools/call", **CALL),
    "call an async tool": modern("tools/call", name="add_later", arguments={"a": 1, "b": 2}),
    "call a tool that fails": modern("tools/call", name="fail"),
    "call a tool that refuses": modern("tools/call", name="refuse"),
    "call without arguments": modern("tools/call", name="add"),
    "call with false arguments": modern("tools/call", name="add", arguments={"a": "x", "b": 2}),
    "call a name beyond ASCII": modern("tools/call", name="größe", arguments={"text": "日本"}),
    "call nothing": modern("tools/call", name="nothing"),
    "read": modern("resources/read", uri="test://text"),
    "read nothing": modern("resources/read", uri="test://nothing"),
    "get a prompt": modern("prompts/get", name="greet", arguments={"name": "Ada"}),
    "get a prompt without its argument": modern("prompts/get", name="greet"),
    "an unknown method": modern("nothing/known"),
    "a string as id": modern("server/discover", request_id="ö"),
    # Streams
    "a call that reports": modern("tools/call", progress_token="t", **STEPS),
    "a call that reports, token 0": modern("tools/call", progress_token=0, **STEPS),
    "a call that reports and logs": modern("tools/call", progress_token="t", log_level="debug", **STEPS),
    "a call that logs": modern("tools/call", log_level="info", **STEPS),
    "a call whose logs are below the level": modern("tools/call", log_level="error", **STEPS),
    "a call that could report, as JSON": modern("tools/call", progress_token="t", **CALL),
    "a call that reports to a client of JSON": modern(
        "tools/call", accept="application/json", progress_token="t", **STEPS
    ),
    "a call that reports to a wildcard": modern("tools/call", accept="*/*", progress_token="t", **STEPS),
    "a call that reports to a client of events only": modern(
        "tools/call", accept="text/event-stream", progress_token="t", **STEPS
    ),
    "a failing call with a token": modern("tools/call", progress_token="t", name="fail"),
    "an unknown tool with a token": modern("tools/call", progress_token="t", name="nothing"),
    "a false token": modern("tools/call", progress_token=1.5, **STEPS),
    "a legacy call that reports": legacy("tools/call", {**STEPS, "_meta": {"progressToken": "t"}}),
    # Subscriptions
    "listen": modern("subscriptions/listen", **LISTEN),
    "listen to resources": modern(
        "subscriptions/listen", notifications={"resourceSubscriptions": ["test://text", "test://nothing"]}
    ),
    "listen to nothing": modern("subscriptions/listen", notifications={}),
    "listen without a filter": modern("subscriptions/listen"),
    "listen with a false filter": modern("subscriptions/listen", notifications={"toolsListChanged": "yes"}),
    "listen as JSON": modern("subscriptions/listen", accept="application/json", **LISTEN),
    "listen without Accept": modern("subscriptions/listen", accept=None, **LISTEN),
    "listen as legacy": legacy("subscriptions/listen", LISTEN),
    # Negotiation
    "no Accept": modern("tools/call", accept=None, **CALL),
    "events only": modern("tools/call", accept="text/event-stream", **CALL),
    "events by a weight of zero": modern(
        "tools/call", accept="application/json, text/event-stream;q=0", progress_token=1, **STEPS
    ),
    "an Accept that matches nothing": modern("tools/call", accept="image/png", **CALL),
    "no type": modern("tools/call", without=["Content-Type"], **CALL),
    "a form": bare("POST", ("Content-Type", "application/x-www-form-urlencoded"), body=b"a=1&b=2"),
    "a file": bare(
        "POST", ("Content-Type", "multipart/form-data; boundary=x"), body=b"--x\r\nContent-Disposition: form-data\r\n"
    ),
    "a compressed body": modern("tools/call", ("Content-Encoding", "gzip"), **CALL),
    "a condition": modern("tools/call", ("If-None-Match", "*"), ("Range", "bytes=0-5"), **CALL),
    "a cookie": modern("tools/call", ("Cookie", "csrftoken=x; sessionid=y"), **CALL),
    "a method in another header": modern("tools/call", ("X-HTTP-Method-Override", "GET"), **CALL),
    # Origins
    "an allowed origin": modern("tools/call", ("Origin", ORIGIN), **CALL),
    "an allowed origin and a stream": modern("tools/call", ("Origin", ORIGIN), progress_token=1, **STEPS),
    "a foreign origin": modern("tools/call", ("Origin", "https://evil.example"), **CALL),
    "the null origin": modern("tools/call", ("Origin", "null"), **CALL),
    "a preflight": bare(
        "OPTIONS",
        ("Origin", ORIGIN),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization, mcp-param-region"),
    ),
    "a foreign preflight": bare("OPTIONS", ("Origin", "https://evil.example")),
    "a foreign GET": bare("GET", ("Origin", "https://evil.example")),
    # Methods and paths
    **{f"{method} on the endpoint": bare(method) for method in ("GET", "HEAD", "DELETE", "PUT", "PATCH", "TRACE")},
    "a GET for events": bare("GET", ("Accept", "text/event-stream")),
    "an unknown HTTP method": bare("BREW"),
    "a PUT of a message": RawRequest(method="PUT", body=modern("tools/list").body, headers=[JSON]),
    **{f"POST to {target}": moved(modern("tools/call", **CALL), target) for target in SLASHES},
    **{f"GET {target}": bare("GET", target=target) for target in SLASHES},
    "a query": moved(modern("tools/call", **CALL), "/mcp?format=html&_method=GET"),
    "an escaped path": moved(modern("tools/call", **CALL), "/%6Dcp"),
    "below the endpoint": moved(modern("tools/call", **CALL), "/mcp/below"),
    "HEAD below the endpoint": bare("HEAD", target="/mcp/below"),
    # Bodies
    "an empty body": bare("POST", JSON),
    "a body that is no JSON": bare("POST", JSON, body=b"{"),
    "a body that is no UTF-8": bare("POST", JSON, body=b'"\xff"'),
    "a key twice": bare("POST", JSON, body=b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}'),
    "a batch": bare("POST", JSON, body=b"[]"),
    "a body over the limit": bare("POST", JSON, body=b" " * (64 * 1024 + 1)),
    "a body of just the limit": bare("POST", JSON, body=modern("ping").body.ljust(64 * 1024)),
    # Legacy
    "initialize": legacy("initialize", INITIALIZE),
    "ping": legacy("ping"),
    "a legacy call": legacy("tools/call", CALL),
    "a legacy error": legacy("nothing/known"),
    "a legacy level": legacy("logging/setLevel", {"level": "info"}),
    "a notification": bare("POST", JSON, body=b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    "a response": bare("POST", JSON, body=b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    # Headers against the envelope
    "no version": modern("tools/call", without=["MCP-Protocol-Version"], **CALL),
    "no method header": modern("tools/call", without=["Mcp-Method"], **CALL),
    "no name header": modern("tools/call", without=["Mcp-Name"], **CALL),
    "another name": modern("tools/call", ("Mcp-Name", "fail"), without=["Mcp-Name"], **CALL),
    "a version of tomorrow": modern(
        "tools/call", ("MCP-Protocol-Version", "2030-01-01"), without=["MCP-Protocol-Version"], **CALL
    ),
    "an underscore instead of a hyphen": modern("tools/call", ("Mcp_Name", "fail"), **CALL),
    # Repeated lines
    **{
        f"{name} twice, {how}": modern("tools/call", (name, value), **CALL)
        for name, how, value in (
            ("Mcp-Name", "the same", "add"),
            ("Mcp-Name", "another", "fail"),
            ("Mcp-Method", "the same", "tools/call"),
            ("Mcp-Method", "another", "tools/list"),
            ("MCP-Protocol-Version", "the same", "2026-07-28"),
            ("MCP-Protocol-Version", "another", "2025-11-25"),
            ("Content-Type", "another", "text/plain"),
            ("Accept", "another", "text/html"),
            ("X-Other", "the same", "x"),
        )
    },
    "an allowed origin twice": modern("tools/call", ("Origin", ORIGIN), ("Origin", ORIGIN), **CALL),
    "two authorizations": modern("tools/call", ("Authorization", "a"), ("Authorization", "b"), **CALL),
}
