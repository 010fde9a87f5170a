"""Streams that say that they are a terminal."""

from __future__ import annotations

import io

import pytest

__all__ = ["Screen", "Typed", "terminal"]


class Typed(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


class Screen(io.StringIO):
    """What a person sees."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, *, typed: str = "", columns: int = 80) -> tuple[Screen, Screen]:
    """Put a terminal in place of the standard streams; give its output and its errors."""
    out, err = Screen(), Screen()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr("sys.stdin", Typed(typed))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    return out, err
