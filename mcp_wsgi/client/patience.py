"""A deadline that stands still while the caller is at work, whichever thread works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..transport.base import Deadline

__all__ = ["Patience"]

#: Who waits while the time stands still looks again no sooner than after this long, in seconds.
_LEAST = 0.1


class Patience(Deadline):
    """Say how long a request may still take; any number of threads may stop the time, one within another too.

    Args:
        timeout: Seconds of silence that are allowed, ``None`` for any time.
        maximum: Seconds for the whole request however much it reports, ``None`` for any time.
        clock: The time in seconds, from any beginning.
    """

    __slots__ = ("_guard", "_paused", "_since")

    def __init__(
        self, timeout: float | None, maximum: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._guard = threading.Lock()
        self._paused = 0
        self._since = 0.0
        super().__init__(timeout, maximum, clock)

    def remaining(self) -> float | None:
        """Give the seconds that are left; never 0 while the time stands still."""
        with self._guard:
            if self._paused == 0 or self._end is None:
                return super().remaining()
            return max(_LEAST, self._end - self._since)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the time while the block runs."""
        with self._guard:
            if self._paused == 0:
                self._since = self._clock()
            self._paused += 1
        try:
            yield
        finally:
            with self._guard:
                self._paused -= 1
                if self._paused == 0:
                    spent = self._clock() - self._since
                    self._limit = None if self._limit is None else self._limit + spent
                    self._end = None if self._end is None else self._end + spent
