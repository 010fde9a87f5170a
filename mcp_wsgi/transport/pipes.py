"""The pipes to a process: read without end, written within a time, and what is left of its standard error."""

from __future__ import annotations

import logging
import os
import re
import select
import threading
from collections.abc import Callable
from typing import IO

__all__ = ["TICK", "PipeWriter", "Tail", "printable", "pump"]

logger = logging.getLogger("mcp_wsgi.client")

#: How often a thread that waits for a pipe looks whether it is still wanted, in seconds. A pipe alone does not say it:
#: a process that has ended is not seen on one that a child of it still holds.
TICK = 0.5
#: How often a blocked writer looks, in seconds: its caller may have given up.
_WRITER_TICK = 0.1
_CHUNK = 65536

#: Control sequences of terminals: colours and titles say nothing in a message.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[@-Z\\-_])")


def printable(data: bytes, limit: int = 100) -> str:
    """Make foreign bytes fit for a line of a log.

    Args:
        data: Anything; UTF-8 where it is text.
        limit: The most characters to keep.

    Returns:
        One line without control characters, shortened where it is longer.
    """
    text = _ANSI.sub("", data[: limit * 8].decode("utf-8", "replace"))
    text = "".join(char if char.isprintable() else " " for char in text).strip()
    return text if len(text) <= limit and len(data) <= limit * 8 else text[:limit] + "..."


class Tail:
    """Keep the end of what a process writes.

    Args:
        name: What names the process in the log.
        size: How much to keep, in bytes.
    """

    def __init__(self, name: str, size: int = 8192) -> None:
        self._name = name
        self._size = size
        self._data = b""
        self._cut = False

    def take(self, chunk: bytes) -> None:
        """Take the next bytes; their lines go to the log at level DEBUG."""
        data = self._data + chunk
        self._cut = self._cut or len(data) > self._size
        self._data = data[-self._size :]
        if logger.isEnabledFor(logging.DEBUG):
            for line in chunk.splitlines():
                logger.debug("%s wrote to standard error: %s", self._name, printable(line, 500))

    @property
    def text(self) -> str:
        """The end as text: without colours and control characters, from the beginning of a line where one begins."""
        data = self._data
        if self._cut:
            _, _, data = data.partition(b"\n")
            data = data or self._data
        text = _ANSI.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text).strip()


def pump(
    file: IO[bytes], take: Callable[[bytes], None], over: Callable[[], bool], quiet: Callable[[], bool] = bool
) -> None:
    """Hand on what comes through a pipe until its end, then close it.

    Args:
        file: The end to read; nobody else uses it.
        take: Called with each chunk.
        over: Says that nothing more is wanted; asked at least every :data:`TICK` seconds.
        quiet: Says, when nothing has come for a tick, that nothing will.
    """
    with file:
        descriptor = file.fileno()
        readable = _waiter(descriptor)
        while not over():
            if not readable():
                if quiet():
                    return
                continue
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return
            take(chunk)


def _waiter(descriptor: int) -> Callable[[], object]:
    if not hasattr(select, "poll"):  # pragma: no cover - Windows: pipes cannot be waited for, a read blocks to the end
        return lambda: True
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return lambda: poller.poll(TICK * 1000)


class PipeWriter:
    """Write whole lines to a pipe from many threads, none of which waits longer than it may.

    A line that was begun is finished before the next one, also where its writer has given up: a server that is busy and
    does not read for a while is no reason to end the connection for all that use it.

    On Windows a pipe has no way of not blocking: there a full one blocks until its reader reads or ends.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._rest = memoryview(b"")
        if hasattr(select, "poll"):  # pragma: no branch - Windows
            os.set_blocking(file.fileno(), False)

    def write(self, data: bytes, check: Callable[[], float | None]) -> bool:
        """Write all of it.

        Args:
            data: One or several lines.
            check: Called before waiting and every little while; gives the seconds that are left, or raises.

        Returns:
            Whether the other end took it: ``False`` when it is closed.

        Raises:
            Exception: What ``check`` raised. Then either nothing of the data is written, or it is after all before
                anything else.
        """
        while not self._lock.acquire(timeout=_step(check())):
            pass
        try:
            return self._flush(check) and self._write(memoryview(data), check)
        finally:
            self._lock.release()

    def _write(self, data: memoryview, check: Callable[[], float | None]) -> bool:
        self._rest = data
        try:
            return self._flush(check)
        finally:
            if len(self._rest) == len(data):
                self._rest = memoryview(b"")  # it was not begun

    def _flush(self, check: Callable[[], float | None]) -> bool:
        while not self._file.closed:
            if not self._rest:
                return True
            written = _write_some(self._file.fileno(), self._rest)
            if written is None:
                return False
            self._rest = self._rest[written:]
            if not written:
                left = check()
                poller = select.poll()
                poller.register(self._file, select.POLLOUT)
                poller.poll(_step(left) * 1000)
        return False

    def close(self, patience: float = 1.0) -> None:
        """Close the pipe, which tells the reader that nothing more comes.

        Args:
            patience: Seconds to wait for a thread that is writing.
        """
        if self._lock.acquire(timeout=patience):
            try:
                self._file.close()
            finally:
                self._lock.release()


def _write_some(descriptor: int, data: memoryview) -> int | None:
    """Write what the pipe takes; ``None`` where nobody reads any more."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0
    except OSError:
        return None


def _step(left: float | None) -> float:
    return _WRITER_TICK if left is None else min(left, _WRITER_TICK)
