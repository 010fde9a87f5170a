"""A server that is deliberately bad: a good one, with one or several of the faults that servers really had.

    python -m tests.cli.bad_server PORT [FAULT...]

Without faults named it has the worst of them, all at once. A fault changes the request before the good server sees it,
so that a check is not made, or its answer.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from mcp_wsgi import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, HTTPPolicy, Server, public
from mcp_wsgi.wsgi import WSGIApp

__all__ = ["FAULTS", "WORST", "running", "serving"]

good = Server("bad", version="1.0")
POLICY = HTTPPolicy(allowed_hosts=LOOPBACK_HOSTS, allowed_origins=LOOPBACK_ORIGINS)
#: How long what is slow takes at least.
SLOW_SECONDS = 0.1
SESSION = "3f0c2d0e-5d4b-4c53-9b4e-session"


@good.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    raise AssertionError("the doctor calls no tool")


@dataclass(kw_only=True)
class Exchange:
    """A request, and its answer as soon as there is one."""

    environ: dict[str, Any]
    body: bytes
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""
    #: Set when the server is to end.
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def message(self) -> dict[str, Any]:
        """The message of the request, empty where there is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def method(self) -> str:
        """The method of the message."""
        return str(self.message.get("method", ""))

    @property
    def result(self) -> dict[str, Any]:
        """The result of the answer, empty where there is none."""
        found = json.loads(self.answer).get("result") if self.answer[:1] == b"{" else None
        return found if isinstance(found, dict) else {}

    @property
    def is_modern(self) -> bool:
        """Whether the message carries its version."""
        return "io.modelcontextprotocol/protocolVersion" in (self.message.get("params") or {}).get("_meta", {})

    def is_post(self) -> bool:
        """Whether it is a POST."""
        return bool(self.environ["REQUEST_METHOD"] == "POST")

    def say(self, status: int, body: Any = b"", kind: str = "application/json", **headers: str) -> None:
        """Answer so."""
        self.status = status
        self.answer = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}

    def error(self, status: int, code: int) -> None:
        """Answer with an error."""
        error = {"code": code, "message": "No"}
        self.say(status, {"jsonrpc": "2.0", "id": self.message.get("id"), "error": error})

    def change_result(self, **changes: Any) -> None:
        """Change members of the result; ``None`` takes one away."""
        whole = json.loads(self.answer)
        for name, value in changes.items():
            if value is None:
                whole["result"].pop(name, None)
            else:
                whole["result"][name] = value
        self.answer = json.dumps(whole).encode()


Fault = Callable[[Exchange], None]
#: What changes requests, and what changes answers.
BEFORE: dict[str, Fault] = {}
AFTER: dict[str, Fault] = {}


def before(fault: Fault) -> Fault:
    BEFORE[fault.__name__.replace("_", "-")] = fault
    return fault


def after(fault: Fault) -> Fault:
    AFTER[fault.__name__.replace("_", "-")] = fault
    return fault


PAGE = b"<!doctype html><title>Welcome</title>"


# Requests that a good server refuses


@before
def any_origin(ex: Exchange) -> None:
    ex.environ.pop("HTTP_ORIGIN", None)


@before
def any_host(ex: Exchange) -> None:
    ex.environ["HTTP_HOST"] = "localhost"


@before
def any_type(ex: Exchange) -> None:
    ex.environ["CONTENT_TYPE"] = "application/json"


@before
def untyped(ex: Exchange) -> None:
    ex.environ["CONTENT_TYPE"] = ex.environ.get("CONTENT_TYPE") or "application/json"


@before
def headers_unread(ex: Exchange) -> None:
    if ex.is_modern:
        params = ex.message["params"]
        ex.environ["HTTP_MCP_PROTOCOL_VERSION"] = params["_meta"]["io.modelcontextprotocol/protocolVersion"]
        ex.environ["HTTP_MCP_METHOD"] = ex.method
        ex.environ["HTTP_MCP_NAME"] = params.get("name", "")


@before
def first_line_taken(ex: Exchange) -> None:
    version = ex.environ.get("HTTP_MCP_PROTOCOL_VERSION", "")
    first, comma, second = version.partition(",")
    if comma and first == second.strip():
        ex.environ["HTTP_MCP_PROTOCOL_VERSION"] = first


@before
def last_key_taken(ex: Exchange) -> None:
    if ex.message:
        ex.body = json.dumps(ex.message).encode()


@before
def envelope_not_needed(ex: Exchange) -> None:
    if ex.is_post() and ex.environ.get("HTTP_MCP_METHOD") and not (ex.message.get("params") or {}).get("_meta"):
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        ex.body = json.dumps({**ex.message, "params": {"_meta": meta}}).encode()


@before
def chunks_unread(ex: Exchange) -> None:
    if "chunked" in ex.environ.get("HTTP_TRANSFER_ENCODING", ""):
        ex.body = b""


@before
def null_id_is_none(ex: Exchange) -> None:
    if "id" in ex.message and ex.message["id"] is None:
        ex.body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled"}).encode()
        ex.environ.pop("HTTP_MCP_METHOD", None)


@before
def null_id_served(ex: Exchange) -> None:
    if "id" in ex.message and ex.message["id"] is None:
        ex.body = json.dumps({**ex.message, "id": 1}).encode()


# The eras


@after
def no_modern(ex: Exchange) -> None:
    if ex.environ.get("HTTP_MCP_PROTOCOL_VERSION") == "2026-07-28" or ex.is_modern:
        ex.error(400, -32600)


@after
def no_modern_by_200(ex: Exchange) -> None:
    if ex.environ.get("HTTP_MCP_PROTOCOL_VERSION") == "2026-07-28" or ex.is_modern:
        ex.say(200, {})


@after
def no_legacy(ex: Exchange) -> None:
    if ex.is_post() and not ex.is_modern and "HTTP_MCP_METHOD" not in ex.environ:
        error = {"code": -32022, "message": "No", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}}
        ex.say(400, {"jsonrpc": "2.0", "id": ex.message.get("id"), "error": error})


@after
def no_legacy_unsaid(ex: Exchange) -> None:
    if ex.is_post() and not ex.is_modern and "HTTP_MCP_METHOD" not in ex.environ:
        ex.say(400)


@after
def discover_lacks(ex: Exchange) -> None:
    if ex.method == "server/discover" and ex.result:
        ex.change_result(capabilities=None)


@after
def untyped_result(ex: Exchange) -> None:
    if ex.is_modern and ex.result:
        ex.change_result(resultType=None)


@after
def own_version(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.result:
        ex.change_result(protocolVersion="1.0\x1b[31m")


@after
def parrot(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.result:
        ex.change_result(protocolVersion=ex.message["params"]["protocolVersion"])


@after
def exact_version(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.message["params"]["protocolVersion"] == "2030-01-01":
        ex.error(200, -32602)


@after
def no_header_on_initialize(ex: Exchange) -> None:
    if ex.method == "initialize" and "HTTP_MCP_PROTOCOL_VERSION" in ex.environ:
        ex.error(400, -32600)


@after
def any_version_header(ex: Exchange) -> None:
    if ex.environ.get("HTTP_MCP_PROTOCOL_VERSION") == "1999-01-01":
        ex.say(200, {"jsonrpc": "2.0", "id": 1, "result": {}})


@after
def notification_answered(ex: Exchange) -> None:
    if ex.status == 202:
        ex.say(200, {"jsonrpc": "2.0", "id": None, "result": {}})


@after
def notification_204(ex: Exchange) -> None:
    if ex.status == 202:
        ex.say(204)


@after
def notification_refused(ex: Exchange) -> None:
    if ex.status == 202:
        ex.say(400)


@after
def ids_as_text(ex: Exchange) -> None:
    if ex.answer[:1] == b"{" and "id" in (whole := json.loads(ex.answer)):
        ex.answer = json.dumps({**whole, "id": str(whole["id"])}).encode()


@after
def unknown_method_200(ex: Exchange) -> None:
    if ex.method == "mcp-wsgi-doctor/none":
        ex.error(200, -32601)


@after
def unknown_method_404(ex: Exchange) -> None:
    if ex.method == "mcp-wsgi-doctor/none":
        ex.error(404, -32601)


@after
def unknown_method_400(ex: Exchange) -> None:
    if ex.method == "mcp-wsgi-doctor/none":
        ex.error(400, -32601)


@after
def unknown_method_other_code(ex: Exchange) -> None:
    if ex.method == "mcp-wsgi-doctor/none":
        ex.error(200, -32602)


@after
def unknown_method_page(ex: Exchange) -> None:
    if ex.method == "mcp-wsgi-doctor/none":
        ex.say(200, PAGE, "text/html")


@after
def unknown_tool_500(ex: Exchange) -> None:
    if ex.method == "tools/call":
        ex.error(500, -32603)


@after
def unknown_tool_works(ex: Exchange) -> None:
    if ex.method == "tools/call":
        ex.say(200, {"jsonrpc": "2.0", "id": ex.message["id"], "result": {"content": []}})


@after
def unknown_tool_page(ex: Exchange) -> None:
    if ex.method == "tools/call":
        ex.say(500, PAGE, "text/html")


@after
def no_ping(ex: Exchange) -> None:
    if ex.method == "ping":
        ex.error(200, -32601)


@after
def version_unknown_unsaid(ex: Exchange) -> None:
    if b"2099-01-01" in ex.body:
        ex.error(400, -32022)


@after
def version_unknown_other(ex: Exchange) -> None:
    if b"2099-01-01" in ex.body:
        ex.error(400, -32600)


@after
def version_unknown_200(ex: Exchange) -> None:
    if b"2099-01-01" in ex.body:
        ex.status = 200


@after
def mismatch_200(ex: Exchange) -> None:
    if b"-32020" in ex.answer:
        ex.status = 200


@after
def mismatch_other(ex: Exchange) -> None:
    if b"-32020" in ex.answer:
        ex.error(400, -32600)


@after
def mismatch_500(ex: Exchange) -> None:
    if b"-32020" in ex.answer:
        ex.say(500)


@after
def envelope_refused_otherwise(ex: Exchange) -> None:
    if "HTTP_MCP_METHOD" in ex.environ and ex.message.get("method") == "server/discover" and not ex.is_modern:
        ex.say(422)


# HTTP


@after
def get_page(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "GET" and ex.environ["PATH_INFO"] == "/mcp":
        ex.say(200, PAGE, "text/html")


@after
def get_stream(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "GET" and ex.environ["PATH_INFO"] == "/mcp":
        ex.say(200, b": \n\n", "text/event-stream")


@after
def get_login(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "GET" and ex.environ["PATH_INFO"] == "/mcp":
        ex.say(401)


@after
def get_404(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "GET" and ex.environ["PATH_INFO"] == "/mcp":
        ex.say(404)


@after
def get_unallowed(ex: Exchange) -> None:
    ex.headers.pop("Allow", None)


@after
def head_500(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "HEAD":
        ex.say(500)


@after
def head_hangs(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "HEAD":
        ex.over.wait(30)


@after
def slash_redirects(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"] == "/mcp/":
        ex.say(307, Location="/mcp")


@after
def bare_redirects(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"] == "/mcp":
        ex.say(308, Location="http://" + ex.environ["HTTP_HOST"] + "/mcp/?a=1")


@after
def redirects_away(ex: Exchange) -> None:
    ex.say(302, Location="https://elsewhere.invalid/mcp")


@after
def slash_404(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"] == "/mcp/":
        ex.say(404)


@after
def slash_500(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"] == "/mcp/":
        ex.say(500)


@after
def options_login(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "OPTIONS":
        ex.say(401)


@after
def options_for_all(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "OPTIONS":
        ex.say(204, Access_Control_Allow_Origin="*", Access_Control_Allow_Headers="*, Authorization")


@after
def access_for_all(ex: Exchange) -> None:
    ex.headers["Access-Control-Allow-Origin"] = "*"


@after
def options_credentials(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "OPTIONS":
        ex.headers |= {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true"}


@after
def options_few_headers(ex: Exchange) -> None:
    if "Access-Control-Allow-Headers" in ex.headers:
        ex.headers["Access-Control-Allow-Headers"] = "content-type"


@after
def options_no_params(ex: Exchange) -> None:
    if "Access-Control-Allow-Headers" in ex.headers:
        names = ex.headers["Access-Control-Allow-Headers"]
        ex.headers["Access-Control-Allow-Headers"] = names.replace("mcp-param-region", "x")


@after
def no_vary(ex: Exchange) -> None:
    ex.headers.pop("Vary", None)


@after
def post_without_access(ex: Exchange) -> None:
    if ex.is_post():
        ex.headers.pop("Access-Control-Allow-Origin", None)


@after
def nothing_exposed(ex: Exchange) -> None:
    ex.headers.pop("Access-Control-Expose-Headers", None)


@after
def no_pages_allowed(ex: Exchange) -> None:
    ex.headers = {name: value for name, value in ex.headers.items() if not name.startswith("Access-Control-Allow")}


@after
def hostile_origin_400(ex: Exchange) -> None:
    if "hostile" in ex.environ.get("HTTP_ORIGIN", "") and ex.is_post():
        ex.error(400, -32600)


# Bodies


@after
def only_both_accepted(ex: Exchange) -> None:
    accept = ex.environ.get("HTTP_ACCEPT", "")
    if ex.is_post() and not ("application/json" in accept and "text/event-stream" in accept):
        ex.say(406)


@after
def exact_type(ex: Exchange) -> None:
    if ex.is_post() and ex.environ.get("CONTENT_TYPE") != "application/json":
        ex.say(415)


@after
def length_needed(ex: Exchange) -> None:
    if "HTTP_TRANSFER_ENCODING" in ex.environ:
        ex.say(411)


@after
def parse_500(ex: Exchange) -> None:
    if b"-32700" in ex.answer:
        ex.say(500, b"Traceback: no", "text/plain")


@after
def parse_200(ex: Exchange) -> None:
    if b"-32700" in ex.answer:
        ex.status = 200


@after
def parse_silent(ex: Exchange) -> None:
    if b"-32700" in ex.answer:
        ex.say(400)


@after
def parse_accepted(ex: Exchange) -> None:
    if b"-32700" in ex.answer:
        ex.say(202)


@after
def batches(ex: Exchange) -> None:
    if ex.body[:1] == b"[":
        ex.say(200, [{"jsonrpc": "2.0", "id": 1, "result": {}}])


@after
def pages(ex: Exchange) -> None:
    if b"-32700" in ex.answer:
        ex.say(400, PAGE, "text/html")


# Sessions


@after
def sessions(ex: Exchange) -> None:
    session = ex.environ.get("HTTP_MCP_SESSION_ID")
    if ex.method == "initialize" and ex.result:
        ex.headers["Mcp-Session-Id"] = SESSION
    elif ex.is_post() and not ex.is_modern and "HTTP_MCP_METHOD" not in ex.environ:
        if session is None:
            ex.error(400, -32600)
        elif session not in (SESSION, "short", "not visible"):
            ex.error(404, -32600)


@after
def sessions_400(ex: Exchange) -> None:
    sessions(ex)
    if ex.status == 404:
        ex.status = 400


@after
def sessions_any(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.result:
        ex.headers["Mcp-Session-Id"] = SESSION


@after
def sessions_403(ex: Exchange) -> None:
    sessions(ex)
    if ex.status == 400 and "HTTP_MCP_SESSION_ID" not in ex.environ:
        ex.status = 403


@after
def sessions_short(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.result:
        ex.headers["Mcp-Session-Id"] = "short"


@after
def sessions_unprintable(ex: Exchange) -> None:
    if ex.method == "initialize" and ex.result:
        ex.headers["Mcp-Session-Id"] = "not visible"


@after
def session_unexpected(ex: Exchange) -> None:
    if "HTTP_MCP_SESSION_ID" in ex.environ:
        ex.error(400, -32600)


class _Count:
    pings = 0


@after
def unshared_workers(ex: Exchange) -> None:
    if ex.method == "ping":
        _Count.pings += 1
        if _Count.pings % 3 == 0:
            ex.error(404, -32600)


@after
def lost_sessions(ex: Exchange) -> None:
    if ex.method == "ping":
        ex.error(404, -32600)


# Tools


@after
def no_tools(ex: Exchange) -> None:
    if ex.method == "tools/list":
        ex.error(404 if ex.is_modern else 200, -32601)


@after
def empty_tools(ex: Exchange) -> None:
    if ex.method == "tools/list" and ex.result:
        ex.change_result(tools=[])


@after
def tools_fail(ex: Exchange) -> None:
    if ex.method == "tools/list":
        ex.error(500, -32603)


def _tool(**changes: Any) -> Fault:
    def change(ex: Exchange) -> None:
        if ex.method == "tools/list" and ex.result:
            ex.change_result(tools=[{"name": "add", "inputSchema": {"type": "object"}, **changes}])

    return change


def _page(cursor: Any) -> Fault:
    def change(ex: Exchange) -> None:
        if ex.method == "tools/list" and ex.result:
            ex.change_result(nextCursor=cursor)

    return change


AFTER |= {
    "tool-unnamed": _tool(name=""),
    "tool-untyped": _tool(inputSchema={}),
    "tool-odd-name": _tool(name="add numbers"),
    "tool-dotted-name": _tool(name="numbers.add"),
    "tool-union": _tool(inputSchema={"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
    "endless-pages": _page(""),
    "several-pages": _page("2"),
}


# Well-known paths, logins, time


@after
def catch_all(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"].startswith("/.well-known"):
        ex.say(200, PAGE, "text/html")


@after
def well_known_login(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"].startswith("/.well-known"):
        ex.say(401)


@after
def well_known_slow(ex: Exchange) -> None:
    if ex.environ["PATH_INFO"].endswith("/openid-configuration"):
        time.sleep(SLOW_SECONDS)


@after
def login(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "POST":
        ex.say(401, {}, WWW_Authenticate='Bearer resource_metadata="https://x.example/"')


@after
def login_unsaid(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "POST":
        ex.say(401)


@after
def login_bare(ex: Exchange) -> None:
    if ex.environ["REQUEST_METHOD"] == "POST":
        ex.say(401, {}, WWW_Authenticate="Bearer")


def _metadata(make: Callable[[str], dict[str, Any]]) -> Fault:
    def change(ex: Exchange) -> None:
        if ex.environ["PATH_INFO"] == "/.well-known/oauth-protected-resource/mcp":
            ex.say(200, make(f"http://{ex.environ['HTTP_HOST']}/mcp"))

    return change


AFTER |= {
    "metadata": _metadata(lambda url: {"resource": url, "authorization_servers": ["https://login.example"]}),
    "metadata-slash": _metadata(lambda url: {"resource": url + "/", "authorization_servers": ["https://l.example"]}),
    "metadata-inner": _metadata(lambda _: {"resource": "http://inner:80/mcp", "authorization_servers": ["https://l"]}),
    "metadata-empty": _metadata(lambda _: {}),
}


@after
def slow(ex: Exchange) -> None:
    if ex.method == "initialize":
        time.sleep(SLOW_SECONDS)


@after
def limited(ex: Exchange) -> None:
    if ex.method == "ping":
        ex.say(429)


@after
def web_site(ex: Exchange) -> None:
    ex.say(404, PAGE, "text/html")


@after
def nothing(ex: Exchange) -> None:
    ex.say(404)


@after
def old_transport(ex: Exchange) -> None:
    ex.say(405)
    if ex.environ["REQUEST_METHOD"] == "GET":
        ex.say(200, b"event: endpoint\ndata: /messages\n\n", "text/event-stream")


def _stream(**headers: str) -> Fault:
    def change(ex: Exchange) -> None:
        if ex.is_post() and ex.status == 200 and ex.method == "initialize":
            ex.say(200, b"data: " + ex.answer + b"\n\n", "text/event-stream", **headers)
            ex.headers["Transfer-Encoding"] = "none"

    return change


AFTER |= {
    "stream": _stream(Cache_Control="no-store", X_Accel_Buffering="no"),
    "stream-cached": _stream(),
    "stream-buffered": _stream(Cache_Control="no-cache"),
}

FAULTS = (*BEFORE, *AFTER)
#: Bad in as many ways as one server can be.
WORST = (
    *("any-origin", "any-host", "any-type", "headers-unread", "last-key-taken", "chunks-unread", "null-id-is-none"),
    *("untyped-result", "exact-version", "notification-answered", "ids-as-text", "unknown-method-page"),
    *("unknown-tool-works", "version-unknown-other", "get-page", "head-500", "slash-redirects", "options-login"),
    *("only-both-accepted", "parse-500", "batches", "sessions-400", "unshared-workers", "tool-untyped"),
    *("endless-pages", "catch-all"),
)


class Bad:
    """A WSGI application: the good server with faults."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.before = [BEFORE[name] for name in faults if name in BEFORE]
        self.after = [AFTER[name] for name in faults if name in AFTER]
        self.app = WSGIApp(good, auth=public, policy=POLICY)
        self.over = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        """Answer a request."""
        ex = Exchange(environ=environ, body=_body(environ), over=self.over)
        for fault in self.before:
            fault(ex)
        self._answer(ex)
        for fault in self.after:
            fault(ex)
        if ex.headers.pop("Transfer-Encoding", None) is None:
            ex.headers["Content-Length"] = str(len(ex.answer))
        if ex.status == 204:
            ex.headers.pop("Content-Length")
        start_response(f"{ex.status} Status", list(ex.headers.items()))
        # Of one piece the standard library's server says the length itself.
        return [b"" if ex.environ["REQUEST_METHOD"] == "HEAD" else ex.answer, b""]

    def _answer(self, ex: Exchange) -> None:
        ex.environ["wsgi.input"] = io.BytesIO(ex.body)
        ex.environ["CONTENT_LENGTH"] = str(len(ex.body))
        told: list[Any] = []
        ex.environ.pop("HTTP_TRANSFER_ENCODING_SEEN", None)
        chunks = self.app(ex.environ, lambda status, headers, *_: told.extend([status, headers]))
        ex.answer = b"".join(chunks)
        ex.status = int(told[0][:3])
        ex.headers = {name: value for name, value in told[1] if name != "Content-Length"}


def _body(environ: dict[str, Any]) -> bytes:
    stream = environ["wsgi.input"]
    if "chunked" not in environ.get("HTTP_TRANSFER_ENCODING", ""):
        return bytes(stream.read(int(environ.get("CONTENT_LENGTH") or 0)))
    body = b""
    while size := int(stream.readline(), 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Print nothing."""

    def get_environ(self) -> dict[str, Any]:
        """Give what the request says; without a type, none."""
        environ = super().get_environ()
        if self.headers.get("Content-Type") is None:
            environ["CONTENT_TYPE"] = ""
        return environ


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = False

    def server_bind(self) -> None:
        """Look no names up."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.server_address[1]
        self.setup_environ()

    def shutdown_request(self, request: Any) -> None:
        """End a connection without a reset, which would take the answer away from a client whose body nobody read."""
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            request.settimeout(20)
            while request.recv(65536):
                pass
        self.close_request(request)


@contextmanager
def running(*faults: str) -> Iterator[str]:
    """Give the URL of a server with these faults, for as long as the block lasts."""
    bad = Bad(faults)
    with serving(bad) as url:
        try:
            yield url
        finally:
            bad.over.set()


@contextmanager
def serving(application: Any) -> Iterator[str]:
    """Give the URL of an application, for as long as the block lasts."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.set_app(application)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with _Server(("127.0.0.1", int(sys.argv[1])), _Handler) as served:
        served.set_app(Bad(sys.argv[2:] or WORST))
        print(f"http://127.0.0.1:{served.server_port}/mcp", flush=True)
        served.serve_forever()
