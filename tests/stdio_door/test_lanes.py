"""Jobs in threads: in order, so many at a time, so many waiting, and no thread left."""

from __future__ import annotations

import threading

import pytest

from mcp_wsgi.stdio.lanes import Lane
from tests.patience import wait_until
from tests.stdio_door.client import PATIENCE


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def test_one_thread_takes_jobs_in_order():
    lane, seen = Lane("test", 1, 100, 100), []
    for number in range(50):
        lane.put(lambda number=number: seen.append((number, threading.current_thread().name)))
    wait_until(lambda: lane.is_idle)
    assert seen == [(number, "test") for number in range(50)]
    assert lane.close(PATIENCE)


def test_a_thread_is_started_only_where_none_is_idle(gate):
    lane, names = Lane("test", 3, 100, 100), []
    for _ in range(5):
        lane.put(lambda: names.append(threading.get_ident()))
        wait_until(lambda: lane.is_idle)
    assert len(set(names)) == 1
    running = []
    for _ in range(5):
        lane.put(lambda: (running.append(1), gate.wait(PATIENCE)))
    wait_until(lambda: len(running) == 3)
    assert not lane.is_idle
    gate.set()
    wait_until(lambda: lane.is_idle)
    assert len(running) == 5
    assert lane.close(PATIENCE)


def test_no_more_jobs_wait_than_may(gate):
    lane, done = Lane("test", 1, 2, 100), []
    lane.put(lambda: gate.wait(PATIENCE))
    wait_until(lambda: not lane._waiting)
    assert [lane.offer(lambda: done.append(1)) for _ in range(4)] == [True, True, False, False]
    waiter = threading.Thread(target=lane.put, args=(lambda: done.append("put"),))
    waiter.start()
    assert done == []
    gate.set()
    waiter.join(PATIENCE)
    wait_until(lambda: lane.is_idle)
    assert done == [1, 1, "put"]
    assert lane.close(PATIENCE)


def test_no_heavier_jobs_wait_than_may_but_a_single_one_of_any_weight(gate):
    lane = Lane("test", 1, 100, 10)
    lane.put(lambda: gate.wait(PATIENCE), 1000)
    wait_until(lambda: not lane._waiting)
    assert lane.offer(lambda: None, 1000)
    assert not lane.offer(lambda: None, 1)
    gate.set()
    wait_until(lambda: lane.is_idle)
    assert [lane.offer(lambda: None, 5), lane.offer(lambda: None, 5)] == [True, True]
    wait_until(lambda: lane.is_idle)
    assert lane.close(PATIENCE)


def test_whoever_waits_for_room_may_give_up(gate):
    lane = Lane("test", 1, 1, 100)
    lane.put(lambda: gate.wait(PATIENCE))
    wait_until(lambda: not lane._waiting)
    lane.put(lambda: None)
    lane.put(lambda: pytest.fail("given up"), given_up=lambda: True)
    gate.set()
    assert lane.close(PATIENCE)


def test_a_job_that_fails_is_logged_and_the_next_one_runs(caplog):
    lane, done = Lane("test", 1, 10, 100), []

    def fail():
        raise SystemExit(3)

    lane.put(fail)
    lane.put(lambda: done.append(1))
    wait_until(lambda: done)
    assert lane.close(PATIENCE)
    assert "A job of the stdio server failed" in caplog.text


def test_closing_drops_what_waits_and_says_whether_threads_are_left(gate):
    lane, done = Lane("test", 1, 10, 100), []
    lane.put(lambda: gate.wait(PATIENCE))
    wait_until(lambda: not lane._waiting)
    lane.put(lambda: done.append(1))
    assert not lane.close(0.01)
    assert not lane.offer(lambda: done.append(2))
    lane.put(lambda: done.append(3))
    gate.set()
    assert lane.close(PATIENCE)
    assert done == []
