"""The commands that ask a server for something: ``call``, ``read``, ``prompt`` and ``complete``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol.types import ResourceContents
from .arguments import needs_schema, pairs, read_arguments
from .completion import FILES
from .exits import CommandFailed, Exit
from .output import Output
from .remote import Session, add_remote_parser, session_of
from .showing import block_text, contents_text, show_result
from .text import on_its_line, one_line

if TYPE_CHECKING:
    from ..client import CallResult, Progress, ReadResult

__all__ = ["add_parsers"]


def add_parsers(commands: Any, *, with_url: bool) -> None:
    """Add the commands."""
    call = add_remote_parser(
        commands,
        "call",
        with_url=with_url,
        words="TOOL [ARGUMENT ...]",
        help="call a tool",
        description="Call a tool. An argument is name=value, with the type that the tool's schema says; name:=JSON; a "
        'JSON object of arguments, {"name": "value"}; or - for such an object on standard input.',
    )
    call.add_argument("tool", metavar="TOOL")
    call.add_argument("words", nargs="*", default=[], metavar="ARGUMENT")
    call.set_defaults(run=_call)
    _add_read(commands, with_url=with_url)
    prompt = add_remote_parser(
        commands, "prompt", with_url=with_url, words="PROMPT [NAME=VALUE ...]", help="get a prompt"
    )
    prompt.add_argument("prompt", metavar="PROMPT")
    prompt.add_argument("words", nargs="*", default=[], metavar="NAME=VALUE")
    prompt.set_defaults(run=_prompt)
    _add_complete(commands, with_url=with_url)


def _add_read(commands: Any, *, with_url: bool) -> None:
    read = add_remote_parser(
        commands,
        "read",
        with_url=with_url,
        words="URI",
        help="read a resource",
        description="Read a resource. Into a file or a pipe it goes byte by byte, into a terminal as text.",
    )
    read.add_argument("uri", metavar="URI")
    output = read.add_argument("-o", "--output", metavar="FILE", help="write it into a file")
    output.complete = FILES  # type: ignore[attr-defined]  # it is shtab that looks for it
    read.set_defaults(run=_read)


def _add_complete(commands: Any, *, with_url: bool) -> None:
    complete = add_remote_parser(
        commands,
        "complete",
        with_url=with_url,
        words="prompt:NAME|resource:TEMPLATE ARGUMENT [VALUE]",
        help="ask how a value could go on",
        description="Ask how the value of an argument could go on: of a prompt, or of a resource template.",
    )
    complete.add_argument("reference", metavar="prompt:NAME|resource:TEMPLATE")
    complete.add_argument("argument", metavar="ARGUMENT")
    complete.add_argument("value", metavar="VALUE", nargs="?", default="", help="what has been typed so far")
    complete.add_argument(
        "--context", action="append", default=[], metavar="NAME=VALUE", help="an argument that is known already"
    )
    complete.set_defaults(run=_complete)


def _answered(result: Any) -> Any:
    """Give a result, where it is one.

    Raises:
        CommandFailed: The server asks for something first.
    """
    from ..client import InputRequiredResult

    if isinstance(result, InputRequiredResult):
        methods = sorted({one_line(str(each.get("method"))) for each in result.requests.values()})
        asked = ", ".join(methods) or "another try"
        raise CommandFailed(f"The server asks for something that this command cannot give: {asked}.")
    return result


def _call(arguments: argparse.Namespace) -> int:
    with session_of(arguments) as session:
        given = read_arguments(arguments.words, _schema(session, arguments))
        with session.output.progress(arguments.tool) as report:

            def on_progress(progress: Progress) -> None:
                report(progress.progress, progress.total, progress.message)
                if arguments.verbose and session.output.is_plain:
                    session.output.note(_said(progress))

            result: CallResult = _answered(session.client.call_tool(arguments.tool, given, on_progress=on_progress))
        if session.output.json:
            session.output.document(result.raw)
        else:
            show_result(session.output, result)
        if result.is_error:
            session.output.note("mcp-wsgi: the tool says that it failed.")
            return Exit.FAULT
    return Exit.OK


def _said(progress: Progress) -> str:
    total = "" if progress.total is None else f"/{progress.total:g}"
    return one_line(f"{progress.progress:g}{total} {progress.message or ''}")


def _schema(session: Session, arguments: argparse.Namespace) -> Any:
    """Fetch the schema of the tool, where it is needed to read the arguments."""
    if needs_schema(arguments.words):
        for tool in session.client.list_tools():
            if tool.name == arguments.tool:
                return tool.input_schema
    return {}


def _read(arguments: argparse.Namespace) -> int:
    with session_of(arguments) as session:
        result: ReadResult = _answered(session.client.read_resource(arguments.uri))
        if arguments.output is not None:
            _save(arguments.output, result)
        if session.output.json:
            session.output.document(result.raw)
        elif arguments.output is None:
            _print(session.output, result)
    return Exit.OK


def _data(contents: Any) -> bytes:
    if not isinstance(contents, ResourceContents):
        raise CommandFailed("The contents of the resource cannot be read; --json shows them.", Exit.UNREACHABLE)
    return contents.data.encode("utf-8", "surrogatepass") if isinstance(contents.data, str) else contents.data


def _save(name: str, result: ReadResult) -> None:
    if len(result.contents) != 1:
        raise CommandFailed(f"The resource has {len(result.contents)} contents, not one; use --json.")
    data = _data(result.contents[0])
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        raise CommandFailed(f"{name!r} cannot be written: {error.strerror or error}.", cause=error) from error


def _print(output: Output, result: ReadResult) -> None:
    if sys.stdout.isatty():
        for contents in result.contents:
            output.text(contents_text(contents))
        return
    pieces = [_data(contents) for contents in result.contents]
    sys.stdout.flush()
    sys.stdout.buffer.write(b"".join(pieces))
    sys.stdout.buffer.flush()


def _prompt(arguments: argparse.Namespace) -> int:
    given = pairs(arguments.words)
    with session_of(arguments) as session:
        result = _answered(session.client.get_prompt(arguments.prompt, given or None))
        if session.output.json:
            session.output.document(result.raw)
            return Exit.OK
        for message in result.messages:
            session.output.text(f"{message.role}:", "bold")
            session.output.text(block_text(message.content))
    return Exit.OK


def _complete(arguments: argparse.Namespace) -> int:
    kind, colon, name = arguments.reference.partition(":")
    references = {"prompt": {"type": "ref/prompt", "name": name}, "resource": {"type": "ref/resource", "uri": name}}
    if not colon or not name or kind not in references:
        raise CommandFailed("Write prompt:NAME or resource:TEMPLATE, for example prompt:greet.", Exit.USAGE)
    context = pairs(arguments.context, "An argument of --context")
    with session_of(arguments) as session:
        result = session.client.complete(references[kind], arguments.argument, arguments.value, context=context or None)
        if session.output.json:
            session.output.document(result.raw)
            return Exit.OK
        for value in result.values:
            session.output.text(on_its_line(value))
        if result.has_more or (result.total is not None and result.total > len(result.values)):
            session.output.note("There are more.")
    return Exit.OK
