"""The ways to a server: HTTP, the standard streams of a process, or a callable in this one."""

from __future__ import annotations

from .base import Deadline, Exchange, Message, Transport

__all__ = ["Deadline", "Exchange", "Message", "Transport"]
