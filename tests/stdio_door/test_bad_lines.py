"""Lines that are no messages: each gets its error, and the next line is read as if nothing had been."""

from __future__ import annotations

import json

import pytest

from mcp_wsgi import Server
from tests.modern import message
from tests.stdio_door.client import legacy, serving

PING = json.dumps(legacy("p", "ping")).encode()

PARSE, INVALID = -32700, -32600

NOT_JSON = {
    "text": b"hello",
    "a banner with colours": b"\x1b[32mready\x1b[0m",
    "invalid UTF-8": b"\xff\xfe{}",
    "invalid UTF-8 inside": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "UTF-16": PING.decode().encode("utf-16"),
    "NUL bytes": b"\0\0\0",
    "a cut message": PING[:-1],
    "two messages": PING + PING,
    "a repeated key": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
    "a number of 5,000 digits": b'{"x":' + b"1" * 5000 + b"}",
    "deep nesting": b"[" * 100_000,
    "a lone carriage return": PING[:10] + b"\r" + PING[10:] + b"\rx",
    "a BOM alone": b"\xef\xbb\xbf",
}
NO_MESSAGE = {
    "an empty batch": [],
    "a batch": [legacy(1, "ping"), legacy(2, "ping")],
    "a number": 5,
    "a string": "ping",
    "null": None,
    "true": True,
    "an empty object": {},
    "another version": {"jsonrpc": "1.0", "method": "ping"},
    "no version": {"method": "notifications/initialized"},
    "a null id": {"jsonrpc": "2.0", "id": None, "method": "ping"},
    "a fractional id": {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
    "a true id": {"jsonrpc": "2.0", "id": True, "method": "ping"},
    "a long id": {"jsonrpc": "2.0", "id": "x" * 1001, "method": "ping"},
}


def a_server():
    return Server("test", version="1")


@pytest.mark.parametrize("name", NOT_JSON)
def test_what_is_no_json_is_a_parse_error_without_an_id(name):
    """B51: the process goes on, whatever it was."""
    with serving(a_server()) as client:
        client.write(PING + b"\n" + NOT_JSON[name] + b"\n")
        assert client.read()["result"] == {}
        refused = client.read()
        assert (refused["error"]["code"], "id" in refused) == (PARSE, False)
        assert client.is_quiet()


@pytest.mark.parametrize("name", NO_MESSAGE)
def test_what_is_no_message_is_an_invalid_request_without_an_id(name):
    """B49: a batch is one error, and nothing of it is executed."""
    with serving(a_server()) as client:
        client.send(NO_MESSAGE[name])
        refused = client.read()
        assert (refused["error"]["code"], "id" in refused) == (INVALID, False)
        assert client.is_quiet()


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"jsonrpc": "2.0", "id": 3, "method": 5}, INVALID),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, INVALID),
        ({"jsonrpc": "2.0", "id": 3}, INVALID),
        ({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": []}, -32602),
        ({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": []}}, -32602),
        ({"jsonrpc": "2.0", "id": 3, "method": "no/such"}, -32601),
        (message("ping", request_id=3), -32601),
        (message("initialize", request_id=3), -32601),
        (message("logging/setLevel", request_id=3, level="info"), -32601),
        (message("resources/subscribe", request_id=3, uri="a:b"), -32601),
    ],
)
def test_an_id_that_can_be_read_comes_back(bad, code):
    with serving(a_server()) as client:
        client.send(bad)
        refused = client.read()
        assert (refused["id"], refused["error"]["code"]) == (3, code)
        assert client.is_quiet()


@pytest.mark.parametrize(
    "data",
    [
        PING + b"\r\n",
        b"\n\r\n\n" + PING + b"\n",
        b"   \n\t\r\n" + PING + b"\n",
        b"\xef\xbb\xbf" + PING + b"\n",
        b"  " + PING + b"  \n",
    ],
    ids=["CRLF", "empty lines", "blank lines", "a BOM", "spaces"],
)
def test_what_is_around_a_message_does_not_matter(data):
    with serving(a_server()) as client:
        client.write(data)
        assert client.read() == {"jsonrpc": "2.0", "id": "p", "result": {}}
        assert client.is_quiet()


def test_a_message_may_come_in_pieces():
    with serving(a_server()) as client:
        for byte in PING + b"\n":
            client.write(bytes([byte]))
        assert client.read()["id"] == "p"


def test_the_last_message_needs_no_end_of_line():
    with serving(a_server()) as client:
        client.write(PING)
        client.end_input()
        assert [answer["id"] for answer in client.rest()] == ["p"]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(extra):
    request = json.dumps(legacy("long", "ping", text="x" * 65536)).encode()
    with serving(a_server(), max_message_size=len(request) - extra) as client:
        client.write(request + b"\n" + PING + b"\n")
        first = client.read()
        if extra:
            assert first["error"] == {"code": INVALID, "message": f"The line is longer than {len(request) - 1} bytes"}
        assert ("id" in first) is not bool(extra)
        assert client.read()["id"] == "p"


def test_a_line_without_an_end_is_refused_as_soon_as_it_is_too_long():
    """B107: memory stays bounded however much comes."""
    with serving(a_server(), max_message_size=1000) as client:
        client.write(b"x" * 2000)
        assert "longer than 1000 bytes" in client.read()["error"]["message"]
        client.write(b"x" * (8 << 20))
        client.write(b"\n" + PING + b"\n")
        assert client.read()["id"] == "p"
