"""The command ``mcp-wsgi``. What a command needs is imported inside it, so that help and errors come at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit status: 0, or 1 where the command failed.

    Raises:
        SystemExit: The arguments are wrong (status 2), or only help or the version was wanted (status 0).
    """
    parser = argparse.ArgumentParser(prog="mcp-wsgi", description="Model Context Protocol servers for WSGI.")
    parser.add_argument("--version", action="version", version=f"mcp-wsgi {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="serve a small library of books, to try clients with",
        description="Serve a small library of books. Its data is in a temporary file that is removed at the end.",
    )
    demo.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    demo.add_argument(
        "--port", default=8000, type=_port, help="the port to listen on; 0 takes a free one (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    return _demo(demo, arguments.host, arguments.port)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return int(text)


def _demo(parser: argparse.ArgumentParser, host: str, port: int) -> int:
    import socket

    from .demo.serving import demo_application, is_loopback, listen, serve, stopping_on_signals, url_of
    from .demo.usage import usage

    try:
        listener = listen(host, port)
    except (socket.gaierror, UnicodeError):
        parser.error(f"argument --host: {host!r} is no address or name of this machine")
    except OSError as error:
        reason = error.strerror or str(error)
        print(f"mcp-wsgi: cannot listen on {host} port {port}: {reason}. Try --port 0.", file=sys.stderr)
        return 1
    with listener, stopping_on_signals(), demo_application(loopback=is_loopback(listener)) as application:
        print(usage(url_of(listener)), flush=True)
        if not is_loopback(listener):
            print("Warning: everyone who can reach this address may call every tool.", file=sys.stderr, flush=True)
        serve(application, listener)
    print("Stopped.", flush=True)
    return 0
