"""Measure `Client.call_tool` over HTTP, beside the same POST by a bare `requests.Session` and the official client.

    python bench/client.py [--calls 300] [--rounds 7] [--no-peer]

The server is ours on gunicorn (gthread, keep-alive), one call goes out after the other, and the candidates take turns
in each round, so that what else the machine does hits them alike. The official client runs in an environment of its
own, which is installed on the first run.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import on_processor, print_machine, print_table
from targets import PATH, body_of, headers_of, modern

from mcp_wsgi.client import CallResult, Client
from tests.interop.environments import CannotInstall, python_driver
from tests.servers import serve

__all__ = ["main"]

PEER = Path(__file__).resolve().parent / "peers" / "sdk_client.py"
_CALL = modern("tools/call", name="add", arguments={"a": 2, "b": 3})


def bare(url: str, calls: int) -> Callable[[], float]:
    """Give a round of the bare session: the same bytes and headers, and the answer read as JSON."""
    import requests

    session = requests.Session()
    body, headers = body_of(_CALL), dict(headers_of(_CALL))

    def post() -> None:
        answer = session.post(url, data=body, headers=headers, timeout=10).json()
        assert answer["result"]["content"][0]["text"] == "5"

    return lambda: timed(post, calls)


def ours(url: str, calls: int) -> Callable[[], float]:
    """Give a round of our client."""
    client = Client(url)

    def call() -> None:
        result = client.call_tool("add", {"a": 2, "b": 3})
        assert isinstance(result, CallResult)
        assert result.content[0].text == "5"  # type: ignore[union-attr]

    return lambda: timed(call, calls)


def peer(url: str, calls: int) -> Callable[[], float]:
    """Give a round of the official client, which measures itself: its start and its connecting are not counted."""
    python = python_driver("py_mcp2")[0]

    def run() -> float:
        command = [python, str(PEER), url, str(calls)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)

    return run


def timed(call: Callable[[], None], calls: int) -> float:
    """Give the microseconds of one call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=300, help="the calls of one round")
    parser.add_argument("--rounds", type=int, default=7, help="how often each candidate is measured")
    parser.add_argument("--no-peer", action="store_true", help="leave the official client out")
    options = parser.parse_args()
    print_machine()
    with on_processor(0), serve("gunicorn-gthread", "bench.targets:mcp", threads=4) as server, on_processor(1):
        url = server.url + PATH
        candidates = {"bare": bare(url, options.calls), "mcp_wsgi": ours(url, options.calls)}
        if not options.no_peer:
            try:
                candidates["official"] = peer(url, options.calls)
            except CannotInstall as reason:
                print(f"Without the official client: {reason}", file=sys.stderr)
        for run in candidates.values():
            run()  # warms up
        results = [{name: run() for name, run in candidates.items()} for _ in range(max(1, options.rounds))]
    names = list(candidates)
    rows = [[str(number), *(f"{each[name]:.0f}" for name in names)] for number, each in enumerate(results, start=1)]
    print_table("One call of a tool over HTTP, µs", ["round", *names], rows)
    ratios = []
    for name in names[1:]:
        found = [each[name] / each["bare"] for each in results]
        ratios.append([f"{name} / bare", *(f"{f(found):.3f}" for f in (statistics.median, min, max))])
    print_table("Ratios", ["", "median", "min", "max"], ratios)


if __name__ == "__main__":
    main()
