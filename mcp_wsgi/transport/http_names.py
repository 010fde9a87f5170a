"""The addresses of a host, found within a time.

The system's resolver can neither be given a time nor be woken, and waits for as long as half a minute. So it runs in a
thread, one for each host however many requests wait for it; a thread that is left behind ends with the resolver.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

__all__ = ["Addresses", "is_loopback", "resolve"]

#: What ``socket.getaddrinfo`` gives.
Addresses = list[Any]


class _Lookup:
    """One question to the resolver, and those who wait for its answer."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._done = threading.Event()
        self._found: Addresses = []
        self._failure: OSError | None = None

    def run(self, ended: Callable[[], object]) -> None:
        try:
            self._found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except OSError as error:
            self._failure = error
        except UnicodeError:
            self._failure = socket.gaierror(socket.EAI_NONAME, "not a host name")
        ended()
        self._done.set()

    def wait(self, left: Callable[[], float]) -> Addresses:
        while not self._done.wait(left()):
            pass
        if self._failure is not None:
            raise self._failure
        return self._found


_lookups: dict[tuple[int, str, int], _Lookup] = {}


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def resolve(host: str, port: int, left: Callable[[], float]) -> Addresses:
    """Find the addresses of a host.

    Args:
        host: A name or an address, without brackets.
        port: The port.
        left: Says how many seconds to wait before asking it again; it raises to end the wait.

    Raises:
        OSError: There is no such host, or no answer of the resolver.
    """
    host = host.strip("[]")
    if _is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A thread does not survive a fork, so a child asks for itself. No lock, which a fork could leave locked.
    key = os.getpid(), host, port
    mine = _Lookup(host, port)
    lookup = _lookups.setdefault(key, mine)
    if lookup is mine:
        name = "mcp_wsgi name lookup"
        threading.Thread(target=mine.run, args=(lambda: _lookups.pop(key),), name=name, daemon=True).start()
    return lookup.wait(left)


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine by its name or address alone; nothing is looked up."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return _is_address(host) and ip_address(host.partition("%")[0]).is_loopback
