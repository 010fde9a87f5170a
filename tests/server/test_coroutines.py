"""Async handlers called from sync code."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from mcp_wsgi import Context, Server, ToolError
from mcp_wsgi.server.coroutines import run_coroutine

from .wire import FORMS, ask, call, request, text_of

name = contextvars.ContextVar("name", default="nobody")


async def who() -> str:
    await asyncio.sleep(0)
    return name.get()


async def fail(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


class Interrupting(BaseException):
    pass


def test_a_coroutine_runs_to_its_end_with_the_context_of_the_request() -> None:
    token = name.set("ada")
    try:
        assert run_coroutine(who()) == "ada"
    finally:
        name.reset(token)


@pytest.mark.parametrize("error", [ValueError("x"), ToolError("x"), Interrupting("x")])
def test_what_it_raises_comes_out(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        run_coroutine(fail(error))
    assert caught.value is error


def test_being_cancelled_from_inside_is_a_failure_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    """asyncio's CancelledError is a BaseException, and nobody cancelled the request's thread."""
    server = Server("s")

    @server.tool
    async def cancels_itself() -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        await asyncio.sleep(0)
        task.cancel()
        await task

    result = call(server, "cancels_itself")
    assert result["isError"] is True
    assert "(id " in text_of(result)
    assert "cancelled from inside" in caplog.text


def test_under_a_running_loop_an_async_tool_says_why_it_cannot_run(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")
    server.tool(name="hello")(who)
    server.tool(name="sync")(lambda: "ok")
    server.tool(name="future")(lambda: asyncio.get_running_loop().create_future())

    async def main() -> list[dict[str, Any]]:
        return [ask(server, "tools/call", {"name": name}) for name in ("hello", "sync")]

    with caplog.at_level(logging.ERROR, "mcp_wsgi"):
        refused, served = asyncio.run(main())
    assert refused["error"]["code"] == -32603
    assert "event loop already runs in this thread" in refused["error"]["message"]
    assert "ASGI door" in caplog.text
    assert text_of(served["result"]) == "ok"


def test_what_has_no_close_is_refused_too() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        with pytest.raises(Exception, match="event loop"):
            run_coroutine(future)

    asyncio.run(main())


def test_an_async_handler_may_ask_and_is_not_stopped_by_its_own_except() -> None:
    server = Server("s", keys=["k"])

    @server.tool
    async def t(ctx: Context) -> str:
        try:
            return ctx.elicit("Sure?", {"type": "object", "properties": {}}).action
        except Exception:
            return "swallowed"

    result = call(server, "t", caps=FORMS)
    assert result["resultType"] == "input_required"
    assert "swallowed" not in str(result)


@pytest.mark.parametrize("patched", [True, False])
def test_under_gevent_async_tools_run_beside_each_other(patched: bool) -> None:
    """Greenlets share one thread: an event loop in it would be everybody's.

    The process also has to end: what asgiref starts in a thread of gevent's pool must not outlive the call.
    """
    pytest.importorskip("gevent")
    program = f"""
    import sys
    if {patched}:
        from gevent import monkey
        monkey.patch_all()
    import gevent.monkey
    import asyncio, contextvars, time
    from asgiref.sync import sync_to_async
    from mcp_wsgi import Context, Server, ToolError
    from tests.server.wire import FORMS, call, text_of
    name = contextvars.ContextVar("name")
    server = Server("s", keys=["k"])
    begun, together = [], 5 if {patched} else 1

    @server.tool
    async def meets() -> str:
        begun.append(name.get())
        end = time.monotonic() + 30
        while len(begun) < together:
            assert time.monotonic() < end, "one call waits for the end of another"
            await asyncio.sleep(0.01)
        return name.get()

    @server.tool
    async def mixed() -> str:
        return await sync_to_async(name.get)()

    @server.tool
    async def asks(ctx: Context) -> str:
        return ctx.elicit("Sure?", {{"type": "object", "properties": {{}}}}).action

    @server.tool
    async def refuses() -> str:
        raise ToolError("No luck")

    def run(number):
        name.set(str(number))
        return text_of(call(server, "meets")) + text_of(call(server, "mixed"))

    if {patched}:
        jobs = [gevent.spawn(run, number) for number in range(5)]
        gevent.joinall(jobs)
        assert [job.value for job in jobs] == ["00", "11", "22", "33", "44"], jobs
    else:
        assert run(0) == "00"
    assert call(server, "asks", caps=FORMS)["resultType"] == "input_required"
    assert text_of(call(server, "refuses")) == "No luck"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_an_async_tool_is_served_in_a_thread_beside_a_running_loop() -> None:
    server = Server("s")
    server.tool(name="hello")(who)

    async def main() -> Any:
        return await asyncio.to_thread(server.handle_message, request("tools/call", {"name": "hello"}))

    assert text_of(asyncio.run(main())["result"]) == "nobody"
