"""A loopback HTTP server that says exactly what a test wants: late, in drops, cut off, or not at all."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from urllib3.util.wait import wait_for_read

from mcp_wsgi.protocol.codec import encode
from tests.patience import wait_until as until

__all__ = [
    "Got",
    "Peer",
    "Scripted",
    "chunk",
    "event",
    "json_answer",
    "legacy",
    "no_leaks",
    "plain",
    "refusal",
    "result",
    "scripted",
    "stream_head",
    "until",
]

REASONS = {200: "OK", 202: "Accepted", 307: "Temporary Redirect", 308: "Permanent Redirect", 404: "Not Found"}


@dataclass(frozen=True, kw_only=True)
class Got:
    """A request as it came; names of headers in lower case, lines of one name joined."""

    method: str
    path: str
    headers: Mapping[str, str]
    lines: list[str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> Any:
        return self.json().get("id")


class Peer:
    """The server's end of one connection."""

    def __init__(self, sock: socket.socket, stopping: threading.Event) -> None:
        self.sock = sock
        self.stopping = stopping
        self.closed = False
        self._buffer = b""

    def send(self, data: bytes) -> None:
        with suppress(OSError):
            self.sock.sendall(data)

    def pour(self, data: bytes, times: int) -> None:
        """Send the same again and again until the client leaves."""
        with suppress(OSError):
            for _ in range(times):
                self.sock.sendall(data)

    def drip(self, data: bytes, pause: float = 0.02) -> None:
        """Send one byte after the other until the client leaves."""
        for each in data:
            if self.closed or self.stopping.wait(pause):
                return
            try:
                self.sock.sendall(bytes([each]))
            except OSError:
                self.closed = True

    def close(self) -> None:
        self.closed = True
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        self.closed = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def wait_for_end(self, seconds: float = 60.0) -> bool:
        """Say nothing until the client has closed; say whether it did."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.stopping.is_set() and not self.closed:
            if wait_for_read(self.sock, 0.05):
                with suppress(OSError):
                    if self.sock.recv(65536):
                        continue
                self.closed = True
        return self.closed

    def read(self) -> Got | None:
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            key = name.lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            if not self._more():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        method, path, _ = first.split(" ", 2)
        return Got(method=method, path=path, headers=headers, lines=lines, body=body)

    def _more(self) -> bool:
        try:
            data = self.sock.recv(65536)
        except OSError:
            return False
        self._buffer += data
        return bool(data)


Script = Callable[[Got, Peer], None]


@dataclass
class Scripted:
    """A server; `script` is called with each request, in the thread of its connection."""

    script: Script
    requests: list[Got] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    failures: list[BaseException] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def of(self, method: str) -> list[Got]:
        """Give the requests with an HTTP method."""
        return [got for got in self.requests if got.method == method]


@contextmanager
def scripted(script: Script, begin: Callable[[Peer], Any] | None = None) -> Iterator[Scripted]:
    """Serve as the script says while the block runs, then make sure that all threads have ended.

    `begin` is called with each connection before anything is read of it.
    """
    server, stopping = Scripted(script), threading.Event()
    threads: list[threading.Thread] = []
    peers: list[Peer] = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    server.port = listener.getsockname()[1]

    def serve(peer: Peer) -> None:
        try:
            if begin is not None:
                begin(peer)
            while not peer.closed and (got := peer.read()) is not None:
                server.requests.append(got)
                server.script(got, peer)
        except BaseException as failure:
            server.failures.append(failure)
        finally:
            with suppress(OSError):
                peer.sock.close()

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.connections += 1
            peers.append(Peer(sock, stopping))
            threads.append(threading.Thread(target=serve, args=(peers[-1],), name="scripted", daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, name="scripted", daemon=True)
    acceptor.start()
    try:
        yield server
    finally:
        stopping.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        # Only then are all connections known, and the listener's number may be given to something else.
        acceptor.join(30)
        assert not acceptor.is_alive()
        listener.close()
        for peer in peers:
            peer.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert not server.failures, server.failures


def plain(
    status: int, body: bytes = b"", content_type: str | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    """Write an answer with a length."""
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Length: {len(body)}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def json_answer(message: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """Write an answer of JSON."""
    return plain(status, encode(message), "application/json", headers)


def stream_head(headers: Mapping[str, str] | None = None, *, chunked: bool = True) -> bytes:
    """Write the head of an event stream."""
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream"]
    lines.append("Transfer-Encoding: chunked" if chunked else "Connection: close")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Write one chunk; without data, the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(message: Any, fields: str = "") -> bytes:
    """Write one event of a stream as a chunk."""
    return chunk(f"{fields}data: ".encode() + encode(message) + b"\n\n")


def result(request_id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": members}


def refusal(code: int, request_id: Any = None, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": "no", **members}}


def legacy(method: str = "tools/list", request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


@contextmanager
def no_leaks() -> Iterator[None]:
    """Fail where the block leaves a thread or descriptor behind."""

    def counts() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    before = counts()
    yield
    until(lambda: all(now <= then for now, then in zip(counts(), before, strict=True)), 30)
