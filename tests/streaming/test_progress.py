"""Progress arrives while a sync tool still runs, and the tool learns that its client has gone.

On each production server, on each door, through nginx and through compressing middleware.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

from tests.patience import at_best
from tests.raw import Address
from tests.servers import Running, available, serve
from tests.streaming.client import Stream, latencies, tool
from tests.streaming.nginx import NGINX, proxied

pytestmark = pytest.mark.servers

T = TypeVar("T")
THREADED = ("gunicorn-gthread", "gunicorn-gevent", "waitress", "uwsgi", "werkzeug")
#: Each door with the servers that it is measured on.
DOORS: Mapping[str, Sequence[str]] = {
    "wsgi": THREADED,
    "flask": THREADED,
    "django": THREADED,
    "asgi": ("uvicorn", "hypercorn"),
    "django_asgi": ("uvicorn", "hypercorn"),
}
#: How long a report may take to its client, and a departure to the tool (the keep-alive interval), in seconds. Through
#: uWSGI's router four fifths of the interval pass before it can be noticed: what is left must be more than a moment.
LATENCY, KEEP_ALIVE = 0.3, 4.0
_numbers = itertools.count()


def at_once(actions: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """Do all of it at the same time, and give the results by name."""
    with ThreadPoolExecutor(len(actions)) as pool:
        futures = {name: pool.submit(action) for name, action in actions.items()}
        return {name: future.result() for name, future in futures.items()}


@pytest.fixture(scope="module", params=DOORS)
def servers(request: pytest.FixtureRequest) -> Iterator[dict[str, Running]]:
    """Start all servers of a door, so that slow tools run on them at the same time."""
    door = request.param
    if door != "wsgi" and door != "asgi":
        pytest.importorskip(door.partition("_")[0])
    target = f"tests.streaming.apps.{door}_app:application"
    env = {"TEST_KEEP_ALIVE": str(KEEP_ALIVE)}
    contexts = {kind: serve(kind, target, threads=8, env=env) for kind in DOORS[door] if available(kind)}
    with ExitStack() as stack:
        started = at_once({kind: context.__enter__ for kind, context in contexts.items()})
        for context in contexts.values():
            stack.push(context)
        yield started


def late(servers: Mapping[str, Address]) -> dict[str, float]:
    """Give how long each report of each server was under way, at best."""
    actions = {kind: lambda server=server: latencies(server, compressed=True) for kind, server in servers.items()}

    def measure() -> dict[str, float]:
        found = at_once(actions)
        return {f"{kind} {number}": value for kind, values in found.items() for number, value in values.items()}

    found = at_best(measure, LATENCY)
    print(f"the latest report, of {len(found)}, took {max(found.values()) * 1000:.1f} ms")
    return found


def test_each_report_arrives_before_the_tool_goes_on_and_within_300_ms(servers: dict[str, Running]) -> None:
    found = late(servers)
    assert {name: value for name, value in found.items() if value > LATENCY} == {}


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_each_report_arrives_before_the_tool_goes_on_and_within_300_ms_behind_nginx_with_gzip(
    servers: dict[str, Running],
) -> None:
    with ExitStack() as stack:
        proxies = {kind: stack.enter_context(proxied(server)) for kind, server in servers.items()}
        found = late(proxies)
    assert {name: value for name, value in found.items() if value > LATENCY} == {}


def noticed(server: Running, key: str, *, through: Address | None = None, **arguments: Any) -> float:
    """Leave a call of the waiting tool, and give how long the tool took to see it."""
    key += f"-{next(_numbers)}"
    stream = Stream(through or server, tool("wait", key=key, **arguments))
    left = stream.leave()
    log = server.wait_for_log(f"cancelled {key} True [0-9.]+\n")
    seen = re.search(rf"cancelled {key} True ([0-9.]+)", log)
    assert seen is not None
    return float(seen[1]) - left


def test_a_tool_sees_within_the_keep_alive_interval_that_its_client_has_gone(servers: dict[str, Running]) -> None:
    actions = {}
    for kind, server in servers.items():
        actions[f"{kind} silent"] = lambda server=server: noticed(server, "silent")
        actions[f"{kind} reporting"] = lambda server=server: noticed(server, "reporting", reports=True)
    found = at_best(lambda: at_once(actions), KEEP_ALIVE)
    print("a gone client is noticed after, in ms:", {kind: round(value * 1000) for kind, value in found.items()})
    assert {kind: value for kind, value in found.items() if value > KEEP_ALIVE} == {}


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_tool_behind_nginx_sees_it_too(servers: dict[str, Running]) -> None:
    with ExitStack() as stack:
        proxies = {kind: stack.enter_context(proxied(server)) for kind, server in servers.items()}
        actions = {
            kind: lambda server=server, proxy=proxies[kind]: noticed(server, "proxied", through=proxy)
            for kind, server in servers.items()
        }
        found = at_best(lambda: at_once(actions), KEEP_ALIVE)
    print("behind nginx a gone client is noticed after, in ms:", {k: round(v * 1000) for k, v in found.items()})
    assert {kind: value for kind, value in found.items() if value > KEEP_ALIVE} == {}


def test_nothing_is_in_the_logs(servers: dict[str, Running]) -> None:
    for kind, server in servers.items():
        # uWSGI prints the failed write to a client that has gone, as an OSError with a traceback or without.
        log = server.log()
        assert kind == "uwsgi" or "Traceback" not in log, log
        assert "mcp_wsgi/" not in log, log
