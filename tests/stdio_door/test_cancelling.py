"""``notifications/cancelled``: the handler is told, nothing more is said, and what is unknown is ignored."""

from __future__ import annotations

import threading

import pytest

from mcp_wsgi import Context, Server
from tests.modern import message
from tests.patience import wait_until
from tests.stdio_door.client import PATIENCE, initialize, legacy, notice, serving


class Work:
    """A server with a tool that works until it is cancelled, or told to end."""

    def __init__(self) -> None:
        self.server = Server("test", version="1")
        self.started = threading.Semaphore(0)
        self.seen: list[str] = []
        self.gate = threading.Event()

        @self.server.tool
        def work(ctx: Context) -> str:
            self.started.release()
            while not self.gate.is_set():
                if ctx.cancelled:
                    self.seen.append("cancelled")
                    ctx.report_progress(99)
                    ctx.error("late")
                    return "too late"
                self.gate.wait(0.01)
            return "done"

    def begin(self, client, request_id):
        request = message("tools/call", request_id=request_id, progress_token="t", log_level="debug", name="work")
        client.send(request)
        assert self.started.acquire(timeout=PATIENCE)


def cancel(request_id):
    return notice("notifications/cancelled", requestId=request_id, reason="changed my mind")


@pytest.mark.parametrize("request_id", [1, 0, "", "x"])
def test_a_cancelled_call_is_told_and_nothing_more_is_said(request_id):
    """B95, B46: no message after the cancellation; 0 and "" are ids."""
    work = Work()
    with serving(work.server) as client:
        work.begin(client, request_id)
        client.send(cancel(request_id))
        wait_until(lambda: work.seen)
        assert client.is_quiet()
    assert work.seen == ["cancelled"]


def test_a_legacy_call_is_cancelled_likewise():
    work = Work()
    with serving(work.server) as client:
        client.handshake()
        client.send(legacy(1, "tools/call", name="work"))
        assert work.started.acquire(timeout=PATIENCE)
        client.send(cancel(1))
        wait_until(lambda: work.seen)
        assert client.is_quiet()


@pytest.mark.parametrize("request_id", ["unknown", 99, "1", True, 1.0, None, [], {}, "absent"])
def test_what_is_not_the_id_of_a_call_is_ignored(request_id):
    work = Work()
    with serving(work.server) as client:
        work.begin(client, 1)
        client.send(notice("notifications/cancelled") if request_id == "absent" else cancel(request_id))
        assert client.is_quiet()
        work.gate.set()
        assert client.read()["result"]["content"][0]["text"] == "done"


def test_cancelling_what_is_answered_is_ignored():
    work = Work()
    work.gate.set()
    with serving(work.server) as client:
        work.begin(client, 1)
        assert client.read()["id"] == 1
        client.send(cancel(1))
        assert client.is_quiet()


def test_a_call_that_waits_for_a_thread_is_never_begun():
    work = Work()
    with serving(work.server, max_threads=1) as client:
        work.begin(client, 1)
        client.send(message("tools/call", request_id=2, name="work"), cancel(2))
        assert client.is_quiet()
        work.gate.set()
        assert client.read()["id"] == 1
        assert client.is_quiet()
        assert not work.started.acquire(blocking=False)


def test_the_id_of_a_cancelled_call_may_be_used_again_while_its_handler_runs():
    server, gate, begun = Server("test"), threading.Event(), threading.Semaphore(0)

    @server.tool
    def stubborn(text: str) -> str:
        begun.release()
        if text == "first":
            gate.wait(PATIENCE)
        return text

    with serving(server) as client:
        client.send(message("tools/call", request_id=1, name="stubborn", arguments={"text": "first"}))
        assert begun.acquire(timeout=PATIENCE)
        client.send(cancel(1))
        second = client.ask(message("tools/call", request_id=1, name="stubborn", arguments={"text": "second"}))
        assert second["result"]["content"][0]["text"] == "second"
        gate.set()
        assert client.is_quiet()


def test_initialize_cannot_be_cancelled():
    server, gate, begun = Server("test"), threading.Event(), threading.Event()

    def visible(ctx: Context) -> bool:
        begun.set()
        return gate.wait(PATIENCE)

    @server.tool(visible=visible)
    def tool() -> str:
        return ""

    with serving(server) as client:
        client.send(initialize(1))
        assert begun.wait(PATIENCE)
        client.send(cancel(1))
        gate.set()
        assert client.read()["result"]["serverInfo"]["name"] == "test"
        assert client.is_quiet()
