"""The connection to a server: made when it is needed, remembered, made anew when it proves wrong."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..exceptions import ClientError, MCPError
from ..transport.base import Transport
from .connecting import Connection, Connector
from .forks import begin_anew_after_fork
from .options import Options

__all__ = ["POST_SECONDS", "Connection", "Session"]

logger = logging.getLogger("mcp_wsgi.client")

#: A message that nobody waits for has this long, in seconds, to be sent.
POST_SECONDS = 5.0


class Session:
    """Keep one connection for any number of threads.

    Args:
        transport: The way to the server.
        options: Those of the client.
        open_old_transport: Makes the transport of 2024-11-05, where there may be one.
    """

    def __init__(
        self,
        transport: Transport,
        options: Options,
        open_old_transport: Callable[[], Transport] | None = None,
    ) -> None:
        self._connector = Connector(transport, options, open_old_transport)
        self._options = options
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        #: Called after a legacy session took the place of another one, which has forgotten its subscriptions.
        self.renewed: Callable[[Connection], None] = _nothing
        #: Called after a connection was given up, and what a legacy server was asked to tell with it.
        self.ended: Callable[[Connection], None] = _nothing
        begin_anew_after_fork(self)

    @property
    def address(self) -> str:
        """What names the server."""
        return self._connector.given.address

    @property
    def ids(self) -> Iterator[int]:
        """The ids of requests, each given once."""
        return self._connector.ids

    @property
    def transports(self) -> list[Transport]:
        """The transports that are to be closed."""
        return self._connector.transports

    @property
    def current(self) -> Connection | None:
        """The connection, where there is one."""
        return self._connection

    @property
    def legacy_transport(self) -> Transport | None:
        """The way to a server that may send requests, also while the handshake goes on; ``None`` for a modern one."""
        shaking, connection = self._connector.shaking, self._connection
        if shaking is not None or connection is None:
            return shaking
        return None if connection.modern else connection.transport

    def connection(self) -> Connection:
        """Give the connection; it is made where there is none.

        Raises:
            ClientError: It cannot be made.
            MCPError: The server refuses.
        """
        found = self._connection
        if found is not None and not self._connector.closed:
            return found
        with self._lock:
            if self._connection is None or self._connector.closed:
                self._connection = self._connector.connect(self._remembered())
            return self._connection

    def reconsider(self, old: Connection, patience: float | None = None) -> Connection | None:
        """Ask the server anew which version it speaks, after a refusal that makes it doubtful.

        Args:
            old: The connection.
            patience: How long the server may be silent, in seconds, where it may only be busy.

        Returns:
            The connection for a second attempt: another version, or another legacy session. ``None`` where the server
            says what it said before.
        """
        with self._lock:
            if self._connection is not old:
                return self._connection
            if self._options.protocol_version is not None:
                return None
            try:
                new = self._connector.connect(None, patience)
            except (ClientError, MCPError):
                logger.info("%s could not be asked again which version it speaks", self.address)
                if not old.modern:  # the attempt has ended its session
                    self._lose(old)
                return None
            self._replace(old, new)
            return new if (new.version, new.modern) != (old.version, old.modern) or not new.modern else None

    def confirm(self, old: Connection) -> None:
        """Take note that the server speaks the version that was remembered or pinned."""
        with self._lock:
            if self._connection is old:
                self._connection = replace(old, verified=True)

    def renew(self, old: Connection) -> Connection:
        """Begin a new legacy session in place of one that the server no longer knows."""
        with self._lock:
            if self._connection is old:
                self._connection = None  # so that others wait for the new one
                try:
                    old.transport.restart()
                    new = self._connector.connect(old.verdict)
                except BaseException:
                    self._lose(old)
                    raise
                self._replace(old, new)
        return self.connection()

    def drop(self, old: Connection) -> None:
        """Give up a connection whose server has ended, or never answered; the next request makes another one.

        What was only remembered of such a server is forgotten: it may be a legacy one, which is silent or dies.
        """
        with self._lock:
            if self._connection is old and not self._connector.closed:
                if not old.verified and self._options.protocol_version is None:
                    self._options.verdicts.pop(self.address, None)
                old.transport.restart()
                self._lose(old)

    def forget(self) -> None:
        """Forget what is remembered of the server; the next request asks it."""
        with self._lock:
            self._options.verdicts.pop(self.address, None)
            old = self._connection
            if old is not None:
                old.transport.restart()
                self._lose(old)

    def _lose(self, old: Connection) -> None:
        self._connection = None
        self.ended(old)

    def _replace(self, old: Connection, new: Connection) -> None:
        """Put another connection in the place of one; what a legacy server was asked to tell is asked for again."""
        self._connection = new
        if not new.modern:
            self.renewed(new)
        elif not old.modern:
            if new.transport.kind == "http":
                new.transport.restart()  # the stream of the session that is over
            self.ended(old)

    def listen(self) -> None:
        """Hear what a legacy server sends outside of requests, from now on and after each new beginning."""
        with self._lock:
            self._connector.inbox_wanted = True
            connection = self.connection()
            if not connection.modern:
                connection.transport.open_inbox()

    def note_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above, from the next request or the next legacy session on."""
        with self._lock:
            self._connector.log_level = level
            connection = self._connection
            if connection is not None and connection.modern:
                self._connection = replace(connection, meta=self._connector.meta(connection.version))

    def close(self) -> None:
        """End the connection; whoever waits gets ``ClientClosedError``."""
        self._connector.close()  # without the lock: a thread that holds it may be waiting for the server

    def begin_anew(self) -> None:
        """Make a connection of its own in a forked process, whose threads are gone and may have held the lock."""
        self._lock = threading.RLock()
        self._connector.shaking = None
        self._connection = None

    def _remembered(self) -> str | None:
        if self._options.protocol_version is not None:
            return None
        found: object = self._options.verdicts.get(self.address)
        return found if isinstance(found, str) else None


def _nothing(connection: Connection) -> None:
    """Do nothing about a connection."""
