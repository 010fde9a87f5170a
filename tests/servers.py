"""Real WSGI and ASGI servers on the loopback interface, for as long as a `with` block lasts.

    with serve("gunicorn-gthread", "tests.apps.echo:application", workers=2) as server:
        requests.post(server.url + "/mcp", ...)

Every server runs in a process group of its own and is stopped by that group's number. What it prints is
kept in a file that `Running.log()` reads. Run as a program, this module is the server for those that have
no command of their own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ASGI_KINDS", "KINDS", "NotStarted", "Running", "available", "reserved_port", "serve"]

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
STOP_SECONDS = 15.0


class NotStarted(Exception):
    """The server ended, or did not answer in time; `log` is what it printed."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that accepts connections."""

    kind: str
    host: str
    port: int
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def url(self) -> str:
        """The server's root, without a slash at the end."""
        return f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The number of the server's first process, which is also its process group's."""
        return self.process.pid

    def log(self) -> str:
        """Return what the server has printed so far."""
        return self.log_file.read_text(errors="replace")

    def wait_for_log(self, pattern: str, *, count: int = 1, seconds: float = 30.0) -> str:
        """Return the log once a pattern occurs `count` times in it, or fail after some seconds."""
        deadline = time.monotonic() + seconds
        while len(re.findall(pattern, self.log())) < count:
            assert time.monotonic() < deadline, f"{pattern!r} is not in the log:\n{self.log()}"
            time.sleep(0.02)
        return self.log()

    def assert_clean(self) -> None:
        """Fail if the server printed a traceback."""
        assert "Traceback" not in self.log(), self.log()


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What to start: the arguments of `serve` and the port chosen for it."""

    target: str
    workers: int
    threads: int
    port: int = 0
    host: str = "127.0.0.1"
    options: Sequence[str] = field(default_factory=tuple)
    python: str = sys.executable

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def _gunicorn(worker: str) -> Callable[[_Plan], list[str]]:
    def command(plan: _Plan) -> list[str]:
        config = ["--config", str(ROOT / "tests" / "gunicorn_conf.py")]
        size = ["--workers", str(plan.workers)]
        if worker == "gthread":
            size += ["--threads", str(plan.threads)]
        where = ["--bind", plan.address, "--worker-class", worker]
        return [plan.python, "-m", "gunicorn", *config, *where, *size, *plan.options, plan.target]

    return command


def _uwsgi(plan: _Plan) -> list[str]:
    module, _, name = plan.target.partition(":")
    home = ["--home", sys.prefix] if sys.prefix != sys.base_prefix else []
    return [
        _uwsgi_binary() or "uwsgi",
        *("--master", "--die-on-term", "--need-app", "--enable-threads", "--no-orphans"),
        *("--http", plan.address, "--http-keepalive", "--http-auto-chunked", "--http-chunked-input"),
        *("--processes", str(plan.workers), "--threads", str(plan.threads)),
        *(*home, "--pythonpath", str(ROOT), "--module", module, "--callable", name),
        *plan.options,
    ]


def _uwsgi_binary() -> str | None:
    """Only the uwsgi installed beside this Python will do: it has that Python built in."""
    return shutil.which("uwsgi", path=str(Path(sys.executable).parent))


def _own(plan: _Plan, kind: str) -> list[str]:
    words = [plan.target, plan.host, str(plan.port), str(plan.threads)]
    return [sys.executable, "-m", "tests.servers", kind, *words, *plan.options]


_COMMANDS: dict[str, Callable[[_Plan], list[str]]] = {
    "gunicorn-sync": _gunicorn("sync"),
    "gunicorn-gthread": _gunicorn("gthread"),
    "gunicorn-gevent": _gunicorn("gevent"),
    "uwsgi": _uwsgi,
    "waitress": lambda plan: _own(plan, "waitress"),
    "werkzeug": lambda plan: _own(plan, "werkzeug"),
    "wsgiref": lambda plan: _own(plan, "wsgiref"),
}
KINDS = tuple(_COMMANDS)


def _uvicorn(http: str, loop: str) -> Callable[[_Plan], list[str]]:
    def command(plan: _Plan) -> list[str]:
        where = ["--host", plan.host, "--port", str(plan.port), "--workers", str(plan.workers)]
        return [plan.python, "-m", "uvicorn", *where, "--http", http, "--loop", loop, *plan.options, plan.target]

    return command


def _hypercorn(plan: _Plan) -> list[str]:
    return [sys.executable, "-m", "hypercorn", "--bind", plan.address, *plan.options, plan.target]


def _granian(plan: _Plan) -> list[str]:
    where = ["--interface", "asgi", "--host", plan.host, "--port", str(plan.port)]
    return [sys.executable, "-m", "granian", *where, *plan.options, plan.target]


def _daphne(plan: _Plan) -> list[str]:
    return [sys.executable, "-m", "daphne", "-b", plan.host, "-p", str(plan.port), *plan.options, plan.target]


_ASGI_COMMANDS: dict[str, Callable[[_Plan], list[str]]] = {
    "uvicorn": _uvicorn("httptools", "uvloop"),
    "uvicorn-h11": _uvicorn("h11", "asyncio"),
    "hypercorn": _hypercorn,
    "granian": _granian,
    "daphne": _daphne,
}
_COMMANDS |= _ASGI_COMMANDS
ASGI_KINDS = tuple(_ASGI_COMMANDS)


def available(kind: str) -> bool:
    """Return whether a kind of server is installed; uWSGI, which has to be compiled, may be missing, or one of ASGI."""
    if kind in ASGI_KINDS:
        return importlib.util.find_spec(kind.partition("-")[0]) is not None
    return kind != "uwsgi" or _uwsgi_binary() is not None


@contextmanager
def serve(
    kind: str,
    target: str,
    *,
    workers: int = 1,
    threads: int = 4,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    python: str = sys.executable,
) -> Iterator[Running]:
    """Start a server of one of `KINDS` or `ASGI_KINDS` for the application `module:name`, and stop it at the end.

    Waitress, werkzeug and wsgiref always have one process, and wsgiref and werkzeug as many threads as there
    are requests. `env` adds to this process's environment, `options` to the server's command. `python` is that of the
    environment which gunicorn or uvicorn is taken from.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-server-") as folder, reserved_port() as port:
        plan = _Plan(target=target, workers=workers, threads=threads, port=port, options=options, python=python)
        server = _start(kind, plan, Path(folder) / "log.txt", env or {})
        try:
            _wait_until_ready(server, plan)
            yield server
        finally:
            _stop(server.process)


@contextmanager
def reserved_port() -> Iterator[int]:
    """Give a port of the loopback interface that nobody else is given, for as long as the block lasts.

    A port that is chosen, freed and used later may be another process's by then, as its server's or as the near end of
    a connection. This one stays bound: who binds it by its number with SO_REUSEADDR, as servers do, can listen on it,
    and the kernel gives it to nobody who leaves the choice to it. That is so on Linux: elsewhere a second one may not
    bind it, so there it is freed at once, and somebody else may get it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()
        yield port


def _start(kind: str, plan: _Plan, log_file: Path, env: Mapping[str, str]) -> Running:
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            _COMMANDS[kind](plan),
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(kind=kind, host=plan.host, port=plan.port, process=process, log_file=log_file)


_READY = {"gunicorn": "Worker is ready", "uwsgi": "spawned uWSGI worker"}


def _wait_until_ready(server: Running, plan: _Plan) -> None:
    """Wait until every worker has loaded the application and the port accepts connections."""
    mark = _READY.get(server.kind.partition("-")[0])
    deadline = time.monotonic() + START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        if mark is None or server.log().count(mark) >= plan.workers:
            with suppress(OSError), socket.create_connection((plan.host, plan.port), timeout=5):
                return
        time.sleep(0.02)
    # pytest shows what was printed beside a failure, and keeps its summary short.
    print(log := server.log(), file=sys.stderr)
    raise NotStarted(f"{server.kind} did not start: exit status {server.process.poll()}", log)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the first process to end, then make sure that nothing of its group is left."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)


def _main(kind: str, target: str, host: str, port: str, threads: str) -> None:
    """Be a server that has no command of its own."""
    # Ending by an exception lets exit handlers run, such as the one that saves coverage data.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    module, _, name = target.partition(":")
    application = getattr(importlib.import_module(module), name)
    _SERVERS[kind](application, host, int(port), int(threads))


def _waitress(application: Any, host: str, port: int, threads: int) -> None:
    import waitress

    waitress.serve(application, host=host, port=port, threads=threads)


def _werkzeug(application: Any, host: str, port: int, threads: int) -> None:
    from werkzeug.serving import make_server

    make_server(host, port, application, threaded=True).serve_forever()


def _wsgiref(application: Any, host: str, port: int, threads: int) -> None:
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIServer, make_server

    class ThreadingServer(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    make_server(host, port, application, server_class=ThreadingServer).serve_forever()


_SERVERS: dict[str, Callable[[Any, str, int, int], None]] = {
    "waitress": _waitress,
    "werkzeug": _werkzeug,
    "wsgiref": _wsgiref,
}

if __name__ == "__main__":
    _main(*sys.argv[1:])
