"""The command line as a whole: its parser, and how a command ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from . import calling, completion, doctor, listening, looking, serving
from .exits import CommandFailed, Exit
from .output import complain

__all__ = ["main"]

_EPILOG = """\
exit status:
    0  fine
    1  the tool failed, the doctor found faults, or the command could not work
    2  wrong usage
    3  the server cannot be reached, or does not answer in time
    4  the server answered with a JSON-RPC error
    5  not authorized
  130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit status; see :class:`~mcp_wsgi.cli.exits.Exit`.

    Raises:
        SystemExit: The arguments are wrong (status 2), or only help or the version was wanted (status 0).
    """
    arguments = argparse.Namespace(verbose=False)
    try:
        _parse(list(sys.argv[1:] if argv is None else argv), arguments)
        return int(arguments.run(arguments))
    except CommandFailed as failed:
        complain(failed.message)
        if arguments.verbose and failed.cause is not None:
            _explain(failed.cause)
        return int(failed.status)
    except KeyboardInterrupt:
        complain("interrupted")
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        return _reader_gone()


def _parse(words: list[str], arguments: argparse.Namespace) -> None:
    """Read the command line; what is behind ``--`` is the command of a server."""
    arguments.program = None
    if "--" in words:
        arguments.program = words[words.index("--") + 1 :]
        words = words[: words.index("--")]
    parser = make_parser(with_url=arguments.program is None)
    _, rest = parser.parse_known_args(words, arguments)
    # argparse takes a list of words only in one piece: here options may be among them.
    if rest and hasattr(arguments, "words") and not any(word.startswith("-") and word != "-" for word in rest):
        arguments.words = [*arguments.words, *rest]
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if arguments.program is not None and not hasattr(arguments, "cwd"):
        parser.error(f"{arguments.command} takes no command behind --")
    if arguments.program == []:
        parser.error("the command of the server is missing behind --")


def make_parser(*, with_url: bool = True) -> argparse.ArgumentParser:
    """Make the parser of all commands.

    Args:
        with_url: Whether the server is named by a URL, and not by a command behind ``--``.
    """
    parser = argparse.ArgumentParser(
        prog="mcp-wsgi",
        description="Serve, try and examine Model Context Protocol servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mcp-wsgi {__version__}")
    completion.add_option(parser)
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    serving.add_parsers(commands)
    looking.add_parsers(commands, with_url=with_url)
    calling.add_parsers(commands, with_url=with_url)
    listening.add_parser(commands, with_url=with_url)
    doctor.add_parser(commands)
    return parser


def _explain(cause: BaseException) -> None:
    import traceback

    for line in "".join(traceback.format_exception(cause)).rstrip().splitlines():
        complain(line)


def _reader_gone() -> int:
    """End quietly where whoever read the output has left, as ``head`` does."""
    import os

    # What is still buffered would be written when the interpreter ends, and fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(Exit.FAULT)
