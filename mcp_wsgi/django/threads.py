"""Sync code of an asynchronous request: which thread it runs in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from asgiref.sync import sync_to_async

from ..aio.drive import DEFAULT_THREADS, ThreadPool
from .database import worker_connections

__all__ = ["WorkerPool", "in_request_thread", "runs_async"]


def runs_async() -> bool:
    """Say whether this thread runs an event loop, so that Django expects a coroutine.

    Under gevent all greenlets share a thread, and a loop in it is that of another request.
    """
    # The only name under which asyncio tells it without an exception.
    if asyncio._get_running_loop() is None:
        return False
    monkey = sys.modules.get("gevent.monkey")
    return monkey is None or not monkey.is_module_patched("threading")


async def in_request_thread(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a function in the thread that Django gives a request for sync code, with its database connections."""
    return await sync_to_async(_without_stop)(function, args, kwargs)


def _without_stop(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        # A future cannot carry it.
        raise RuntimeError("The handler raised StopIteration") from error


class WorkerPool:
    """Call sync handlers of streamed answers, in threads other than the request's.

    Django runs the sync parts of middleware in the request's thread, also those that see the response: a handler that
    occupied it would hold back the very stream that tells of it.
    """

    def __init__(self) -> None:
        self._pool = ThreadPool(DEFAULT_THREADS)

    async def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a function in a thread of the pool and give what it returns."""
        manager = await sync_to_async(worker_connections)()

        def inside() -> Any:
            with manager:
                return function(*args, **kwargs)

        return await self._pool(inside, (), {})
