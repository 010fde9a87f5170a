"""From what a caller names as a server to the transport that reaches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..exceptions import ConfigurationError
from ..transport.base import Message, Transport

if TYPE_CHECKING:
    import requests

    from ..server import Server

__all__ = ["Target", "TransportOptions", "transport_for"]

Target: TypeAlias = "str | Sequence[str] | Server | Transport | Callable[[Message], Message | None]"


@dataclass(frozen=True, kw_only=True)
class TransportOptions:
    """Hold the options of a client that its transport takes."""

    env: Mapping[str, str] | None = None
    cwd: str | None = None
    headers: Mapping[str, str] | None = None
    auth: Any = None
    verify: bool | str = True
    cert: str | tuple[str, str] | None = None
    session: requests.Session | None = None
    max_message_size: int = 16 * 1024 * 1024

    def http(self) -> dict[str, Any]:
        """Give those of HTTP."""
        names = ("headers", "auth", "verify", "cert", "session", "max_message_size")
        return {name: getattr(self, name) for name in names}

    def refuse(self, kind: str, *names: str) -> None:
        """Refuse options that would be without effect.

        Raises:
            ConfigurationError: One of them is set.
        """
        for name in names:
            if getattr(self, name) != getattr(TransportOptions, name):
                raise ConfigurationError(f"{name}= has no meaning for {kind}")


_HTTP = ("headers", "auth", "verify", "cert", "session")
_PROCESS = ("env", "cwd")


def transport_for(target: Target, options: TransportOptions) -> tuple[Transport, Callable[[], Transport] | None]:
    """Make the transport to a server.

    Args:
        target: A URL, a command with its arguments, a server, a function, or a transport.
        options: What the caller set.

    Returns:
        The transport, and, for a URL, what makes the older transport to the same place.

    Raises:
        ConfigurationError: It is none of these, or an option does not fit.
    """
    from ..server import Server

    if isinstance(target, Transport):
        options.refuse("a transport, which has its own", *_HTTP, *_PROCESS)
        return target, None
    if isinstance(target, str):
        return _http(target, options)
    if isinstance(target, Server):
        options.refuse("a server in this process", *_HTTP, *_PROCESS)
        return _memory(target), None
    if isinstance(target, Sequence) and target and all(isinstance(part, str) for part in target):
        options.refuse("a command", *_HTTP)
        from ..transport.stdio import StdioTransport

        return (
            StdioTransport(target, env=options.env, cwd=options.cwd, max_message_size=options.max_message_size),
            None,
        )
    if callable(target):
        options.refuse("a function", *_HTTP, *_PROCESS)
        return _memory(target), None
    raise ConfigurationError(
        "A server is a URL (http:// or https://), a command as a list of strings, a Server, a function of a message, "
        f"or a Transport, not {type(target).__name__}"
    )


def _memory(target: Server | Callable[[Message], Message | None]) -> Transport:
    from ..transport.memory import MemoryTransport

    return MemoryTransport(target)


def _http(url: str, options: TransportOptions) -> tuple[Transport, Callable[[], Transport]]:
    if not url.lower().startswith(("http://", "https://")):
        # What was given may hold a password or a token, so it is not repeated.
        raise ConfigurationError(
            "The target is no URL: one begins with http:// or https://. A command is a list: ['python', 'server.py']"
        )
    options.refuse("a URL", *_PROCESS)
    from ..transport.http import HTTPTransport

    def open_old() -> Transport:
        from ..transport.sse import SSETransport

        return SSETransport(url, **options.http())

    return HTTPTransport(url, **options.http()), open_old
