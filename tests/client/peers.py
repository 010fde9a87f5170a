"""Servers that speak what a test wants, and refuse what they do not speak in a way that servers in the field do.

They are small on purpose: each answers `server/discover`, `initialize`, `tools/list`, and nothing else.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

__all__ = ["LEGACY", "MODERN", "PROGRAM", "Fault", "HTTPPeer", "Refusal", "Way", "answer_to", "http_peer"]

MODERN, LEGACY = "2026-07-28", "2025-11-25"
#: Who is silent is so until the client gives up, and so long at most, in seconds.
SILENCE = 60.0
PROGRAM = Path(__file__).resolve().parent / "stdio_peer.py"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """How a legacy server answers what it does not know: an HTTP status, and an error or some text."""

    status: int = 200
    code: int | None = None
    identity: str = "own"  # whose id the error carries: own, null, absent or other
    text: str = ""
    silent: bool = False
    late: bool = False

    def body(self, request_id: Any) -> bytes:
        if self.code is None:
            return self.text.encode()
        answer: dict[str, Any] = {"jsonrpc": "2.0", "error": {"code": self.code, "message": "No", "data": ""}}
        if self.identity != "absent":
            answer["id"] = {"own": request_id, "null": None, "other": "server-error"}[self.identity]
        return json.dumps(answer).encode()


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong without saying anything of the era; status 0 closes the connection."""

    status: int
    as_error: bool = False


@dataclass(frozen=True, kw_only=True)
class Way:
    """What a server speaks, and how it refuses the rest."""

    modern: bool
    legacy: bool
    refusal: Refusal = Refusal(code=-32601)
    names_versions_first: bool = False  # the first modern request is refused with -32022 and the versions
    dies: str = ""  # a process: "" never, "probe" at once, "handshake" only when it is asked to shake hands

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Way:
        found = json.loads(text)
        return Way(**{**found, "refusal": Refusal(**found["refusal"])})

    @property
    def supported(self) -> list[str]:
        return [MODERN] * self.modern + [LEGACY, "2025-06-18"] * self.legacy


def answer_to(way: Way, message: dict[str, Any], *, named: bool = True) -> dict[str, Any] | None:
    """Give the answer of a server that speaks this, or None where it refuses by its `refusal`."""
    params = message.get("params") or {}
    version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
    method, request_id = message["method"], message["id"]

    def result(value: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request_id, "result": value}

    def error(code: int, data: Any = None) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": "No", "data": data}}

    tools = {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]}
    if version is not None:
        if not way.modern:
            return None
        if not named or version != MODERN:
            return error(-32022, {"supported": way.supported, "requested": version})
        if method == "server/discover":
            return result({"resultType": "complete", "supportedVersions": way.supported, "capabilities": {}})
        if method == "tools/list":
            return result({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **tools})
        return error(-32601)
    if not way.legacy:
        requested = params.get("protocolVersion", LEGACY)
        return error(-32022, {"supported": way.supported, "requested": requested})
    if method == "initialize":
        wanted = params.get("protocolVersion")
        chosen = wanted if wanted in way.supported else LEGACY
        return result({"protocolVersion": chosen, "capabilities": {}, "serverInfo": {"name": "p", "version": "1"}})
    return result(tools) if method == "tools/list" else error(-32601)


class HTTPPeer:
    """An HTTP server whose way can be changed while clients use it."""

    def __init__(self) -> None:
        self.way = Way(modern=True, legacy=False)
        self.faults: list[Fault] = []
        self.named = True
        self.received: list[str] = []
        #: Set where what is silent, or late, need not wait until its client has given up.
        self.released = threading.Event()
        self.url = ""

    def become(self, way: Way) -> None:
        self.way, self.named = way, not way.names_versions_first

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if handler.command != "POST":
            self.send(handler, 405, b"Method Not Allowed", "text/plain")
            return
        message = json.loads(body)
        named, way = self.named, self.way  # before anybody sees that it was received, and changes them
        self.received.append(message.get("method", "answer"))
        if self.faults:
            fault = self.faults.pop(0)
            if fault.status == 0:
                handler.close_connection = True
                return
            text = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"No"}}' if fault.as_error else b"No"
            self.send(handler, fault.status, text, "application/json" if fault.as_error else "text/plain")
            return
        if "id" not in message:
            self.send(handler, 202, b"", "")
            return
        answer = answer_to(way, message, named=named)
        if way.modern and "_meta" in (message.get("params") or {}):
            self.named = True
        if answer is None:
            self.refuse(handler, way.refusal, message["id"])
            return
        code = answer.get("error", {}).get("code")
        self.send(handler, {None: 200, -32601: 404}.get(code, 400), json.dumps(answer).encode(), "application/json")

    def refuse(self, handler: BaseHTTPRequestHandler, refusal: Refusal, request_id: Any) -> None:
        if refusal.silent or refusal.late:
            self.wait_for_the_end_of(handler)
            if refusal.silent:
                handler.close_connection = True
                return
        kind = "application/json" if refusal.code is not None else "text/html; charset=utf-8"
        self.send(handler, refusal.status, refusal.body(request_id), kind)

    def wait_for_the_end_of(self, handler: BaseHTTPRequestHandler) -> None:
        """Wait until the client has hung up: whoever is silent for some seconds only may not outlast a slow client."""
        end = time.monotonic() + SILENCE
        while not self.released.is_set() and time.monotonic() < end:
            if select.select([handler.connection], [], [], 0.02)[0]:
                return

    @staticmethod
    def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
        from tests.client.loopback import answer

        with suppress(OSError):  # the client may have gone
            answer(handler, status, body, kind)


@contextmanager
def http_peer() -> Iterator[HTTPPeer]:
    """Serve a peer on the loopback interface."""
    peer = HTTPPeer()

    # The program on stdio runs this file by itself, without the tests around it.
    from tests.client.loopback import serving

    with serving(peer.handle) as port:
        peer.url = f"http://127.0.0.1:{port}/mcp"
        try:
            yield peer
        finally:
            peer.released.set()


def main(path: str) -> None:
    """Serve on stdio in the way that is written in a file when the process starts."""
    way = Way.from_json(Path(path).read_text())
    named, deaf, owed = not way.names_versions_first, False, ""
    for line in sys.stdin:
        sys.stdout.write(owed)
        message, owed = json.loads(line), ""
        if "id" not in message or deaf:
            if deaf and message.get("method") == "initialize" and way.dies:
                os._exit(1)
            continue
        answer = answer_to(way, message, named=named)
        if "_meta" in (message.get("params") or {}):
            named = True
        if answer is None:
            if way.dies == "probe":
                os._exit(1)
            if way.refusal.silent or way.dies == "handshake":
                deaf = True  # as older SDKs: alive, and reading nothing more
                continue
            owed = way.refusal.body(message["id"]).decode() + "\n"
            if way.refusal.late:
                continue  # until the client has given up, and says something else or ends the input
            sys.stdout.write(owed)
            owed = ""
        else:
            sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    with suppress(OSError):
        print(owed, end="", flush=True)
