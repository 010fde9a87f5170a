"""``listen``: tell of what changes on a server, as it changes."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from .exits import CommandFailed, Exit
from .options import seconds
from .output import Output
from .remote import add_remote_parser, session_of
from .text import on_its_line

if TYPE_CHECKING:
    from ..client import Change, Listener

__all__ = ["add_parser"]


def add_parser(commands: Any, *, with_url: bool) -> None:
    """Add the command."""
    listen = add_remote_parser(
        commands,
        "listen",
        with_url=with_url,
        help="tell of changes as they happen",
        description="Tell of changes as they happen, a line each, until the server ends it or Ctrl-C. Without an "
        "option it is changes of all lists.",
    )
    for kind in ("tools", "prompts", "resources"):
        listen.add_argument(f"--{kind}", action="store_true", help=f"changes of the list of {kind}")
    listen.add_argument("--resource", action="append", default=[], metavar="URI", help="changes of a resource")
    listen.add_argument("--seconds", type=seconds, metavar="N", help="end after so many seconds")
    listen.set_defaults(run=_listen)


def _listen(arguments: argparse.Namespace) -> int:
    every = not (arguments.tools or arguments.prompts or arguments.resources or arguments.resource)
    with (
        session_of(arguments) as session,
        session.client.listen(
            tools_list_changed=every or arguments.tools,
            prompts_list_changed=every or arguments.prompts,
            resources_list_changed=every or arguments.resources,
            resources=arguments.resource,
        ) as listener,
    ):
        honoured = [name for name, value in listener.honoured.items() if value]
        if not honoured:
            raise CommandFailed("The server tells of none of these changes.")
        session.output.note(f"Listening: {', '.join(honoured)}")
        _follow(listener, session.output, arguments.seconds)
    return Exit.OK


def _follow(listener: Listener, output: Output, duration: float | None) -> None:
    end = None if duration is None else time.monotonic() + duration
    while True:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            return
        change = listener.next(left)
        if change is not None:
            _tell(change, output)
        elif listener.closed:
            output.note("The server has ended the subscription.")
            return


def _tell(change: Change, output: Output) -> None:
    if output.json:
        output.json_line(change.raw)
        return
    what = change.method.removeprefix("notifications/").replace("_", " ").replace("/", ": ")
    output.text(on_its_line(f"{what} {change.uri}" if change.uri else what))
