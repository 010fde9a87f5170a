"""The Django door on real servers: streams as they happen, clients that leave, bodies as they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import django
import pytest

from mcp_wsgi.protocol.codec import encode
from tests.apps.django_library.books.keys import digest_of
from tests.django_door.wire import events_of
from tests.modern import message, post_headers
from tests.patience import at_best, least, wait_until
from tests.raw import Connection, Response, chunked, exchange, request
from tests.servers import ROOT, Running, available, serve
from tests.streaming.client import latencies

pytestmark = pytest.mark.servers

WSGI_KINDS = ["gunicorn-gthread", "gunicorn-gevent", "waitress", "werkzeug", "uwsgi"]
KINDS = [*WSGI_KINDS, "uvicorn"]
#: A comment is written each fifth of it, and must not bring a report that was held back in time.
KEEP_ALIVE = 4.0
#: How long a report may take, and a departure to the tool, which would else wait for 20 seconds.
LATEST, NOTICED = 0.3, KEEP_ALIVE + 2


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Make the library's database in a file, with a user and a key."""
    env = {
        "LIBRARY_DATABASE": str(tmp_path_factory.mktemp("library") / "library.sqlite3"),
        "LIBRARY_KEEP_ALIVE": str(KEEP_ALIVE),
        "LIBRARY_DEBUG": "yes",
        "DJANGO_SETTINGS_MODULE": "tests.apps.django_library.settings",
    }
    code = f"""
import django; django.setup()
from django.core.management import call_command; call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from tests.apps.django_library.books.models import Book, Key
Book.objects.create(title="Emma")
Key.objects.create(user=User.objects.create_superuser("ann"), digest={digest_of("key")!r})
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **env}, check=True)
    return env


def start(kind: str, environment: dict[str, str], site: str = "probe", **options: Any) -> Any:
    if not available(kind):
        pytest.skip(f"{kind} is not installed")
    gateway = "asgi" if kind.startswith("uvicorn") else "wsgi"
    env = {**environment, "DJANGO_SETTINGS_MODULE": f"tests.apps.django_{site}.settings"}
    return serve(kind, f"tests.apps.django_{site}.{gateway}:application", env=env, **options)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, environment: dict[str, str]) -> Iterator[Running]:
    with start(request.param, environment) as running:
        yield running


@pytest.fixture(scope="module")
def uvicorn(environment: dict[str, str]) -> Iterator[Running]:
    with start("uvicorn", environment) as running:
        yield running


def data_of(sent: dict[str, Any], path: str = "/mcp", headers: Any = ()) -> bytes:
    body = json.dumps(sent, separators=(",", ":"), ensure_ascii=False).encode()
    own = [pair for pair in post_headers(sent) if pair[0] != "Content-Length"]
    return request("POST", path, [*own, ("Content-Length", str(len(body))), *headers], body)


def calling(tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return message("tools/call", name=tool, arguments=arguments or {}, **options)


def send(server: Running, sent: dict[str, Any], **options: Any) -> Response:
    return exchange(server, data_of(sent, **options))


GZIP = [("Accept-Encoding", "gzip")]


def latest(server: Running, tool: str, path: str = "/mcp", times: int = 10) -> float:
    """Give how long the latest of a tool's reports was under way, at best."""
    options = {"path": path, "compressed": True, "coding": "identity"}
    return max(at_best(lambda: latencies(server, tool, times=times, **options), LATEST).values())


def noticed(server: Running, path: str = "/mcp") -> float:
    """Leave a tool that watches for it, and give how long it was until it knew."""

    def measure() -> float:
        before = server.log().count("client gone: True")
        with Connection(server) as connection:
            connection.send(data_of(calling("watch", progress_token=1), path))
            next(connection.pieces(connection.receive_head()))
        left = time.monotonic()
        server.wait_for_log("client gone: True", count=before + 1)
        return time.monotonic() - left

    return least(measure, NOTICED)


def test_each_report_is_seen_before_the_tool_goes_on_and_within_300_ms_behind_gzip(server: Running) -> None:
    assert latest(server, "handed_over") < LATEST
    server.assert_clean()


def test_a_client_that_goes_away_is_noticed_within_the_keep_alive_interval(server: Running) -> None:
    if server.kind == "uvicorn" and django.VERSION < (5, 0):
        pytest.skip("Django 4.2 does not tell a view under ASGI that its client has gone")
    assert noticed(server) < NOTICED


def test_a_chunked_body_is_read(server: Running) -> None:
    sent = calling("add", {"a": 1, "b": 2})
    headers = [pair for pair in post_headers(sent) if pair[0] != "Content-Length"]
    data = request("POST", "/mcp", [*headers, ("Transfer-Encoding", "chunked")], chunked([json.dumps(sent).encode()]))
    answer = exchange(server, data)
    assert answer.status == 200, answer
    assert answer.json()["result"]["structuredContent"] == 3


def test_a_body_over_the_limit_is_413_in_json(server: Running) -> None:
    answer = send(server, message("server/discover", padding="x" * 5_000_000))
    assert answer.status == 413
    assert answer.json()["error"]["code"] == -32600


def test_a_client_that_sends_all_before_it_reads_sees_the_413(server: Running) -> None:
    sent = message("server/discover", padding="x" * 5_000_000)
    for _ in range(5):
        connection = HTTPConnection(server.host, server.port, timeout=30)
        with closing(connection):
            connection.request("POST", "/mcp", encode(sent), dict(post_headers(sent)))
            assert connection.getresponse().status == 413


def test_a_large_body_is_served_though_django_would_refuse_it(server: Running) -> None:
    assert send(server, message("server/discover", padding="x" * 3_000_000)).status == 200


def test_an_async_tool_answers(server: Running) -> None:
    assert send(server, calling("add_async", {"a": 1, "b": 2})).json()["result"]["structuredContent"] == 3


def test_nothing_is_html(server: Running) -> None:
    for data in (
        request("GET", "/mcp"),
        request("POST", "/mcp", [("Content-Length", "1")], b"{"),
        request("POST", "/mcp/below", [("Content-Length", "0")]),
        data_of(message("server/discover"), "/users"),
        data_of(message("server/discover"), headers=[("Origin", "https://evil.example")]),
    ):
        answer = exchange(server, data)
        assert answer.status >= 400
        assert answer.header("content-type") == "application/json"
        assert answer.json()["error"]


@pytest.mark.parametrize("tool", ["add", "add_async"])
def test_many_calls_at_once_are_all_answered(server: Running, tool: str) -> None:
    answers: list[Any] = []

    def call(number: int) -> None:
        answers.append(send(server, calling(tool, {"a": number, "b": 0})).json()["result"]["structuredContent"])

    threads = [threading.Thread(target=call, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(30))
    server.assert_clean()


# Asynchronous


def test_a_sync_tool_that_sleeps_delays_nobody(uvicorn: Running) -> None:
    send(uvicorn, message("server/discover"))

    def measure() -> float:
        slow: list[Response] = []
        sleeper = threading.Thread(target=lambda: slow.append(send(uvicorn, calling("sleep", {"seconds": 1.5}))))
        sleeper.start()
        time.sleep(0.3)
        started = time.monotonic()
        assert send(uvicorn, message("server/discover")).status == 200
        took = time.monotonic() - started
        sleeper.join()
        assert slow[0].json()["result"]["content"][0]["text"] == "slept"
        return took

    # It would be more than a second.
    assert least(measure, 0.5) < 0.5


@pytest.mark.parametrize(
    ("tool", "path"), [("handed_over_async", "/mcp"), ("handed_over", "/wrapped"), ("handed_over", "/pattern/mcp")]
)
def test_streams_are_prompt_whatever_the_tool_and_the_view(uvicorn: Running, tool: str, path: str) -> None:
    assert latest(uvicorn, tool, path, 4) < LATEST
    uvicorn.assert_clean()


@pytest.mark.skipif(django.VERSION < (5, 0), reason="Django 4.2 does not tell a view that its client has gone")
def test_a_client_of_a_wrapped_view_that_goes_away_is_noticed(uvicorn: Running) -> None:
    assert noticed(uvicorn, "/wrapped") < NOTICED


# Subscriptions


@pytest.mark.parametrize("kind", ["gunicorn-gthread", "uvicorn"])
def test_a_subscription_is_told_of_changes_and_ends_when_the_server_stops(
    kind: str, environment: dict[str, str]
) -> None:
    listen = message("subscriptions/listen", notifications={"toolsListChanged": True})
    # Gunicorn would cut what is still open after that time.
    options = ["--graceful-timeout", "60"] if kind.startswith("gunicorn") else []
    with start(kind, environment, options=options) as server:
        with Connection(server) as connection:
            connection.send(data_of(listen))
            pieces = connection.pieces(connection.receive_head())
            assert events_of(next(pieces))[0]["method"] == "notifications/subscriptions/acknowledged"
            send(server, calling("shapes"))
            assert _next_event(pieces)["method"] == "notifications/tools/list_changed"
            server.process.send_signal(signal.SIGTERM)
            assert "result" in _next_event(pieces)
            assert list(pieces) == []
        # Gunicorn waits for its clients to close, too. How long it all takes is measured in tests/streaming.
        server.process.wait(60)
        server.assert_clean()


def _next_event(pieces: Iterator[bytes]) -> Any:
    for piece in pieces:
        for event in events_of(piece):
            return event
    raise AssertionError("the stream ended")


# The example


@pytest.mark.parametrize("kind", ["gunicorn-gthread", "uvicorn"])
def test_the_library_works_on_a_real_server(kind: str, environment: dict[str, str]) -> None:
    key = [("Authorization", "Bearer key")]
    with start(kind, environment, "library", workers=1) as server:
        assert send(server, message("tools/list")).status == 401
        found = send(server, calling("find_books", {"text": "Em"}), headers=key).json()["result"]
        assert found["structuredContent"][0]["title"] == "Emma"
        arguments = {"titles": [f"from {kind}", "other"]}
        streamed = send(server, calling("import_books", arguments, progress_token=1), headers=[*key, *GZIP])
        events = events_of(streamed.body)
        assert [event["params"]["progress"] for event in events[:-1]] == [1, 2]
        assert events[-1]["result"]["structuredContent"] == 2
        counted = send(server, calling("find_books", {"text": f"from {kind}"}), headers=key).json()["result"]
        assert len(counted["structuredContent"]) == 1
        assert exchange(server, request("GET", "/")).body == b"<h1>Library</h1>"
        server.assert_clean()


def test_the_database_is_let_go_after_streams(environment: dict[str, str]) -> None:
    """A worker that served streams holds no descriptor more than before."""
    with start("gunicorn-gthread", environment) as server:
        for _ in range(3):
            send(server, calling("write", {"title": "x", "then": "tell"}, progress_token=1))
        (worker,) = [int(pid) for pid in _children(server.pid)]
        before = _descriptors(worker)
        for _ in range(30):
            send(server, calling("write", {"title": "x", "then": "tell"}, progress_token=1))
        wait_until(lambda: _descriptors(worker) <= before + 1, 30)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
