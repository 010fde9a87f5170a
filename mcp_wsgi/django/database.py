"""Transactions and connections: what a handler finds in place of the request's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import connections, transaction
from django.http import Http404

from ..exceptions import ToolError
from ..server.drive import Call
from ..server.questions import InputRequired

__all__ = ["EVERY_DATABASE", "handler_call", "non_atomic", "worker_connections"]

F = TypeVar("F", bound=Callable[..., Any])


class _EveryDatabase(set[str]):
    """Hold all aliases, in Django's own form of an exemption from ``ATOMIC_REQUESTS``."""

    def __contains__(self, alias: object) -> bool:
        return True


EVERY_DATABASE = _EveryDatabase()


def non_atomic(handler: F) -> F:
    """Exempt a handler from the transactions that ``ATOMIC_REQUESTS`` asks for, on all databases.

    Django's own ``transaction.non_atomic_requests`` does it for one database.
    """
    handler._non_atomic_requests = EVERY_DATABASE  # type: ignore[attr-defined]
    return handler


def handler_call(call: Call) -> Call:
    """Give a handler's call as Django would make that of a view.

    A sync handler runs in a transaction on each database that has ``ATOMIC_REQUESTS``. What Django shows a visitor of
    ``PermissionDenied`` and ``Http404`` is what the model may read.
    """
    if call.is_async:
        return Call(_call_async, (call.function, *call.args), call.kwargs, True)
    exempt = getattr(call.function, "_non_atomic_requests", ())
    aliases = [
        alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"] and alias not in exempt
    ]
    if aliases:
        return Call(_call_atomic, (call.function, aliases, *call.args), call.kwargs)
    return Call(_call, (call.function, *call.args), call.kwargs)


def _readable(error: PermissionDenied | Http404) -> ToolError:
    default = "Permission denied" if isinstance(error, PermissionDenied) else "Not found"
    return ToolError(str(error) or default)


def _call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except (PermissionDenied, Http404) as error:
        raise _readable(error) from error


async def _call_async(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return await function(*args, **kwargs)
    except (PermissionDenied, Http404) as error:
        raise _readable(error) from error


def _call_atomic(function: Callable[..., Any], aliases: list[str], /, *args: Any, **kwargs: Any) -> Any:
    with ExitStack() as stack:
        for alias in aliases:
            stack.enter_context(transaction.atomic(using=alias))
        value = _call(function, *args, **kwargs)
        if isinstance(value, InputRequired):
            # The handler runs again from its top: what it did before the question must not stay.
            raise value
        return value


class _WorkerConnections:
    """Give a thread connections of its own, and close them at its end."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self._shared = shared

    def __enter__(self) -> None:
        for alias, connection in self._shared.items():
            connections[alias] = connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for alias, connection in self._shared.items():
            del connections[alias]
            connection.dec_thread_sharing()
        connections.close_all()


def worker_connections() -> _WorkerConnections:
    """Prepare, in a request's thread, the connections of the thread that will run its handler.

    They are new ones, except where this thread is inside a transaction, as a test case's is: what was written there is
    seen by nobody else, so the connection is shared, as Django's own live server thread shares it. So is a database in
    memory, which is as good as its connection.
    """
    shared = {
        connection.alias: connection
        for connection in connections.all(initialized_only=True)
        if connection.in_atomic_block or (connection.vendor == "sqlite" and connection.is_in_memory_db())
    }
    for connection in shared.values():
        connection.inc_thread_sharing()
    return _WorkerConnections(shared)
