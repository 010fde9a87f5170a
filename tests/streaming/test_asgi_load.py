"""One uvicorn process: sync code never holds up the loop, and a thousand listeners are cheap and soon told."""

from __future__ import annotations

import os
import resource
import selectors
import socket
import statistics
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.modern import message
from tests.patience import least, wait_until
from tests.raw import Response
from tests.servers import Running, available, serve
from tests.streaming.client import LISTEN, call, post, raw_post, structured
from tests.streaming.processes import resident_kib

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux's /proc"),
]

LISTENS, AT_ONCE = 1000, 20
#: What the notification may take, in seconds, and a stream, in KiB.
SOON, KIB = 1.0, 60.0
ACKNOWLEDGED, CHANGED = b"notifications/subscriptions/acknowledged", b"notifications/tools/list_changed"


CASES = [("uvicorn", "asgi"), ("uvicorn-h11", "asgi"), ("uvicorn", "django_asgi")]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    kind, door = request.param
    if not available(kind):
        pytest.skip("uvicorn is not installed")
    if door == "django_asgi":
        pytest.importorskip("django")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The server inherits it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        with serve(
            kind,
            f"tests.streaming.apps.{door}_app:application",
            # Comments would come every half minute, and tell nobody in time. The measurement of coverage takes memory.
            env={"TEST_KEEP_ALIVE": "150", "COVERAGE_PROCESS_CONFIG": "", "COVERAGE_PROCESS_START": ""},
            options=["--no-access-log", "--backlog", "2048"],
        ) as running:
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_sync_tool_that_holds_its_thread_does_not_delay_discovery(server: Running) -> None:
    post(server, message("server/discover"))

    def typical() -> float:
        key = uuid.uuid4().hex
        with ThreadPoolExecutor(1) as pool:
            holding = pool.submit(call, server, "handed_over", key=key, times=1)
            wait_until(lambda: structured(call(server, "has_begun", key=key)), 30)
            taken = []
            for _ in range(50):
                start = time.perf_counter()
                assert post(server, message("server/discover")).status == 200
                taken.append(time.perf_counter() - start)
            assert not holding.done()
            call(server, "has_come", key=key, number=1)
            # It would say 0 if it had given up before.
            assert structured(holding.result()) == 1
        worst, median = max(taken), statistics.median(taken)
        times = f"median {median * 1000:.1f} ms, worst {worst * 1000:.1f} ms"
        print(f"{server.kind}: discovery while a sync tool holds its thread: {times}")
        return median

    assert least(typical, 0.1) < 0.1


class Listeners:
    """Many open subscriptions, watched by one thread."""

    def __init__(self, server: Running) -> None:
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._server = server

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for each in self._sockets:
            each.close()

    def open(self, count: int) -> None:
        """Open subscriptions and wait until each is acknowledged.

        Not many at a time: what a server needs for requests that it handles at once is not what a subscription takes.
        """
        for first in range(0, count, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, count))
            for number in numbers:
                opened = socket.create_connection((self._server.host, self._server.port), timeout=30)
                self._sockets.append(opened)
                request = message("subscriptions/listen", request_id=number, notifications=LISTEN)
                opened.sendall(raw_post(request))
                self._selector.register(opened, selectors.EVENT_READ)
            self.wait_for(ACKNOWLEDGED, len(numbers))

    def wait_for(self, mark: bytes, count: int, *, seconds: float = 60.0) -> list[float]:
        """Read until a mark has come on so many connections; give the times."""
        times: list[float] = []
        deadline = time.monotonic() + seconds
        received: dict[int, bytes] = {}
        while len(times) < count:
            assert time.monotonic() < deadline, f"{len(times)} of {count}"
            for key, _ in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                data = key.fileobj.recv(65536)
                assert data, "closed"
                before = received.get(key.fd, b"")
                received[key.fd] = before + data
                if mark in received[key.fd] and mark not in before:
                    times.append(time.time())
        return times

    def told_after(self, change: Response) -> float:
        """Wait until all are told of a change, and give how long it took."""
        changed = float(change.json()["result"]["content"][0]["text"])
        return max(self.wait_for(CHANGED, len(self._sockets))) - changed


def test_a_thousand_listeners_are_told_within_a_second_and_take_little_memory(server: Running) -> None:
    pid = structured(call(server, "state"))["pid"]
    with Listeners(server) as few:
        few.open(AT_ONCE)
        call(server, "change")
        few.wait_for(CHANGED, AT_ONCE)
    _wait_for_listens(server, 0)
    before = resident_kib(pid)
    with Listeners(server) as listeners:
        listeners.open(LISTENS)
        assert structured(call(server, "state"))["listens"] == LISTENS
        open_kib = (resident_kib(pid) - before) / LISTENS
        taken = least(lambda: listeners.told_after(call(server, "change")), SOON)
        told_kib = (resident_kib(pid) - before) / LISTENS
    _wait_for_listens(server, 0)
    print(
        f"{server.kind}: {LISTENS} listens told within {taken * 1000:.0f} ms, "
        f"{open_kib:.1f} KiB each when open, {told_kib:.1f} KiB after a notification"
    )
    assert taken < SOON
    assert max(open_kib, told_kib) < KIB
    server.assert_clean()


def _wait_for_listens(server: Running, count: int) -> None:
    wait_until(lambda: structured(call(server, "state"))["listens"] == count, 30)
