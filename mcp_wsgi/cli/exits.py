"""How a command ends: the exit statuses, and the exception that ends one with a message."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CommandFailed", "Exit"]


class Exit(IntEnum):
    """The exit statuses, which scripts may rely on."""

    OK = 0
    #: The tool answered that it failed, the doctor found faults, or the command could not do its work.
    FAULT = 1
    #: The command line is wrong.
    USAGE = 2
    #: The server cannot be reached, does not answer in time, or does not speak the protocol.
    UNREACHABLE = 3
    #: The server answered with a JSON-RPC error.
    REFUSED = 4
    #: The server wants to know who calls, or does not allow it.
    UNAUTHORIZED = 5
    INTERRUPTED = 130


class CommandFailed(Exception):  # noqa: N818 - the end of a command, told to its user without a traceback
    """End the command.

    Args:
        message: What went wrong and what to do, in one or two sentences.
        status: The exit status.
        cause: What to show of the reason with ``-v``.
    """

    def __init__(self, message: str, status: Exit = Exit.FAULT, *, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.cause = cause
