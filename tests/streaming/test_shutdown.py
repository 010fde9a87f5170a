"""A subscription always ends with its completion result: at its lifetime, and when its process is told to stop.

2026-07-28, basic/patterns/subscriptions, Graceful Closure.
"""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.modern import message
from tests.patience import at_best, wait_until
from tests.raw import TooSlow
from tests.servers import Running, available, serve
from tests.streaming.client import LISTEN, Stream, call, post, structured, tool

pytestmark = pytest.mark.servers

WSGI, ASGI = "tests.streaming.apps.wsgi_app:application", "tests.streaming.apps.asgi_app:application"
#: A worker that blocks for longer is killed.
WORKER_TIMEOUT = 20
#: How long a server would wait for its open responses, in seconds, and how soon it has to have ended: at its best, and
#: however busy the machine is.
GRACE, AT_ONCE, SOON = 60, 2.0, 15.0


def listen_request(request_id: str | int = 1) -> dict[str, Any]:
    return message("subscriptions/listen", request_id=request_id, notifications=LISTEN)


def is_complete(event: dict[str, Any], request_id: str | int) -> bool:
    return bool(event["id"] == request_id and event["result"]["resultType"] == "complete")


def waiting_long(kind: str) -> list[str]:
    """Give the options with which a server waits long for its open responses; the others wait for ever."""
    return ["--graceful-timeout", str(GRACE)] if kind.startswith(("gunicorn", "hypercorn")) else []


@pytest.mark.parametrize("workers", [1, 2], ids=["one worker", "two workers"])
def test_a_listen_on_a_sync_worker_ends_before_the_workers_timeout_and_the_site_answers(workers: int) -> None:
    options = ["--timeout", str(WORKER_TIMEOUT)]
    with serve("gunicorn-sync", WSGI, workers=workers, env={"TEST_LIFETIME": "3"}, options=options) as server:
        start = time.monotonic()
        stream = Stream.listening(server, "s")
        *_, (_, last) = list(stream)
        assert is_complete(last, "s")
        assert 2 < time.monotonic() - start < WORKER_TIMEOUT
        assert structured(call(server, "add", a=1, b=2)) == 3
        assert "WORKER TIMEOUT" not in server.log()
        server.assert_clean()


def test_while_a_sync_worker_streams_the_other_one_answers() -> None:
    """The one that streams does not take a connection."""
    env = {"TEST_LIFETIME": "100"}
    with serve("gunicorn-sync", WSGI, workers=2, env=env, options=["--timeout", "100"]) as server:
        start = time.monotonic()
        stream = Stream.listening(server)
        for _ in range(20):
            assert structured(call(server, "add", a=1, b=2)) == 3
        assert time.monotonic() - start < 100
        stream.leave()
        server.assert_clean()


def test_by_default_a_listen_on_a_sync_worker_lives_ten_seconds() -> None:
    """Below gunicorn's 30; and a worker of its own that nobody else could use meanwhile."""
    with serve("gunicorn-sync", WSGI) as server:
        start = time.monotonic()
        stream = Stream.listening(server)
        *_, (_, last) = list(stream)
        assert is_complete(last, 1)
        assert 9 < time.monotonic() - start < 25
        assert post(server, message("server/discover")).status == 200
        server.assert_clean()


@pytest.mark.parametrize(("kind", "target"), [("gunicorn-gthread", WSGI), ("gunicorn-gevent", WSGI), ("uvicorn", ASGI)])
def test_over_the_cap_of_streams_a_clear_error_is_answered_and_the_rest_still_works(kind: str, target: str) -> None:
    with serve(kind, target, threads=4, env={"TEST_MAX_LISTENS": "2"}) as server:
        streams = [Stream.listening(server, number) for number in range(2)]
        refused = post(server, listen_request(9))
        assert (refused.status, refused.header("retry-after")) == (503, "10")
        assert refused.json()["id"] == 9
        assert "Too many subscriptions" in refused.json()["error"]["message"]
        assert structured(call(server, "add", a=1, b=2)) == 3
        streams[0].leave()
        wait_until(lambda: _is_open(server), 30)
        streams[1].leave()


def _is_open(server: Running) -> bool:
    stream = Stream(server, listen_request())
    stream.leave()
    return stream.start.status == 200


def test_by_default_listens_leave_threads_of_a_threaded_server_for_others() -> None:
    with serve("gunicorn-gthread", WSGI, threads=4) as server:
        streams = [Stream(server, listen_request(number)) for number in range(4)]
        assert [stream.start.status for stream in streams] == [200, 200, 503, 503]
        for stream in streams:
            stream.leave()


FLASK, DJANGO = "tests.streaming.apps.flask_app:application", "tests.streaming.apps.django_app:application"
DJANGO_ASGI = "tests.streaming.apps.django_asgi_app:application"
CASES = [
    ("gunicorn-sync", WSGI, 1),
    ("gunicorn-gthread", WSGI, 4),
    ("gunicorn-gevent", WSGI, 20),
    ("uvicorn", ASGI, 20),
    ("uvicorn-h11", ASGI, 20),
    ("hypercorn", ASGI, 20),
    ("granian", ASGI, 20),
    ("gunicorn-gthread", FLASK, 4),
    ("gunicorn-gthread", DJANGO, 4),
    ("uvicorn", DJANGO_ASGI, 20),
    ("hypercorn", DJANGO_ASGI, 20),
]


@pytest.mark.parametrize(("kind", "target", "count"), CASES)
def test_on_sigterm_open_listens_complete_and_the_server_ends_within_two_seconds(
    kind: str, target: str, count: int
) -> None:
    if not available(kind):
        pytest.skip(f"{kind} is not installed")
    for framework in ("flask", "django"):
        if framework in target:
            pytest.importorskip(framework)
    taken = at_best(lambda: _stop_with_listens(kind, target, count), AT_ONCE)
    door = target.split(".")[-1].partition("_app")[0]
    print(f"{kind} {door}: {count} listens, in seconds after SIGTERM: {taken}")
    assert max(taken.values()) < AT_ONCE


def _stop_with_listens(kind: str, target: str, count: int) -> dict[str, float]:
    # Neither the lifetime of the listens nor what they say from time to time ends them sooner.
    env = {"TEST_MAX_LISTENS": "100", "TEST_LIFETIME": str(GRACE), "TEST_KEEP_ALIVE": str(5 * GRACE)}
    with serve(kind, target, threads=8, env=env, options=waiting_long(kind)) as server:
        streams = [Stream.listening(server, number) for number in range(count)]
        with ThreadPoolExecutor(count) as pool:
            endings = [pool.submit(lambda stream=stream: list(stream)) for stream in streams]
            start = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            last = [ending.result()[-1][1] for ending in endings]
            completed = time.monotonic() - start
        server.process.wait(GRACE)
        ended = time.monotonic() - start
        assert all(is_complete(event, number) for number, event in enumerate(last))
        server.assert_clean()
        return {"completed": completed, "ended": ended}


@pytest.mark.parametrize(("kind", "target"), [("gunicorn-gthread", WSGI), ("uvicorn", ASGI)])
def test_on_sigterm_a_call_that_runs_is_still_answered(kind: str, target: str) -> None:
    with serve(kind, target, threads=8, options=waiting_long(kind)) as server:
        stream = Stream(server, tool("report", times=10, seconds=1.0))
        next(stream)
        os.kill(server.pid, signal.SIGTERM)
        *_, (_, answer) = list(stream)
        assert answer["result"]["structuredContent"] == 10


def test_a_reload_of_gunicorn_completes_the_listens_of_the_old_worker() -> None:
    with serve("gunicorn-gthread", WSGI, threads=8, options=waiting_long("gunicorn")) as server:
        stream = Stream.listening(server, "old")
        before = structured(call(server, "state"))["pid"]
        start = time.monotonic()
        os.kill(server.pid, signal.SIGHUP)
        *_, (_, last) = list(stream)
        assert is_complete(last, "old")
        assert time.monotonic() - start < SOON
        # Until it has gone, the old worker may take a connection.
        server.wait_for_log(rf"Worker exiting \(pid: {before}\)")
        assert structured(call(server, "state"))["pid"] != before


def test_a_preloaded_application_completes_its_listens_too() -> None:
    """Gunicorn's workers install their handlers after the application was loaded; a sync worker's hook or first listen
    chains ours."""
    options = ["--preload", *waiting_long("gunicorn")]
    with serve("gunicorn-sync", WSGI, options=options, env={"TEST_LIFETIME": str(GRACE)}) as server:
        stream = Stream.listening(server)
        start = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        try:
            *_, (_, last) = list(stream)
        except TooSlow:  # pragma: no cover
            pytest.fail("the listen did not end")
        assert is_complete(last, 1)
        assert time.monotonic() - start < SOON
