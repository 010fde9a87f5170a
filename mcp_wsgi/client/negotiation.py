"""Find out which era a server speaks: a pure state machine, which says what to send and judges what came back.

2026-07-28, basic/versioning, and the sections on backward compatibility of both transports. "Clients MUST NOT key the
fallback to one error code": only three codes are proof of a modern server, every other refusal means a legacy one. What
says nothing about the era (401, 403, 5xx, a network that fails) is raised and leaves no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..errors import ErrorCode
from ..exceptions import (
    ClientError,
    HTTPStatusError,
    MCPError,
    NegotiationError,
    RemoteProtocolError,
    RequestTimeoutError,
    ServerExitedError,
    SessionExpiredError,
    UnauthorizedError,
)
from ..protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from .errors import error_from_wire

__all__ = ["Discover", "Handshake", "Negotiation", "OldTransport", "Settled", "Step"]


class Discover(NamedTuple):
    """Send ``server/discover`` at this version."""

    version: str


class Handshake(NamedTuple):
    """Send ``initialize`` and ask for this version; ``restart`` says that the transport begins anew before it."""

    version: str
    restart: bool = False


class OldTransport(NamedTuple):
    """Go over to the HTTP+SSE transport of 2024-11-05, and send ``initialize`` there."""

    version: str


class Settled(NamedTuple):
    """Go on at this version. ``result`` is what the server said of itself, ``None`` where it was not asked."""

    version: str
    modern: bool
    result: Mapping[str, Any] | None = None


Step: TypeAlias = "Discover | Handshake | OldTransport | Settled"

_PROOF = (ErrorCode.HEADER_MISMATCH, ErrorCode.MISSING_CLIENT_CAPABILITY)
_SERVER_FAILS = 500


class Negotiation:
    """Decide the era of one server.

    Args:
        pinned: The only version to speak, if the caller says so: nothing is probed.
        remembered: The version that the server spoke before: nothing is probed unless it fails.
        restartable: Whether the transport can begin anew, as one with a process of its own can.
        old_transport: Whether there is an older transport to fall back to.
        modern: The modern versions that are spoken, oldest first.
        legacy: The legacy ones.

    Raises:
        NegotiationError: The pinned version is not spoken here.
    """

    def __init__(
        self,
        *,
        pinned: str | None = None,
        remembered: str | None = None,
        restartable: bool = False,
        old_transport: bool = False,
        modern: Sequence[str] = MODERN_VERSIONS,
        legacy: Sequence[str] = LEGACY_VERSIONS,
    ) -> None:
        if pinned is not None and pinned not in (*modern, *legacy):
            spoken = ", ".join((*legacy, *modern))
            raise NegotiationError(f"The protocol version {pinned!r} is not spoken here; choose one of: {spoken}")
        self._pinned = pinned
        self._remembered = remembered if remembered in (*modern, *legacy) else None
        self._restartable = restartable
        self._old_transport = old_transport
        self._modern = tuple(modern)
        self._legacy = tuple(legacy)
        self._step: Step = Settled("", modern=True)
        self._asked: dict[str, int] = {}
        self._handshakes = 0
        self._restarted = False
        self._named: tuple[str, ...] = ()
        #: What made a legacy server of it, told as the cause where the handshake fails too.
        self._refusal: Exception | None = None
        self._refused_handshake: Exception | None = None

    @property
    def guessed(self) -> bool:
        """Whether the era was taken from silence: a server that was only slow to start is silent too."""
        return isinstance(self._refusal, RequestTimeoutError)

    def start(self) -> Step:
        """Give the first step."""
        wanted = self._pinned or self._remembered
        if wanted is None:
            return self._discover(self._modern[-1])
        if wanted in self._modern:
            return self._go(Settled(wanted, modern=True))
        return self._handshake(wanted)

    def answered(self, message: Mapping[str, Any]) -> Step:
        """Judge the answer to the last step and give the next one.

        Raises:
            MCPError: The server refused in a way that is no question of the era.
            NegotiationError: There is no version in common.
            RemoteProtocolError: The server contradicts itself.
        """
        if "error" in message:
            error = error_from_wire(message["error"])
            if isinstance(self._step, Discover):
                return self._discover_refused(error)
            return self._handshake_refused(error)
        result = message.get("result")
        result = result if isinstance(result, Mapping) else {}
        if isinstance(self._step, Discover):
            return self._discovered(self._step, result)
        return self._shaken(result)

    def failed(self, error: ClientError) -> Step:
        """Judge the failure of the last step and give the next one.

        Raises:
            ClientError: It says nothing of the era: the error itself.
        """
        if isinstance(self._step, Discover):
            return self._discover_failed(error)
        return self._handshake_failed(error)

    def _go(self, step: Step) -> Step:
        self._step = step
        return step

    def _discover(self, version: str) -> Step:
        self._asked[version] = self._asked.get(version, 0) + 1
        return self._go(Discover(version))

    def _handshake(self, version: str | None = None, *, restart: bool = False) -> Step:
        self._handshakes += 1
        self._restarted = self._restarted or restart
        return self._go(Handshake(version or self._pinned or self._legacy[-1], restart))

    # server/discover

    def _discovered(self, step: Discover, result: Mapping[str, Any]) -> Step:
        supported = _versions(result.get("supportedVersions"))
        if step.version in supported:
            return self._go(Settled(step.version, modern=True, result=result))
        return self._next_version(supported)

    def _next_version(self, supported: Sequence[str]) -> Step:
        """Ask again at the newest modern version that both know and that has not been asked for, else shake hands."""
        self._named = tuple(supported)
        for version in reversed(self._modern):
            # Refused once at a version that is in the list, a server may have come up meanwhile; twice is its answer.
            if version in supported and self._asked.get(version, 0) < 2:
                return self._discover(version)
        if any(version in supported for version in self._modern):
            raise RemoteProtocolError("The server names the protocol version as supported, and refuses it")
        return self._handshake()

    def _discover_refused(self, error: MCPError) -> Step:
        self._refusal = error
        if error.code in _PROOF:
            raise error
        if error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
            return self._next_version(_supported(error))
        return self._handshake()

    def _discover_failed(self, error: ClientError) -> Step:
        self._refusal = error
        if isinstance(error, RequestTimeoutError):
            # A process that met the probe with silence may read nothing more. Over HTTP each request is its own.
            return self._handshake(restart=self._restartable)
        if isinstance(error, ServerExitedError) and self._restartable:
            return self._handshake(restart=True)
        if _is_refusal(error):
            return self._handshake()
        raise error

    # initialize

    def _shaken(self, result: Mapping[str, Any]) -> Step:
        version = result.get("protocolVersion")
        if version not in self._legacy or (self._pinned is not None and version != self._pinned):
            self._named = (version,) if isinstance(version, str) else ()
            raise self._nothing_in_common()
        return self._go(Settled(str(version), modern=False, result=result))

    def _handshake_refused(self, error: MCPError) -> Step:
        if error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION and self._pinned is None:
            supported = _supported(error)
            self._named = supported
            if any(version in self._modern for version in supported):
                # The probe may have met silence, or what was remembered of the server is no longer true.
                return self._next_version(supported)
            raise self._nothing_in_common()
        return self._again(error)

    def _handshake_failed(self, error: ClientError) -> Step:
        died = isinstance(error, (ServerExitedError, RequestTimeoutError))
        if died and self._restartable and not self._restarted and self._asked:
            # It answered the probe, and the probe has killed it all the same.
            return self._handshake(restart=True)
        if isinstance(self._step, OldTransport) and self._refused_handshake is not None:
            raise self._refused_handshake from error
        if _is_refusal(error):
            return self._again(error)
        raise error from self._refusal

    def _again(self, error: Exception) -> Step:
        """Go on after a refused handshake: probe what was only remembered, try the old transport, or give up."""
        if self._remembered is not None and self._pinned is None and not self._asked:
            self._remembered = None
            return self._discover(self._modern[-1])
        if self._old_transport and isinstance(error, HTTPStatusError):
            self._old_transport = False
            self._refused_handshake = error
            return self._go(OldTransport(self._pinned or self._legacy[-1]))
        raise error from self._refusal

    def _nothing_in_common(self) -> NegotiationError:
        spoken = self._pinned or ", ".join((*self._legacy, *self._modern))
        theirs = ", ".join(text[:40] for text in self._named[:20]) or "none that it names"
        return NegotiationError(f"No protocol version in common: here {spoken}; the server: {theirs}", self._named)


def _versions(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _supported(error: MCPError) -> tuple[str, ...]:
    return _versions(error.data.get("supported")) if isinstance(error.data, Mapping) else ()


def _is_refusal(error: ClientError) -> bool:
    """Say whether a server has answered "not like this", which is what a legacy one does to a modern request."""
    return (
        isinstance(error, HTTPStatusError)
        and not isinstance(error, (UnauthorizedError, SessionExpiredError))
        and 400 <= error.status < _SERVER_FAILS
    )
