"""The time of a request, and how it is given up."""

from __future__ import annotations

import threading

import pytest

from mcp_wsgi.exceptions import RequestCancelledError, RequestTimeoutError, TransportError
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.base import ignore
from mcp_wsgi.transport.memory import MemoryTransport
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_without_a_time_there_is_no_end(clock):
    deadline = Deadline(None, None, clock)
    clock.now += 1e9
    assert deadline.remaining() is None
    assert deadline.check() is None
    deadline.extend()
    assert deadline.check() is None


def test_silence_is_allowed_for_so_long(clock):
    deadline = Deadline(5, None, clock)
    clock.now += 4
    assert deadline.check() == 1
    clock.now += 1
    assert deadline.remaining() == 0
    with pytest.raises(RequestTimeoutError, match="within 5 seconds"):
        deadline.check()
    clock.now += 7
    assert deadline.remaining() == 0


def test_what_the_server_reports_begins_the_silence_anew_up_to_the_longest_time(clock):
    deadline = Deadline(5, 12, clock)
    for _ in range(3):
        clock.now += 3
        deadline.extend()
    assert deadline.remaining() == 3
    clock.now += 3
    deadline.extend()
    with pytest.raises(RequestTimeoutError, match="longest time"):
        deadline.check()


@pytest.mark.parametrize("timeout", [None, 50])
def test_the_longest_time_ends_it_where_silence_would_not(timeout, clock):
    deadline = Deadline(timeout, 10, clock)
    assert deadline.remaining() == 10


def test_the_time_stands_still_while_the_caller_is_at_work(clock):
    deadline = Deadline(5, 8, clock)
    clock.now += 2
    with deadline.paused():
        clock.now += 1000
    assert deadline.remaining() == 3
    deadline.extend()
    assert deadline.remaining() == 5
    clock.now += 2
    deadline.extend()
    assert deadline.remaining() == 4
    endless = Deadline(None, None, clock)
    with pytest.raises(LookupError), endless.paused():
        raise LookupError
    assert endless.remaining() is None


def test_the_error_of_a_request_that_took_too_long_is_a_timeout_and_a_failed_connection():
    error = Deadline(1.5).error()
    assert isinstance(error, TimeoutError)
    assert isinstance(error, TransportError)
    assert "1.5 seconds" in str(error)


def test_an_exchange_says_what_is_left(clock):
    exchange = Exchange(Deadline(5, None, clock))
    assert exchange.check() == 5
    assert (exchange.status, exchange.tool, exchange.cancelled) == (None, None, False)
    assert exchange.on_message is ignore
    exchange.on_message({})
    clock.now += 5
    with pytest.raises(RequestTimeoutError):
        exchange.check()


def test_who_gives_up_wakes_the_one_that_waits():
    exchange, woken = Exchange(Deadline(None)), threading.Event()
    other = threading.Thread(target=exchange.cancel)
    with exchange.aborting(woken.set):
        other.start()
        assert woken.wait(30)
    other.join()
    assert exchange.cancelled
    with pytest.raises(RequestCancelledError):
        exchange.check()


def test_who_gave_up_before_need_not_begin():
    exchange, calls = Exchange(Deadline(None)), []
    exchange.cancel()
    with pytest.raises(RequestCancelledError), exchange.aborting(lambda: calls.append(1)):
        calls.append(2)
    assert calls == []


def test_nobody_is_woken_who_does_not_wait_any_more():
    exchange, calls = Exchange(Deadline(None)), []
    with pytest.raises(LookupError), exchange.aborting(lambda: calls.append(1)):
        raise LookupError
    exchange.cancel()
    exchange.cancel()
    assert calls == []


def test_what_a_transport_has_no_use_for_does_nothing():
    transport = MemoryTransport(lambda message: None)
    transport.adopt("2025-11-25")
    transport.restart()
    transport.open_inbox()
    transport.inbox({})
    assert not transport.failed
    transport.close()
