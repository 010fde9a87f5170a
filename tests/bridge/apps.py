"""A server for the tests of the bridge: it notes who left it, and lets few in at /private."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

from mcp_wsgi import AuthenticationError, Context, HTTPRequest, Server, public
from mcp_wsgi.wsgi import WSGIApp

__all__ = ["application", "server"]

server = Server("remote", version="1.0", keys=["k" * 32])


@server.tool
def echo(text: str) -> str:
    """Say the same."""
    return text


@server.tool
def wait(ctx: Context) -> str:
    """Wait until the client leaves."""
    for number in range(1, 1000):
        ctx.report_progress(number)
        if ctx.cancelled:
            print("the client of wait has left", file=sys.stderr, flush=True)
            return "left"
        time.sleep(0.02)
    return "stayed"


@server.tool
def greet(ctx: Context) -> str:
    """Ask for a name, and say hello."""
    answer = ctx.elicit("What is your name?", {"type": "object", "properties": {"name": {"type": "string"}}})
    return f"Hello {answer.data['name']}." if answer.data is not None else "Nobody is there."


def only_the_right_token(request: HTTPRequest) -> str:
    """Let in who has the right token."""
    if request.header("Authorization") != "Bearer right":
        raise AuthenticationError
    return "ada"


_public, _private = WSGIApp(server, auth=public), WSGIApp(server, auth=only_the_right_token, path="/private")


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Be open, but not at /private."""
    app = _private if environ["PATH_INFO"].startswith("/private") else _public
    return app(environ, start_response)
