"""What a client sends to the Flask door and how it reads the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_wsgi.protocol.codec import decode
from mcp_wsgi.protocol.meta import build_meta
from mcp_wsgi.protocol.versions import LATEST_VERSION

__all__ = ["FORMS", "call", "headers_of", "messages", "modern", "post", "result", "text"]

FORMS: dict[str, Any] = {"elicitation": {}}


def modern(method: str, params: Mapping[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """Build a modern request."""
    capabilities = meta.pop("capabilities", {})
    meta = build_meta(version=LATEST_VERSION, capabilities=capabilities, **meta)
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}


def call(tool: str, arguments: Mapping[str, Any] | None = None, *, token: str | None = None, **more: Any) -> Any:
    """Build a request to call a tool; with a progress token it may be answered with a stream."""
    capabilities = more.pop("capabilities", {})
    params = {"name": tool, "arguments": dict(arguments or {}), **more}
    return modern("tools/call", params, progress_token=token, capabilities=capabilities)


def headers_of(message: Mapping[str, Any], **more: str) -> dict[str, str]:
    """Give the headers that belong to a request."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST_VERSION,
        "Mcp-Method": message["method"],
    }
    if "name" in message["params"]:
        headers["Mcp-Name"] = message["params"]["name"]
    return headers | {name.replace("_", "-"): value for name, value in more.items()}


def post(client: Any, message: Mapping[str, Any], path: str = "/mcp", **headers: str) -> Any:
    """Send a request with Flask's test client."""
    return client.post(path, data=json.dumps(message), headers=headers_of(message, **headers))


def messages(body: bytes) -> list[dict[str, Any]]:
    """Read the messages of an event stream; comments are left out."""
    events = [event for event in body.decode().split("\n\n") if event and not event.startswith(":")]
    return [decode(line[6:].encode()) for event in events for line in event.split("\n") if line.startswith("data: ")]


def result(response: Any) -> dict[str, Any]:
    """Give the result that answers, in JSON or at the end of a stream."""
    answer = messages(response.data)[-1] if response.mimetype == "text/event-stream" else response.json
    assert "error" not in answer, answer
    found: dict[str, Any] = answer["result"]
    return found


def text(response: Any) -> str:
    """Give the text that a tool returned."""
    found = result(response)
    assert not found.get("isError"), found
    content: str = found["content"][0]["text"]
    return content
