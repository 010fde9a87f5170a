"""Subscriptions end when the process is told to stop, and nothing else changes about its end."""

from __future__ import annotations

import _thread
import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.http import shutdown
from mcp_wsgi.http.shutdown import close_on_signals, close_with_hypercorn
from mcp_wsgi.server.bus import Subscription
from tests.patience import wait_until

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def original_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    threads = _thread._count()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    # A signal starts a thread that closes all servers there are: it must not come upon those of the next test.
    wait_until(lambda: _thread._count() <= threads, 30)
    for number, handler in before.items():
        signal.signal(number, handler)


class Handler:
    """A handler as servers install them."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, number: int, frame: Any) -> None:
        self.seen.append(number)


def subscribed(server: Server) -> Subscription:
    subscription = Subscription(1, {"toolsListChanged": True}, lambda: None)
    server.bus.subscribe(subscription)
    return subscription


def until_closed(subscription: Subscription) -> None:
    wait_until(lambda: subscription.closed, 30)


def test_where_no_server_handles_signals_nothing_is_changed():
    assert close_on_signals(Server("a")) is False
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_closes_the_subscriptions_of_all_servers_and_then_reaches_the_servers_own_handler(number):
    handler = Handler()
    signal.signal(number, handler)
    servers = [Server("a"), Server("b")]
    subscriptions = [subscribed(server) for server in servers]
    assert all(close_on_signals(server) for server in servers)
    os.kill(os.getpid(), number)
    for subscription in subscriptions:
        until_closed(subscription)
    assert handler.seen == [number]


def test_it_is_chained_once_and_again_where_a_server_has_replaced_it():
    first, second = Handler(), Handler()
    server = Server("a")
    signal.signal(signal.SIGTERM, first)
    close_on_signals(server)
    chained = signal.getsignal(signal.SIGTERM)
    assert close_on_signals(server) is True
    assert signal.getsignal(signal.SIGTERM) is chained
    signal.signal(signal.SIGTERM, second)
    assert close_on_signals(server) is True
    os.kill(os.getpid(), signal.SIGTERM)
    assert (first.seen, second.seen) == ([], [signal.SIGTERM])


def test_a_signal_that_interrupts_a_thread_in_a_lock_that_closing_needs_does_not_hang():
    lock, woken = threading.Lock(), threading.Event()

    def wake() -> None:
        with lock:
            woken.set()

    server = Server("a")
    signal.signal(signal.SIGTERM, Handler())
    close_on_signals(server)
    server.bus.subscribe(Subscription(1, {"toolsListChanged": True}, wake))
    with lock:
        os.kill(os.getpid(), signal.SIGTERM)
    assert woken.wait(30)


def test_in_another_thread_the_server_is_noted_and_no_handler_installed():
    handler = Handler()
    signal.signal(signal.SIGTERM, handler)
    server = Server("a")
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(close_on_signals(server)))
    thread.start()
    thread.join()
    assert answers == [False]
    assert signal.getsignal(signal.SIGTERM) is handler
    subscription = subscribed(server)
    close_on_signals(Server("another one, in the main thread"))
    os.kill(os.getpid(), signal.SIGTERM)
    until_closed(subscription)


def test_a_server_that_is_not_used_any_more_is_forgotten():
    server = Server("a")
    close_on_signals(server)
    assert server in shutdown._servers
    count = len(shutdown._servers)
    del server
    gc.collect()
    assert len(shutdown._servers) < count


def test_a_worker_of_hypercorn_closes_when_its_event_is_set():
    """It gets no signal: only a task of hypercorn's knows."""
    utils = pytest.importorskip("hypercorn.utils")
    server = Server("a")
    close_on_signals(server)
    subscription = subscribed(server)

    async def scenario() -> None:
        event = asyncio.Event()
        other = asyncio.ensure_future(asyncio.sleep(0))
        task = asyncio.ensure_future(utils.raise_shutdown(event.wait))
        await asyncio.sleep(0)
        close_with_hypercorn()
        await other
        assert not subscription.closed
        event.set()
        with pytest.raises(utils.ShutdownError):
            await task
        await asyncio.sleep(0)
        assert subscription.closed

    asyncio.run(scenario())


def test_without_hypercorn_no_task_is_looked_at(monkeypatch):
    monkeypatch.delitem(sys.modules, "hypercorn", raising=False)
    close_with_hypercorn()  # outside a loop it would fail to list them
