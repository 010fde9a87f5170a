"""Sync and async tools under threads and under gevent, fifty at once (field report B17)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.raw import exchange, json_post
from tests.servers import Running, serve

pytestmark = pytest.mark.servers

CALLS = 50
PAUSE = 0.5


@pytest.fixture(scope="module", params=["gunicorn-gthread", "gunicorn-gevent"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with serve(request.param, "tests.apps.admission:application", threads=CALLS) as running:
        yield running


def call(server: Running, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": arguments["number"], "method": "tools/call", "params": params}
    response = exchange(server, json_post("/mcp", message), timeout=30)
    assert response.status == 200, response.body
    answer = response.json()
    assert answer["id"] == arguments["number"]
    assert not answer["result"].get("isError"), answer
    result: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
    return result


def call_all(server: Running, name: str, **more: Any) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(CALLS) as pool:
        return list(pool.map(lambda number: call(server, name, {"number": number, **more}), range(CALLS)))


def test_parallel_sync_tools_answer_rightly_and_no_event_loop_runs_there(server: Running) -> None:
    assert call_all(server, "double") == [{"double": 2 * number, "loop": False} for number in range(CALLS)]
    server.assert_clean()


def test_parallel_async_tools_answer_rightly_each_with_its_own_context(server: Running) -> None:
    start = time.monotonic()
    answers = call_all(server, "double_later", seconds=PAUSE)
    assert answers == [{"double": 2 * number, "loop": True} for number in range(CALLS)]
    assert time.monotonic() - start < CALLS * PAUSE, "the calls ran one after another"
    server.assert_clean()


def test_sync_tools_see_no_event_loop_while_async_ones_wait(server: Running) -> None:
    with ThreadPoolExecutor(CALLS) as pool:
        waiting = [pool.submit(call, server, "double_later", {"number": n, "seconds": 0.5}) for n in range(5)]
        time.sleep(0.2)
        quick = [pool.submit(call, server, "double", {"number": n}) for n in range(20)]
        assert [future.result() for future in quick] == [{"double": 2 * n, "loop": False} for n in range(20)]
        assert [future.result() for future in waiting] == [{"double": 2 * n, "loop": True} for n in range(5)]
    server.assert_clean()
