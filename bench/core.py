"""Measure what the package costs inside one process, without sockets.

    python bench/core.py [--repeats 25] [--number CALLS]

The numbers are microseconds for one call, the best of several rounds, with the garbage collector on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from common import measure, print_machine, print_table
from targets import ORIGIN, PATH, bare, body_of, headers_of, legacy, make_server, mcp, modern

from mcp_wsgi import HTTPPolicy, Server, public
from mcp_wsgi.protocol.codec import decode
from mcp_wsgi.wsgi import WSGIApp

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

Functions = dict[str, Callable[[], Any]]

MANY = 1000
SMALL = 10
_CALL = modern("tools/call", name="add", arguments={"a": 2, "b": 3})
_LIST = modern("tools/list")
_RECORDS = [{"id": number, "name": f"record {number}", "tags": ["x", "y"], "score": 0.5} for number in range(1000)]


def environ_of(message: dict[str, Any], body: bytes, *extra: tuple[str, str]) -> dict[str, Any]:
    """Give the environ of a request as Gunicorn makes it, without its body."""
    environ: dict[str, Any] = {
        "wsgi.errors": None,
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": None,
        "wsgi.input_terminated": True,
        "gunicorn.socket": None,
        "REQUEST_METHOD": "POST",
        "QUERY_STRING": "",
        "RAW_URI": PATH,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "gunicorn",
        "HTTP_HOST": "127.0.0.1:8000",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": "50000",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "PATH_INFO": PATH,
        "SCRIPT_NAME": "",
    }
    for name, value in [*headers_of(message), *extra]:
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    return environ


def wsgi_call(
    app: WSGIApplication, message: dict[str, Any], *extra: tuple[str, str], body: bytes | None = None
) -> Callable[[], bytes]:
    """Make a function that sends the message to a WSGI application, from environ to bytes."""
    body = body if body is not None else body_of(message)
    environ = environ_of(message, body, *extra)
    statuses: list[str] = []

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
        statuses[:] = [status]

    def call() -> bytes:
        answer = b"".join(app({**environ, "wsgi.input": BytesIO(body)}, start_response))
        assert statuses[0] == "200 OK", answer
        return answer

    return call


def _bodies() -> dict[str, bytes]:
    return {
        "a tools/call": body_of(_CALL),
        "a tools/call, spaced": json.dumps(_CALL).encode(),
        "1,000 records": json.dumps(_RECORDS, separators=(",", ":")).encode(),
        "1,000 records, spaced": json.dumps(_RECORDS).encode(),
    }


def decode_functions() -> Functions:
    """Strict decoding and the standard library's, of a call and of 1,000 records."""
    functions: Functions = {}
    for name, body in _bodies().items():
        functions[f"json.loads, {name}"] = partial(json.loads, body)
        functions[f"decode, {name}"] = partial(decode, body)
    return functions


def _messages() -> dict[str, dict[str, Any]]:
    pair = {"a": 2, "b": 3}
    return {
        "add(a: int, b: int) -> int, modern": _CALL,
        "add(a: int, b: int) -> int, legacy": legacy("tools/call", name="add", arguments=pair),
        "mapping tool with a JSON Schema, modern": modern("tools/call", name="add_mapping", arguments=pair),
        "resources/read, modern": modern("resources/read", uri="docs://intro"),
    }


def server_functions(small: Server, many: Server) -> Functions:
    """Server.handle_message: from a decoded message to an answer that is not yet encoded."""
    functions: Functions = {
        name: partial(mcp.endpoint.server.handle_message, message) for name, message in _messages().items()
    }
    functions[f"tools/list, {SMALL} tools"] = partial(small.handle_message, _LIST)
    functions[f"tools/list, {MANY:,} tools"] = partial(many.handle_message, _LIST)
    return functions


def wsgi_functions(small: Server, many: Server) -> Functions:
    """The WSGI application: from an environ to the bytes of the answer."""
    functions: Functions = {"bare WSGI app: json, add, json": wsgi_call(bare, _CALL)}
    plain = WSGIApp(mcp.endpoint.server, auth=public, path=PATH)
    for name, message in _messages().items():
        functions[name] = wsgi_call(plain, message)
    spaced = json.dumps(_CALL).encode()
    functions["add(a: int, b: int) -> int, modern, spaced body"] = wsgi_call(plain, _CALL, body=spaced)
    functions["add(a: int, b: int) -> int, modern, allowed Origin"] = wsgi_call(mcp, _CALL, ("Origin", ORIGIN))
    for server, count in ((small, SMALL), (many, MANY)):
        app = WSGIApp(server, auth=public, policy=HTTPPolicy(), path=PATH)
        functions[f"tools/list, {count:,} tools"] = wsgi_call(app, _LIST)
    return functions


def check_same_answer(functions: Functions) -> None:
    """See that the bare application does the same work."""
    expected = functions["bare WSGI app: json, add, json"]()
    got = functions["add(a: int, b: int) -> int, modern"]()
    assert json.loads(got) == json.loads(expected), (got, expected)


def _rows(times: dict[str, float], base: str | None = None) -> list[list[str]]:
    ratios = {name: [f"{time / times[base]:.2f}"] if base else [] for name, time in times.items()}
    return [[name, f"{time:.2f}", *ratios[name]] for name, time in times.items()]


def _ratio(times: dict[str, float], what: str) -> list[str]:
    ratio = times[f"tools/list, {MANY:,} tools"] / times[f"tools/list, {SMALL} tools"]
    return [f"tools/list of {MANY:,} / of {SMALL}, {what}", f"{ratio:.2f}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=25, help="rounds; the best counts")
    parser.add_argument("--number", type=int, help="calls in a round; by default as many as fit into 15 ms")
    options = parser.parse_args()
    small, many = make_server(SMALL), make_server(MANY)
    functions = wsgi_functions(small, many)
    check_same_answer(functions)
    run = partial(measure, repeats=options.repeats, number=options.number)
    print_machine()
    decoding = run(decode_functions())
    rows = [
        [name, f"{json_time:.2f}", f"{time:.2f}", f"{time / json_time:.2f}"]
        for name, json_time, time in (
            (name, decoding[f"json.loads, {name}"], decoding[f"decode, {name}"]) for name in _bodies()
        )
    ]
    print_table("Reading JSON, µs", ["", "json.loads", "strict decode", "ratio"], rows)
    server_times = run(server_functions(small, many))
    print_table("Server.handle_message, µs", ["", "µs"], _rows(server_times))
    wsgi_times = run(functions)
    base = "bare WSGI app: json, add, json"
    print_table("WSGI app, environ to bytes, µs", ["", "µs", "of bare"], _rows(wsgi_times, base))
    ratios = [_ratio(server_times, "handle_message"), _ratio(wsgi_times, "WSGI")]
    print_table("Growth with the number of tools", ["", "ratio"], ratios)


if __name__ == "__main__":
    main()
