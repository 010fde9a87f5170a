"""Run an async handler from sync code; the only importer of asgiref in the core."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import async_to_sync

__all__ = ["run_coroutine"]


async def _finish(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _is_gevent_patched() -> bool:
    if "gevent.monkey" not in sys.modules:
        return False
    from gevent.monkey import is_module_patched

    return bool(is_module_patched("threading"))


def run_coroutine(awaitable: Awaitable[Any]) -> Any:
    """Run a coroutine to its end and return its result.

    Under gevent all greenlets share one thread, so an event loop running for one request would be seen by
    every other one: the coroutine then runs in a real thread of gevent's own pool, with the context
    variables of this request copied.

    Raises:
        RuntimeError: An event loop already runs in this thread (an async door must be used there).
    """
    run = async_to_sync(_finish)
    if not _is_gevent_patched():
        return run(awaitable)
    import gevent

    context = contextvars.copy_context()
    return gevent.get_hub().threadpool.apply(context.run, (run, awaitable))
