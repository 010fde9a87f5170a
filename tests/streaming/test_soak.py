"""After thousands of streams, many of them abandoned, a process holds what it held before."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi.aio.drive import DEFAULT_THREADS
from tests.patience import wait_until
from tests.servers import Running, available, serve
from tests.streaming.apps.tools import DATABASE
from tests.streaming.client import Stream, call, structured, tool
from tests.streaming.processes import Held, held_by, settled

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux's /proc"),
]

CALLS, ABANDONED, LISTENS = 2000, 500, 200
CLIENTS, THREADS = 8, 16
#: In KiB: how much a first round may add to the memory, and how much each of a few more where it added more. Whoever
#: kept 2 KiB of everything that a round does would add 4300 with each.
FIRST, FURTHER, ROUNDS = 4096, 1536, 3
CASES = [
    ("gunicorn-gthread", "wsgi", "query"),
    ("gunicorn-gthread", "django", "query_models"),
    ("uvicorn", "asgi", "query"),
    ("uvicorn", "django_asgi", "query_models"),
]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A server, the tool that uses a database on it, and the file of that database."""

    server: Running
    query: str
    database: Path


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    kind, door, query = request.param
    if not available(kind):
        pytest.skip(f"{kind} is not installed")
    if door.startswith("django"):
        pytest.importorskip("django")
    name = uuid.uuid4().hex
    database = DATABASE.with_name(DATABASE.name.replace("none", name))
    env = {"TEST_KEEP_ALIVE": "0.25", "TEST_MAX_LISTENS": "100", "TEST_DATABASE": name, "MALLOC_ARENA_MAX": "2"}
    # The measurement of coverage keeps something of every thread there ever was, which is no leak of ours.
    env |= {"COVERAGE_PROCESS_CONFIG": "", "COVERAGE_PROCESS_START": ""}
    options = ["--no-access-log"] if kind == "uvicorn" else []
    try:
        with serve(
            kind, f"tests.streaming.apps.{door}_app:application", threads=THREADS, env=env, options=options
        ) as server:
            yield Subject(server=server, query=query, database=database)
    finally:
        database.unlink(missing_ok=True)


def complete(subject: Subject, number: int) -> None:
    """Call a tool that reports from inside a database's connection, or a plain one, and read all of it."""
    request = tool(subject.query, times=3) if number % 2 else tool("report", times=3, seconds=0.003)
    events = list(Stream(subject.server, request))
    assert events[-1][1]["result"]["structuredContent"] == 3


def abandon(subject: Subject, number: int) -> None:
    """Leave in the middle: tidily or abruptly, a tool that looks or one that goes on reporting."""
    request = tool("wait", key="x", reports=True) if number % 2 else tool("report", times=20, seconds=0.1)
    stream = Stream(subject.server, request)
    next(stream)
    next(stream)
    stream.leave(abruptly=number % 4 < 2)


def listen(subject: Subject, number: int) -> None:
    Stream.listening(subject.server).leave(abruptly=bool(number % 2))


def repeat(action: Callable[[Subject, int], None], subject: Subject, times: int) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: action(subject, number), range(times)))


def fill(subject: Subject) -> None:
    """Let every thread of the server's pool start: pools are bounded, and keep what they have started."""
    places = DEFAULT_THREADS if subject.server.kind == "uvicorn" else THREADS
    streams = [Stream(subject.server, tool("wait", key="fill", reports=True)) for _ in range(places)]
    # Each reports and waits for its client to go: all of them have a thread now.
    for stream in streams:
        next(stream)
    for stream in streams:
        stream.leave()


def run(subject: Subject, share: float) -> None:
    repeat(complete, subject, int((CALLS - ABANDONED) * share))
    repeat(abandon, subject, int(ABANDONED * share))
    repeat(listen, subject, int(LISTENS * share))


def further_growth(subject: Subject, look: Callable[[], Held]) -> Iterator[int]:
    """Give how much memory further rounds add, up to the first that adds little."""
    for _ in range(ROUNDS):
        before = look()
        run(subject, 1)
        growth = settled(look, before).kib - before.kib
        yield growth
        if growth < FURTHER:
            return


@pytest.mark.timeout(600)
def test_threads_files_connections_and_memory_are_back_where_they_began(subject: Subject) -> None:
    state: dict[str, Any] = structured(call(subject.server, "state"))
    pid = state["pid"]

    def look() -> Held:
        return held_by(pid, str(subject.database))

    stream = Stream(subject.server, tool(subject.query, hold=True))
    next(stream)
    assert look().connections == 1
    stream.leave()
    wait_until(lambda: look().connections == 0, 30)
    fill(subject)
    run(subject, 0.1)
    time.sleep(1)
    before, threads = look(), structured(call(subject.server, "state"))["threads"]
    start = time.monotonic()
    run(subject, 1)
    taken = time.monotonic() - start
    after = settled(look, before)
    print(f"{subject.server.kind} {subject.query}: {taken:.1f} s; before {before}; after {after}")
    assert after.threads <= before.threads
    assert after.files <= before.files
    assert after.connections <= before.connections
    grown = [after.kib - before.kib]
    if grown[0] >= FIRST:
        # A leak grows with each round. What the C library keeps of a peak, which a busy machine makes higher, does not.
        grown += further_growth(subject, look)
    print(f"grown by {grown} KiB")
    assert grown[-1] < FURTHER or grown[0] < FIRST

    def is_as_before() -> bool:
        again = structured(call(subject.server, "state"))
        assert again["pid"] == pid
        return bool(again["threads"] <= threads and again["listens"] == 0)

    wait_until(is_as_before, 30)
    subject.server.assert_clean()
