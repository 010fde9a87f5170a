"""Measure each door beside a bare view of the same framework, and beside other projects' servers.

    python bench/doors.py [--seconds 3] [--rounds 5] [--only asgi|sdk|flask|django|mcpz]

All servers run at the same time, and wrk asks them in turn, so that what else the machine does hits them alike; they
have one processor and wrk has another, where the system lets that be chosen. The official SDK's server and django-mcpz
run in environments of their own, which are made once and kept in the folder of tests/interop/environments.py. Beside
the rates there is the processor time that the servers took for a request, which other processes disturb far less. Needs
wrk, of the system's package of that name.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from common import on_processor, print_machine, print_table
from targets import PATH, body_of, headers_of, modern
from throughput import lua_script, rate

from tests.interop.environments import CannotInstall, environment, run_command
from tests.raw import exchange, json_post
from tests.servers import Running, serve

__all__ = ["main"]

_CALL = modern("tools/call", name="add", arguments={"a": 2, "b": 3})
_PEERS = Path(__file__).resolve().parent / "peers"

#: Requests per second, and microseconds of processor time for one.
Sample = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class App:
    """One application and the server it runs on; ``peer`` names an environment of its own in place of this one."""

    kind: str
    target: str
    needs: Sequence[str] = ()
    peer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which application is measured beside which, and the least ratio of their rates."""

    title: str
    ours: str
    other: str
    wanted: float


_GUNICORN, _UVICORN = "gunicorn-gthread", "uvicorn"
# A line in a log for each request would cost all of them the same, and so flatter the ratios.
_OPTIONS: Mapping[str, Sequence[str]] = {_UVICORN: ("--no-access-log",)}
_ASGI, _FLASK, _DJANGO = ("uvicorn", "httptools", "uvloop"), ("flask", "gunicorn"), ("django", "gunicorn")
_APPS = {
    "bare ASGI": App(kind=_UVICORN, target="bench.asgi_apps:bare", needs=_ASGI),
    "ASGI door": App(kind=_UVICORN, target="bench.asgi_apps:mcp", needs=_ASGI),
    "mcp (SDK)": App(kind=_UVICORN, target="bench.peers.sdk:app", peer="sdk"),
    "bare Flask": App(kind=_GUNICORN, target="bench.flask_apps:bare", needs=_FLASK),
    "Flask door": App(kind=_GUNICORN, target="bench.flask_apps:mcp", needs=_FLASK),
    "bare Django": App(kind=_GUNICORN, target="bench.django_bare:bare", needs=_DJANGO),
    "Django door": App(kind=_GUNICORN, target="bench.django_mcp:mcp", needs=_DJANGO),
    "django-mcpz": App(kind=_GUNICORN, target="bench.peers.mcpz:app", peer="mcpz"),
}
_MATCHES = {
    "asgi": Match(title="ASGI door / bare ASGI", ours="ASGI door", other="bare ASGI", wanted=0.55),
    "sdk": Match(title="ASGI door / official SDK", ours="ASGI door", other="mcp (SDK)", wanted=3),
    "flask": Match(title="Flask door / bare Flask", ours="Flask door", other="bare Flask", wanted=0.88),
    "django": Match(title="Django door / bare Django", ours="Django door", other="bare Django", wanted=0.88),
    "mcpz": Match(title="Django door / django-mcpz", ours="Django door", other="django-mcpz", wanted=1),
}


def python_of(app: App) -> str:
    """Give the Python of an application's environment, which is made where it does not exist yet.

    Raises:
        CannotInstall: It cannot be made here, or this environment lacks something.
    """
    if app.peer is None:
        absent = [module for module in app.needs if importlib.util.find_spec(module) is None]
        if absent:
            raise CannotInstall(f"not installed here: {', '.join(absent)}")
        return sys.executable
    pins = (_PEERS / f"{app.peer}.txt").read_text()

    def install(home: Path) -> None:
        run_command([sys.executable, "-m", "venv", str(home)])
        quiet = ["--quiet", "--disable-pip-version-check"]
        run_command([str(home / "bin" / "python"), "-m", "pip", "install", *quiet, *pins.split()])

    home = environment(f"bench_{app.peer}-py{sys.version_info[0]}{sys.version_info[1]}", pins, install)
    return str(home / "bin" / "python")


def check_same_answer(name: str, server: Running) -> None:
    """See that an application gives the answer that is asked for."""
    headers = [("Host", f"{server.host}:{server.port}"), *headers_of(_CALL)[2:]]
    answer: dict[str, Any] = exchange(server, json_post(PATH, _CALL, headers)).json()
    assert answer["result"]["content"] == [{"type": "text", "text": "5"}], (name, answer)


def run(names: Sequence[str], seconds: float, rounds: int) -> tuple[dict[str, list[Sample]], dict[str, str]]:
    """Measure each application in each round; give the samples, and why an application could not run."""
    servers: dict[str, Running] = {}
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        script = Path(folder) / "call.lua"
        script.write_text(lua_script(body_of(_CALL).decode(), headers_of(_CALL)))
        for name in names:
            app = _APPS[name]
            try:
                python = python_of(app)
            except CannotInstall as error:
                skipped[name] = str(error)
                continue
            options = _OPTIONS.get(app.kind, ())
            with on_processor(0):
                servers[name] = stack.enter_context(serve(app.kind, app.target, options=options, python=python))
            check_same_answer(name, servers[name])
            rate(servers[name], script, 1)  # warms up
        samples: dict[str, list[Sample]] = {name: [] for name in servers}
        with on_processor(1):
            for number in range(rounds):
                for name in servers if number % 2 else reversed(servers):
                    samples[name].append(rate(servers[name], script, seconds))
    return samples, skipped


def print_samples(samples: Mapping[str, list[Sample]]) -> None:
    """Print the rates and processor times of each application."""
    rows = []
    for name, taken in samples.items():
        rates, costs = zip(*taken, strict=True)
        rows.append([name, *(f"{what:.0f}" for what in (median(rates), min(rates), max(rates), median(costs)))])
    header = ["", "requests/s, median", "min", "max", "CPU µs for one, median"]
    print_table("Modern tools/call", header, rows)


def _summary(values: Sequence[float]) -> list[str]:
    return [f"{value:.3f}" for value in (median(values), min(values), max(values))]


def print_ratios(matches: Sequence[Match], samples: Mapping[str, list[Sample]]) -> None:
    """Print how each match went: by rates, and by processor time (that of the other, over ours)."""
    rows = []
    for match in matches:
        pairs = list(zip(samples[match.ours], samples[match.other], strict=True))
        rates = [ours[0] / other[0] for ours, other in pairs]
        costs = [other[1] / ours[1] for ours, other in pairs]
        more = median(ours[1] - other[1] for ours, other in pairs)
        rows.append([match.title, f"{match.wanted:g}", *_summary(rates), *_summary(costs), f"{more:+.0f}"])
    header = ["", "wanted", "rate", "min", "max", "CPU", "min", "max", "CPU µs more"]
    print_table("Ratios: medians, and the extremes of the rounds", header, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="the length of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="how often each application is measured")
    parser.add_argument("--only", choices=sorted(_MATCHES), help="measure one of the matches")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("Skipped: wrk is not installed (on Debian: apt-get install wrk).")
        sys.exit(0)
    matches = [_MATCHES[options.only]] if options.only else list(_MATCHES.values())
    names = [name for name in _APPS if any(name in (match.ours, match.other) for match in matches)]
    print_machine()
    samples, skipped = run(names, options.seconds, max(1, options.rounds))
    print_samples(samples)
    print_ratios([match for match in matches if {match.ours, match.other} <= samples.keys()], samples)
    for name, reason in skipped.items():
        print(f"\nSkipped: {name}: {reason}")


if __name__ == "__main__":
    main()
