"""Tools that show what a handler finds, and what happens to what it does."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import Http404

from mcp_wsgi import Context, InputRequired, Server, ToolError, elicit_request
from mcp_wsgi.django import non_atomic
from tests.apps import handshake
from tests.apps.django_library.books.models import Book

server = Server("probe")
handshake.add_to(server)
QUESTION = {"sure": elicit_request("Sure?", {"type": "object", "properties": {"sure": {"type": "boolean"}}})}


@server.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@server.tool
async def add_async(a: int, b: int) -> int:
    """Add on a loop."""
    await asyncio.sleep(0)
    return a + b


@server.tool
def look(ctx: Context) -> dict[str, Any]:
    """Show the request and where the handler runs."""
    request = ctx.request.raw
    return {
        "kind": type(request).__name__,
        "path": request.path,
        "user": str(getattr(request, "user", None)),
        "principal": ctx.principal,
        "thread": threading.current_thread().name,
        "main": threading.current_thread() is threading.main_thread(),
        "loop": asyncio._get_running_loop() is not None,
        "atomic": connection.in_atomic_block,
        "kwargs": request.resolver_match.kwargs,
    }


@server.tool
async def look_async(ctx: Context) -> str:
    """Show the request on a loop."""
    return type(ctx.request.raw).__name__


@server.tool
def write(title: str, then: str, ctx: Context) -> str:
    """Write a book, then do something else."""
    ctx.report_progress(1)
    Book.objects.create(title=title)
    return _go_on(then)


@server.tool
@non_atomic
def write_at_once(title: str, then: str) -> str:
    """Write a book outside of a transaction."""
    Book.objects.create(title=title)
    return _go_on(then)


@server.tool
@non_atomic
@transaction.atomic
def write_in_own(title: str, then: str) -> str:
    """Write a book in a transaction of the tool's own."""
    Book.objects.create(title=title)
    return _go_on(then)


def _go_on(then: str) -> Any:
    if then == "fail":
        raise ValueError("a secret")
    if then == "tell":
        raise ToolError("told")
    if then == "ask":
        raise InputRequired(QUESTION)
    if then == "return a question":
        return InputRequired(QUESTION)
    if then == "forbid":
        raise PermissionDenied
    if then == "miss":
        raise Http404("No such book")
    if then == "stop":
        raise StopIteration
    return str(Book.objects.count())


@server.tool
async def go_on_async(then: str) -> str:
    """Do something on a loop."""
    return str(_go_on(then))


@server.tool
def sleep(seconds: float) -> str:
    """Sleep in sync code."""
    time.sleep(seconds)
    return "slept"


@server.tool
def report(times: int, pause: float, ctx: Context) -> float:
    """Report progress with the time; return when the tool ended."""
    for number in range(times):
        ctx.report_progress(number + 1, times, str(time.time()))
        time.sleep(pause)
    return time.time()


@server.tool
async def report_async(times: int, pause: float, ctx: Context) -> float:
    """Report progress with the time, on a loop."""
    for number in range(times):
        ctx.report_progress(number + 1, times, str(time.time()))
        await asyncio.sleep(pause)
    return time.time()


@server.tool
def watch(ctx: Context) -> str:
    """Work until the client has gone, and say so where the server prints."""
    Book.objects.count()
    ctx.report_progress(1)
    started = time.monotonic()
    while not ctx.cancelled and time.monotonic() - started < 20:
        time.sleep(0.02)
    print(f"client gone: {ctx.cancelled}", file=sys.stderr, flush=True)
    return "gone"


@server.tool
def shapes(ctx: Context) -> str:
    """Add a tool while clients listen."""
    name = f"new_{threading.get_ident()}_{time.monotonic_ns()}"
    ctx.server.add_tool({"name": name, "handler": lambda arguments, ctx: "new"})
    return name


@server.resource("probe://{name}")
def read(name: str) -> str:
    """Read what may be missing."""
    return str(_go_on(name))


@server.prompt
def ask(name: str) -> str:
    """Ask what may be missing."""
    return str(_go_on(name))
