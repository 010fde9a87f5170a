"""Giving up calls from another thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..exceptions import RequestCancelledError
from ..transport.base import Exchange

__all__ = ["Cancel"]


class Cancel:
    """Give up calls from another thread: pass it as ``cancel=`` and call :meth:`cancel`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: set[Exchange] = set()
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Give up the calls that run, and those that begin later; whoever waits gets ``RequestCancelledError``."""
        with self._lock:
            self._cancelled = True
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.cancel()

    @contextmanager
    def holding(self, exchange: Exchange) -> Iterator[None]:
        """Cancel this exchange too, while the block runs."""
        with self._lock:
            self._exchanges.add(exchange)
            cancelled = self._cancelled
        try:
            if cancelled:
                raise RequestCancelledError("The request was cancelled")
            yield
        finally:
            with self._lock:
                self._exchanges.discard(exchange)
