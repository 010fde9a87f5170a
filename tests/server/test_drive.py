"""Steps and the driver that performs them in this thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcp_wsgi.server.drive import Call, Steps, run_sync


def steps(*calls: Call) -> Steps[list[Any]]:
    results = []
    for call in calls:
        try:
            results.append((yield call))
        except ValueError as error:  # noqa: PERF203
            results.append(error)
    return results


async def double(value: int) -> int:
    return 2 * value


def fail(error: BaseException) -> None:
    raise error


def test_steps_without_calls_give_their_result() -> None:
    assert run_sync(steps()) == []


def test_a_call_gets_its_arguments_and_its_result_goes_back() -> None:
    assert run_sync(steps(Call(max, (1, 2), {}), Call(dict, (), {"a": 1}))) == [2, {"a": 1}]


def test_what_a_handler_raises_is_thrown_into_the_steps() -> None:
    error = ValueError()
    assert run_sync(steps(Call(fail, (error,), {}), Call(max, (1, 2), {}))) == [error, 2]
    with pytest.raises(KeyError):
        run_sync(steps(Call(fail, (KeyError(),), {})))
    with pytest.raises(KeyboardInterrupt):
        run_sync(steps(Call(fail, (KeyboardInterrupt(),), {})))


def test_a_handler_s_stop_iteration_does_not_end_the_steps() -> None:
    with pytest.raises(RuntimeError):
        run_sync(steps(Call(fail, (StopIteration("not a result"),), {})))


@pytest.mark.parametrize("is_async", [True, False])
def test_a_coroutine_is_awaited_whether_or_not_it_was_announced(is_async: bool) -> None:
    assert run_sync(steps(Call(double, (2,), {}, is_async))) == [4]


def test_an_announced_handler_may_have_awaited_by_itself() -> None:
    assert run_sync(steps(Call(max, (1, 2), {}, True))) == [2]


def test_a_sync_handler_runs_in_the_calling_thread() -> None:
    assert run_sync(steps(Call(threading.get_ident, (), {}))) == [threading.get_ident()]
