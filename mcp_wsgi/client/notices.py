"""What a server tells on its own, as values; read as :mod:`mcp_wsgi.client.results` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .wire import get_mapping, get_number, get_text, need_mapping, need_text

__all__ = ["Change", "LogMessage", "Progress"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Hold how far a request is (basic/patterns/progress); ``total`` and ``message`` where the server says them."""

    progress: float
    total: float | None = None
    message: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> Progress:
        """Read the params of ``notifications/progress``.

        Raises:
            ValueError: They are no object, or have no number as progress.
        """
        raw = need_mapping(raw, "A progress notification")
        progress = get_number(raw, "progress")
        if progress is None:
            raise ValueError('A progress notification has no "progress"')
        return cls(progress=progress, total=get_number(raw, "total"), message=get_text(raw, "message"), raw=raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogMessage:
    """Hold what a server logs for its client; ``data`` is any JSON value."""

    level: str
    data: Any = None
    logger: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> LogMessage:
        """Read the params of ``notifications/message``.

        Raises:
            ValueError: They are no object, or have no level.
        """
        raw = need_mapping(raw, "A log notification")
        level = need_text(raw, "level", "A log notification")
        return cls(level=level, data=raw.get("data"), logger=get_text(raw, "logger"), raw=raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Hold a notification that something on the server changed; ``uri`` names the resource where it was one."""

    method: str
    uri: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> Change:
        """Read the notification, the whole message.

        Raises:
            ValueError: It is no object, or has no method.
        """
        raw = need_mapping(raw, "A change notification")
        method = need_text(raw, "method", "A change notification")
        return cls(method=method, uri=get_text(get_mapping(raw, "params") or {}, "uri"), raw=raw)
