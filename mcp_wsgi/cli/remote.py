"""What the commands share that speak with a server: their options, the client, and how its errors are told."""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from ..server.reasons import shorten
from .exits import CommandFailed, Exit
from .options import header, seconds, setting
from .output import Output, complain
from .text import first_line, one_line, without_secrets
from .tokens import request_headers

if TYPE_CHECKING:
    from ..client import Client, LogMessage
    from ..exceptions import MCPError

__all__ = ["Session", "add_remote_parser", "session_of"]

_LONGEST = 600.0


def add_remote_parser(
    commands: Any, name: str, *, with_url: bool, words: str = "", **texts: str
) -> argparse.ArgumentParser:
    """Add a command for any server.

    Args:
        commands: Where it is added.
        name: What it is called.
        with_url: Whether the server is named by a URL, and not by a command behind ``--``.
        words: How its own arguments are written in the usage.
        texts: ``help`` and ``description``.
    """
    own = f" {words}" if words else ""
    usage = f"mcp-wsgi {name} [OPTION ...] URL{own}\n       mcp-wsgi {name} [OPTION ...]{own} -- COMMAND [ARGUMENT ...]"
    parser: argparse.ArgumentParser = commands.add_parser(name, usage=usage, **texts)
    if with_url:
        parser.add_argument("url", metavar="URL", help="the URL of the server; or put its command behind --")
    options = parser.add_argument_group("options for any server")
    options.add_argument(
        "--header", type=header, action="append", default=[], metavar="'NAME: VALUE'", help="repeatable"
    )
    options.add_argument("--bearer-env", metavar="NAME", help="the environment variable that holds a bearer token")
    options.add_argument("--env", type=setting, action="append", default=[], metavar="NAME=VALUE", help="for a command")
    options.add_argument("--cwd", metavar="FOLDER", help="for a command: the folder it runs in")
    options.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long the server may be silent (default: %(default)g seconds)",
    )
    options.add_argument(
        "--protocol-version",
        choices=(*LEGACY_VERSIONS, *MODERN_VERSIONS),
        metavar="VERSION",
        help="speak this version, without asking the server",
    )
    options.add_argument("--json", action="store_true", help="print JSON, for programs")
    options.add_argument("--plain", action="store_true", help="print plain text, also in a terminal")
    options.add_argument("-v", "--verbose", action="store_true", help="show what the server logs, and causes of errors")
    return parser


@dataclass(frozen=True, kw_only=True)
class Session:
    """A client, where a command prints, and what its user calls the server."""

    client: Client
    output: Output
    name: str


@contextmanager
def session_of(arguments: argparse.Namespace) -> Iterator[Session]:
    """Open a client for the server that the command line names, and close it at the end.

    Raises:
        CommandFailed: The server or an option cannot be used, or something failed inside the block.
    """
    from ..client import Client
    from ..exceptions import ConfigurationError
    from .asking import Asker

    output = Output(json=arguments.json, plain=arguments.plain)
    target = arguments.program or arguments.url
    if isinstance(target, str) and not target.lower().startswith(("http://", "https://")):
        raise CommandFailed(
            f"{shorten(one_line(without_secrets(target)), 80)!r} is no URL. Name the server first by its URL, or last "
            "by its command behind --.",
            Exit.USAGE,
        )
    name = without_secrets(target) if isinstance(target, str) else shlex.join(target)
    try:
        client = Client(
            target,
            **_transport_options(arguments),
            protocol_version=arguments.protocol_version,
            timeout=arguments.timeout,
            max_timeout=max(_LONGEST, arguments.timeout),
            elicit=Asker(output, name),
            log_level="info" if arguments.verbose else None,
            on_log=_tell_log if arguments.verbose else None,
        )
    except ConfigurationError as error:
        raise CommandFailed(f"{error}", Exit.USAGE) from None
    with _telling_warnings(), _failures(arguments, shorten(name, 120)):
        try:
            yield Session(client=client, output=output, name=name)
        finally:
            client.close()


def _transport_options(arguments: argparse.Namespace) -> dict[str, Any]:
    headers = request_headers(arguments)
    if arguments.program:
        if headers:
            raise CommandFailed("--header and --bearer-env are for a URL, not for a command.", Exit.USAGE)
        return {"env": dict(arguments.env) or None, "cwd": arguments.cwd}
    if arguments.env or arguments.cwd:
        raise CommandFailed("--env and --cwd are for a command, not for a URL.", Exit.USAGE)
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return {"headers": joined or None}


def _tell_log(message: LogMessage) -> None:
    text = message.data if isinstance(message.data, str) else repr(message.data)
    complain(f"server, {one_line(message.level)}: {shorten(one_line(text), 1000)}")


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Tell of a warning, without what led to it."""
        complain(f"{record.levelname.lower()}: {one_line(record.getMessage())}")


@contextmanager
def _telling_warnings() -> Iterator[None]:
    logger = logging.getLogger("mcp_wsgi")
    teller = _Teller(logging.WARNING)
    logger.addHandler(teller)
    try:
        yield
    finally:
        logger.removeHandler(teller)


@contextmanager
def _failures(arguments: argparse.Namespace, server: str) -> Iterator[None]:
    """Turn the errors of the client into ends of the command."""
    from ..exceptions import ClientError, MCPError

    try:
        yield
    except MCPError as error:
        raise CommandFailed(_refusal(error), Exit.REFUSED, cause=error) from error
    except ClientError as error:
        message, status = _explain(error, arguments)
        said = message if message.startswith(server) else f"{server}: {message}"
        raise CommandFailed(said, status, cause=error) from error


def _refusal(error: MCPError) -> str:
    said = shorten(first_line(error.message), 500) or "no reason"
    hint = ""
    if error.code == -32601:
        hint = " It does not have this method; `mcp-wsgi inspect` shows what it offers."
    return f"the server refuses ({error.code}): {said}{'' if said.endswith(('.', '!', '?')) else '.'}{hint}"


def _explain(error: Exception, arguments: argparse.Namespace) -> tuple[str, Exit]:
    from ..exceptions import HTTPStatusError, RequestTimeoutError, ServerExitedError, UnauthorizedError

    said = shorten(one_line(str(error)), 600)
    said += "" if said.endswith((".", "!", "?")) else "."
    if isinstance(error, UnauthorizedError):
        if error.status == 403:
            return "the server does not allow this (HTTP 403). Check the token, and what it may do.", Exit.UNAUTHORIZED
        given = arguments.bearer_env or arguments.header
        hint = "It does not take the token that was sent." if given else "Give a token: --bearer-env NAME."
        return f"the server wants to know who calls (HTTP {error.status}). {hint}", Exit.UNAUTHORIZED
    if isinstance(error, RequestTimeoutError):
        return f"{said} Allow it more time with --timeout.", Exit.UNREACHABLE
    if isinstance(error, ServerExitedError):
        return f"{said} Does the command run by itself?", Exit.UNREACHABLE
    if isinstance(error, HTTPStatusError):
        return f"{said} `mcp-wsgi doctor` may say why.", Exit.UNREACHABLE
    return said, Exit.UNREACHABLE
