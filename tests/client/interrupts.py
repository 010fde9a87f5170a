"""Control-C in the course of a test, which must not reach the tests after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.patience import wait_until

__all__ = ["interrupted_when"]


@contextmanager
def interrupted_when(happened: Callable[[], object], after: Callable[[], object] = bool) -> Iterator[None]:
    """Interrupt the block, which must be at work by then, when something has happened; then do something."""
    over = threading.Event()

    def take(*_: object) -> None:
        if not over.is_set():  # who comes too late would end the whole run
            raise KeyboardInterrupt

    def work() -> None:
        wait_until(lambda: over.is_set() or happened(), 30)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        after()

    before = signal.signal(signal.SIGINT, take)
    thread = threading.Thread(target=work)
    try:
        try:
            thread.start()  # in here: it may already have happened
            yield
        finally:
            over.set()
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
