"""A legacy server on HTTP with sessions, a GET stream, and questions of its own, as the older SDKs have them."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.client.loopback import answer, serving

__all__ = ["SessionPeer", "session_peer"]

LEGACY = "2025-11-25"
FORM = {"type": "object", "properties": {"count": {"type": "integer", "default": 3}}}


class SessionPeer:
    """What the server knows, and what a test may do to it."""

    def __init__(self) -> None:
        self.url = ""
        self.sessions: dict[str, queue.Queue[dict[str, Any] | None]] = {}
        self.made = 0
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.streams = 0
        self.ended: list[str] = []
        self.capabilities: dict[str, Any] = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "logging": {},
        }

    def forget_sessions(self) -> None:
        """Lose all sessions, as a server does that is started again."""
        for waiting in self.sessions.values():
            waiting.put(None)
        self.sessions.clear()

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification on every open GET stream."""
        for waiting in self.sessions.values():
            waiting.put({"jsonrpc": "2.0", "method": method, "params": params})

    def methods(self) -> list[str]:
        return [method for method, _ in self.requests]

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        identity = handler.headers.get("Mcp-Session-Id")
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if handler.command == "DELETE":
            self.ended.append(identity or "")
            self.sessions.pop(identity or "", None)
            self.send(handler, 204, b"")
        elif handler.command == "GET":
            self.stream(handler, identity)
        else:
            self.post(handler, identity, json.loads(body))

    def post(self, handler: BaseHTTPRequestHandler, identity: str | None, message: dict[str, Any]) -> None:
        if "method" not in message:
            self.answers.put(message)
            self.send(handler, 202, b"")
            return
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            self.made += 1
            made = f"session-{self.made}"
            self.sessions[made] = queue.Queue()
            result = {"protocolVersion": LEGACY, "capabilities": self.capabilities, "instructions": "old"}
            self.send(handler, 200, self.result(message, result), session=made)
            return
        if identity is None:
            refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No session"}}
            self.send(handler, 400, json.dumps(refusal).encode())
            return
        if identity not in self.sessions:
            self.send(handler, 404, b"No such session", kind="text/plain")
            return
        self.requests.append((method, params))
        if "id" not in message:
            self.send(handler, 202, b"")
        elif params.get("name") == "ask":
            self.ask(handler, message, own_stream=params["arguments"].get("own_stream", True))
        elif method == "tools/call":
            self.send(handler, 200, self.result(message, {"content": [{"type": "text", "text": identity}]}))
        else:
            self.send(handler, 200, self.result(message, {"tools": []} if method == "tools/list" else {}))

    def ask(self, handler: BaseHTTPRequestHandler, message: dict[str, Any], *, own_stream: bool) -> None:
        """Ask the user in the middle of a call, on the call's own stream or on the session's."""
        question = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "elicitation/create",
            "params": {"message": "How many?", "requestedSchema": FORM},
        }
        unknown = {"jsonrpc": "2.0", "id": "u", "method": "no/such"}
        ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
        self.begin(handler)
        for each in (ping, unknown, question):
            if own_stream:
                self.event(handler, each)
            else:
                self.sessions[handler.headers["Mcp-Session-Id"]].put(each)
        answers = sorted((self.wait_for_answer(handler) for _ in range(3)), key=lambda answer: str(answer["id"]))
        text = json.dumps([answer.get("result", answer.get("error", {}).get("code")) for answer in answers])
        self.event(handler, json.loads(self.result(message, {"content": [{"type": "text", "text": text}]})))

    def wait_for_answer(self, handler: BaseHTTPRequestHandler) -> dict[str, Any]:
        """Wait for the client, and keep the connection alive by comments meanwhile, as servers do."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with suppress(queue.Empty):
                return self.answers.get(timeout=0.05)
            handler.wfile.write(b": waiting\n\n")
        raise TimeoutError

    def stream(self, handler: BaseHTTPRequestHandler, identity: str | None) -> None:
        waiting = self.sessions.get(identity or "")
        if waiting is None:
            self.send(handler, 404, b"")
            return
        self.streams += 1  # before the client knows of it
        self.begin(handler)
        with suppress(OSError, queue.Empty):
            while (message := waiting.get(timeout=60)) is not None:
                self.event(handler, message)

    @staticmethod
    def result(message: dict[str, Any], result: dict[str, Any]) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()

    @staticmethod
    def begin(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True

    @staticmethod
    def event(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        handler.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        handler.wfile.flush()

    @staticmethod
    def send(
        handler: BaseHTTPRequestHandler, status: int, body: bytes, *, kind: str = "application/json", session: str = ""
    ) -> None:
        headers = {"Mcp_Session_Id": session} if session else {}
        answer(handler, status, body, kind if body else "", **headers)


@contextmanager
def session_peer() -> Iterator[SessionPeer]:
    """Serve such a server on the loopback interface."""
    peer = SessionPeer()

    with serving(peer.handle) as port:
        peer.url = f"http://127.0.0.1:{port}/mcp"
        try:
            yield peer
        finally:
            peer.forget_sessions()
