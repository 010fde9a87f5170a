"""The time of a client's calls in the hands of a test, so that no machine is too slow for it, nor too fast."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from mcp_wsgi.client.patience import Patience
from tests.patience import wait_until

__all__ = ["CallTime", "hurry_calls", "take_call_time"]

#: What a call is given, of each second that it may take, where calls are hurried.
HURRY = 0.01


class CallTime:
    """A clock of calls that stands still until a test says how much time passes. Connecting keeps to the real one."""

    def __init__(self) -> None:
        self.now = 0.0
        #: How much passes before each message that the server sends in the course of a call.
        self.before_each = 0.0
        #: How often a call that waits looks at the clock, in real seconds, if not only when something comes.
        self.look_every: float | None = None
        self._looks = 0

    def look(self) -> None:
        self._looks += 1

    def spend(self, seconds: float) -> None:
        """Let time pass while a call waits in another thread, and wait until that thread has seen it."""
        self.now += seconds
        before = self._looks
        wait_until(lambda: self._looks > before + 1, 30)  # the first may have begun before


def take_call_time(monkeypatch: pytest.MonkeyPatch) -> CallTime:
    """Give the clock of all calls that begin from now on."""
    time = CallTime()

    class Watched(Patience):
        __slots__ = ()

        def __init__(self, timeout: float | None, maximum: float | None = None) -> None:
            super().__init__(timeout, maximum, lambda: time.now)

        def remaining(self) -> float | None:
            left = super().remaining()
            time.look()
            return left if left is None or time.look_every is None else min(left, time.look_every)

        def paused(self) -> AbstractContextManager[None]:
            time.now += time.before_each
            return super().paused()

    monkeypatch.setattr("mcp_wsgi.client.calls.Patience", Watched)
    return time


def hurry_calls(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Give calls that begin from now on a hundredth of their time; connecting has all of its own.

    Returns:
        The silence that each of them would have allowed, in seconds, in their order.
    """
    allowed: list[float | None] = []

    def hurried(timeout: float | None, maximum: float | None = None) -> Patience:
        allowed.append(timeout)
        return Patience(*(None if each is None else each * HURRY for each in (timeout, maximum)))

    monkeypatch.setattr("mcp_wsgi.client.calls.Patience", hurried)
    return allowed
