"""The ASGI door on each ASGI server: an answer, a stream, a subscription, and a client that leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.modern import message
from tests.patience import ATTEMPTS, at_best, least
from tests.servers import ASGI_KINDS, Running, available, serve
from tests.streaming.client import Stream, call, latencies, post, structured, tool

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module", params=ASGI_KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    if not available(request.param):
        pytest.skip(f"{request.param} is not installed")
    # A comment is written each fifth of that time, and must not bring a report that was held back in time.
    env = {"TEST_KEEP_ALIVE": "4"}
    with serve(request.param, "tests.streaming.apps.asgi_app:application", env=env) as running:
        yield running


def test_discovery_and_calls_are_answered(server: Running) -> None:
    discovered = post(server, message("server/discover"))
    assert (discovered.status, discovered.header("content-type")) == (200, "application/json")
    assert structured(call(server, "add", a=1, b=2)) == 3


@pytest.mark.parametrize("name", ["handed_over", "handed_over_async"])
def test_progress_arrives_while_the_tool_runs(server: Running, name: str) -> None:
    assert max(at_best(lambda: latencies(server, name, times=5), 0.3).values()) < 0.3


def test_a_subscription_tells_of_a_change(server: Running) -> None:
    stream = Stream.listening(server)
    call(server, "change")
    assert next(stream)[1]["method"] == "notifications/tools/list_changed"
    stream.leave()


@pytest.mark.parametrize("name", ["wait", "wait_async"])
def test_a_client_that_leaves_is_noticed(server: Running, name: str) -> None:
    keys = iter(f"{name}-{number}" for number in range(ATTEMPTS))

    def noticed() -> float:
        key = next(keys)
        left = Stream(server, tool(name, key=key)).leave()
        log = server.wait_for_log(f"cancelled {key} True [0-9.]+\n")
        seen = re.search(rf"cancelled {key} True ([0-9.]+)", log)
        assert seen is not None
        return float(seen[1]) - left

    assert least(noticed, 1) < 1


def test_the_log_has_no_traceback(server: Running) -> None:
    server.assert_clean()
