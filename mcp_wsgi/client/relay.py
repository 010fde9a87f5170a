"""Calls that are made for another client, as a gateway does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..protocol.meta import CLIENT_CAPABILITIES, LOG_LEVEL
from ..transport.base import Message
from .results import LogMessage

__all__ = ["Relay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """Make a call for another client: pass it as ``relay=``.

    What the server asks then goes back to the caller as an ``InputRequiredResult``, and not to this client's handlers.
    A legacy server knows only this client, and asks only what this one can answer.

    Attributes:
        capabilities: What the other client can be asked, declared in place of this client's own.
        responses: Its answers to what was asked before, by key.
        state: The state that came with those questions.
        log_level: The level of log messages that it wants; ``None`` for no messages.
        on_log: Called with each of them.
    """

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    responses: Mapping[str, Any] | None = None
    state: str | None = None
    log_level: str | None = None
    on_log: Callable[[LogMessage], object] | None = None

    def params(self) -> dict[str, Any]:
        """Give what the params of the request say of the questions before."""
        given = {"inputResponses": self.responses, "requestState": self.state}
        return {name: value for name, value in given.items() if value is not None}

    def meta(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Give the request's ``_meta``: this client's own, with what is said of the other one."""
        meta = {**own, CLIENT_CAPABILITIES: dict(self.capabilities)}
        meta.pop(LOG_LEVEL, None)
        return meta if self.log_level is None else {**meta, LOG_LEVEL: self.log_level}

    def takes(self, message: Message) -> bool:
        """Give the other client a log message; say whether the notification was one."""
        if message["method"] != "notifications/message" or self.on_log is None:
            return False
        params = message.get("params")
        try:
            logged = LogMessage.from_wire(params if isinstance(params, Mapping) else {})
        except ValueError:
            return True  # without a level it is none
        self.on_log(logged)
        return True
