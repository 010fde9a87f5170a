"""The life of the server: it takes the streams, reads until it is to end, and leaves nothing behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO

from ..exceptions import ConfigurationError
from ..protocol.framing import DEFAULT_MAX_SIZE
from .connection import Around, Connection, Options
from .lines import Lines
from .streams import Sink, Source, own_streams
from .users import process_user

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["serve_stdio"]

#: How long handlers may still run after a signal, and how long they have to notice that they are cancelled, in seconds.
#: Clients kill a server that has not ended two seconds after the signal.
SIGNAL_SECONDS = 1.0
CANCEL_SECONDS = 0.5


def serve_stdio(
    server: Server,
    *,
    principal: str | None = None,
    max_threads: int = 32,
    max_message_size: int = DEFAULT_MAX_SIZE,
    stop_seconds: float = 10.0,
    around: Around = nullcontext,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
) -> None:
    """Serve one client on the standard streams, until it ends them or a signal tells the process to stop.

    Meanwhile the standard output is the standard error for everybody else: ``print`` in a handler, or a program that
    it starts, cannot break the protocol. Handlers run in threads, several at a time.

    At the end of the input, what was asked is still answered. On SIGTERM or SIGINT too, but only for a second; that
    is where the process has no handlers of its own for them. (2026-07-28, basic/transports/stdio)

    Args:
        server: What is served.
        principal: Who the client is, by default the name of the user whose process this is.
        max_threads: How many handlers may run at a time; up to 1,000 requests more wait for their turn.
        max_message_size: The longest line that is read, in bytes. A longer one is answered with an error.
        stop_seconds: How long handlers may still run at the end of the input. After that ``ctx.cancelled`` is set, and
            half a second later they are left behind.
        around: Makes a context manager that each request is answered in, such as Flask's ``app.app_context``.
        stdin: A binary stream to read instead of the standard input; give both streams or none.
        stdout: A binary stream to write. The process's own streams and signals are left alone then.

    Raises:
        ConfigurationError: An option cannot be used, or the process has no standard streams.
    """
    if max_threads < 1:
        raise ConfigurationError("max_threads must be at least 1")
    if max_message_size < 1:
        raise ConfigurationError("max_message_size must be a positive number of bytes")
    if not stop_seconds >= 0:
        raise ConfigurationError("stop_seconds must not be negative")
    if (stdin is None) != (stdout is None):
        raise ConfigurationError("Give both streams, stdin and stdout, or none")
    ending = _Ending(stop_seconds)
    options = Options(principal or process_user(), max_threads, max_message_size, around)
    if stdin is not None and stdout is not None:
        _serve(server, stdin, stdout, options, ending)
        return
    with own_streams() as (real_in, real_out, keep_open):
        if not _serve(server, real_in, real_out, options, ending, signals=True):
            keep_open()


class _Ending:
    """Say when the server has to end: at a signal, and some time after the end of the input."""

    def __init__(self, stop_seconds: float) -> None:
        self._stop_seconds = stop_seconds
        # Only added to: a signal may come while the end of the input is being noted, and neither may hide the other.
        self._deadlines: list[float] = []
        self._signals = 0

    def is_begun(self) -> bool:
        """Say whether no more is to be read."""
        return bool(self._deadlines)

    def is_late(self) -> bool:
        """Say whether handlers have had their time."""
        return self.is_begun() and time.monotonic() >= min(self._deadlines)

    def begin(self, seconds: float | None = None) -> None:
        """Give handlers some time from now on, unless they have less already."""
        seconds = self._stop_seconds if seconds is None else min(self._stop_seconds, seconds)
        self._deadlines.append(time.monotonic() + seconds)

    @contextmanager
    def on_signals(self, source: Source) -> Iterator[None]:
        """Begin at SIGTERM and SIGINT, where the process has no handlers of its own for them."""

        def take(_number: int, _frame: FrameType | None) -> None:
            self._signals += 1
            self.begin(SIGNAL_SECONDS if self._signals == 1 else 0)
            source.wake()

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # A signal may come to another thread, or just before this one begins to wait: the handler would wait too.
        wake_fd = signal.set_wakeup_fd(source.wake_fd, warn_on_full_buffer=False)
        before = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, take)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wake_fd)


def _serve(
    server: Server,
    stdin: BinaryIO | int,
    stdout: BinaryIO | int,
    options: Options,
    ending: _Ending,
    *,
    signals: bool = False,
) -> bool:
    """Serve until the end; say whether no thread is left."""
    sink = Sink(stdout)
    source = Source(stdin, sink)
    sink.when_broken = source.wake
    connection = Connection(server, sink, options, lambda: sink.closed or ending.is_begun())
    lines = Lines(options.max_message_size)
    try:
        with ending.on_signals(source) if signals else nullcontext():
            try:
                while not ending.is_begun() and (chunk := source.read()):
                    for line in lines.feed(chunk):
                        connection.receive(line)
                if not ending.is_begun():
                    for last in lines.close():
                        connection.receive(last)
                ending.begin()
                connection.finish(ending.is_late)
            finally:
                ended = connection.close(CANCEL_SECONDS)
    finally:
        source.close()
    return ended
