"""Requests in wire form, and answers as a client reads them: through the strict codec and back."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.protocol.meta import build_meta
from mcp_wsgi.protocol.versions import LATEST_VERSION
from mcp_wsgi.server.encoding import encode_message

__all__ = ["ERAS", "FORMS", "ask", "call", "error_of", "request", "result_of", "text_of"]

ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
#: The capabilities of a client that can show forms.
FORMS: dict[str, Any] = {"elicitation": {}}


def request(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    era: str = "modern",
    caps: dict[str, Any] | None = None,
    request_id: str | int = 1,
    log_level: str | None = None,
    token: str | int | None = None,
    version: str = LATEST_VERSION,
) -> dict[str, Any]:
    """Build a request of an era."""
    params = dict(params or {})
    if era == "modern":
        params["_meta"] = build_meta(
            version=version, capabilities=caps or {}, log_level=log_level, progress_token=token
        )
    elif token is not None:
        params["_meta"] = {"progressToken": token}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def ask(server: Server, method: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Send a request and read the answer as it stands on the wire."""
    handling = {
        name: options.pop(name) for name in ("principal", "notify", "cancellation", "request") if name in options
    }
    answer = server.handle_message(request(method, params, **options), **handling)
    assert answer is not None
    read: dict[str, Any] = decode(encode_message(answer))
    assert read == decode(encode(answer)), "the quick encoder writes what the strict one does"
    assert read["id"] == options.get("request_id", 1)
    return read


def result_of(server: Server, method: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Send a request that has a result."""
    answer = ask(server, method, params, **options)
    assert "error" not in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def error_of(server: Server, method: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Send a request that has an error."""
    answer = ask(server, method, params, **options)
    assert "result" not in answer, answer
    error: dict[str, Any] = answer["error"]
    return error


def call(server: Server, name: str, arguments: Any = None, **options: Any) -> dict[str, Any]:
    """Call a tool and give its result."""
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return result_of(server, "tools/call", params | options.pop("more", {}), **options)


def text_of(result: dict[str, Any]) -> str:
    """Join the text of a tool's result."""
    return "\n".join(block["text"] for block in result["content"])
