"""The connection to a server: made when it is needed, remembered, made anew when it proves wrong."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..exceptions import ClientClosedError, ClientError, MCPError, NegotiationError
from ..protocol.jsonrpc import notification, request
from ..protocol.meta import build_meta
from ..transport.base import Deadline, Exchange, Message, Transport
from .errors import error_from_wire
from .negotiation import Discover, Handshake, Negotiation, OldTransport, Settled, Step
from .options import Options

__all__ = ["POST_SECONDS", "Connection", "Session"]

logger = logging.getLogger("mcp_wsgi.client")

#: What is remembered of a server that speaks only the transport of 2024-11-05.
_OLD = "sse"
#: The kinds of transport whose address is the same server tomorrow.
_LASTING = ("http", "stdio")
#: A message that nobody waits for has this long, in seconds, to be sent.
POST_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Hold what was agreed with a server.

    Attributes:
        transport: The way to it.
        version: The protocol version.
        modern: Its era.
        verified: Whether the server itself has said so to this client; else it is pinned or remembered.
        info: The result of ``server/discover`` or ``initialize``, where there was one.
        meta: What every request says in ``_meta`` in the modern era.
    """

    transport: Transport
    version: str
    modern: bool
    verified: bool
    info: Mapping[str, Any] | None
    meta: Mapping[str, Any]


class Session:
    """Keep one connection for any number of threads.

    Args:
        transport: The way to the server.
        options: Those of the client.
        receive: Called with each message of the server that comes while a connection is made.
        open_old_transport: Makes the transport of 2024-11-05, where there may be one.
    """

    def __init__(
        self,
        transport: Transport,
        options: Options,
        receive: Callable[[Message], None],
        open_old_transport: Callable[[], Transport] | None = None,
    ) -> None:
        self.ids = itertools.count(1)
        self._given = transport
        self._transport = transport
        self._options = options
        self._receive = receive
        self._open_old_transport = open_old_transport
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._closed = False
        self._inbox_wanted = options.wants_inbox
        self._log_level = options.log_level
        #: Called after a legacy session took the place of another one, which has forgotten its subscriptions.
        self.renewed: Callable[[Connection], None] | None = None
        #: Called after a connection was given up, and what a legacy server was asked to tell with it.
        self.ended: Callable[[Connection], None] | None = None

    @property
    def address(self) -> str:
        """What names the server."""
        return self._given.address

    @property
    def current(self) -> Connection | None:
        """The connection, where there is one."""
        return self._connection

    def connection(self) -> Connection:
        """Give the connection; it is made where there is none.

        Raises:
            ClientError: It cannot be made.
            MCPError: The server refuses.
        """
        found = self._connection
        if found is not None and not self._closed:
            return found
        with self._lock:
            if self._connection is None or self._closed:
                self._connection = self._connect(self._remembered())
            return self._connection

    def reconsider(self, old: Connection, *, patient: bool = False) -> Connection | None:
        """Ask the server anew which version it speaks, after a refusal that makes it doubtful.

        Args:
            old: The connection.
            patient: Whether the server may be silent as long as in any call, because it may only be busy.

        Returns:
            The new connection; ``None`` where the server says what it said before.
        """
        with self._lock:
            if self._connection is not old:
                return self._connection
            if self._options.protocol_version is not None:
                return None
            try:
                new = self._connect(None, patient=patient)
            except (ClientError, MCPError):
                logger.info("%s could not be asked again which version it speaks", self.address)
                return None
            self._connection = new
            if not new.modern and self.renewed is not None:
                self.renewed(new)
            return new if (new.version, new.modern) != (old.version, old.modern) else None

    def confirm(self, old: Connection) -> None:
        """Take note that the server speaks the version that was remembered or pinned."""
        with self._lock:
            if self._connection is old:
                self._connection = replace(old, verified=True)

    def renew(self, old: Connection) -> Connection:
        """Begin a new legacy session in place of one that the server no longer knows."""
        with self._lock:
            if self._connection is old:
                self._connection = None
                old.transport.restart()
                self._connection = self._connect(old.version)
                if self.renewed is not None:
                    self.renewed(self._connection)
        return self.connection()

    def drop(self, old: Connection) -> None:
        """Give up a connection whose server has ended, or never answered; the next request makes another one.

        What was only remembered of such a server is forgotten: it may be a legacy one, which is silent or dies.
        """
        with self._lock:
            if self._connection is old and not self._closed:
                self._connection = None
                if not old.verified and self._options.protocol_version is None:
                    self._options.verdicts.pop(self.address, None)
                self._give_up(old)

    def forget(self) -> None:
        """Forget what is remembered of the server; the next request asks it."""
        with self._lock:
            self._options.verdicts.pop(self.address, None)
            old, self._connection = self._connection, None
            if old is not None:
                self._give_up(old)

    def _give_up(self, old: Connection) -> None:
        old.transport.restart()
        if self.ended is not None:
            self.ended(old)

    def listen(self) -> None:
        """Hear what a legacy server sends outside of requests, from now on and after each new beginning."""
        with self._lock:
            self._inbox_wanted = True
            connection = self.connection()
            if not connection.modern:
                connection.transport.open_inbox()

    def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above, from the next request on.

        Raises:
            MCPError: A legacy server does not send any.
            ClientError: It cannot be asked.
        """
        with self._lock:
            connection = self.connection()
            if not connection.modern:
                self._set_legacy_level(connection.transport, level)
            self._log_level = level
            if connection.modern:
                self._connection = replace(connection, meta=self._meta(connection.version))

    def close(self) -> None:
        """End the connection; whoever waits gets ``ClientClosedError``."""
        self._closed = True  # without the lock: a thread that holds it may be waiting for the server
        self._transport.close()
        if self._given is not self._transport:
            self._given.close()

    def _remembered(self) -> str | None:
        return self._options.verdicts.get(self.address)

    def _connect(self, remembered: str | None, *, patient: bool = False) -> Connection:
        if remembered is not None and remembered.partition(" ")[0] == _OLD:
            try:
                return self._negotiate(remembered.partition(" ")[2], old=True)
            except (ClientError, MCPError):
                self._leave_old_transport()
                remembered = None
        try:
            return self._negotiate(remembered, patient=patient)
        except (MCPError, NegotiationError):
            if self._options.protocol_version is None:
                self._options.verdicts.pop(self.address, None)
            raise

    def _negotiate(self, remembered: str | None, *, old: bool = False, patient: bool = False) -> Connection:
        if old:
            self._take_old_transport()
        negotiation = Negotiation(
            pinned=self._options.protocol_version,
            remembered=remembered,
            restartable=self._transport.kind == "stdio",
            old_transport=self._transport.kind == "http" and self._open_old_transport is not None,
        )
        step = negotiation.start()
        while not isinstance(step, Settled):
            self._check_open()
            try:
                answer = self._perform(step, patient=patient)
            except ClientError as error:
                if isinstance(step, OldTransport):
                    self._leave_old_transport()
                step = negotiation.failed(error)
            else:
                step = negotiation.answered(answer)
        return self._settle(step)

    def _check_open(self) -> None:
        if self._closed:
            raise ClientClosedError("The client is closed")

    def _take_old_transport(self) -> None:
        if self._transport is self._given:
            assert self._open_old_transport is not None  # noqa: S101 - for the type checker: the callers looked
            self._transport = self._open_old_transport()
            self._transport.inbox = self._given.inbox
            if self._closed:  # close() has not seen it
                self._transport.close()

    def _leave_old_transport(self) -> None:
        if self._transport is not self._given:
            self._transport.close()
            self._transport = self._given

    def _perform(self, step: Step, *, patient: bool) -> Message:
        if isinstance(step, Discover):
            message = request(next(self.ids), "server/discover", {"_meta": self._meta(step.version)})
            return self._ask(message, self._options.timeout if patient else self._options.probe_timeout)
        if isinstance(step, OldTransport):
            self._take_old_transport()
        elif isinstance(step, Handshake) and step.restart:
            self._transport.restart()
        self._transport.adopt(None)
        params = {
            "protocolVersion": step.version,
            "capabilities": self._options.answers.capabilities(step.version),
            "clientInfo": dict(self._options.client_info),
        }
        return self._ask(request(next(self.ids), "initialize", params), self._options.timeout)

    def _ask(self, message: Message, timeout: float | None) -> Message:
        deadline = Deadline(timeout, self._options.max_timeout)
        return self._transport.request(message, Exchange(deadline, on_message=self._receive))

    def _meta(self, version: str) -> dict[str, Any]:
        options = self._options
        return build_meta(
            version=version,
            capabilities=options.answers.capabilities(version),
            client_info=options.client_info,
            log_level=self._log_level,
        )

    def _settle(self, settled: Settled) -> Connection:
        transport = self._transport
        if not settled.modern:
            self._begin_legacy(settled)
        if self._given.kind in _LASTING and self._options.protocol_version is None:
            version = settled.version if transport.kind in _LASTING else f"{_OLD} {settled.version}"
            self._options.verdicts[self.address] = version
        return Connection(
            transport=transport,
            version=settled.version,
            modern=settled.modern,
            verified=settled.result is not None,
            info=settled.result,
            meta=self._meta(settled.version) if settled.modern else {},
        )

    def _begin_legacy(self, settled: Settled) -> None:
        """Say that the handshake is over (2025-11-25, basic/lifecycle), and ask for what the client wants to hear."""
        transport, options = self._transport, self._options
        transport.adopt(settled.version)
        transport.post(notification("notifications/initialized"), Deadline(options.timeout))
        if self._inbox_wanted:
            transport.open_inbox()
        capabilities = (settled.result or {}).get("capabilities")
        if self._log_level is not None and isinstance(capabilities, Mapping) and "logging" in capabilities:
            self._set_legacy_level(transport, self._log_level)

    def _set_legacy_level(self, transport: Transport, level: str) -> None:
        message = request(next(self.ids), "logging/setLevel", {"level": level})
        deadline = Deadline(self._options.timeout, self._options.max_timeout)
        answer = transport.request(message, Exchange(deadline, on_message=self._receive))
        if "error" in answer:
            raise error_from_wire(answer["error"])
