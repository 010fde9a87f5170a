"""Threads that take what is put before them in order: a bounded number of them, and a bounded number of jobs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from ..server.dispatch import failure_id

__all__ = ["Lane"]

Job = Callable[[], None]

#: How often a thread that waits for room looks whether it is still wanted, in seconds.
_PATIENCE = 0.1


class Lane:
    """Run jobs in threads that are started as they are needed, and end with :meth:`close`.

    They are daemons: a handler that never returns must not keep the process from ending.

    Args:
        name: The name of the threads.
        threads: The most threads.
        capacity: The most jobs that wait for one.
        max_weight: The most that they weigh together; a single one may be heavier.
    """

    def __init__(self, name: str, threads: int, capacity: int, max_weight: int) -> None:
        self._name = name
        self._most = threads
        self._capacity = capacity
        self._max_weight = max_weight
        self._lock = threading.Lock()
        self._work_is_there = threading.Condition(self._lock)
        self._room_is_there = threading.Condition(self._lock)
        self._waiting: deque[tuple[Job, int]] = deque()
        self._weight = 0
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        with self._lock:
            return not self._waiting and self._idle == len(self._threads)

    def offer(self, job: Job, weight: int = 0) -> bool:
        """Take a job, unless as many are waiting as may."""
        with self._lock:
            return self._take(job, weight)

    def put(self, job: Job, weight: int = 0, *, given_up: Callable[[], bool] = lambda: False) -> None:
        """Take a job as soon as there is room, unless the lane is closed or whoever waits has given up."""
        with self._lock:
            while not self._take(job, weight) and not self._closed and not given_up():
                self._room_is_there.wait(_PATIENCE)

    def _take(self, job: Job, weight: int) -> bool:
        if self._closed or len(self._waiting) >= self._capacity:
            return False
        if self._waiting and self._weight + weight > self._max_weight:
            return False
        self._waiting.append((job, weight))
        self._weight += weight
        if len(self._waiting) > self._idle and len(self._threads) < self._most:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._threads.append(thread)
            self._idle += 1
            thread.start()
        self._work_is_there.notify()
        return True

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException:  # noqa: BLE001 - whatever it was, the next job is somebody else's
                failure_id("A job of the stdio server")

            with self._lock:
                self._idle += 1

    def _next(self) -> Job | None:
        with self._lock:
            while not self._waiting:
                if self._closed:
                    return None
                self._work_is_there.wait()
            self._idle -= 1
            job, weight = self._waiting.popleft()
            self._weight -= weight
            self._room_is_there.notify()
            return job

    def close(self, seconds: float) -> bool:
        """Drop what waits and let the threads end.

        Args:
            seconds: How long to wait for them.

        Returns:
            Whether all have ended.
        """
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._work_is_there.notify_all()
            self._room_is_there.notify_all()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)
