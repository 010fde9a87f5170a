"""MCP over Django's test clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_wsgi import expected_headers
from tests.modern import BOTH, message

__all__ = ["EVENTS", "acall", "apost", "call", "events_of", "post", "request_of", "result_of"]

EVENTS = "text/event-stream"


def request_of(
    sent: dict[str, Any] | bytes, headers: Mapping[str, str] | None = None, accept: str | None = BOTH
) -> dict[str, Any]:
    """Give the arguments of a test client's post()."""
    own = {} if isinstance(sent, bytes) else dict(expected_headers(sent))
    if accept is not None:
        own["Accept"] = accept
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return {"data": body, "content_type": "application/json", "headers": {**own, **(headers or {})}}


def post(client: Any, sent: dict[str, Any] | bytes, *, path: str = "/mcp", **options: Any) -> Any:
    """Send a message by a test client, sync or async."""
    return client.post(path, **request_of(sent, **options))


async def apost(client: Any, sent: dict[str, Any] | bytes, **options: Any) -> Any:
    """Send a message and await the response."""
    return await post(client, sent, **options)


def result_of(response: Any) -> Any:
    """Give the result of a JSON answer."""
    assert response.status_code == 200, response.content
    answer = json.loads(response.content)
    assert "result" in answer, answer
    return answer["result"]


def call(client: Any, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    """Call a tool and give its result."""
    return result_of(post(client, message("tools/call", name=tool, arguments=arguments or {}), **options))


async def acall(client: Any, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    """Call a tool by an async client and give its result."""
    return result_of(await post(client, message("tools/call", name=tool, arguments=arguments or {}), **options))


def events_of(data: bytes) -> list[Any]:
    """Give the messages of an event stream."""
    return [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
