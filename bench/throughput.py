"""Measure requests per second through Gunicorn, beside a bare WSGI application that does the same work.

    python bench/throughput.py [--seconds 4] [--rounds 5]

Both applications run at the same time (gthread, one worker, four threads, keep-alive) and wrk asks them in turn, so
that what else the machine does hits them alike; the servers have one processor and wrk has another. It is not called
``http.py``: beside the other scripts that would hide the standard library's module. Needs wrk, of the system's package
of that name.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from common import on_processor, print_machine, print_table
from targets import PATH, body_of, headers_of, modern

from tests.raw import exchange, json_post
from tests.servers import Running, serve

__all__ = ["main"]

CONNECTIONS = 4
_CALL = modern("tools/call", name="add", arguments={"a": 2, "b": 3})
_FAULTS = re.compile(r"Non-2xx or 3xx responses: \d+|Socket errors: .*")
_DONE = re.compile(r"(\d+) requests in ")
_RATE = re.compile(r"Requests/sec:\s+([0-9.]+)")


def lua_script(body: str, headers: list[tuple[str, str]]) -> str:
    """Write the script that makes wrk send the message."""
    lines = ['wrk.method = "POST"', f"wrk.body = [==[{body}]==]"]
    lines += [f'wrk.headers["{name}"] = [==[{value}]==]' for name, value in headers]
    return "\n".join(lines) + "\n"


def check_same_answer(servers: dict[str, Running]) -> None:
    """See that both applications give the same answer."""
    answers = {
        name: exchange(server, json_post(PATH, _CALL, headers_of(_CALL)[2:])).json() for name, server in servers.items()
    }
    assert answers["mcp"] == answers["bare"], answers


def cpu_seconds(server: Running) -> float:
    """Give the processor time that a server's processes have taken; 0 where the system does not say."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[2] == str(server.pid):  # its process group
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def rate(server: Running, script: Path, seconds: float) -> tuple[float, float]:
    """Let wrk ask for so long; give the requests per second, and the server's processor time (µs) for each."""
    before = cpu_seconds(server)
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s", str(script), server.url + PATH]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if fault := _FAULTS.search(output):
        raise SystemExit(f"The answers of {server.kind} are not good: {fault.group()}\n{server.log()[-2000:]}")
    found, done = _RATE.search(output), _DONE.search(output)
    assert found is not None, output
    assert done is not None, output
    return float(found.group(1)), (cpu_seconds(server) - before) / int(done.group(1)) * 1e6


def run(seconds: float, rounds: int) -> list[dict[str, tuple[float, float]]]:
    """Measure both applications in each round; give their rates and processor times."""
    with ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory())
        with on_processor(0):
            mcp = running.enter_context(serve("gunicorn-gthread", "bench.targets:mcp", threads=4))
            bare = running.enter_context(serve("gunicorn-gthread", "bench.targets:bare", threads=4))
        running.enter_context(on_processor(1))
        script = Path(folder) / "call.lua"
        script.write_text(lua_script(body_of(_CALL).decode(), headers_of(_CALL)))
        servers = {"mcp": mcp, "bare": bare}
        check_same_answer(servers)
        for server in servers.values():
            rate(server, script, 1)  # warms up
        results = []
        for number in range(rounds):
            order = ["mcp", "bare"] if number % 2 else ["bare", "mcp"]
            results.append({name: rate(servers[name], script, seconds) for name in order})
        return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4, help="the length of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="how often each application is measured")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("Skipped: wrk is not installed (on Debian: apt-get install wrk).")
        sys.exit(0)
    print_machine()
    results = run(options.seconds, max(1, options.rounds))
    rows, rates, costs = [], [], []
    for number, result in enumerate(results, start=1):
        (mcp, mcp_cpu), (bare, bare_cpu) = result["mcp"], result["bare"]
        rates.append(mcp / bare)
        costs.append(mcp_cpu - bare_cpu)
        rows.append([str(number), *(f"{value:.0f}" for value in (mcp, bare, mcp_cpu, bare_cpu)), f"{mcp / bare:.3f}"])
    header = ["round", "mcp_wsgi", "bare", "mcp_wsgi, CPU µs", "bare, CPU µs", "ratio"]
    print_table("Modern tools/call: requests per second, and processor time for one", header, rows)
    summary = [f"{function(rates):.3f}" for function in (statistics.median, min, max)]
    print_table("Requests per second, ratio to the bare application", ["", "median", "min", "max"], [["", *summary]])
    print(f"\n  {statistics.median(costs):.0f} µs of processor time more for each request (median)")


if __name__ == "__main__":
    main()
