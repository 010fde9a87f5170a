"""The two streams of the protocol: how they are taken from the process, read, and written.

"The server MUST NOT write anything to its stdout that is not a valid MCP message" (2026-07-28, basic/transports/stdio):
also a ``print`` in a handler, a library's banner and a program that a handler starts must not. So the server keeps the
real streams for itself, and everybody else's standard output is the standard error.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Protocol

from ..exceptions import ConfigurationError

__all__ = ["Owner", "Sink", "Source", "own_streams"]

_CHUNK = 64 * 1024
_POLL = getattr(select, "poll", None)  # not on Windows, where a read simply waits for the client


class Owner(Protocol):
    """What a message belongs to: it is not sent once that is cancelled."""

    @property
    def silenced(self) -> bool:
        """Whether nothing more may be sent."""


def _descriptor(stream: BinaryIO | int) -> int | None:
    if isinstance(stream, int):
        return stream
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


class Sink:
    """Write messages, each as a whole, from any thread.

    Args:
        stream: The stream, or its descriptor.
    """

    def __init__(self, stream: BinaryIO | int) -> None:
        self.fd = _descriptor(stream)
        #: Whether nothing can be written any more: nobody reads it, or it was closed here.
        self.closed = False
        #: Called once nobody reads what is written.
        self.when_broken: Callable[[], None] = lambda: None
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, data: bytes, owner: Owner | None = None) -> None:
        """Write whole lines, unless what they belong to was cancelled."""
        with self._lock:
            if self.closed or (owner is not None and owner.silenced):
                return
            try:
                self._write(data)
            except (OSError, ValueError):  # a broken pipe; a file that was closed
                self.closed = True
                self.when_broken()

    def _write(self, data: bytes) -> None:
        if self.fd is None:
            assert not isinstance(self._stream, int)  # noqa: S101 - for the type checker
            self._stream.write(data)
            self._stream.flush()
            return
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except BlockingIOError:  # noqa: PERF203 - whoever shares the other end of the description made it so
                select.select((), (self.fd,), ())

    def close(self, seconds: float) -> bool:
        """Let nothing more be written.

        Args:
            seconds: How long to wait for a thread that is writing.

        Returns:
            Whether none is; otherwise the stream must stay open, since its descriptor is in use.
        """
        free = self._lock.acquire(timeout=seconds)
        self.closed = True
        if free:
            self._lock.release()
        return free


class Source:
    """Read the client's bytes until it ends them, nobody reads the sink, or :meth:`wake` is called.

    Args:
        stream: The stream, or its descriptor.
        sink: The other direction, which is watched meanwhile.
    """

    def __init__(self, stream: BinaryIO | int, sink: Sink) -> None:
        self._fd = _descriptor(stream)
        self._ended = False
        self._lock = threading.RLock()  # a signal's handler may wake in a thread that does so
        if self._fd is None:
            assert not isinstance(stream, int)  # noqa: S101 - for the type checker
            self._read = getattr(stream, "read1", stream.read)
        self._pipe: tuple[int, int] | None = None
        if _POLL is not None and self._fd is not None:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)  # a full pipe says what there is to say
            self._poll = _POLL()
            if sink.fd is not None:
                self._poll.register(sink.fd, 0)  # errors are always told
            self._poll.register(self._fd, select.POLLIN)
            self._poll.register(self._pipe[0], select.POLLIN)

    @property
    def wake_fd(self) -> int:
        """A descriptor to which the interpreter may write a byte when a signal comes; -1 where there is none."""
        return -1 if self._pipe is None else self._pipe[1]

    def wake(self) -> None:
        """End the reading, from any thread or a signal's handler, as far as the platform can."""
        self._ended = True
        with self._lock, suppress(BlockingIOError):
            if self._pipe is not None:
                os.write(self._pipe[1], b"\0")

    def read(self) -> bytes:
        """Wait for the next bytes; none are the end."""
        while not self._ended:
            if self._pipe is not None:
                ready = [fd for fd, _ in self._poll.poll()]
                if self._pipe[0] in ready:
                    os.read(self._pipe[0], _CHUNK)
                    continue
                if self._fd not in ready:
                    return b""  # nobody reads what is answered
            try:
                chunk: bytes = self._read(_CHUNK) if self._fd is None else os.read(self._fd, _CHUNK)
            except BlockingIOError:
                continue
            except (OSError, ValueError):
                return b""
            return chunk
        return b""

    def close(self) -> None:
        """Give back what waking needs; the stream itself is its owner's."""
        self._ended = True
        with self._lock:
            pipe, self._pipe = self._pipe, None
        for fd in pipe or ():
            os.close(fd)


@contextmanager
def own_streams() -> Iterator[tuple[int, int, Callable[[], None]]]:
    """Take the standard input and output of the process away from everybody else.

    Until the end, file descriptor 0 and what children inherit of it is the null device; 1 and :data:`sys.stdout` are
    the standard error, and so is what was printed before and has not been written.

    Yields:
        Private copies of the real two, and a function that keeps them open at the end.

    Raises:
        ConfigurationError: The process has no standard input or output.
    """
    try:
        real_in, real_out = _private(0), _private(1)
    except OSError:
        raise ConfigurationError("This process has no standard input and output to serve on") from None
    printed, kept = sys.stdout, []
    _taken.update((real_in, real_out))
    try:
        _replace(real_in, real_out)
        if sys.stderr is not None:
            sys.stdout = sys.stderr
        yield real_in, real_out, lambda: kept.append(True)
    finally:
        _flush(printed)
        sys.stdout = printed
        os.dup2(real_in, 0)
        os.dup2(real_out, 1)
        if not kept:
            _taken.difference_update((real_in, real_out))
            os.close(real_in)
            os.close(real_out)


#: The private copies that are in use.
_taken: set[int] = set()


def _leave_to_parent() -> None:
    """In a forked child, let go of the client: its stream ends with the server, and is not the child's to write."""
    if not _taken:
        return
    with suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR)
        for fd in _taken:
            os.dup2(null, fd, inheritable=False)
        os.close(null)


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows does not fork
    os.register_at_fork(after_in_child=_leave_to_parent)


def _private(fd: int) -> int:
    """Copy a descriptor. The copy is not inherited, and does not take the place of a standard one that is closed."""
    if sys.platform == "win32":  # pragma: no cover
        return os.dup(fd)
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _replace(real_in: int, real_out: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    if null != 2:  # else there was no standard error, and this is it from now on
        os.close(null)
    _flush(sys.stdout)
    if sys.platform == "win32":  # pragma: no cover
        import msvcrt

        for fd in (real_in, real_out):
            msvcrt.setmode(fd, os.O_BINARY)


def _flush(stream: object) -> None:
    with suppress(OSError, ValueError, AttributeError):  # it may be None, closed, or an object of a test runner
        stream.flush()  # type: ignore[attr-defined]
