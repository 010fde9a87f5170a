"""No accepted request says one thing in its headers and another in its body, to any reader (design, idea 1).

A proxy, a firewall or a log reads the version and method headers in its own way: the first line, the last line, all
lines joined. Whatever is accepted here means the same to all of them. Messages and header lines start out valid and are
mutated, for the endpoint (which sees lines) and for the WSGI door (which sees what a server made of them).
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from mcp_wsgi import Server, public
from mcp_wsgi.http.endpoint import Endpoint
from mcp_wsgi.http.messages import HTTPRequest
from mcp_wsgi.protocol.meta import PROTOCOL_VERSION
from mcp_wsgi.protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_wsgi.wsgi import WSGIApp
from tests.http.support import ABSENT, envelope, message

METHODS = ("tools/list", "tools/call", "resources/read", "ping", "initialize", "notifications/cancelled", "nothing")
VERSIONS = (*LEGACY_VERSIONS, *MODERN_VERSIONS, "2030-01-01")
BLANKS = (" ", "\t", "\xa0", "\x85", "\x0b", "\x0c", "\x1f", "\n", "\r\n ", "\u2003", "\x00", ",", ";", '"', "")
HeaderLines = list[tuple[str, str]]


def make_server() -> Server:
    server = Server("test")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("test://text")
    def text() -> str:
        return "text"

    return server


ENDPOINT = Endpoint(make_server(), auth=public)
APP = WSGIApp(make_server(), auth=public)


# Mutations of something valid


@st.composite
def values(draw: st.DrawFn, choices: tuple[str, ...], right: str) -> str:
    """Give a header value: the right one, another one, or several, with something blank around or between."""
    parts = draw(st.lists(st.just(right) | st.sampled_from(choices), min_size=1, max_size=2))
    blank = st.sampled_from(BLANKS)
    text = draw(blank).join(parts) if len(parts) > 1 else parts[0]
    kind = draw(st.integers(0, 5))
    if kind == 0:
        text = draw(blank) + text + draw(blank)
    elif kind == 1:
        text = draw(st.sampled_from([text.upper(), text.title(), text[:-1], text + "x", ""]))
    return text


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Give a message of either era: a request, a notification or a response, now and then a strange one."""
    params: Any
    method, params = draw(
        st.sampled_from(
            [
                ("tools/list", {}),
                ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
                ("resources/read", {"uri": "test://text"}),
                ("notifications/cancelled", {"requestId": 1}),
                ("ping", ABSENT),
            ]
        )
    )
    if draw(st.integers(0, 4)) == 0:
        method = draw(values(METHODS, method)) or method
    if draw(st.integers(0, 2)):
        version: Any = MODERN_VERSIONS[0]
        if draw(st.integers(0, 4)) == 0:
            version = draw(values(VERSIONS, version) | st.just(5))
        params = {**({} if params is ABSENT else params), "_meta": envelope(version)}
    if draw(st.integers(0, 9)) == 0:
        return {"jsonrpc": "2.0", "id": 1, "result": {}}
    silent = method.startswith("notifications") or draw(st.integers(0, 4)) == 0
    return message(method, params, ABSENT if silent else draw(st.sampled_from([1, "1"])))


@st.composite
def header_lines(draw: st.DrawFn, body: dict[str, Any]) -> HeaderLines:
    """Give the headers of a message, and mutate none, some or all: drop, change, repeat."""
    params = body.get("params") or {}
    method = body.get("method", "tools/list")
    version = params.get("_meta", {}).get(PROTOCOL_VERSION, LEGACY_VERSIONS[-1])
    right = {"mcp-protocol-version": (VERSIONS, str(version)), "mcp-method": (METHODS, method)}
    mutated = draw(st.sampled_from([(), ("mcp-protocol-version",), ("mcp-method",), tuple(right)]))
    lines: HeaderLines = [("content-type", "application/json")]
    for name, (choices, value) in right.items():
        if name in mutated:
            lines += [(name, text) for text in draw(st.lists(st.just(value) | values(choices, value), max_size=3))]
        elif "method" in body or name != "mcp-method":
            lines.append((name, value))
    name = params.get("name") or params.get("uri")
    if name:
        lines.append(("mcp-name", name))
    return draw(st.permutations(lines))


# Readers


def readings(lines: HeaderLines, name: str) -> Iterator[str]:
    """Give everything that a reader may take a header for."""
    copies = [value for key, value in lines if key.replace("_", "-").lower() == name]
    if not copies:
        return
    for text in (copies[0], copies[-1], ",".join(copies), ", ".join(copies)):
        # RFC 9110 strips space and tab; a careless reader strips whatever is blank to it, and splits lists.
        yield text.strip(" \t")
        yield re.sub(r"^[\s\x00-\x20\x7f-\xa0]+|[\s\x00-\x20\x7f-\xa0]+$", "", text)
        yield from (part.strip() for part in text.split(","))


def assert_consistent(body: dict[str, Any], lines: HeaderLines) -> None:
    versions, methods = set(readings(lines, "mcp-protocol-version")), set(readings(lines, "mcp-method"))
    meta = (body.get("params") or {}).get("_meta") or {}
    if "method" not in body:
        assert not methods
        assert versions <= set(LEGACY_VERSIONS)
    elif PROTOCOL_VERSION in meta:
        event("modern")
        assert meta[PROTOCOL_VERSION] in MODERN_VERSIONS
        assert versions <= {meta[PROTOCOL_VERSION]}
        assert methods <= {body["method"]}
        if "id" in body:
            assert versions, "a modern request needs its headers"
            assert methods
    else:
        event("legacy")
        # Only a notification may name a modern version without an envelope: it is dropped.
        assert len(versions) <= 1
        assert versions <= ({*LEGACY_VERSIONS, *MODERN_VERSIONS} if "id" not in body else set(LEGACY_VERSIONS))
        assert methods <= {body["method"]}


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, Any], HeaderLines]:
    body = draw(bodies())
    return body, draw(header_lines(body))


def ask_endpoint(body: dict[str, Any], lines: HeaderLines) -> int:
    data = json.dumps(body).encode()
    return ENDPOINT.handle(HTTPRequest("POST", lines, lambda size: data[:size], content_length=len(data))).status


def ask_wsgi(body: dict[str, Any], lines: HeaderLines, *, separator: str) -> int:
    """Ask through an environ: names in CGI spelling, and lines of one name joined as servers do."""
    data = json.dumps(body).encode()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mcp",
        "SCRIPT_NAME": "",
        "CONTENT_LENGTH": str(len(data)),
        "wsgi.input": io.BytesIO(data),
    }
    for name, value in lines:
        key = name.upper().replace("-", "_")
        key = key if key == "CONTENT_TYPE" else "HTTP_" + key
        environ[key] = environ[key] + separator + value if key in environ else value
    statuses: list[str] = []
    APP(environ, lambda status, headers, exc_info=None: statuses.append(status))  # type: ignore[arg-type,return-value]
    return int(statuses[0].split(" ")[0])


@given(requests())
def test_the_endpoint_accepts_no_header_that_says_something_else(asked: tuple[dict[str, Any], HeaderLines]) -> None:
    body, lines = asked
    status = ask_endpoint(body, lines)
    assert status < 500
    if status < 300:
        event("accepted")
        assert_consistent(body, lines)


@st.composite
def underscored(draw: st.DrawFn, lines: HeaderLines) -> HeaderLines:
    """Write some names with underscores; uWSGI and wsgiref take them for the same header."""
    return [(name.replace("-", "_") if draw(st.integers(0, 4)) == 0 else name, value) for name, value in lines]


@given(
    requests().flatmap(lambda asked: st.tuples(st.just(asked[0]), underscored(asked[1]))), st.sampled_from([",", ", "])
)
def test_the_wsgi_door_accepts_no_header_that_says_something_else(
    asked: tuple[dict[str, Any], HeaderLines], separator: str
) -> None:
    body, lines = asked
    status = ask_wsgi(body, lines, separator=separator)
    assert status < 500
    if status < 300:
        event("accepted")
        assert_consistent(body, lines)


@given(requests(), st.sampled_from([",", ", "]))
def test_both_ways_agree(asked: tuple[dict[str, Any], HeaderLines], separator: str) -> None:
    body, lines = asked
    assert ask_endpoint(body, lines) == ask_wsgi(body, lines, separator=separator)
