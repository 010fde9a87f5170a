"""The command ``mcp-wsgi``. What a command needs is imported inside it, so that help and errors come at once."""

from __future__ import annotations

from .program import main

__all__ = ["main"]
