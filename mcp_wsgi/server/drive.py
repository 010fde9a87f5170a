"""Dispatch is written once, as steps; a driver performs what the steps ask for.

A step generator yields :class:`Call` values ("call this handler with these arguments") and is sent what
the handler returned, or is thrown what it raised. Awaiting is confined to the drivers: :func:`run_sync`
here, its asynchronous counterpart beside the ASGI door.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from inspect import isawaitable
from types import CoroutineType
from typing import Any, TypeAlias, TypeVar

import msgspec

__all__ = ["Call", "Steps", "run_sync"]

T = TypeVar("T")


class Call(msgspec.Struct, frozen=True):
    """Ask the driver to call a handler; ``is_async`` says that its result has to be awaited."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    is_async: bool = False


Steps: TypeAlias = Generator[Call, Any, T]


def run_sync(steps: Steps[T]) -> T:
    """Drive steps in this thread, and return what they return.

    A sync handler runs right here, with no event loop. An async one is run to its end by asgiref.
    """
    try:
        call = next(steps)
        while True:
            try:
                value = call.function(*call.args, **call.kwargs)
                if call.is_async or type(value) is CoroutineType:
                    value = _await(value)
            except BaseException as error:  # noqa: BLE001, PERF203 - the steps decide what becomes of it
                call = steps.throw(error)
            else:
                call = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _await(value: Any) -> Any:
    if not isawaitable(value):
        return value  # a sync function that wraps an async one and has awaited it by itself
    from .coroutines import run_coroutine  # imported where it is first needed: asgiref is not light

    return run_coroutine(value)
