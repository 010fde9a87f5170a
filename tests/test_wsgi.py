"""The WSGI door (PEP 3333), every application under wsgiref.validate."""

from __future__ import annotations

import io
import json
import logging
import socket
import sys
import types
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import AuthenticationError, ConfigurationError, Context, HTTPPolicy, public
from mcp_wsgi import wsgi as door
from mcp_wsgi.http.messages import HTTPRequest
from mcp_wsgi.wsgi import WSGIApp, WSGIMiddleware
from tests.http.support import ADD, make_server, message, modern_message
from tests.raw_table import ROWS, Answer, Row

PING = json.dumps(message("ping")).encode()
ORIGIN = "https://app.example"


class Dribble(io.BytesIO):
    """A body that comes a few bytes at a time, as from a socket."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(7, size) if size is not None and size >= 0 else 7)


class Broken(io.BytesIO):
    """A body whose reading fails with an error that only its server knows."""

    def read(self, size: int | None = -1) -> bytes:
        raise LookupError("a chunk is malformed")


def make_environ(body: bytes = PING, *, stream: io.BytesIO | None = None, **more: Any) -> dict[str, Any]:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mcp",
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": stream if stream is not None else io.BytesIO(body),
        **{key.replace("wsgi_", "wsgi."): value for key, value in more.items()},
    }
    for key in [key for key, value in environ.items() if value is None]:
        del environ[key]
    host = environ.get("HTTP_HOST")
    setup_testing_defaults(environ)
    if host is None:
        del environ["HTTP_HOST"]
    return environ


def call(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Call an application under wsgiref's validator, as a server would."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    result = validator(app)(environ, lambda status, headers, exc_info=None: started.append((status, headers)))  # type: ignore[arg-type,return-value]
    body = b"".join(result)
    result.close()  # type: ignore[attr-defined]
    ((status, headers),) = started
    return int(status[:3]), {name.lower(): value for name, value in headers}, body


def status_of(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> int:
    """Call an application with what the validator itself would refuse."""
    statuses: list[str] = []
    list(app(environ, lambda status, headers, exc_info=None: statuses.append(status)))
    return int(statuses[0][:3])


def make_app(**options: Any) -> WSGIApp:
    return WSGIApp(make_server(), **{"auth": public, **options})


def outcome(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> tuple[int, int | None]:
    status, headers, body = call(app, environ)
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == str(len(body))
    return status, json.loads(body).get("error", {}).get("code")


# Where the endpoint is: B07


@pytest.mark.parametrize(
    ("mount", "path", "found"),
    [
        ("", "/mcp", True),
        ("", "/mcp/", True),
        ("/app", "/mcp", True),
        ("/mcp", "", True),
        ("/mcp", "/", True),
        ("", "", False),
        ("", "/", False),
        ("", "/mcp/x", False),
        ("", "/mcp//", False),
        ("", "/MCP", False),
        ("", "//mcp", False),
        ("", "/mcpx", False),
        ("/mcp", "/x", False),
    ],
)
def test_the_endpoint_is_at_its_path_in_both_spellings_and_nowhere_else(mount: str, path: str, found: bool) -> None:
    environ = make_environ(SCRIPT_NAME=mount, PATH_INFO=path)
    assert outcome(make_app(), environ) == ((200, None) if found else (404, -32600))


def test_an_environ_without_a_path_is_at_the_root() -> None:
    environ = make_environ(SCRIPT_NAME="/mcp")
    del environ["PATH_INFO"]
    assert status_of(make_app(), environ) == 200


@pytest.mark.parametrize("path", ["/", "", "/x/"])
def test_the_path_is_configurable(path: str) -> None:
    if not path:
        with pytest.raises(ConfigurationError, match="must begin with"):
            make_app(path=path)
        return
    app = make_app(path=path)
    for spelling in (path, path.rstrip("/") or "/"):
        assert outcome(app, make_environ(PATH_INFO=spelling)) == (200, None)


@pytest.mark.parametrize("path", ["mcp", None, 5])
def test_a_path_begins_with_a_slash(path: Any) -> None:
    with pytest.raises(ConfigurationError, match="must begin with"):
        make_app(path=path)


def test_both_spellings_have_the_same_challenge_and_never_redirect() -> None:
    app = make_app(auth=lambda request: None)
    answers = [call(app, make_environ(PATH_INFO=path, HTTP_X_FORWARDED_PROTO="https")) for path in ("/mcp", "/mcp/")]
    assert answers[0] == answers[1]
    assert answers[0][0] == 401
    assert answers[0][1]["www-authenticate"] == "Bearer"
    assert "location" not in answers[0][1]


def test_auth_is_required() -> None:
    with pytest.raises(ConfigurationError, match="auth= is required"):
        WSGIApp(make_server())


@pytest.mark.parametrize("path", ["/mcp", "/other"])
def test_head_has_no_body(path: str) -> None:
    environ = make_environ(b"", REQUEST_METHOD="HEAD", PATH_INFO=path)
    status, headers, body = call(make_app(), environ)
    assert (status, body) == (405 if path == "/mcp" else 404, b"")
    assert headers["content-type"] == "application/json"


# The body: B18, B20


@pytest.mark.parametrize("stream", [io.BytesIO, Dribble])
@pytest.mark.parametrize("length", [str(len(PING)), None])
def test_a_body_is_read_by_its_length_or_to_an_end_that_the_server_promises(
    stream: type[io.BytesIO], length: str | None
) -> None:
    environ = make_environ(stream=stream(PING), CONTENT_LENGTH=length, wsgi_input_terminated=True)
    assert outcome(make_app(), environ) == (200, None)


@pytest.mark.parametrize("length", [None, ""])
def test_a_body_without_length_or_end_is_411(length: str | None) -> None:
    assert outcome(make_app(), make_environ(CONTENT_LENGTH=length)) == (411, -32600)


@pytest.mark.parametrize("length", ["abc", "-5", "+5", "5_0", "5, 5", "5,5", "5 ", "0x5", "\u0665", "5\n"])
def test_a_length_that_is_no_number_is_400(length: str) -> None:
    environ = make_environ(REQUEST_METHOD="POST", CONTENT_LENGTH="5")
    environ["CONTENT_LENGTH"] = length
    assert status_of(make_app(), environ) == 400


@pytest.mark.parametrize("length", ["4194305", "9" * 18, "9" * 19, "9" * 4000])
def test_a_length_over_the_limit_is_413_and_nothing_is_read(length: str) -> None:
    assert outcome(make_app(), make_environ(stream=Broken(), CONTENT_LENGTH=length)) == (413, -32600)


def test_chunks_over_the_limit_are_413() -> None:
    app = make_app(policy=HTTPPolicy(body_limit=100))
    for stream in (io.BytesIO(b" " * 101), Dribble(b" " * 1000)):
        environ = make_environ(stream=stream, CONTENT_LENGTH=None, wsgi_input_terminated=True)
        assert outcome(app, environ) == (413, -32600)


@pytest.mark.parametrize("length", ["0", str(len(PING) - 1), str(len(PING) + 1)])
def test_a_false_length_is_never_a_message(length: str) -> None:
    status, _ = outcome(make_app(), make_environ(CONTENT_LENGTH=length))
    assert status == 400


@pytest.mark.parametrize(("length", "status"), [(len(PING), 200), (len(PING) - 1, 400), (len(PING) + 1, 400), (0, 400)])
def test_length_and_chunks_together_have_to_agree(length: int, status: int) -> None:
    # Servers that let both through differ in which one they go by.
    environ = make_environ(
        PING, CONTENT_LENGTH=str(length), HTTP_TRANSFER_ENCODING="chunked", wsgi_input_terminated=True
    )
    assert outcome(make_app(), environ)[0] == status


def test_a_gateway_that_has_decoded_the_chunks_may_still_name_them() -> None:
    # nginx does, where it speaks the uwsgi protocol.
    environ = make_environ(HTTP_TRANSFER_ENCODING="chunked", **{"uwsgi.version": b"2.0"})
    assert outcome(make_app(), environ) == (200, None)


def test_the_bytes_of_chunks_are_no_message() -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
    environ = make_environ(chunks, CONTENT_LENGTH=str(len(chunks)), HTTP_TRANSFER_ENCODING="chunked")
    assert outcome(make_app(), environ) == (400, -32700)


@pytest.mark.parametrize("length", [str(len(PING)), None])
def test_a_stream_that_fails_is_a_broken_body(length: str | None) -> None:
    environ = make_environ(stream=Broken(), CONTENT_LENGTH=length, wsgi_input_terminated=True)
    assert outcome(make_app(), environ) == (400, -32600)


# uWSGI


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What uwsgi.chunked_read gives, in the way of the real one (see tests/test_raw_table.py)."""
    left: list[bytes] = []

    def chunked_read() -> bytes:
        if left and left[0] == b"broken":
            raise OSError("unable to receive chunked part")
        return left.pop(0) if left else b""

    module = types.ModuleType("uwsgi")
    module.chunked_read = chunked_read  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    return left


def uwsgi_environ(coding: str = "chunked", **more: Any) -> dict[str, Any]:
    more = {"HTTP_TRANSFER_ENCODING": coding, "CONTENT_LENGTH": None, "uwsgi.version": b"2.0", **more}
    return make_environ(stream=io.BytesIO(), **more)


@pytest.mark.parametrize("pieces", [[PING], [PING[:5], PING[5:]], [bytes([byte]) for byte in PING]])
def test_uwsgi_is_asked_for_the_chunks(chunks: list[bytes], pieces: list[bytes]) -> None:
    chunks.extend(pieces)
    assert outcome(make_app(), uwsgi_environ(" Chunked")) == (200, None)


def test_uwsgi_chunks_count_as_they_are_read(chunks: list[bytes]) -> None:
    chunks.extend([b" " * 60] * 20)
    assert outcome(make_app(policy=HTTPPolicy(body_limit=100)), uwsgi_environ()) == (413, -32600)
    assert len(chunks) == 20 - 2 - 7  # what decides, and then four times the limit


def test_uwsgi_gets_the_body_of_who_is_refused_or_its_router_would_drop_the_answer() -> None:
    def nobody(request: HTTPRequest) -> None:
        return None

    for more, left in (({}, len(PING)), ({"uwsgi.version": b"2.0"}, 0)):
        environ = make_environ(**more)
        assert status_of(make_app(auth=nobody), environ) == 401
        assert len(environ["wsgi.input"].read()) == left


def test_uwsgi_is_asked_for_one_byte_and_what_has_come_of_a_body_that_nobody_wants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(size or 0)
            return super().read(size)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"x" * 30)  # what is read comes from the stream; this is what is said to be there
        module = types.ModuleType("uwsgi")
        module.connection_fd = ours.fileno  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "uwsgi", module)
        environ = make_environ(stream=Stream(b" " * 100), CONTENT_LENGTH="100", **{"uwsgi.version": b"2.0"})
        assert status_of(make_app(auth=lambda request: None), environ) == 401
    assert asked == [1, 30, 1, 30, 1, 30, 1, 6]


def test_chunks_of_who_is_refused_are_left_to_uwsgi(chunks: list[bytes]) -> None:
    chunks.append(PING)
    assert outcome(make_app(auth=lambda request: None), uwsgi_environ()) == (401, -32600)
    assert chunks == [PING]


@pytest.mark.parametrize("pieces", [[b"broken"], [PING[:5], b"broken"]])
def test_uwsgi_chunks_that_break_are_a_broken_body(chunks: list[bytes], pieces: list[bytes]) -> None:
    chunks.extend(pieces)
    assert outcome(make_app(), uwsgi_environ()) == (400, -32600)


@pytest.mark.parametrize("coding", ["gzip", "gzip, chunked", ""])
def test_uwsgi_is_not_asked_for_another_coding(chunks: list[bytes], coding: str) -> None:
    chunks.append(b"broken")
    assert outcome(make_app(), uwsgi_environ(coding)) == (411, -32600)


def test_an_empty_answer_has_a_length_on_uwsgi_only() -> None:
    app = make_app()
    assert "content-length" not in call(app, make_environ(b"", REQUEST_METHOD="OPTIONS"))[1]
    environ = make_environ(b"", REQUEST_METHOD="OPTIONS", **{"uwsgi.version": b"2.0"})
    status, headers, body = call(app, environ)
    assert (status, headers["content-length"], body) == (204, "0", b"")


# Headers


def seen_headers(environ: dict[str, Any]) -> list[tuple[str, str]]:
    seen: list[HTTPRequest] = []

    def who(request: HTTPRequest) -> str:
        seen.append(request)
        return "ann"

    call(make_app(auth=who), environ)
    assert seen[0].raw["PATH_INFO"] == "/mcp"
    assert seen[0].method == "POST"
    return list(seen[0].headers)


def test_headers_are_those_of_the_environ_under_their_http_names() -> None:
    environ = make_environ(HTTP_MCP_METHOD="ping", HTTP_X_EMPTY="", HTTP_HOST="test")
    assert sorted(seen_headers(environ)) == [
        ("content-type", "application/json"),
        ("host", "test"),
        ("mcp-method", "ping"),
        ("x-empty", ""),
    ]


def test_what_nginx_sends_twice_counts_once() -> None:
    # By the uwsgi protocol it hands the type and the length over as CONTENT_* and as HTTP_CONTENT_*.
    environ = make_environ()
    environ |= {"HTTP_CONTENT_TYPE": "application/json", "HTTP_CONTENT_LENGTH": str(len(PING))}
    assert status_of(make_app(), environ) == 200


def test_an_empty_content_type_is_none_and_other_empty_headers_stay() -> None:
    environ = make_environ(CONTENT_TYPE="", HTTP_ORIGIN="")
    assert outcome(make_app(), environ) == (403, -32600)
    assert outcome(make_app(), make_environ(CONTENT_TYPE="")) == (415, -32600)
    assert outcome(make_app(), make_environ(CONTENT_TYPE=None)) == (415, -32600)


def test_headers_are_read_by_name_as_they_are_asked_for() -> None:
    headers = door.make_request(make_environ(HTTP_X_NEW_NAME="1", HTTP_CONTENT_TYPE="text/plain")).folded
    assert headers is not None
    assert headers["x-new-name"] == headers.get("x-new-name") == "1"
    assert headers["content-type"] == "application/json"
    assert len(headers) == len(list(headers)) == len(dict(headers))
    assert "x-other" not in headers
    assert headers.get("x-other", "none") == "none"
    with pytest.raises(KeyError):
        headers["x-other"]


# The environ of any client gets an answer, and only an answer

header_values = st.text(st.characters(max_codepoint=0xFF, exclude_characters="\r\n"), max_size=20)
headers = st.dictionaries(
    st.sampled_from(
        [
            "HTTP_ORIGIN",
            "HTTP_HOST",
            "HTTP_ACCEPT",
            "HTTP_MCP_PROTOCOL_VERSION",
            "HTTP_MCP_METHOD",
            "HTTP_MCP_NAME",
            "HTTP_AUTHORIZATION",
            "HTTP_CONTENT_ENCODING",
            "HTTP_ACCESS_CONTROL_REQUEST_HEADERS",
        ]
    ),
    header_values,
)
methods = st.sampled_from(["POST", "POST", "POST", "GET", "OPTIONS", "PUT", "HEAD", "DELETE"])


@given(
    methods, headers, st.binary(max_size=60) | st.just(PING), st.sampled_from(["application/json", "text/plain", "é"])
)
def test_whatever_comes_is_answered_as_pep_3333_asks(
    method: str, sent: dict[str, str], body: bytes, content_type: str
) -> None:
    app = make_app(policy=HTTPPolicy(allowed_origins=[lambda origin: True], allowed_hosts=["a"]))
    status, answered, data = call(app, make_environ(body, REQUEST_METHOD=method, CONTENT_TYPE=content_type, **sent))
    assert status in {200, 202, 204, 400, 403, 404, 405, 415, 421}
    for name, value in answered.items():
        (name + value).encode("latin-1")
    if method != "HEAD" and status not in (202, 204):
        assert json.loads(data.removeprefix(b"event: message\ndata: "))["jsonrpc"] == "2.0"


# The validator knows no other methods than these.
KNOWN = {"GET", "HEAD", "POST", "OPTIONS", "PATCH", "PUT", "DELETE"}
IN_PROCESS = [row for row in ROWS if row.raw is None and row.method in KNOWN]


@pytest.mark.parametrize("row", IN_PROCESS, ids=lambda row: row.name)
def test_the_rows_of_the_raw_table_hold_without_a_server(row: Row) -> None:
    from tests.apps.admission import application

    environ = make_environ(row.body, REQUEST_METHOD=row.method, PATH_INFO=row.target.split("?")[0].replace("%6d", "m"))
    environ["CONTENT_TYPE"] = ""
    for name, value in row.headers:
        key = name.upper().replace("-", "_")
        key = key if key == "CONTENT_TYPE" else "HTTP_" + key
        value = value.strip(" \t")
        environ[key] = f"{environ[key]},{value}" if environ.get(key) else value
    if row.target == "//mcp":
        environ["PATH_INFO"] = "/mcp"  # the way of the servers that serve it
    expected = row.answer
    assert isinstance(expected, Answer)
    status, answered, _ = call(application, environ)
    assert (status, answered.get("content-type", "")) == (expected.status, expected.media_type)


# Answers


@pytest.mark.parametrize("status", [400, 401, 403, 418, 429, 500, 503])
def test_any_status_of_a_refusal_has_a_status_line(status: int) -> None:
    def refuse(request: HTTPRequest) -> str:
        raise AuthenticationError("no", status=status)

    assert outcome(make_app(auth=refuse), make_environ())[0] == status
    assert door._STATUS_LINES[status] == f"{status} {HTTPStatus(status).phrase}"


def test_a_preflight_over_wsgi() -> None:
    app = make_app(policy=HTTPPolicy(allowed_origins=[ORIGIN]))
    environ = make_environ(
        b"", REQUEST_METHOD="OPTIONS", HTTP_ORIGIN=ORIGIN, HTTP_ACCESS_CONTROL_REQUEST_HEADERS="mcp-param-x"
    )
    status, answered, body = call(app, environ)
    assert (status, body) == (204, b"")
    assert "mcp-param-x" in answered["access-control-allow-headers"]
    assert "content-type" not in answered


def test_a_tool_reaches_its_environ() -> None:
    server = make_server()

    @server.tool
    def where(ctx: Context) -> str:
        return str(ctx.request.raw["REMOTE_ADDR"])

    environ = make_environ(json.dumps(message("tools/call", {"name": "where"})).encode(), REMOTE_ADDR="192.0.2.1")
    assert b"192.0.2.1" in call(WSGIApp(server, auth=public), environ)[2]


# mod_wsgi: B21


@pytest.mark.parametrize(
    ("more", "lines"),
    [({"mod_wsgi.version": (5, 0)}, 1), ({}, 0), ({"mod_wsgi.version": (5, 0), "HTTP_AUTHORIZATION": "x"}, 0)],
)
def test_a_hidden_authorization_header_is_hinted_at_once(
    more: dict[str, Any], lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(auth=lambda request: None)
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        for _ in range(3):
            assert outcome(app, make_environ(**more)) == (401, -32600)
    assert [message for message in caplog.messages if "WSGIPassAuthorization On" in message] == caplog.messages
    assert len(caplog.messages) == lines


# The middleware


def hello(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["PATH_INFO"].encode()]


def make_middleware(**options: Any) -> WSGIMiddleware:
    return WSGIMiddleware(hello, make_server(), **{"auth": public, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/", "/mcpx", "/other", "/a/mcp", "/MCP", ""])
def test_the_application_gets_all_other_paths(path: str) -> None:
    environ = make_environ(b"", REQUEST_METHOD="GET", PATH_INFO=path, SCRIPT_NAME="" if path else "/app")
    assert call(make_middleware(), environ)[::2] == (200, path.encode())


@pytest.mark.parametrize(("path", "status"), [("/mcp", 200), ("/mcp/", 200), ("/mcp/x", 404), ("/mcp//", 404)])
@pytest.mark.parametrize("mount", ["", "/app"])
def test_the_server_gets_its_path_and_what_is_below(path: str, status: int, mount: str) -> None:
    assert outcome(make_middleware(), make_environ(PATH_INFO=path, SCRIPT_NAME=mount))[0] == status


def test_an_environ_without_a_path_is_the_applications() -> None:
    environ = make_environ(SCRIPT_NAME="/app")
    del environ["PATH_INFO"]
    seen: list[dict[str, Any]] = []

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        seen.append(environ)
        start_response("204 No Content", [])
        return []

    assert status_of(WSGIMiddleware(app, make_server(), auth=public), environ) == 204  # type: ignore[arg-type]
    assert len(seen) == 1


def test_the_endpoint_of_a_middleware_is_at_hand() -> None:
    policy = HTTPPolicy(body_limit=5)
    middleware = make_middleware(path="/tools/", policy=policy)
    assert middleware.endpoint.policy is policy
    assert outcome(middleware, make_environ(PATH_INFO="/tools"))[0] == 413


@pytest.mark.parametrize(
    ("options", "problem"), [({"path": "/"}, "root"), ({"path": "x"}, "begin"), ({"auth": None}, "auth=")]
)
def test_a_middleware_is_set_up_rightly_or_not_at_all(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        make_middleware(**options)


def test_a_modern_call_through_the_whole_door() -> None:
    body = json.dumps(modern_message("tools/call", ADD)).encode()
    named = {"HTTP_MCP_PROTOCOL_VERSION": "2026-07-28", "HTTP_MCP_METHOD": "tools/call", "HTTP_MCP_NAME": "add"}
    assert outcome(make_middleware(), make_environ(body, **named)) == (200, None)
