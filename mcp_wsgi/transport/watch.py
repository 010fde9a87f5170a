"""The time of one exchange, and its end from another thread.

requests bounds each silence of a server, not the whole answer, and has no way to wake a thread that waits. A
:class:`Watch` knows the socket that its exchange uses: it sets the time that is left before each read, and shuts the
socket down when the exchange is given up.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from urllib3.util.wait import wait_for_write

from ..exceptions import ClientClosedError, ClientError, RequestCancelledError
from .base import Deadline
from .http_names import resolve

__all__ = ["PATIENCE", "Watch", "bare_socket", "closed", "watch_here"]

#: How often a thread that waits for something else than a socket's bytes looks whether it is still wanted, in seconds.
PATIENCE = 0.1
_BLOCK = 65536
_CONNECT_TIMEOUT = 10.0
#: What a connection says that is still being made; the last is Windows'.
_PENDING = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", errno.EWOULDBLOCK)})


class _Socket(Protocol):
    """What is used of a socket; one that speaks TLS through a proxy of TLS is no ``socket.socket``."""

    def settimeout(self, value: float | None, /) -> None: ...
    def recv_into(self, buffer: Any, /) -> int: ...


def closed() -> ClientClosedError:
    """Make the error of a request that a client's end has met."""
    return ClientClosedError("The client was closed while it waited for the server")


class _Current(threading.local):
    watch: Watch | None = None


#: The watch of the request that this thread sends: urllib3 makes its connections in between.
_current = _Current()


def watch_here() -> Watch:
    """Give the watch of the request that this thread sends; where it sends none of ours, one that forbids nothing."""
    return _current.watch or Watch(Deadline(None), _CONNECT_TIMEOUT)


def bare_socket(sock: Any) -> socket.socket:
    """Give the socket below TLS that a proxy of TLS carries, which is no socket itself."""
    while not isinstance(sock, socket.socket):
        sock = sock.socket
    return sock


class Watch:
    """Bound what one exchange does on the network, and let another thread end it.

    Args:
        deadline: How long it may take.
        connect_timeout: Seconds for making a connection, TLS included.
    """

    __slots__ = ("_failure", "_lock", "_previous", "_socket", "connect_timeout", "deadline")

    def __init__(self, deadline: Deadline, connect_timeout: float) -> None:
        self.deadline = deadline
        self.connect_timeout = connect_timeout
        self._lock = threading.Lock()
        self._socket: Any = None
        self._failure: Callable[[], ClientError] | None = None
        self._previous: Watch | None = None

    @property
    def stopped(self) -> ClientError | None:
        """Why the exchange is at its end: it was given up, or no time is left."""
        if self._failure is None:
            left = self.deadline.remaining()
            return self.deadline.error() if left is not None and left <= 0 else None
        return self._failure()

    def check(self) -> float | None:
        """Give the seconds that are left.

        Raises:
            ClientError: The exchange was given up, or no time is left.
        """
        if self._failure is not None:
            raise self._failure()
        return self.deadline.check()

    def cancel(self) -> None:
        """Give the exchange up."""
        self.abort(lambda: RequestCancelledError("The request was cancelled"))

    def close(self) -> None:
        """End the exchange because its client is closed."""
        self.abort(closed)

    def abort(self, reason: Callable[[], ClientError]) -> None:
        """End the exchange, from any thread: the one that waits raises what ``reason`` makes."""
        with self._lock:
            self._failure = self._failure or reason
            if self._socket is not None:
                _shut_down(self._socket)

    def attach(self, sock: Any) -> None:
        """Take note of the socket to be shut down.

        Raises:
            ClientError: The exchange was given up already.
        """
        with self._lock:
            self._socket = sock
        self.check()

    def detach(self) -> None:
        """Forget the socket: from now on it may be another exchange's."""
        with self._lock:
            self._socket = None

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Allow what the block reads so many seconds, where that is less than what is left."""
        deadline = self.deadline
        left = deadline.remaining()
        self.deadline = Deadline(seconds if left is None else min(seconds, left))
        try:
            yield
        finally:
            self.deadline = deadline

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than the exchange lasts.

        Raises:
            ClientError: The exchange was given up, or no time is left.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, self._pause()))
        self.check()

    def receive(self, sock: _Socket, buffer: Any) -> int:
        """Read what comes next into a buffer; give its size, 0 at the end.

        Raises:
            ClientError: The exchange was given up, or no time is left.
        """
        while True:
            sock.settimeout(self.check())
            try:
                size = sock.recv_into(buffer)
            except TimeoutError:
                continue
            if not size and self._failure is not None:
                raise self._failure()
            return size

    def connect(self, host: str, port: int, bind: Callable[[socket.socket], None]) -> socket.socket:
        """Make a connection.

        Args:
            host: A name or an address.
            port: The port.
            bind: Called with each socket before it is connected.

        Raises:
            ClientError: The exchange was given up, or no time is left.
            OSError: No address of the host could be reached.
        """
        addresses = resolve(host, port, self._pause)
        failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for position, (family, kind, proto, _, address) in enumerate(addresses):
            left = self.check()
            # The addresses share the time: one that leads nowhere leaves some for the next.
            share = Deadline(None if left is None else left / (len(addresses) - position))
            sock = socket.socket(family, kind, proto)
            try:
                bind(sock)
                self._connect(sock, address, share)
            except ClientError:
                sock.close()
                raise
            except OSError as error:
                sock.close()
                failure = error
            else:
                return sock
        self.check()
        raise failure

    def _connect(self, sock: socket.socket, address: Any, share: Deadline) -> None:
        sock.setblocking(False)
        code = sock.connect_ex(address)
        if code in _PENDING:
            # In slices: not on every system does a shutdown wake whoever waits for a connection.
            while not wait_for_write(sock, self._pause()):
                if share.remaining() == 0:
                    raise TimeoutError
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        # For the handshake of TLS; reading and writing look for themselves what is left.
        sock.settimeout(self.check())
        self.attach(sock)

    def _pause(self) -> float:
        """Say how long to wait before looking again."""
        left = self.check()
        return PATIENCE if left is None else min(PATIENCE, left)

    def send(self, sock: Any, data: bytes) -> None:
        """Send bytes, all of them within the deadline.

        Raises:
            ClientError: The exchange was given up, or no time is left.
        """
        view = memoryview(data)
        while view:
            sock.settimeout(self.check())
            sock.sendall(view[:_BLOCK])
            view = view[_BLOCK:]

    def __enter__(self) -> Watch:
        self._previous, _current.watch = _current.watch, self
        return self

    def __exit__(self, *_: object) -> None:
        _current.watch = self._previous


def _shut_down(sock: Any) -> None:
    with suppress(OSError):
        # Not the method of an SSL socket, which takes the TLS off while the other thread still reads.
        socket.socket.shutdown(bare_socket(sock), socket.SHUT_RDWR)
