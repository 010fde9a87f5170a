"""What ``mcp-wsgi demo`` prints: how to call the server, in both eras."""

from __future__ import annotations

import json
import shlex
from typing import Any

from ..protocol.headers import expected_headers
from ..protocol.meta import build_meta
from ..protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION

__all__ = ["usage"]


def usage(url: str) -> str:
    """Write how to call the demo at a URL."""
    legacy = _call("search_books", {"text": "austen"})
    modern = _call("search_books", {"text": "austen"})
    modern["params"]["_meta"] = build_meta(version=LATEST_VERSION, capabilities={})
    return f"""\
A small library of books is served as an MCP server at:

    {url}

Give that URL to any MCP client, or try it from another terminal.
As clients of {LATEST_VERSION} and later call it:

{_curl(url, modern, expected_headers(modern))}

As clients up to {LATEST_LEGACY_VERSION} call it:

{_curl(url, legacy, [])}

Press Ctrl-C to stop."""


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _curl(url: str, message: dict[str, Any], headers: list[tuple[str, str]]) -> str:
    options = [
        f"-H {shlex.quote(f'{name}: {value}')}" for name, value in [("Content-Type", "application/json"), *headers]
    ]
    return " \\\n    ".join([f"curl {url}", *options, f"-d {shlex.quote(json.dumps(message))}"])
