"""Dispatch and what it needs: pure of I/O, of sessions and of any framework."""

from __future__ import annotations

from .context import Cancellation, CancelledError, Context
from .server import Server

__all__ = ["Cancellation", "CancelledError", "Context", "Server"]
