"""The server that the doctor examines: what is known of it, and the requests that clients would send it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import __version__
from ...protocol.headers import expected_headers
from ...protocol.meta import build_meta
from ...protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION
from ...server.reasons import shorten
from ..text import one_line, without_query
from .findings import Opinion
from .raw import Answer, NoAnswer, Sent, Wire

__all__ = ["INSPECTOR_ORIGIN", "UNKNOWN_TOOL", "Change", "Patient", "changed", "describe"]

#: A tool that no server has: nothing that the doctor sends can do anything.
UNKNOWN_TOOL = "mcp-wsgi-doctor/no-such-tool"
CLIENT_INFO = {"name": "mcp-wsgi-doctor", "version": __version__}

_USUAL = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))
_MAX_SESSIONS = 100
#: How much of bodies is kept to the end; of what comes later only the head is.
_MAX_HELD = 4 * 1024 * 1024
INSPECTOR_ORIGIN = "http://localhost:6274"

#: For the name of a header: its value instead, several lines of it, or ``None`` for none.
Change = Mapping[str, "str | Sequence[str] | None"]


@dataclass(kw_only=True)
class Patient:
    """Hold what is known of a server, and speak to it."""

    wire: Wire
    path: str
    #: The origin of a web page that should be allowed to call.
    origin: str = INSPECTOR_ORIGIN
    discovered: Answer | None = None
    initialized: Answer | None = None
    modern: bool = False
    legacy: bool = False
    session: str | None = None
    #: Every exchange with the endpoint, for what is asked of all answers.
    answers: list[tuple[Sent, Answer]] = field(default_factory=list)
    #: How many bytes the bodies of these have.
    held: int = 0
    #: The exchanges of the check that runs.
    trace: list[tuple[Sent, Answer | NoAnswer]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    @property
    def eras(self) -> tuple[str, ...]:
        """The eras that the server speaks."""
        return tuple(era for era, spoken in (("modern", self.modern), ("legacy", self.legacy)) if spoken)

    @property
    def initialized_result(self) -> Mapping[str, Any]:
        """The result of the handshake, empty where there is none."""
        return (self.initialized.result if self.initialized is not None else None) or {}

    def send(self, sent: Sent) -> Answer:
        """Send a request, and remember what came.

        Raises:
            NoAnswer: Nothing came.
        """
        try:
            answer = self.wire.send(sent)
        except NoAnswer as error:
            self.trace.append((sent, error))
            raise
        self.trace.append((sent, answer))
        if sent.path == self.path:
            self.held += len(answer.body)
            bare = replace(answer, body=b"", messages=(), has_body=False) if self.held > _MAX_HELD else answer
            self.answers.append((sent, bare))
        session = answer.header("mcp-session-id")
        if session and session not in self.sessions and len(self.sessions) < _MAX_SESSIONS:
            self.sessions.append(session)
        return answer

    def seen(self, opinion: Opinion, about: Answer | None = None) -> Opinion:
        """Write into an opinion what was sent and what came: with that answer, or the last time."""
        exchanges: Sequence[tuple[Sent, Answer | NoAnswer]] = self.trace
        if about is not None:
            exchanges = [pair for pair in self.answers if pair[1] is about]
        if opinion.sent or not exchanges:
            return opinion
        sent, answer = exchanges[-1]
        return replace(opinion, sent=f"{sent.method} {without_query(sent.path)}: {sent.what}", came=describe(answer))

    # Requests

    def post(self, what: str, message: Any, change: Change | None = None, *, path: str | None = None) -> Sent:
        """Make a POST of a message; bytes are sent as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = changed([*_USUAL, ("Content-Length", str(len(body)))], change or {})
        return Sent(what=what, method="POST", path=path or self.path, headers=headers, body=body)

    def modern_message(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Make a request of 2026-07-28; ``version`` and ``id`` may be given."""
        meta = build_meta(version=more.get("version", LATEST_VERSION), capabilities={}, client_info=CLIENT_INFO)
        wire_params = {**(params or {}), "_meta": meta}
        return {
            "jsonrpc": "2.0",
            "id": more.get("id", "server-discover-probe-1"),
            "method": method,
            "params": wire_params,
        }

    def modern_request(
        self, method: str, params: Mapping[str, Any] | None = None, change: Change | None = None, **more: Any
    ) -> Sent:
        """Make the POST of such a request, with the headers that belong to it."""
        message = self.modern_message(method, params, **more)
        own = dict(expected_headers(message))
        what = _named(more.get("what"), f"{method} of {message_version(message)}", change)
        return self.post(what, more.get("body", message), {**own, **(change or {})}, path=more.get("path"))

    def legacy_request(
        self, method: str, params: Mapping[str, Any] | None = None, change: Change | None = None, **more: Any
    ) -> Sent:
        """Make the POST of a request of 2025-11-25, inside the session where there is one."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": more.get("id", 1), "method": method}
        if method == "initialize":
            message["params"] = {
                "protocolVersion": more.get("version", LATEST_LEGACY_VERSION),
                "capabilities": {},
                "clientInfo": CLIENT_INFO,
            }
            own: dict[str, str | None] = {}
        else:
            own = {"MCP-Protocol-Version": LATEST_LEGACY_VERSION, "Mcp-Session-Id": self.session}
        if params is not None:
            message["params"] = dict(params)
        if more.get("notification"):
            del message["id"]
        what = _named(more.get("what"), f"{method} of {more.get('version', LATEST_LEGACY_VERSION)}", change)
        return self.post(what, more.get("body", message), {**own, **(change or {})}, path=more.get("path"))

    def opening(self, era: str, change: Change | None = None, **more: Any) -> Sent:
        """Make the request with which clients of an era begin: it changes nothing."""
        if era == "modern":
            return self.modern_request("server/discover", None, change, **more)
        return self.legacy_request("initialize", None, change, **more)

    def opens(self, era: str, answer: Answer) -> bool:
        """Say whether an answer is a good one to that request."""
        wanted = "supportedVersions" if era == "modern" else "protocolVersion"
        return answer.status == 200 and answer.result is not None and wanted in answer.result


def message_version(message: Mapping[str, Any]) -> str:
    """Give the version that the envelope of a message names."""
    return str(message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"])


def changed(headers: list[tuple[str, str]], change: Change) -> list[tuple[str, str]]:
    """Replace, add or leave out headers."""
    gone = {name.lower() for name in change}
    result = [(name, value) for name, value in headers if name.lower() not in gone]
    for name, value in change.items():
        if value is not None:
            result += [(name, each) for each in ([value] if isinstance(value, str) else value)]
    return result


def _named(given: str | None, usual: str, change: Change | None) -> str:
    if given is not None:
        return given
    parts = [usual]
    for name, value in (change or {}).items():
        if value is None:
            parts.append(f"without {name}")
        else:
            parts += [f"{name}: {each}" for each in ([value] if isinstance(value, str) else value)]
    return ", ".join(parts)


def describe(answer: Answer | NoAnswer) -> str:
    """Say on one line what came."""
    if isinstance(answer, NoAnswer):
        return f"nothing: the server {answer.reason}"
    parts = [f"HTTP {answer.status}"]
    if answer.is_redirect:
        parts.append(f"to {shorten(one_line(without_query(answer.header('location') or 'nowhere')), 100)}")
    if answer.media_type:
        parts.append(one_line(answer.media_type)[:60])
    if answer.error:
        code = answer.error.get("code")
        parts.append(f"error {shorten(one_line(str(code)), 20) if isinstance(code, (int, str)) else 'without a code'}")
        parts.append(f'"{shorten(one_line(answer.error_text), 120)}"')
    elif answer.result is not None:
        parts.append("a result")
    elif answer.body:
        parts.append(f'"{shorten(one_line(answer.body[:400].decode("utf-8", "replace")), 80)}"')
    elif answer.has_body:
        parts.append("no body")
    return ", ".join(parts)
