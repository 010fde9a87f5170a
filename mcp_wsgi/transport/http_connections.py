"""HTTP connections that keep to a deadline and that another thread can end: each is known to a :class:`Watch`."""

from __future__ import annotations

import http.client
import io
import os
import socket
import weakref
from contextlib import suppress
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from .watch import Watch, bare_socket, watch_here

__all__ = ["POOL_SIZE", "WatchedAdapter", "WatchedResponse", "read_some"]

#: How many idle connections are kept. As many threads share a transport without a connection being thrown away.
POOL_SIZE = 256
_BLOCK = 65536
_BUFFER = 16384


class _Reader(io.RawIOBase):
    """Read a socket under the eyes of a watch."""

    def __init__(self, sock: Any, watch: Watch) -> None:
        super().__init__()
        self._sock = sock
        self._watch = watch
        # Keeps the socket open while it is read, though its connection may drop it.
        self._hold = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._watch.receive(self._sock, buffer)

    def close(self) -> None:
        self._watch.detach()
        self._hold.close()
        super().close()


class WatchedResponse(http.client.HTTPResponse):
    """An answer whose bytes are read as they come."""

    fp: Any

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Reader(sock, watch_here()), _BUFFER)


def read_some(response: Any) -> bytes:
    """Give what has come of a body, waiting for a first byte; empty at its end.

    Args:
        response: An ``http.client.HTTPResponse``.

    Raises:
        http.client.IncompleteRead: The connection ended before the body.
        OSError: It failed.
        ClientError: The exchange was given up, or no time is left.
    """
    if response.fp is None:
        return b""
    data: bytes = response.read1(_BLOCK)
    if not response.chunked and response.length is not None:
        if response.length and not data:
            raise http.client.IncompleteRead(b"", response.length)
        if not response.length:
            response.read(0)  # which notices the end, as read1() does not before Python 3.12
    return data


class _Watched:
    """What the connections for both schemes have in common."""

    sock: Any
    host: str
    port: int
    socket_options: Any
    _held: list[bytes] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _connections.add(self)

    def _new_conn(self) -> socket.socket:
        return watch_here().connect(getattr(self, "_dns_host", self.host), self.port, self._bind)

    def _bind(self, sock: socket.socket) -> None:
        # A stream may be silent for hours: a peer that has vanished is then noticed by the system.
        for option in (*(self.socket_options or ()), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)):
            sock.setsockopt(*option)

    def request(self, *args: Any, **options: Any) -> None:
        """Send a request, its head and a short body in one packet."""
        self._held = []
        try:
            super().request(*args, **options)  # type: ignore[misc]
        finally:
            held, self._held = self._held, None
        self.send(held[0] if len(held) == 1 else b"".join(held))

    def send(self, data: Any) -> None:
        if self._held is not None:
            self._held.append(data)
        else:
            if self.sock is None:
                self.connect()
            watch = watch_here()
            watch.attach(self.sock)
            watch.send(self.sock, data)

    def connect(self) -> None:
        watch = watch_here()
        with watch.limited(watch.connect_timeout):
            super().connect()  # type: ignore[misc]


class _Connection(_Watched, HTTPConnection):
    """A connection in the clear."""

    response_class = WatchedResponse


class _SecureConnection(_Watched, HTTPSConnection):
    """A connection with TLS.

    The handshake takes the descriptor of the socket for itself, so there is a second one as long as it lasts.
    """

    response_class = WatchedResponse
    _twin: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self._twin = sock.dup()
        watch_here().attach(self._twin)
        return sock

    def connect(self) -> None:
        try:
            super().connect()
        finally:
            watch_here().detach()
            twin, self._twin = self._twin, None
            if twin is not None:
                twin.close()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


#: Pools of another kind, for a proxy of SOCKS, stay as they are.
_WATCHED: dict[type[HTTPConnectionPool], type[HTTPConnectionPool]] = {
    HTTPConnectionPool: _Pool,
    HTTPSConnectionPool: _SecurePool,
}


def _watch_pools(manager: Any) -> None:
    kinds = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _WATCHED.get(kind, kind) for scheme, kind in kinds.items()}


class WatchedAdapter(HTTPAdapter):
    """Send the requests of a transport over connections that their watches know."""

    def __init__(self) -> None:
        super().__init__(pool_maxsize=POOL_SIZE)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pools of connections."""
        super().init_poolmanager(*args, **options)
        _watch_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Make the pools of connections to a proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        _watch_pools(manager)
        return manager

    def close(self) -> None:
        """Close the connections that nobody uses. urllib3 leaves that to the collector."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for pool in filter(None, [manager.pools.get(key) for key in manager.pools.keys()]):  # noqa: SIM118
                pool.close()
        super().close()


#: All connections there are, so that a child does not share them with its parent.
_connections: weakref.WeakSet[Any] = weakref.WeakSet()


def _close_inherited() -> None:
    # The descriptors only: what is said to the peer, or to a reader that holds the socket, is the parent's to say.
    for connection in list(_connections):
        with suppress(AttributeError, OSError):  # it has none, or a dead one
            os.close(bare_socket(connection.sock).detach())


if hasattr(os, "register_at_fork"):  # pragma: no branch - not on Windows
    os.register_at_fork(after_in_child=_close_inherited)
