"""What holds for every message: headers that are its own, total parsing, exact round trips."""

from __future__ import annotations

import base64
import contextlib
import json
from decimal import Decimal, InvalidOperation

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import (
    HeaderMismatchError,
    InvalidParamsError,
    InvalidRequestError,
    MCPError,
    ParseError,
)
from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.protocol.headers import (
    METHOD_HEADER,
    NAME_HEADER,
    VERSION_HEADER,
    check_headers,
    decode_value,
    encode_value,
    expected_headers,
)
from mcp_wsgi.protocol.jsonrpc import Notification, Request, Response, error_response, notification, parse_message
from mcp_wsgi.protocol.jsonrpc import request as build_request
from mcp_wsgi.protocol.meta import (
    PROTOCOL_VERSION,
    Envelope,
    build_meta,
    has_envelope,
    read_envelope,
    read_progress_token,
)
from tests.strategies import (
    Mirrored,
    calls,
    capabilities,
    client_infos,
    envelopes,
    fold,
    json_texts,
    json_values,
    messages,
    modern_requests,
    mutated_headers,
    mutated_messages,
    progress_tokens,
    request_ids,
    same_json,
    texts,
)

# (a) The headers of a message are its own and nobody else's


def check(message, pairs, tool=None, *, sees_lines=True):
    headers, repeated = fold(pairs)
    params = message["params"]
    mirrored = None if tool is None else Mirrored.of(tool)
    repeated = repeated if sees_lines else ()
    version = params["_meta"][PROTOCOL_VERSION]
    check_headers(message["method"], version, params, headers, repeated=repeated, tool=mirrored)


def accepted(message, pairs, tool=None, *, sees_lines=True):
    try:
        check(message, pairs, tool, sees_lines=sees_lines)
    except HeaderMismatchError:
        return False
    return True


@given(modern_requests(st.sampled_from(["2026-07-28", "2025-11-25", "x, y"]) | texts), st.booleans())
def test_the_headers_of_a_request_pass_its_check(message, sees_lines):
    assert accepted(message, expected_headers(message), sees_lines=sees_lines)


@given(calls())
def test_the_headers_of_a_call_pass_its_check(drawn):
    message, tool = drawn
    pairs = expected_headers(message, tool)
    assert accepted(message, pairs, tool)
    assert pairs == expected_headers(message, Mirrored.of(tool))
    assert len({name.lower() for name, _ in pairs}) == len(pairs)
    assert all(value.isascii() and value.isprintable() and value == value.strip() for _, value in pairs)


@given(calls())
def test_padded_and_recased_headers_are_the_same_headers(drawn):
    message, tool = drawn
    pairs = [(name.upper(), f"\t {value} ") for name, value in expected_headers(message, tool)]
    assert accepted(message, pairs, tool)


@given(calls(), st.data())
def test_a_call_without_one_of_its_headers_is_refused(drawn, data):
    message, tool = drawn
    pairs = expected_headers(message, tool)
    del pairs[data.draw(st.integers(0, len(pairs) - 1))]
    assert not accepted(message, pairs, tool)


@given(calls(), st.data())
def test_a_call_with_one_header_line_twice_is_refused(drawn, data):
    message, tool = drawn
    pairs = expected_headers(message, tool)
    pairs.insert(data.draw(st.integers(0, len(pairs))), data.draw(st.sampled_from(pairs)))
    assert not accepted(message, pairs, tool)


_plain = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=5)


@given(_plain, _plain)
def test_a_name_or_an_argument_that_came_in_two_lines_is_refused(first, second):
    """Also where the joined lines happen to be the value: a reader of one line sees another."""
    text = f"{first}, {second}"
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    tool = {"name": text, "inputSchema": schema}
    meta = build_meta(version="2026-07-28", capabilities={})
    message = build_request(1, "tools/call", {"_meta": meta, "name": text, "arguments": {"a": text}})
    *standard, name, param = expected_headers(message, tool)
    assert accepted(message, [*standard, name, param], tool)
    assert not accepted(message, [*standard, name, (param[0], first), (param[0], second)], tool)
    assert not accepted(message, [*standard, (name[0], first), (name[0], second), param], tool)


def meaning(value):
    """Read a header value as the specification has it, independently of the code under test."""
    value = value.strip(" \t")
    if value.startswith("=?base64?") and value.endswith("?=") and len(value) >= len("=?base64??="):
        raw = base64.b64decode(value[9:-2], validate=True)
        assert base64.b64encode(raw).decode() == value[9:-2], "one text has one spelling"
        return raw.decode("utf-8", "surrogatepass")
    return value


def same_number(text, value):
    if type(value) not in (int, float):
        return False
    try:
        return Decimal(text) == Decimal(value)
    except InvalidOperation:
        return False


def argument(message, path):
    value = message["params"].get("arguments")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    integral = isinstance(value, float) and value.is_integer()
    return value if integral or isinstance(value, (str, bool, int)) else None


def lines(pairs, name):
    return [value for key, value in pairs if key.lower() == name.lower()]


@given(calls(), st.data(), st.booleans())
def test_what_is_accepted_is_an_equivalent_spelling(drawn, data, sees_lines):
    """2026-07-28, basic/transports/streamable-http, Server Validation: whatever the mutation was."""
    message, tool = drawn
    pairs = data.draw(mutated_headers(message, tool))
    if not accepted(message, pairs, tool, sees_lines=sees_lines):
        return
    params = message["params"]
    # Exactly one line: a reader of the first, of the last and of the joined lines sees the same.
    assert [value.strip(" \t") for value in lines(pairs, VERSION_HEADER)] == [params["_meta"][PROTOCOL_VERSION]]
    assert [value.strip(" \t") for value in lines(pairs, METHOD_HEADER)] == ["tools/call"]
    if not sees_lines:
        return
    assert [meaning(value) for value in lines(pairs, NAME_HEADER)] == [params["name"]]
    for suffix, path in Mirrored.of(tool).param_headers:
        found, value = lines(pairs, f"Mcp-Param-{suffix}"), argument(message, path)
        if value is None:
            assert found == []
            continue
        assert len(found) == 1
        text = json.dumps(value) if isinstance(value, bool) else value
        assert meaning(found[0]) == text or same_number(meaning(found[0]), value)


@given(modern_requests(), st.data(), st.booleans())
def test_no_accepted_version_or_method_can_be_read_two_ways(message, data, sees_lines):
    pairs = data.draw(mutated_headers(message, at_least=1))
    if accepted(message, pairs, sees_lines=sees_lines):
        assert [line.strip(" \t") for line in lines(pairs, METHOD_HEADER)] == [message["method"]]
        assert [line.strip(" \t") for line in lines(pairs, VERSION_HEADER)] == ["2026-07-28"]


@given(modern_requests(), modern_requests())
def test_headers_of_one_message_fit_another_only_if_they_are_the_same(one, other):
    pairs = expected_headers(one)
    if accepted(other, pairs):
        wanted = expected_headers(other)
        assert pairs[:2] == wanted[:2]
        assert len(wanted) == 2 or pairs == wanted


# (c) Reading is total


def read(data):
    """Read bytes as a door does, down to the envelope: a message, or one of three errors."""
    message = parse_message(decode(data))
    if isinstance(message, Request):
        if has_envelope(message.params):
            read_envelope(message.params)
        else:
            read_progress_token(message.params)
    return message


def read_or_refuse(data):
    try:
        return read(data)
    except (ParseError, InvalidRequestError, InvalidParamsError) as error:
        return error


def check_outcome(data):
    """Read bytes; whatever comes of it is a message, or an error whose answer is one."""
    found = read_or_refuse(data)
    if isinstance(found, MCPError):
        answer = parse_message(decode(encode(error_response(found.request_id, found))))
        assert answer == Response(found.request_id, None, {"code": found.code, "message": found.message})
        assert len(found.message) < 1000
    else:
        assert isinstance(found, (Request, Notification, Response))


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_message_or_an_error(data):
    check_outcome(data)


@given(json_values)
@example([])
@example({})
def test_any_json_is_a_message_or_an_error(value):
    check_outcome(encode(value))


@given(mutated_messages())
def test_any_mutated_message_is_a_message_or_an_error(message):
    check_outcome(encode(message))


@given(messages)
def test_every_valid_message_is_read(message):
    assert isinstance(read(encode(message)), (Request, Notification))


_fragments = st.sampled_from(
    [
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b",",
        b":",
        b"NaN",
        b"1e999",
        b"\\ud800",
        b"\xff",
        b"\xef\xbb\xbf",
        b"0" * 1001,
    ]
)


@given(messages, st.lists(st.tuples(st.integers(0, 600), st.integers(0, 3), _fragments), min_size=1, max_size=4))
def test_any_damaged_body_is_a_message_or_an_error(message, damages):
    body = encode(message)
    for place, length, fragment in damages:
        place = min(place, len(body))
        body = body[:place] + fragment + body[place + length :]
    check_outcome(body)


@given(messages, st.data())
def test_a_repeated_member_is_refused_wherever_it_is(message, data):
    holder = message
    while inner := [value for value in holder.values() if isinstance(value, dict) and value]:
        if data.draw(st.booleans()):
            break
        holder = data.draw(st.sampled_from(inner))
    name = data.draw(st.sampled_from(list(holder)))
    marker = "the repeated member"
    changed = {marker if key == name else key: value for key, value in holder.items()}
    text = encode(message).replace(
        encode(holder), encode({name: 0}).removesuffix(b"}") + b"," + encode(changed).removeprefix(b"{"), 1
    )
    body = text.replace(encode(marker), encode(name), 1)
    with pytest.raises(ParseError):
        decode(body)


# (d) What is written is read back


@given(json_values)
def test_json_is_read_back(value):
    data = encode(value)
    assert same_json(decode(data), value)
    assert data.isascii()
    assert b"\n" not in data
    assert decode(b"\xef\xbb\xbf\r\n" + data + b" \t") == value


@given(json_values)
def test_the_standard_library_reads_the_same(value):
    data = encode(value)
    assert same_json(json.loads(data), decode(data))


@given(texts)
def test_a_header_value_is_read_back(text):
    value = encode_value(text)
    assert decode_value(value) == text
    assert decode_value(f" \t{value}\t") == text
    assert value.isascii()
    assert value == "" or value.isprintable()


@given(texts | st.text(st.sampled_from("=?base64SGVsbG8 \t+/_-"), max_size=24).map(lambda text: f"=?base64?{text}?="))
def test_any_header_value_is_text_or_a_value_error(value):
    try:
        text = decode_value(value)
    except ValueError:
        return
    assert decode_value(encode_value(text)) == text
    assert value.strip(" \t") in (text, encode_value(text)) or value.strip(" \t").startswith("=?base64?")


@given(st.text(min_size=1, max_size=5), st.sampled_from("ABCDwxyz0189+/_-= "), st.integers(0, 40))
def test_a_text_has_one_spelling_in_base64(text, other, place):
    data = base64.b64encode(text.encode()).decode()
    place %= len(data)
    changed = data[:place] + other + data[place + 1 :]
    assert decode_value(f"=?base64?{data}?=") == text
    if changed != data:
        with contextlib.suppress(ValueError):
            assert decode_value(f"=?base64?{changed}?=") != text


@given(request_ids, json_texts.filter(bool), st.none() | st.dictionaries(json_texts, json_values, max_size=3))
def test_messages_are_read_back(request_id, method, params):
    read_back = parse_message(decode(encode(build_request(request_id, method, params))))
    assert same_json(read_back, Request(request_id, method, params or {}))
    read_back = parse_message(decode(encode(notification(method, params))))
    assert same_json(read_back, Notification(method, params or {}))


@given(st.none() | request_ids, st.integers(-(2**31), 2**31), json_texts, json_values)
def test_errors_are_read_back(request_id, code, text, data):
    error = error_response(request_id, MCPError(code, text, data))
    assert same_json(parse_message(decode(encode(error))), Response(request_id, None, error["error"]))


@given(
    st.sampled_from(["2026-07-28", "2030-01-01"]) | json_texts,
    capabilities,
    st.none() | client_infos,
    st.none() | st.sampled_from(["debug", "emergency"]),
    st.none() | progress_tokens,
)
def test_an_envelope_is_read_back(version, declared, info, level, token):
    meta = build_meta(version=version, capabilities=declared, client_info=info, log_level=level, progress_token=token)
    envelope = read_envelope(decode(encode({"_meta": meta})))
    assert envelope == Envelope(version, declared, info, level, token, meta)


@given(envelopes())
def test_every_envelope_makes_its_request_modern(meta):
    assert has_envelope({"_meta": meta})
    assert read_envelope({"_meta": meta}).meta is meta
