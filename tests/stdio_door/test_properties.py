"""Whatever lines come, the server survives them, and answers no request more than once."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wsgi import Context, Server
from mcp_wsgi.exceptions import MCPError
from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.protocol.jsonrpc import Request, parse_message
from mcp_wsgi.stdio import serve_stdio
from tests.strategies import messages, mutated_messages

LAST = {"jsonrpc": "2.0", "id": "the last", "method": "ping"}


def a_server():
    server = Server("test", version="1")

    @server.tool
    def ask(ctx: Context) -> str:
        ctx.report_progress(1)
        return ctx.elicit("Really?", {"type": "object", "properties": {}}).action

    @server.resource("docs://{name}")
    def doc(name: str) -> str:
        return name

    @server.prompt
    def greet(name: str) -> str:
        return name

    return server


named = messages.map(lambda each: each | {"params": {**(each.get("params") or {}), "name": "ask"}})
valid = (messages | named).map(encode)
mutated = mutated_messages(messages | named).map(encode)
cut = st.tuples(valid, st.integers(0, 200)).map(lambda parts: parts[0][: parts[1]])
noise = st.binary(max_size=30)
lines = st.lists(valid | mutated | cut | noise, max_size=12)
ends = st.sampled_from([b"\n", b"\r\n", b"\n\n"])


def serve(data: bytes, **options: Any) -> list[Any]:
    stdout = BytesIO()
    serve_stdio(a_server(), stdin=BytesIO(data), stdout=stdout, **options)
    return [json.loads(line) for line in stdout.getvalue().splitlines()]


def ids_of(data: bytes) -> Counter[str]:
    """Count the ids that an answer may have: those of all lines that have one."""
    ids: Counter[str] = Counter()
    for line in data.split(b"\n"):
        request_id = _id_of(line)
        if request_id is not None:
            ids[repr(request_id)] += 1
    return ids


def _id_of(line: bytes) -> str | int | None:
    try:
        message = parse_message(decode(line))
    except MCPError as error:
        return error.request_id
    return message.id if isinstance(message, Request) else None


@settings(max_examples=150)
@given(lines, ends)
def test_the_server_survives_all_lines_and_answers_each_at_most_once(texts, end):
    data = b"".join(text + end for text in texts)
    out = serve(data + encode(LAST) + b"\n")
    answers = Counter(repr(each["id"]) for each in out if "id" in each and "method" not in each)
    allowed = ids_of(data + encode(LAST))
    assert {key: count for key, count in answers.items() if count > allowed[key]} == {}
    assert answers["'the last'"] >= 1
    nameless = [each for each in out if "id" not in each and "method" not in each]
    assert len(nameless) <= sum(1 for text in data.split(b"\n") if text.strip())


@settings(max_examples=100)
@given(st.lists(valid, max_size=8))
def test_each_valid_request_is_answered_unless_it_is_cancelled_or_listens(texts):
    data = b"".join(text + b"\n" for text in texts)
    values = [json.loads(text) for text in texts]
    out = serve(data)
    answered = {repr(each["id"]) for each in out if "id" in each and "method" not in each}
    cancelled = {repr(each["params"]["requestId"]) for each in values if each["method"] == "notifications/cancelled"}
    asked = {repr(each["id"]) for each in values if "id" in each and repr(each["id"]) not in cancelled}
    long = {repr(each["id"]) for each in values if isinstance(each.get("id"), str) and len(each["id"]) > 1000}
    assert asked - long <= answered


@settings(max_examples=50)
@given(st.binary(max_size=2000), st.integers(1, 300))
def test_no_bytes_end_the_server(data, max_message_size):
    out = serve(data + b"\n" + encode(LAST) + b"\n", max_message_size=max(max_message_size, 60))
    assert any(each.get("id") == "the last" for each in out)


@given(st.lists(valid, max_size=4))
def test_everything_that_is_written_is_one_message_on_one_line(texts):
    for each in serve(b"".join(text + b"\n" for text in texts)):
        assert parse_message(each)
