"""A server as a process of its own, spoken to through its standard streams (2026-07-28, basic/transports/stdio)."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from ..exceptions import (
    ClientClosedError,
    ConfigurationError,
    RemoteProtocolError,
    ServerExitedError,
    TransportError,
)
from ..protocol.codec import encode
from ..protocol.framing import DEFAULT_MAX_SIZE
from ..protocol.jsonrpc import RequestId
from ..protocol.lines import FramingError, LineDecoder, encode_line
from .base import Deadline, Exchange, Message, Transport
from .environment import check_environment
from .pipes import printable
from .process import ServerProcess
from .routing import Failure, Router

__all__ = ["StdioTransport"]

logger = logging.getLogger("mcp_wsgi.client")

#: How long the end of a process and of what it says is waited for before whoever waits is told, in seconds.
_MOMENT = 0.5


class _Connection:
    """One run of the server. It does not keep the transport alive: who forgets a transport ends its process."""

    def __init__(self, transport: StdioTransport, process: ServerProcess, max_message_size: int) -> None:
        self._transport = weakref.ref(transport)
        self.process = process
        self._max = max_message_size
        self._decoder = LineDecoder(max_message_size)
        self._router = Router(self._deliver, process.name, max_message_size)
        process.run(self._take, self._is_over, self._ended)

    @property
    def failed(self) -> bool:
        return self._router.failure is not None

    # For the threads that ask

    def request(self, request_id: RequestId, data: bytes, exchange: Exchange) -> Message:
        with self._router.expect(request_id) as mailbox, exchange.aborting(mailbox.wake):
            self.write(data, exchange.check)
            return mailbox.wait(exchange)

    def write(self, data: bytes, check: Callable[[], float | None]) -> None:
        def check_both() -> float | None:
            self._router.check()
            return check()

        if not self.process.write(data, check_both):
            left = check()
            self._router.wait_for_failure(2 * _MOMENT if left is None else min(left, 2 * _MOMENT))
            raise TransportError("The server has closed its standard input")

    def stop(self, failure: Failure) -> None:
        self.process.stopping = True  # before the failure, which the reader would take for a reason to stop it
        self._router.fail(failure)
        self.process.stop()

    # For the thread that reads

    def _deliver(self, message: Message) -> None:
        transport = self._transport()
        if transport is not None:  # pragma: no branch - collected in this very moment
            transport.inbox(message)

    def _take(self, chunk: bytes) -> None:
        if self._router.failure is not None:
            return  # it is being stopped
        try:
            lines = self._decoder.feed(chunk)
            for line in lines:
                self._router.receive(line)
            self._router.skip_blank(max(0, chunk.count(b"\n") - len(lines)))
            self._decoder.feed(b"")  # raises what was behind these lines
        except FramingError:
            self._router.fail(self._oversize)

    def _oversize(self) -> RemoteProtocolError:
        return RemoteProtocolError(
            f"The server sent a message of more than {self._max} bytes; raise max_message_size to read it"
        )

    def _is_over(self) -> bool:
        return not self.process.stopping and (self._router.failure is not None or self._transport() is None)

    def _ended(self) -> None:
        with suppress(FramingError):
            # A last line without an end is a message still, if it is one.
            rest = self._decoder.close()
            if rest is not None:
                self._router.receive(rest)
        if self._router.failure is None and self._transport() is not None:
            returncode = self.process.wait(_MOMENT)
            stderr = self.process.stderr
            self._router.fail(lambda: ServerExitedError(returncode, stderr))
        if self._router.strays:
            logger.debug("%s wrote %d lines that are no messages", self.process.name, self._router.strays)


class StdioTransport(Transport):
    """Start a server and speak to it through its standard streams.

    The process is started by the first request, in a session and process group of its own. It inherits only a safe
    part of the environment (:data:`mcp_wsgi.transport.environment.INHERITED`). When it ends, what is under way fails
    with ``ServerExitedError``, and so does what follows, until :meth:`restart` is called. It is stopped with all that
    it started by :meth:`close`, when the transport is collected, or when this process exits. In a forked process the
    transport starts a server of its own.

    Args:
        command: The program and its arguments; no shell reads them.
        env: What to add to the environment of the process; it wins over what is inherited.
        cwd: The directory to run it in, this process's own unless set.
        max_message_size: The most bytes that one message of the server may have.
        stop_seconds: The most time that each step of stopping takes: closing the input, SIGTERM, SIGKILL.
        start_new_session: Whether the process gets a session and group of its own. Without it, it hears the signals of
            the terminal, and what it has started may survive it.

    Raises:
        ConfigurationError: The command is no sequence of strings, or a value cannot be used.
    """

    kind: ClassVar[str] = "stdio"

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        max_message_size: int = DEFAULT_MAX_SIZE,
        stop_seconds: float = 2.0,
        start_new_session: bool = True,
    ) -> None:
        super().__init__()
        self._command = _check_command(command)
        self._env = check_environment(env)
        self._cwd = None if cwd is None else os.fspath(cwd)
        if max_message_size < 1:
            raise ConfigurationError(f"max_message_size must be a positive number of bytes, not {max_message_size}")
        if stop_seconds < 0:
            raise ConfigurationError(f"stop_seconds must not be negative: {stop_seconds}")
        self._max = max_message_size
        self._stop_seconds = stop_seconds
        self._own_group = start_new_session
        self._address = _name(self._command, self._cwd)
        self._lock = threading.Lock()
        self._closed = False
        self._connection: _Connection | None = None
        _transports.add(self)

    @property
    def address(self) -> str:
        """``stdio:``, the program's name, and a digest of the whole command and its directory.

        The arguments are left out: they may hold a token.
        """
        return self._address

    @property
    def pid(self) -> int | None:
        """The id of the server's process, ``None`` before it was started."""
        connection = self._connection
        return None if connection is None else connection.process.pid

    @property
    def failed(self) -> bool:
        """Whether the process has ended, or has sent what cannot be read on."""
        connection = self._connection
        return connection is not None and connection.failed

    @property
    def stderr(self) -> str:
        """The end of what the process has written to its standard error, at most 8 KiB."""
        connection = self._connection
        return "" if connection is None else connection.process.stderr

    def request(self, message: Message, exchange: Exchange) -> Message:
        """Send a request and wait for its answer; the process is started where there is none.

        Args:
            message: The request, with its id.
            exchange: What is known of it.

        Returns:
            The answer, with ``result`` or ``error`` and the request's own id.

        Raises:
            ValueError: A request with the same id is under way.
            ServerExitedError: The process has ended.
            ClientClosedError: The transport was closed.
            RemoteProtocolError: The answer cannot be read, or a message of the server is over the limit.
            TransportError: There is none for another reason.
        """
        request_id, data = message["id"], encode_line(encode(message))
        exchange.check()
        with self._lock:
            if self._closed:
                raise _closed()
            connection = self._connection
            if connection is None:
                connection = self._connection = self._start()
        return connection.request(request_id, data, exchange)

    def post(self, message: Message, deadline: Deadline) -> None:
        """Send a notification, or the answer to a request of a legacy server; no process is started for it.

        Raises:
            TransportError: It could not be sent.
            ClientClosedError: The transport was closed.
        """
        data = encode_line(encode(message))
        with self._lock:
            if self._closed:
                raise _closed()
            connection = self._connection
        if connection is None:
            raise TransportError("The server's process has not been started")
        connection.write(data, deadline.check)

    def restart(self) -> None:
        """Stop the process, so that the next request starts a fresh one; what is under way fails."""
        with self._lock:
            if self._closed:
                return
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.stop(lambda: TransportError("The server's process was stopped to begin anew"))

    def close(self) -> None:
        """Stop the process; whoever waits gets ``ClientClosedError``. At most three times ``stop_seconds``."""
        with self._lock:
            self._closed = True
            connection = self._connection
        if connection is not None:
            connection.stop(_closed)

    def _start(self) -> _Connection:
        process = ServerProcess(
            self._command,
            name=self._address,
            env=self._env,
            cwd=self._cwd,
            own_group=self._own_group,
            stop_seconds=self._stop_seconds,
        )
        return _Connection(self, process, self._max)

    def _forget(self) -> None:
        """Begin anew in a forked process, in which the threads of the other are not, and may have held the lock."""
        self._lock = threading.Lock()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.process.disown()


def _closed() -> ClientClosedError:
    return ClientClosedError("The connection to the server is closed")


def _check_command(command: object) -> list[str]:
    if isinstance(command, (str, bytes)) or not isinstance(command, Sequence) or not command:
        raise ConfigurationError('A command is a list of the program and its arguments, as in ["npx", "server"]')
    parts = [os.fspath(part) if isinstance(part, os.PathLike) else part for part in command]
    if not all(isinstance(part, str) and "\0" not in part for part in parts) or not parts[0]:
        raise ConfigurationError("The parts of a command are strings without NUL, and the program has a name")
    return parts


def _name(command: Sequence[str], cwd: str | None) -> str:
    identity = "\0".join([cwd or "", *command]).encode("utf-8", "surrogatepass")
    program = printable(os.path.basename(command[0]).encode("utf-8", "replace"), 60)
    return f"stdio:{program}:{hashlib.sha256(identity).hexdigest()[:8]}"


_transports: weakref.WeakSet[StdioTransport] = weakref.WeakSet()


def _forget_all() -> None:
    for transport in list(_transports):
        transport._forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows does not fork
    os.register_at_fork(after_in_child=_forget_all)
