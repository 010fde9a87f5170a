"""What a client was told when it was made, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import ConfigurationError
from ..protocol.meta import LOG_LEVELS
from .answers import Answers
from .results import LogMessage, Progress

__all__ = ["MAX_TIMEOUT", "Options"]

#: The most that a call takes where nothing else is said, in seconds.
MAX_TIMEOUT = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Hold the options of a :class:`~mcp_wsgi.client.Client`; they are documented there.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    answers: Answers
    client_info: Mapping[str, Any]
    verdicts: MutableMapping[str, str]
    protocol_version: str | None = None
    timeout: float | None = 60.0
    max_timeout: float | None = MAX_TIMEOUT
    probe_timeout: float = 5.0
    log_level: str | None = None
    on_progress: Callable[[Progress], object] | None = None
    on_log: Callable[[LogMessage], object] | None = None
    on_notification: Callable[[dict[str, Any]], object] | None = None
    validate_output: bool = False
    max_rounds: int = 10
    max_pages: int = 1000

    def __post_init__(self) -> None:
        """Check what a mistake would only show much later."""
        for name in ("name", "version"):
            if not isinstance(self.client_info.get(name), str):
                raise ConfigurationError('client_info is a mapping with "name" and "version", both strings')
        for name in ("timeout", "max_timeout", "probe_timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{name} is a number of seconds above 0")
        for name in ("max_rounds", "max_pages"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1")
        if self.log_level is not None and self.log_level not in LOG_LEVELS:
            raise ConfigurationError(f"log_level is one of: {', '.join(LOG_LEVELS)}")

    @property
    def longest(self) -> float | None:
        """How long a call may take in all, in seconds: as said or, where only a longer silence was said, that."""
        if self.timeout is None or self.max_timeout != MAX_TIMEOUT:
            return self.max_timeout
        return max(self.timeout, MAX_TIMEOUT)

    @property
    def wants_inbox(self) -> bool:
        """Whether anything is to be heard of a legacy server outside of requests."""
        hears = self.on_log is not None or self.on_notification is not None
        return hears or bool(self.answers.capabilities("2025-11-25"))
