"""Run an async handler from sync code; the only importer of asgiref in the core."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections.abc import Awaitable, Coroutine
from typing import Any

from asgiref.sync import ThreadSensitiveContext, async_to_sync

from ..exceptions import InternalError

__all__ = ["run_coroutine"]


logger = logging.getLogger("mcp_wsgi")


async def _finish(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except asyncio.CancelledError as error:
        # A BaseException: outside of its loop it would take the request's thread for cancelled.
        raise RuntimeError("The handler was cancelled from inside") from error


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        async with ThreadSensitiveContext():
            return await _finish(awaitable), None
    except BaseException as error:  # noqa: BLE001 - gevent's pool prints whatever is raised in it
        return None, error


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
        InternalError: An event loop already runs in this thread.
        RuntimeError: The coroutine was cancelled from inside.
    """
    if not _is_gevent_patched():
        _refuse_running_loop(awaitable)
        return async_to_sync(_finish)(awaitable)
    import gevent

    context = contextvars.copy_context()
    value, error = gevent.get_hub().threadpool.apply(context.run, (_run_in_pool, awaitable))
    if error is not None:
        raise error
    return value


def _run_in_pool(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    # Not by async_to_sync: its executor's worker is a greenlet of this thread which nothing lets end, and the
    # interpreter would wait for it for ever when it exits. The context of _outcome ends the one it makes.
    return asyncio.run(_outcome(awaitable))


def _refuse_running_loop(awaitable: Awaitable[Any]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if isinstance(awaitable, Coroutine):
        awaitable.close()  # else the interpreter warns that nobody awaited it
    problem = "An async handler cannot run here: an event loop already runs in this thread"
    logger.error("%s. Use the ASGI door, or call the server from a thread without a loop.", problem)
    raise InternalError(f"{problem}; the server has to be mounted through its ASGI door")
