"""Bounds on time that mean something on a busy machine: noise only makes things take longer, so the best try counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["ATTEMPTS", "at_best", "least", "wait_until"]

ATTEMPTS = 3


def at_best(measure: Callable[[], Mapping[str, float]], bound: float) -> dict[str, float]:
    """Measure several things until all are within a bound, a few times at most; give the least of each."""
    best = dict(measure())
    for _ in range(ATTEMPTS - 1):
        if max(best.values()) <= bound:
            break
        best = {name: min(value, best[name]) for name, value in measure().items()}
    return best


def least(measure: Callable[[], float], bound: float) -> float:
    """Measure one thing until it is within a bound, a few times at most; give the least."""
    return at_best(lambda: {"": measure()}, bound)[""]


def wait_until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait for what another thread or process does; fail where it is not done in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
