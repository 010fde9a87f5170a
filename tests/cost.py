"""What a piece of code costs, whatever else the machine or another thread does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.patience import least

__all__ = ["cpu_seconds"]


def cpu_seconds(action: Callable[[], object], bound: float) -> float:
    """Give the time for which a processor runs an action in this thread: the least of a few, up to one in the bound."""

    def measure() -> float:
        begin = time.thread_time()
        action()
        return time.thread_time() - begin

    return least(measure, bound)
