"""The commands that serve: ``demo``, ``serve`` and ``stdio``."""

from __future__ import annotations

import argparse
import socket
import sys
from typing import Any

from .exits import CommandFailed, Exit
from .loading import load_server
from .options import port_number

__all__ = ["add_parsers", "listen_on"]


def add_parsers(commands: Any) -> None:
    """Add the three commands."""
    _add_demo(commands)
    _add_serve(commands)
    stdio = commands.add_parser(
        "stdio",
        help="serve your server over standard input and output",
        description="Serve MODULE:SERVER over standard input and output, for the client that starts this command.",
    )
    stdio.add_argument("target", metavar="MODULE:SERVER", help="a Server, or a function that makes one")
    stdio.set_defaults(run=_stdio)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="serve a small library of books, to try clients with",
        description="Serve a small library of books. Its data is in a temporary file that is removed at the end.",
    )
    _add_address(demo)
    demo.set_defaults(run=_demo)


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve your server over HTTP, to work on it",
        description="Serve MODULE:SERVER over HTTP on this machine, to work on it; everybody who can reach the address "
        "may call it. In production it runs in your web application.",
    )
    serve.add_argument("target", metavar="MODULE:SERVER", help="a Server, or a function that makes one")
    _add_address(serve)
    serve.add_argument("--path", default="/mcp", help="the path of the endpoint (default: %(default)s)")
    serve.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin whose web pages may call, for example https://app.example; may be repeated. On loopback those "
        "of this machine always may",
    )
    serve.add_argument("--reload", action="store_true", help="start anew when a Python file changes (needs watchfiles)")
    serve.set_defaults(run=_serve)


def _add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port",
        default=8000,
        type=port_number,
        help="the port to listen on; 0 takes a free one (default: %(default)s)",
    )


def listen_on(host: str, port: int) -> socket.socket:
    """Listen on an address.

    Raises:
        CommandFailed: It cannot be had.
    """
    from ..demo.serving import listen

    try:
        return listen(host, port)
    except (socket.gaierror, UnicodeError):
        raise CommandFailed(f"argument --host: {host!r} is no address or name of this machine", Exit.USAGE) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandFailed(f"cannot listen on {host} port {port}: {reason}. Try --port 0.", cause=error) from error


def _warn_beyond_loopback() -> None:
    print("Warning: everyone who can reach this address may call every tool.", file=sys.stderr, flush=True)


def _demo(arguments: argparse.Namespace) -> int:
    from ..demo.serving import demo_application, is_loopback, serve, stopping_on_signals, url_of
    from ..demo.usage import usage

    listener = listen_on(arguments.host, arguments.port)
    with listener, stopping_on_signals(), demo_application(loopback=is_loopback(listener)) as application:
        print(usage(url_of(listener)), flush=True)
        if not is_loopback(listener):
            _warn_beyond_loopback()
        serve(application, listener)
    print("Stopped.", flush=True)
    return Exit.OK


def _serve(arguments: argparse.Namespace) -> int:
    from ..demo.serving import is_loopback, serve, stopping_on_signals, url_of
    from ..exceptions import ConfigurationError
    from ..http.auth import public
    from ..http.origin import LOOPBACK_HOSTS, LOOPBACK_ORIGINS
    from ..http.policy import HTTPPolicy
    from ..wsgi import WSGIApp

    if arguments.reload:
        from .reloading import serve_reloading

        return serve_reloading(arguments)
    server = load_server(arguments.target)
    with listen_on(arguments.host, arguments.port) as listener:
        loopback = is_loopback(listener)
        try:
            policy = HTTPPolicy(
                allowed_hosts=LOOPBACK_HOSTS if loopback else None,
                allowed_origins=[*(LOOPBACK_ORIGINS if loopback else ()), *arguments.allow_origin],
            )
            application = WSGIApp(server, auth=public, policy=policy, path=arguments.path)
        except ConfigurationError as error:
            raise CommandFailed(f"{error}.", Exit.USAGE) from None
        url = url_of(listener).removesuffix("/mcp") + arguments.path
        with stopping_on_signals():
            print(f"Serving {arguments.target} at {url}\nPress Ctrl-C to stop.", flush=True)
            if not loopback:
                _warn_beyond_loopback()
            serve(application, listener)
        server.close()
    print("Stopped.", flush=True)
    return Exit.OK


def _stdio(arguments: argparse.Namespace) -> int:
    from ..stdio import serve_stdio

    serve_stdio(load_server(arguments.target))
    return Exit.OK
