"""Make the connection to a server: carry out what the era decision says, and what begins a legacy session."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import ClientClosedError, ClientError, MCPError, NegotiationError
from ..protocol.jsonrpc import notification, request
from ..protocol.meta import build_meta
from ..protocol.versions import LEGACY_VERSIONS
from ..transport.base import Deadline, Exchange, Message, Transport
from .errors import error_from_wire
from .negotiation import Discover, Handshake, Negotiation, OldTransport, Settled, Step
from .options import Options

__all__ = ["Connection", "Connector"]

logger = logging.getLogger("mcp_wsgi.client")

#: What is remembered of a server that speaks only the transport of 2024-11-05.
_OLD = "sse"
#: The kinds of transport whose address is the same server tomorrow.
_LASTING = ("http", "stdio")


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

    @property
    def verdict(self) -> str:
        """What is remembered of it."""
        return f"{_OLD} {self.version}" if self.transport.kind == "sse" else self.version


class Connector:
    """Make connections to one server, one at a time: the session sees to that.

    Args:
        transport: The way to the server.
        options: Those of the client.
        open_old_transport: Makes the transport of 2024-11-05, where there may be one.
    """

    def __init__(
        self, transport: Transport, options: Options, open_old_transport: Callable[[], Transport] | None
    ) -> None:
        self.ids = itertools.count(1)
        self.given = transport
        #: The transports that are to be closed: the given one, and the older one where it is used.
        self.transports = [transport]
        self.inbox_wanted = options.wants_inbox
        self.log_level = options.log_level
        self.closed = False
        #: The way to the server while a legacy handshake goes on, in which it may ask already.
        self.shaking: Transport | None = None
        self._options = options
        self._open_old_transport = open_old_transport

    @property
    def _transport(self) -> Transport:
        return self.transports[-1]

    def connect(self, remembered: str | None, patience: float | None = None) -> Connection:
        """Make a connection.

        Args:
            remembered: What is remembered of the server.
            patience: How long the server may be silent, in seconds, where that is not what the options say.

        Raises:
            ClientError: It cannot be made.
            MCPError: The server refuses.
        """
        kind, _, version = (remembered or "").partition(" ")
        if kind == _OLD:
            remembered = None
            if version in LEGACY_VERSIONS and self._open_old_transport is not None:
                try:
                    return self._negotiate(version, patience, old=True)
                except (ClientError, MCPError):
                    self._check_open()
        self._leave_old_transport()
        try:
            return self._negotiate(remembered, patience)
        except (MCPError, NegotiationError):
            if self._options.protocol_version is None:
                self._options.verdicts.pop(self.given.address, None)
            raise

    def close(self) -> None:
        """End what is there, and what another thread is making; whoever waits gets ``ClientClosedError``."""
        self.closed = True
        for transport in reversed(list(self.transports)):
            transport.close()

    def meta(self, version: str) -> dict[str, Any]:
        """Give what a modern request says in ``_meta``."""
        options = self._options
        return build_meta(
            version=version,
            capabilities=options.answers.capabilities(version),
            client_info=options.client_info,
            log_level=self.log_level,
        )

    def _negotiate(self, remembered: str | None, patience: float | None, *, old: bool = False) -> Connection:
        if old:
            self._take_old_transport()
        negotiation = Negotiation(
            pinned=self._options.protocol_version,
            remembered=remembered,
            restartable=self._transport.kind == "stdio",
            old_transport=self._transport.kind == "http" and self._open_old_transport is not None,
        )
        step = negotiation.start()
        self._check_open()
        try:
            while not isinstance(step, Settled):
                try:
                    answer = self._perform(step, patience)
                except ClientError as error:
                    if isinstance(step, OldTransport):
                        self._leave_old_transport()
                    step = negotiation.failed(error)
                else:
                    step = negotiation.answered(answer)
                self._check_open()
            return self._settle(step, lasting=not negotiation.guessed or step.modern)
        finally:
            self.shaking = None

    def _check_open(self) -> None:
        if self.closed:
            raise ClientClosedError("The client is closed")

    def _take_old_transport(self) -> None:
        if self._transport is self.given:
            assert self._open_old_transport is not None  # noqa: S101 - for the type checker: the callers looked
            old = self._open_old_transport()
            old.inbox = self.given.inbox
            self.transports.append(old)
            if self.closed:  # close() may not have seen it
                old.close()

    def _leave_old_transport(self) -> None:
        if self._transport is not self.given:
            old = self.transports.pop()
            old.restart()  # before it is closed, which its users would take for the end of the client
            old.close()

    def _perform(self, step: Step, patience: float | None) -> Message:
        options = self._options
        if isinstance(step, Discover):
            message = request(next(self.ids), "server/discover", {"_meta": self.meta(step.version)})
            return self._ask(message, options.probe_timeout if patience is None else patience)
        if isinstance(step, OldTransport):
            self._take_old_transport()
        elif isinstance(step, Handshake) and (step.restart or self._transport.kind == "http"):
            self._transport.restart()  # over HTTP: the session before, and the stream that belongs to it
        self.shaking = self._transport
        self._transport.adopt(None)
        params = {
            "protocolVersion": step.version,
            "capabilities": options.answers.capabilities(step.version),
            "clientInfo": dict(options.client_info),
        }
        message = request(next(self.ids), "initialize", params)
        return self._ask(message, options.timeout if patience is None else patience)

    def _ask(self, message: Message, timeout: float | None) -> Message:
        # What the server says meanwhile is worked off in another thread: a callback may want the connection itself.
        deadline = Deadline(timeout, self._options.max_timeout)
        return self._transport.request(message, Exchange(deadline, on_message=self._transport.inbox))

    def _settle(self, settled: Settled, *, lasting: bool) -> Connection:
        connection = Connection(
            transport=self._transport,
            version=settled.version,
            modern=settled.modern,
            verified=settled.result is not None,
            info=settled.result,
            meta=self.meta(settled.version) if settled.modern else {},
        )
        if not settled.modern:
            self._begin_legacy(settled)
        if lasting and self.given.kind in _LASTING and self._options.protocol_version is None:
            self._options.verdicts[self.given.address] = connection.verdict
        return connection

    def _begin_legacy(self, settled: Settled) -> None:
        """Say that the handshake is over (2025-11-25, basic/lifecycle), and ask for what the client wants to hear."""
        transport, options = self._transport, self._options
        transport.adopt(settled.version)
        transport.post(notification("notifications/initialized"), Deadline(options.timeout))
        if self.inbox_wanted:
            transport.open_inbox()
        capabilities = (settled.result or {}).get("capabilities")
        if self.log_level is not None and isinstance(capabilities, Mapping) and "logging" in capabilities:
            answer = self._ask(request(next(self.ids), "logging/setLevel", {"level": self.log_level}), options.timeout)
            if "error" in answer:  # no reason to do without the server
                refusal = error_from_wire(answer["error"]).code
                logger.warning("%s refuses the level of log messages: %d", self.given.address, refusal)
