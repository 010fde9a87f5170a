"""The example application on real servers: progress arrives while the tool runs, and a client's leaving is noticed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flask_door.wire import call, headers_of, messages
from tests.patience import at_best, least
from tests.raw import Connection, chunked, exchange, json_post, request
from tests.servers import Running, available, serve

pytest.importorskip("flask_login")
pytestmark = pytest.mark.servers

SHOP = "tests.apps.flask_shop:application"
THREADED = ["gunicorn-gthread", "gunicorn-gevent", "waitress", "werkzeug", "uwsgi"]
LATEST = 0.3
#: A comment is written each fifth of it; like the next report, after a while, it must not bring one that was held back
#: in time.
KEEP_ALIVE, WHILE = 4.0, 0.5
ENDED = r"waiting ended at ([\d.]+)\n"


@pytest.fixture(scope="module", params=THREADED)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    if not available(request.param):
        pytest.skip(f"{request.param} is not installed")
    env = {"SHOP_FOLDER": str(tmp_path_factory.mktemp("shop")), "SHOP_KEEP_ALIVE": str(KEEP_ALIVE)}
    with serve(request.param, SHOP, env=env) as running:
        yield running
        running.assert_clean()


def post(message: Any) -> bytes:
    usual = {"Content-Type", "Accept"}
    more = [(name, value) for name, value in headers_of(message).items() if name not in usual]
    return json_post("/mcp", message, [*more, ("Authorization", "Bearer token-of-ann")])


def noticed(server: Running) -> float:
    """Leave a silent tool alone, and give how long it took to notice."""
    before = len(re.findall(ENDED, server.log()))
    with Connection(server) as connection:
        connection.send(post(call("wait", {"seconds": 30}, token="t")))
        next(connection.pieces(connection.receive_head()))
        left = time.monotonic()
        connection.reset()
    log = server.wait_for_log(ENDED, count=before + 1)
    return float(re.findall(ENDED, log)[-1]) - left


def delays(server: Running) -> dict[str, float]:
    """Give how long after its report each was seen."""
    delays: list[float] = []
    got: list[dict[str, Any]] = []
    with Connection(server) as connection:
        connection.send(post(call("pack", {"steps": 5, "seconds": WHILE}, token="t")))
        start = connection.receive_head()
        assert start.header("content-type") == "text/event-stream"
        rest = b""
        for piece in connection.pieces(start):
            whole, end, rest = (rest + piece).rpartition(b"\n\n")
            for message in messages(whole + end):
                got.append(message)
                if "params" in message:
                    delays.append(time.monotonic() - float(message["params"]["message"]))
    assert len(delays) == 5
    assert got[-1]["result"]["content"][0]["text"] == "5 packed for ann with 2 orders"
    return {str(number): delay for number, delay in enumerate(delays)}


def test_each_report_is_seen_within_300_ms(server: Running) -> None:
    """2026-07-28, basic/transports/streamable-http, Receiving Messages."""
    assert max(at_best(lambda: delays(server), LATEST).values()) < LATEST


def test_a_client_that_leaves_is_noticed(server: Running) -> None:
    """2026-07-28, basic/transports/streamable-http, Cancellation."""
    # The first comment that is written after a client has gone may still get through.
    soon = KEEP_ALIVE * 2 + LATEST
    assert least(lambda: noticed(server), soon) < soon


def test_a_chunked_body_arrives(server: Running) -> None:
    message = call("list_orders")
    headers = [*headers_of(message).items(), ("Authorization", "Bearer token-of-ann")]
    body = json.dumps(message).encode()
    data = request("POST", "/mcp", [*headers, ("Transfer-Encoding", "chunked")], chunked([body[:9], body[9:]]))
    assert exchange(server, data).json()["result"]["structuredContent"] == [1, 2]


def test_the_next_request_of_a_thread_finds_nothing_of_a_stream_before(server: Running) -> None:
    for _ in range(8):
        with Connection(server) as connection:
            connection.send(post(call("pack", {"steps": 5, "seconds": 0.01}, token="t")))
            next(connection.pieces(connection.receive_head()))
        message = call("list_orders")
        data = json_post("/mcp", message, [pair for pair in headers_of(message).items() if pair[0].startswith("M")])
        assert exchange(server, data).status == 401


def test_a_client_without_a_login_that_sends_much_is_answered_401(server: Running) -> None:
    message = call("list_orders", {"padding": "x" * 1_000_000})
    headers = [pair for pair in headers_of(message).items() if pair[0].startswith("M")]
    for _ in range(20):
        assert exchange(server, json_post("/mcp", message, headers)).status == 401
