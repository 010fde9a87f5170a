"""Servers for the stdio tests, and the check that nothing of them is left."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp_wsgi.transport.base import Deadline, Exchange
from tests.patience import wait_until as until

__all__ = ["MARK", "exchange", "is_alive", "leaves_nothing", "program", "request", "until"]

PROGRAMS = Path(__file__).resolve().parent / "programs"
#: In the environment of each server, so that whatever it started is found.
MARK = {"MCP_WSGI_TEST": uuid.uuid4().hex}


def program(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(PROGRAMS / f"{name}.py"), *arguments]


def request(request_id: str | int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def exchange(seconds: float | None = 30.0, on_message: Callable[[dict[str, Any]], None] | None = None) -> Exchange:
    return Exchange(Deadline(seconds), on_message=on_message or (lambda message: None))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _processes() -> set[int]:
    mark = "=".join(*MARK.items()).encode()
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes():
                found.add(int(path.parent.name))
    return found


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mcp_wsgi stdio")]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def leaves_nothing() -> Iterator[None]:
    before = _descriptors()
    yield
    until(lambda: not _threads() and not _processes() and _descriptors() <= before, 30)
