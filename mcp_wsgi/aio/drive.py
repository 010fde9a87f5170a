"""Drive steps on an event loop: async handlers run on it, sync ones in a bounded pool of threads."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable
from types import CoroutineType
from typing import Any, TypeVar

from ..server.drive import Steps

__all__ = ["DEFAULT_THREADS", "InThread", "ThreadPool", "run_async"]

T = TypeVar("T")

#: Calls a function off the loop, with its arguments as a tuple and a mapping, and gives what it returns.
InThread = Callable[[Callable[..., Any], "tuple[Any, ...]", "Mapping[str, Any]"], Awaitable[Any]]

#: How many sync handlers of one application run at a time; the others wait for a thread.
DEFAULT_THREADS = 40


async def run_async(steps: Steps[T], in_thread: InThread) -> T:
    """Drive steps on the running loop: the asynchronous counterpart of ``run_sync``.

    Args:
        steps: What to perform.
        in_thread: Calls a sync handler off the loop: ``await in_thread(function, args, kwargs)``.
    """
    try:
        call = next(steps)
        while True:
            try:
                if call.is_async:
                    value = call.function(*call.args, **call.kwargs)
                else:
                    value = await in_thread(call.function, call.args, call.kwargs)
                if type(value) is CoroutineType or isawaitable(value):
                    value = await value
            except BaseException as error:  # noqa: BLE001, PERF203 - the steps decide what becomes of it
                call = steps.throw(_bearable(error))
            else:
                call = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _bearable(error: BaseException) -> BaseException:
    """Make an ordinary failure of what a handler raises and what, out of a task, would mean the task or its loop."""
    if isinstance(error, asyncio.CancelledError):
        # What a handler awaits may be cancelled by others; then this request is not. Python 3.10 cannot tell.
        cancelling = getattr(asyncio.current_task(), "cancelling", None)
        if cancelling is None or cancelling():
            return error
    elif not isinstance(error, SystemExit):
        return error
    failure = RuntimeError(f"The handler raised {type(error).__name__}")
    failure.__cause__ = error
    return failure


class ThreadPool:
    """Call sync handlers in a bounded pool of threads, with the context variables of the request copied.

    The pool belongs to the process that first uses it; its threads start when they are needed.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._made: tuple[int, ThreadPoolExecutor] | None = None

    async def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a function in a thread and give what it returns."""
        made = self._made
        if made is None or made[0] != os.getpid():
            made = self._made = (os.getpid(), ThreadPoolExecutor(self._threads, thread_name_prefix="mcp_wsgi"))
        run = functools.partial(contextvars.copy_context().run, _without_stop, function, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(made[1], run)


def _without_stop(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        # A future cannot carry it, and inside the steps it would look like their end.
        raise RuntimeError("The handler raised StopIteration") from error
