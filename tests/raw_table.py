"""Raw requests and what is documented to become of each, on any WSGI server.

A row says what is sent and the answer of this package. Where an HTTP server cannot hand a request over, or refuses it
by itself, the row has an exception for it, with the reason.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_wsgi.protocol.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from tests.apps.admission import BODY_LIMIT, ORIGIN
from tests.raw import chunked, request

__all__ = ["ABSENT", "ROWS", "Answer", "Refused", "Row", "tool_call"]

ABSENT = object()
LEGACY, MODERN = "2025-11-25", "2026-07-28"

GUNICORN = ("gunicorn-sync", "gunicorn-gthread", "gunicorn-gevent")
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The package's own answer: status, JSON-RPC code (None: a result, or no body) and id."""

    status: int
    code: int | None = None
    id: Any = ABSENT
    media_type: str = "application/json"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The HTTP server's own answer: the application never sees the request. Without a status it just closes."""

    statuses: tuple[int, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request. `head` and `body` are framed by the test, with a length and in chunks; `raw` is sent as it is."""

    name: str
    answer: Answer
    method: str = "POST"
    target: str = "/mcp"
    headers: Pairs = ()
    body: bytes = b""
    #: Answered before the body is read, so it does not matter whether the server can read it.
    early: bool = False
    #: The whole request, where its framing is the point.
    raw: bytes | None = None
    in_chunks: bool = False
    #: The client says that nothing more follows: the body is cut short.
    cut: bool = False
    #: Whether it is beyond doubt where this request ends; else what follows may be its body, and is not answered.
    next: bool = True
    #: Other outcomes, by kind of server.
    on: Mapping[str, Answer | Refused] = field(default_factory=dict)

    def bytes(self, framing: str) -> bytes:
        """Give the request in a framing: `length`, `chunked`, or `raw` for rows that have their own."""
        if self.raw is not None:
            return self.raw
        if framing == "chunked":
            half = len(self.body) // 2
            pieces = chunked([self.body[:half], self.body[half:]])
            return request(self.method, self.target, [*self.headers, ("Transfer-Encoding", "chunked")], pieces)
        length = [("Content-Length", str(len(self.body)))] if self.body or self.method == "POST" else []
        return request(self.method, self.target, [*self.headers, *length], self.body)

    def framings(self) -> tuple[str, ...]:
        """Name the framings in which the row is sent."""
        if self.raw is not None:
            return ("raw",)
        return ("length", "chunked") if self.body else ("length",)

    def expected(self, kind: str, framing: str) -> Answer | Refused:
        """Give the outcome on a kind of server."""
        if kind == "wsgiref" and (framing == "chunked" or self.in_chunks) and not self.early:
            # The stdlib server hands over the raw socket: nobody can know where the body ends.
            return Answer(status=411, code=-32600)
        return self.on.get(kind, self.answer)


def on(kinds: Iterable[str], outcome: Answer | Refused) -> dict[str, Answer | Refused]:
    return dict.fromkeys(kinds, outcome)


def strict(*statuses: int) -> dict[str, Answer | Refused]:
    """Say that gunicorn and waitress refuse this themselves: they check what the development servers pass on."""
    return on((*GUNICORN, "waitress"), Refused(statuses=statuses, why="checks the syntax of HTTP itself"))


def closes(*kinds: str, why: str = "waits for the whole body, and closes when the client ends") -> dict[str, Any]:
    return on(kinds, Refused(statuses=(), why=why))


JSON = ("Content-Type", "application/json")
ACCEPT = ("Accept", "application/json, text/event-stream")


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def message(method: str, params: Any = None, request_id: Any = 1) -> dict[str, Any]:
    built = {"jsonrpc": "2.0", "method": method}
    if request_id is not ABSENT:
        built["id"] = request_id
    return built if params is None else {**built, "params": params}


def envelope(version: Any = MODERN, **more: Any) -> dict[str, Any]:
    return {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}, **more}


def legacy_headers(*more: tuple[str, str], version: str | None = LEGACY) -> Pairs:
    return [JSON, ACCEPT, *([("MCP-Protocol-Version", version)] if version else []), *more]


def modern_headers(method: str | None, name: str | None = None, *, version: str | None = MODERN) -> list[Any]:
    pairs = [("MCP-Protocol-Version", version), ("Mcp-Method", method), ("Mcp-Name", name)]
    return [JSON, ACCEPT, *((key, value) for key, value in pairs if value is not None)]


def modern(
    name: str, method: str, params: Mapping[str, Any], answer: Answer, *, headers: Pairs | None = None, **more: Any
) -> Row:
    """Build a row with a complete envelope and, unless given, the headers that belong to it."""
    body = dump(message(method, {"_meta": envelope(), **params}))
    mirrored = params.get("name") or params.get("uri")
    return Row(name=name, answer=answer, headers=headers or modern_headers(method, mirrored), body=body, **more)


def legacy(name: str, body: Any, answer: Answer, *, headers: Pairs | None = None, **more: Any) -> Row:
    data = body if isinstance(body, bytes) else dump(body)
    return Row(name=name, answer=answer, headers=legacy_headers() if headers is None else headers, body=data, **more)


def tool_call(request_id: Any, a: int = 1, b: int = 2) -> bytes:
    """Give a whole good request that anything on the same connection must not disturb."""
    call = message("tools/call", {"name": "add", "arguments": {"a": a, "b": b}, "_meta": envelope()}, request_id)
    body = dump(call)
    headers = [*modern_headers("tools/call", "add"), ("Content-Length", str(len(body)))]
    return request("POST", "/mcp", headers, body)


OK = Answer(status=200, id=1)
ACCEPTED = Answer(status=202, media_type="text/plain; charset=utf-8")
MISMATCH = Answer(status=400, code=-32020, id=1)
NOT_JSON = Answer(status=400, code=-32700)
NO_MESSAGE = Answer(status=400, code=-32600)
BAD_MEDIA = Answer(status=415, code=-32600)
BAD_METHOD = Answer(status=405, code=-32600)
TOO_LARGE = Answer(status=413, code=-32600)
FORBIDDEN = Answer(status=403, code=-32600)
NOT_FOUND = Answer(status=404, code=-32600)
BAD_FRAMING = Answer(status=400, code=-32600)
PREFLIGHT = Answer(status=204, media_type="")

ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}
LIST = message("tools/list")
INITIALIZE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


def sentinel(data: bytes) -> str:
    return f"=?base64?{base64.b64encode(data).decode()}?="


LEGACY_ROWS = [
    legacy("initialize", message("initialize", INITIALIZE), OK),
    legacy("initialize with an unknown version", message("initialize", {**INITIALIZE, "protocolVersion": "2"}), OK),
    legacy(
        "initialize with a version that is no string",
        message("initialize", {**INITIALIZE, "protocolVersion": 5}),
        Answer(status=200, code=-32602, id=1),
    ),
    legacy("a legacy call without version header", message("tools/call", ADD), OK, headers=[JSON, ACCEPT]),
    legacy("no Accept", LIST, OK, headers=[JSON]),
    legacy("Accept is a wildcard", LIST, OK, headers=[JSON, ("Accept", "*/*")]),
    legacy("Accept takes JSON only", LIST, OK, headers=[JSON, ("Accept", "application/json")]),
    legacy(
        "Accept takes events only",
        LIST,
        Answer(status=200, id=1, media_type="text/event-stream"),
        headers=[JSON, ("Accept", "text/event-stream")],
    ),
    legacy("the id is a numeric string", message("tools/list", request_id="001"), Answer(status=200, id="001")),
    legacy("the id is zero", message("tools/list", request_id=0), Answer(status=200, id=0)),
    legacy("the id is empty", message("ping", request_id=""), Answer(status=200, id="")),
    legacy("the id is negative", message("ping", request_id=-5), Answer(status=200, id=-5)),
    legacy("a session id of another life", LIST, OK, headers=legacy_headers(("Mcp-Session-Id", "gone"))),
    legacy("the other spelling of the path", LIST, OK, target="/mcp/"),
    legacy("a query string", LIST, OK, target="/mcp?x=1"),
    legacy("an escaped path", LIST, OK, target="/%6dcp"),
    legacy("a notification", message("notifications/initialized", request_id=ABSENT), ACCEPTED),
    legacy("an unknown notification", message("notifications/nothing", request_id=ABSENT), ACCEPTED),
    legacy("a response", {"jsonrpc": "2.0", "id": 1, "result": {}}, ACCEPTED),
    legacy(
        "a response with a method header",
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        Answer(status=400, code=-32020),
        headers=legacy_headers(("Mcp-Method", "tools/call")),
    ),
    legacy("an unknown method", message("nothing"), Answer(status=200, code=-32601, id=1)),
    legacy("params are an array", message("tools/list", []), Answer(status=200, code=-32602, id=1)),
    legacy(
        "params of a notification are an array",
        message("notifications/initialized", [], ABSENT),
        Answer(status=400, code=-32602),
    ),
    legacy(
        "arguments are an array",
        message("tools/call", {"name": "add", "arguments": []}),
        Answer(status=200, code=-32602, id=1),
    ),
    legacy(
        "a resource that does not exist",
        message("resources/read", {"uri": "test://none"}),
        Answer(status=200, code=-32002, id=1),
    ),
    legacy(
        "a version header that nobody knows",
        LIST,
        Answer(status=400, code=-32602, id=1),
        headers=legacy_headers(version="2030-01-01"),
    ),
    legacy(
        "two legacy version headers",
        LIST,
        Answer(status=400, code=-32602, id=1),
        headers=legacy_headers(("MCP-Protocol-Version", LEGACY)),
    ),
    legacy("a legacy method header that lies", LIST, MISMATCH, headers=legacy_headers(("Mcp-Method", "ping"))),
    legacy("a true legacy method header", LIST, OK, headers=legacy_headers(("Mcp-Method", "tools/list"))),
    legacy(
        "half a character in an argument",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gr\\u00f6\\u00dfe",'
        b'"arguments":{"text":"\\ud800"}}}',
        OK,
    ),
]

MODERN_ROWS = [
    modern("server/discover", "server/discover", {}, OK),
    modern("tools/list", "tools/list", {}, OK),
    modern("tools/call", "tools/call", ADD, OK),
    modern("resources/read", "resources/read", {"uri": "test://text"}, OK),
    modern(
        "a name that needs the sentinel",
        "tools/call",
        {"name": "größe", "arguments": {"text": "x"}},
        OK,
        headers=modern_headers("tools/call", sentinel("größe".encode())),
    ),
    modern("a sentinel without need", "tools/call", ADD, OK, headers=modern_headers("tools/call", sentinel(b"add"))),
    modern(
        "blanks around a header value",
        "tools/list",
        {},
        OK,
        headers=[*modern_headers(None), ("Mcp-Method", "  tools/list \t")],
    ),
    modern("a name header without need", "tools/list", {}, OK, headers=modern_headers("tools/list", "add")),
    modern(
        "a parameter header that no tool declares",
        "tools/call",
        ADD,
        OK,
        headers=[*modern_headers("tools/call", "add"), ("Mcp-Param-Region", "eu")],
    ),
    Row(
        name="a modern notification",
        answer=ACCEPTED,
        headers=modern_headers(None),
        body=dump(message("notifications/cancelled", {"requestId": 1, "_meta": envelope()}, ABSENT)),
    ),
    modern("no version header", "tools/list", {}, MISMATCH, headers=modern_headers("tools/list", version=None)),
    modern("a legacy version header", "tools/list", {}, MISMATCH, headers=modern_headers("tools/list", version=LEGACY)),
    modern("no method header", "tools/list", {}, MISMATCH, headers=modern_headers(None)),
    modern("another method in the header", "tools/call", ADD, MISMATCH, headers=modern_headers("tools/list", "add")),
    modern("no name header", "tools/call", ADD, MISMATCH, headers=modern_headers("tools/call")),
    modern("another name in the header", "tools/call", ADD, MISMATCH, headers=modern_headers("tools/call", "fail")),
    modern(
        "another URI in the header",
        "resources/read",
        {"uri": "test://text"},
        MISMATCH,
        headers=modern_headers("resources/read", "test://other"),
    ),
    modern(
        "a name header in raw UTF-8",
        "tools/call",
        {"name": "größe", "arguments": {"text": "x"}},
        MISMATCH,
        headers=modern_headers("tools/call", "größe".encode().decode("latin-1")),
    ),
    modern(
        "a sentinel that is no Base64",
        "tools/call",
        ADD,
        MISMATCH,
        headers=modern_headers("tools/call", "=?base64?!?="),
    ),
    modern(
        "a sentinel without its padding",
        "tools/call",
        ADD,
        MISMATCH,
        headers=modern_headers("tools/call", "=?base64?YWQ?="),
    ),
    modern(
        "a no-break space after the version",
        "tools/list",
        {},
        MISMATCH,
        headers=modern_headers("tools/list", version=MODERN + "\xa0"),
        # The stdlib strips it with str.strip, so nothing behind it can see it.
        on=on(["wsgiref"], OK),
    ),
    *(
        modern(
            f"the {header} header twice, {how}",
            "tools/list",
            {},
            MISMATCH,
            headers=[*modern_headers("tools/list"), (header, value)],
        )
        for header, how, value in (
            ("MCP-Protocol-Version", "the same", MODERN),
            ("MCP-Protocol-Version", "another", LEGACY),
            ("Mcp-Method", "the same", "tools/list"),
            ("Mcp-Method", "another", "tools/call"),
        )
    ),
    modern(
        "an underscore in a second method header",
        "tools/list",
        {},
        MISMATCH,
        headers=[*modern_headers("tools/list"), ("Mcp_Method", "tools/call")],
        # These three drop names with underscores, as nginx does.
        on=on((*GUNICORN, "waitress", "werkzeug"), OK),
    ),
    Row(
        name="a version that is not served",
        answer=Answer(status=400, code=-32022, id=1),
        headers=modern_headers("tools/list", version="2030-01-01"),
        body=dump(message("tools/list", {"_meta": envelope("2030-01-01")})),
    ),
    Row(
        name="a legacy version in an envelope",
        answer=Answer(status=400, code=-32022, id=1),
        headers=modern_headers("tools/list", version=LEGACY),
        body=dump(message("tools/list", {"_meta": envelope(LEGACY)})),
    ),
    Row(
        name="a notification of a version that is not served",
        answer=Answer(status=400, code=-32022),
        headers=modern_headers(None, version="2030-01-01"),
        body=dump(message("notifications/cancelled", {"_meta": envelope("2030-01-01")}, ABSENT)),
    ),
    Row(
        name="no envelope",
        answer=Answer(status=400, code=-32602, id=1),
        headers=modern_headers("tools/list"),
        body=dump(message("tools/list", {})),
    ),
    Row(
        name="no client capabilities",
        answer=Answer(status=400, code=-32602, id=1),
        headers=modern_headers("tools/list"),
        body=dump(message("tools/list", {"_meta": {PROTOCOL_VERSION: MODERN}})),
    ),
    Row(
        name="a version that is no string",
        answer=Answer(status=400, code=-32602, id=1),
        headers=modern_headers("tools/list"),
        body=dump(message("tools/list", {"_meta": envelope(5)})),
    ),
    modern("an unknown modern method", "nothing", {}, Answer(status=404, code=-32601, id=1)),
    modern("ping as modern", "ping", {}, Answer(status=404, code=-32601, id=1)),
    modern("initialize as modern", "initialize", INITIALIZE, Answer(status=404, code=-32601, id=1)),
    modern("an unknown tool", "tools/call", {"name": "none"}, Answer(status=400, code=-32602, id=1)),
    modern("an unknown resource", "resources/read", {"uri": "test://none"}, Answer(status=400, code=-32602, id=1)),
    Row(
        name="a modern response",
        answer=NO_MESSAGE,
        headers=modern_headers(None),
        body=dump({"jsonrpc": "2.0", "id": 1, "result": {}}),
    ),
]

BODY_ROWS = [
    legacy("a byte order mark", b"\xef\xbb\xbf" + dump(LIST), OK),
    legacy("an empty body", b"", NOT_JSON),
    legacy("a blank body", b" \r\n\t ", NOT_JSON),
    legacy("no JSON", b"hello", NOT_JSON),
    legacy("something behind the message", dump(LIST) + b"{}", NOT_JSON),
    legacy("an id twice", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', NOT_JSON),
    legacy(
        "a key twice, deep down",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"a":2,"b":3}}}',
        NOT_JSON,
    ),
    legacy("NaN", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', NOT_JSON),
    legacy("a number that is infinite", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', NOT_JSON),
    legacy("a number of 5000 digits", b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', NOT_JSON),
    legacy("deep nesting", b"[" * 10_000 + b"]" * 10_000, NOT_JSON),
    legacy("UTF-16", json.dumps(LIST).encode("utf-16"), NOT_JSON),
    legacy("bytes that are not UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', NOT_JSON),
    legacy("an empty batch", b"[]", NO_MESSAGE),
    legacy("a batch", [LIST], NO_MESSAGE),
    legacy("a string", b'"tools/list"', NO_MESSAGE),
    legacy("null", b"null", NO_MESSAGE),
    legacy("the id is null", message("tools/list", request_id=None), NO_MESSAGE),
    legacy("the id is a fraction", message("tools/list", request_id=1.5), NO_MESSAGE),
    legacy("the id is a boolean", message("tools/list", request_id=True), NO_MESSAGE),
    legacy("JSON-RPC 1.0", {**LIST, "jsonrpc": "1.0"}, Answer(status=400, code=-32600, id=1)),
    legacy("no method", {"jsonrpc": "2.0", "id": 1}, Answer(status=400, code=-32600, id=1)),
    legacy("a method that is no string", message("x") | {"method": 5}, Answer(status=400, code=-32600, id=1)),
    legacy("a body over the limit", b" " * (BODY_LIMIT + 1), TOO_LARGE),
    legacy("a body of just the limit", dump(LIST).ljust(BODY_LIMIT), OK),
]

MEDIA_ROWS = [
    legacy("a charset", LIST, OK, headers=[("Content-Type", "Application/JSON; charset=UTF-8")]),
    *(
        legacy(f"the type {kind}", LIST, BAD_MEDIA, headers=[("Content-Type", kind)])
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "text/plain; a=application/json",
            "application/jsonp",
            "application/json; charset=utf-16",
        )
    ),
    legacy("no type", LIST, BAD_MEDIA, headers=[ACCEPT]),
    legacy("a compressed body", LIST, BAD_MEDIA, headers=[JSON, ("Content-Encoding", "gzip")]),
    legacy(
        "two types",
        LIST,
        BAD_MEDIA,
        headers=[JSON, ("Content-Type", "text/plain")],
        # The stdlib takes the first.
        on=on(GUNICORN, Refused(statuses=(400,), why="refuses a second Content-Type")) | on(["wsgiref"], OK),
    ),
]

METHOD_ROWS = [
    *(
        Row(name=f"{method} without a body", method=method, answer=BAD_METHOD, headers=legacy_headers(), early=True)
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "BREW")
    ),
    *(
        Row(
            name=f"{method} with a body",
            method=method,
            answer=BAD_METHOD,
            headers=legacy_headers(),
            body=dump(LIST),
            early=True,
        )
        for method in ("GET", "PUT", "DELETE")
    ),
    Row(name="OPTIONS", method="OPTIONS", answer=PREFLIGHT, early=True),
    Row(
        name="a preflight",
        method="OPTIONS",
        answer=PREFLIGHT,
        headers=[("Origin", ORIGIN), ("Access-Control-Request-Method", "POST")],
        early=True,
    ),
    Row(
        name="a lower-case method",
        method="post",
        answer=BAD_METHOD,
        headers=legacy_headers(),
        early=True,
        on=strict(400),
    ),
    *(
        legacy(f"the Origin {origin}", LIST, FORBIDDEN, headers=legacy_headers(("Origin", origin)), early=True)
        for origin in ("https://evil.example", "null", ORIGIN + ".evil.example", "http://app.example")
    ),
    legacy("an allowed Origin", LIST, OK, headers=legacy_headers(("Origin", ORIGIN))),
    legacy(
        "an allowed Origin twice",
        LIST,
        FORBIDDEN,
        headers=legacy_headers(("Origin", ORIGIN), ("Origin", ORIGIN)),
        early=True,
    ),
    legacy("another path", LIST, NOT_FOUND, target="/other", early=True),
    legacy("a path below the endpoint", LIST, NOT_FOUND, target="/mcp/other", early=True),
    # The other three drop the second slash (in wsgiref the answer to chunks is that of the endpoint, then).
    legacy("two slashes", LIST, OK, target="//mcp", on=on((*GUNICORN, "uwsgi"), NOT_FOUND)),
]


def post(headers: Pairs, body: bytes, *, target: str = "/mcp", version: bytes = b"HTTP/1.1") -> bytes:
    return request("POST", target, headers, body).replace(b"HTTP/1.1", version, 1)


def length_row(name: str, value: str, answer: Answer, *, body: bytes = b"", **more: Any) -> Row:
    raw = post([*legacy_headers(), ("Content-Length", value)], body)
    return Row(name=name, answer=answer, raw=raw, **more)


def chunk_row(name: str, body: bytes, answer: Answer, **more: Any) -> Row:
    raw = post([*legacy_headers(), ("Transfer-Encoding", "chunked")], body)
    return Row(name=name, answer=answer, raw=raw, in_chunks=True, **more)


BODY = dump(LIST)
WAITRESS_CHUNKS = Refused(statuses=(400,), why="decodes the chunks before it calls the application")

FRAMING_ROWS = [
    Row(
        name="HTTP/1.0",
        answer=OK,
        raw=post([*legacy_headers(), ("Content-Length", str(len(BODY)))], BODY, version=b"HTTP/1.0"),
    ),
    Row(
        name="an absolute target",
        answer=OK,
        raw=post([*legacy_headers(), ("Content-Length", str(len(BODY)))], BODY, target="http://test/mcp"),
        # These two take the whole URL for the path.
        on=on(["uwsgi", "wsgiref"], NOT_FOUND),
    ),
    Row(
        name="100-continue",
        answer=OK,
        raw=post([*legacy_headers(), ("Content-Length", str(len(BODY))), ("Expect", "100-continue")], BODY),
    ),
    Row(
        name="neither length nor chunks",
        answer=Answer(status=411, code=-32600),
        raw=post(legacy_headers(), b""),
        # These end the stream of a body by themselves, and it is empty.
        on=on((*GUNICORN, "waitress"), NOT_JSON),
    ),
    length_row("a length that is a word", "abc", BAD_FRAMING, next=False, on=strict(400)),
    length_row("a negative length", "-5", BAD_FRAMING, next=False, on=strict(400)),
    length_row("a length with a sign", "+5", BAD_FRAMING, body=b"12345", next=False, on=strict(400)),
    length_row("a length with an underscore", "1_0", BAD_FRAMING, body=b"1234567890", next=False, on=strict(400)),
    *(
        length_row(
            name, digits, TOO_LARGE, next=False, on=on(["waitress"], Refused(statuses=(413,), why="has a limit too"))
        )
        for name, digits in (("an absurd length", "9" * 15), ("an overlong length", "9" * 40))
    ),
    length_row(
        "a length that promises too much",
        str(len(BODY) + 10),
        BAD_FRAMING,
        body=BODY,
        cut=True,
        on=closes("waitress", "uwsgi"),
    ),
    Row(
        name="two lengths",
        answer=BAD_FRAMING,
        raw=post([*legacy_headers(), ("Content-Length", str(len(BODY))), ("Content-Length", "5")], BODY),
        next=False,
        # werkzeug takes the last, which cuts the message, and the stdlib the first.
        on=strict(400) | {"werkzeug": NOT_JSON, "wsgiref": OK},
    ),
    Row(
        name="a length and chunks",
        answer=BAD_FRAMING,
        raw=post([*legacy_headers(), ("Content-Length", "5"), ("Transfer-Encoding", "chunked")], chunked([BODY])),
        next=False,
        # waitress goes by the chunks, as RFC 9112 allows; uwsgi and wsgiref hand over the first bytes of the chunks.
        on=on(GUNICORN, Refused(statuses=(400,), why="refuses both together"))
        | {"waitress": OK, "uwsgi": NOT_JSON, "wsgiref": NOT_JSON},
    ),
    Row(
        name="another transfer coding",
        answer=Answer(status=411, code=-32600),
        raw=post([*legacy_headers(), ("Transfer-Encoding", "gzip")], b""),
        next=False,
        on=strict(400, 501),
    ),
    # Trailers and extensions are too much for some readers: their error is answered, and the connection ends.
    chunk_row("chunks with a trailer", chunked([BODY], trailers=[b"X-Checksum: 1"]), OK, on={"werkzeug": BAD_FRAMING}),
    chunk_row(
        "a chunk with an extension",
        b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
        OK,
        on=on(["werkzeug", "uwsgi"], BAD_FRAMING),
    ),
    chunk_row("many small chunks", chunked([bytes([byte]) for byte in BODY]), OK),
    chunk_row("chunks over the limit", chunked([b" " * 4096] * 32), TOO_LARGE),
    chunk_row("one chunk over the limit", chunked([b" " * (BODY_LIMIT + 4096)]), TOO_LARGE),
    chunk_row(
        "a chunk size that is no number",
        b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
        BAD_FRAMING,
        next=False,
        # uWSGI takes it for the end of an empty body.
        on=on(["waitress"], WAITRESS_CHUNKS) | {"uwsgi": NOT_JSON},
    ),
    chunk_row(
        "a chunk with a negative size",
        b"-5\r\n" + BODY + b"\r\n0\r\n\r\n",
        BAD_FRAMING,
        next=False,
        on=on(["waitress"], WAITRESS_CHUNKS),
    ),
    chunk_row(
        "a chunk that is too long for its size",
        b"5\r\n" + BODY + b"\r\n0\r\n\r\n",
        BAD_FRAMING,
        next=False,
        on=on(["waitress"], WAITRESS_CHUNKS),
    ),
    chunk_row(
        "chunks without an end", chunked([BODY], last=False), BAD_FRAMING, cut=True, on=closes("waitress", "uwsgi")
    ),
    Row(
        name="a header of 100 kB",
        answer=OK,
        raw=post([*legacy_headers(), ("X-Long", "x" * 100_000), ("Content-Length", str(len(BODY)))], BODY),
        next=False,
        on=on((*GUNICORN, "werkzeug", "wsgiref"), Refused(statuses=(431,), why="limits the length of a header"))
        | closes("uwsgi", why="has a buffer of 4 KiB for all headers, and closes"),
    ),
    Row(
        name="a control character in a header",
        answer=MISMATCH,
        raw=post([*legacy_headers(), ("Mcp-Method", "tools/\x01list"), ("Content-Length", str(len(BODY)))], BODY),
        on=strict(400),
    ),
    Row(
        name="a folded header",
        answer=MISMATCH,
        raw=post([*legacy_headers(), ("Mcp-Method", "ping,\r\n tools/list"), ("Content-Length", str(len(BODY)))], BODY),
        on=on(GUNICORN, Refused(statuses=(400,), why="refuses folded headers")),
    ),
]

ROWS: list[Row] = [*LEGACY_ROWS, *MODERN_ROWS, *BODY_ROWS, *MEDIA_ROWS, *METHOD_ROWS, *FRAMING_ROWS]
