"""The headers of a message: 2026-07-28, basic/transports/streamable-http, and the tables of SEP-2243."""

from __future__ import annotations

import pytest

from mcp_wsgi.exceptions import HeaderMismatchError
from mcp_wsgi.protocol.headers import check_headers, check_optional, decode_value, encode_value, expected_headers
from mcp_wsgi.protocol.jsonrpc import notification, request
from mcp_wsgi.protocol.meta import build_meta
from mcp_wsgi.protocol.param_headers import ParamHeaderError
from tests.strategies import Mirrored

VERSION = "2026-07-28"
TOOL = {
    "name": "query",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
        },
    },
}
MIRRORED = Mirrored.of(TOOL)


def message(method, **params):
    return request(1, method, {"_meta": build_meta(version=VERSION, capabilities={}), **params})


def call(**arguments):
    return message("tools/call", name="query", arguments=arguments)


def check(sent, headers, *, tool=None, repeated=()):
    """Check headers given by name; the standard ones are right unless they are given, or given as None."""
    right = {"mcp-protocol-version": VERSION, "mcp-method": sent["method"]}
    if "name" in sent["params"]:
        right["mcp-name"] = sent["params"]["name"]
    folded = {name: value for name, value in {**right, **headers}.items() if value is not None}
    check_headers(sent["method"], VERSION, sent["params"], folded, repeated=repeated, tool=tool)


def mismatch(sent, headers, **options):
    with pytest.raises(HeaderMismatchError) as caught:
        check(sent, headers, **options)
    assert caught.value.code == -32020
    return caught.value.message


# What a message's headers are: Request Metadata Headers


def test_every_request_names_its_version_and_method():
    assert expected_headers(message("tools/list", cursor="x", name="ignored")) == [
        ("MCP-Protocol-Version", VERSION),
        ("Mcp-Method", "tools/list"),
    ]


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "my-tool-name"}, "my-tool-name"),
        ("tools/call", {"name": "my_tool_name"}, "my_tool_name"),
        ("prompts/get", {"name": "code_review"}, "code_review"),
        ("resources/read", {"uri": "file:///path/to/file%20name.txt"}, "file:///path/to/file%20name.txt"),
        ("resources/read", {"uri": "https://example.com/resource?id=123"}, "https://example.com/resource?id=123"),
        ("tools/call", {"name": "天気"}, "=?base64?5aSp5rCX?="),
    ],
)
def test_what_has_a_name_names_it(method, params, name):
    """SEP-2243, Special Characters in Values: sent as it is, accepted."""
    sent = message(method, **params)
    assert expected_headers(sent)[2:] == [("Mcp-Name", name)]
    check(sent, {"mcp-name": name})


@pytest.mark.parametrize("params", [{}, {"name": None}, {"name": 5}, {"name": ["x"]}])
def test_a_name_that_is_no_string_has_no_header(params):
    sent = message("tools/call", **params)
    assert len(expected_headers(sent)) == 2
    check(sent, {"mcp-name": None})


@pytest.mark.parametrize("meta", [{}, {"_meta": None}, {"_meta": []}, {"_meta": {}}])
def test_without_an_envelope_there_is_no_version_header(meta):
    assert expected_headers(notification("notifications/x", meta)) == [("Mcp-Method", "notifications/x")]


@pytest.mark.parametrize("params", [{}, {"params": []}, {"params": None}])
def test_a_message_without_params_has_its_method(params):
    assert expected_headers({"method": "x", **params}) == [("Mcp-Method", "x")]


# Which arguments are mirrored: Custom Headers from Tool Parameters


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, [("Mcp-Param-Region", "us-west1")]),
        ({"count": 42}, [("Mcp-Param-Count", "42")]),
        ({"count": -7}, [("Mcp-Param-Count", "-7")]),
        ({"count": 42.0}, [("Mcp-Param-Count", "42")]),
        ({"flag": True}, [("Mcp-Param-Flag", "true")]),
        ({"flag": False}, [("Mcp-Param-Flag", "false")]),
        ({"where": {"zone": "z"}}, [("Mcp-Param-Zone", "z")]),
        ({"region": ""}, [("Mcp-Param-Region", "")]),
        ({"region": None}, []),
        ({}, []),
        ({"where": "text"}, []),
        ({"where": None}, []),
        ({"region": ["x"], "count": 1.5, "flag": {}}, []),
        (
            {"where": {"zone": "z"}, "flag": True, "count": 0, "region": "r"},
            [
                ("Mcp-Param-Region", "r"),
                ("Mcp-Param-Count", "0"),
                ("Mcp-Param-Flag", "true"),
                ("Mcp-Param-Zone", "z"),
            ],
        ),
    ],
)
def test_arguments_are_mirrored_in_schema_order(arguments, headers):
    """SEP-2243, Value Encoding and Null and Missing Values: null and absent arguments have no header."""
    sent = call(**arguments)
    assert expected_headers(sent, TOOL)[3:] == headers
    assert expected_headers(sent, MIRRORED) == expected_headers(sent, TOOL)
    check(sent, {name.lower(): value for name, value in headers}, tool=MIRRORED)


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": []}, {"arguments": "x"}])
def test_without_arguments_nothing_is_mirrored(arguments):
    sent = message("tools/call", name="query", **arguments)
    assert len(expected_headers(sent, TOOL)) == 3
    check(sent, {}, tool=MIRRORED)


@pytest.mark.parametrize("tool", [None, {"name": "query"}, {"name": "query", "inputSchema": None}])
def test_without_a_schema_nothing_is_mirrored(tool):
    assert len(expected_headers(call(region="r"), tool)) == 3


def test_other_methods_mirror_nothing():
    assert len(expected_headers(message("prompts/get", name="p", arguments={"region": "r"}), TOOL)) == 3


def test_a_tool_whose_annotations_break_a_rule_is_refused():
    tool = {"inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}}
    with pytest.raises(ParamHeaderError):
        expected_headers(call(), tool)


# Value Encoding


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        (" us-west1 ", "=?base64?IHVzLXdlc3QxIA==?="),
        ("us west 1", "us west 1"),
        ("日本語", "=?base64?5pel5pys6Kqe?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("a\tb", "=?base64?YQli?="),
        ("\x7f", "=?base64?fw==?="),
        ("", ""),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?x", "=?base64?x"),
        ("=?BASE64?x?=", "=?BASE64?x?="),
        ("a, b", "a, b"),
    ],
)
def test_a_value_is_plain_where_it_can_be_else_in_base64(text, value):
    """SEP-2243, Value Encoding Edge Cases."""
    assert encode_value(text) == value
    assert decode_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=?base64?SGVsbG8=?=", "Hello"),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("=?base64??=", ""),
        ("=?base64?=", "=?base64?="),
        (" \tfoo\t ", "foo"),
        ("\t=?base64?SGVsbG8=?= ", "Hello"),
        ("a\tb", "a\tb"),
    ],
)
def test_a_value_is_decoded(value, text):
    """SEP-2243, Base64 Decoding; padding is trimmed as HTTP has it (RFC 9110, section 5.5)."""
    assert decode_value(value) == text


@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?SGVsbG9=?=",
        "=?base64?SGVs bG8=?=",
        "=?base64?_-8=?=",
        "=?base64?/w==?=",
        "=?base64?a?=",
    ],
    ids=["padding", "characters", "more padding", "not canonical", "space", "URL alphabet", "not UTF-8", "cut"],
)
def test_base64_that_is_not_exact_is_refused(value):
    """SEP-2243, Base64 Decoding: one text has one Base64 spelling."""
    with pytest.raises(ValueError, match="cannot be decoded"):
        decode_value(value)
    assert "the Mcp-Name header is malformed" in mismatch(call(), {"mcp-name": value})


@pytest.mark.parametrize("value", ["é", "\xa0foo", "a\nb", "a\r\n b", "a\0", "\x7f", "日本語", "\ud800"])
def test_what_no_header_value_may_hold_is_refused(value):
    """SEP-2243, Character Restrictions; a server that unfolds nothing hands line breaks through."""
    with pytest.raises(ValueError, match="must not have"):
        decode_value(value)
    assert "the Mcp-Name header is malformed" in mismatch(call(), {"mcp-name": value})


# Server Validation: the standard headers


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_missing_header_is_refused(name):
    """SEP-2243, Header/Body Mismatch, Missing required header; B71"""
    assert "header is missing; the body says" in mismatch(call(), {name: None})


def test_version_and_method_may_be_padded():
    """SEP-2243, Extra whitespace in header."""
    check(call(), {"mcp-protocol-version": f" {VERSION}\t", "mcp-method": "\ttools/call ", "mcp-name": "  query "})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-method", "prompts/get"),
        ("mcp-method", ""),
        ("mcp-method", "\xa0tools/call"),
        ("mcp-method", "tools/call, tools/call"),
        ("mcp-method", "=?base64?dG9vbHMvY2FsbA==?="),
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", f"{VERSION},{VERSION}"),
        ("mcp-protocol-version", f"{VERSION}, 2025-11-25"),
        ("mcp-protocol-version", ""),
        ("mcp-name", "foo"),
        ("mcp-name", "Query"),
        ("mcp-name", "query, query"),
        ("mcp-name", ""),
    ],
)
def test_a_header_that_differs_is_refused(name, value):
    """SEP-2243, Method value case and Header/Body Mismatch; B70, B76, B77"""
    assert "does not match body value" in mismatch(call(), {name: value})


def test_a_mismatch_names_both_values():
    assert mismatch(call(), {"mcp-name": "foo"}) == (
        "Header mismatch: Mcp-Name header value 'foo' does not match body value 'query'"
    )
    long = mismatch(call(), {"mcp-name": "日x" * 5000})
    assert "the Mcp-Name header is malformed" in long
    assert len(mismatch(call(), {"mcp-method": "x\ud800" * 5000})) < 800


def test_base64_where_plain_would_do_is_the_same_value():
    check(call(), {"mcp-name": "=?base64?cXVlcnk=?="})


def test_an_identical_repetition_is_refused():
    """B76: lines of one name are not guessed at, also where their join happens to be the name."""
    sent = message("tools/call", name="a, a")
    check(sent, {"mcp-name": "a, a"})
    assert "is repeated" in mismatch(sent, {"mcp-name": "a, a"}, repeated={"mcp-name"})
    assert "is repeated" in mismatch(call(region="a, a"), {"mcp-param-region": "a, a"}, **PARAM_REPEATED)


PARAM_REPEATED = {"repeated": {"mcp-param-region"}, "tool": MIRRORED}


@pytest.mark.parametrize("headers", [{}, {"mcp-name": "stray"}, {"mcp-param-region": "x"}, {"mcp-name": "é"}])
def test_a_header_that_a_method_does_not_need_is_ignored(headers):
    """B77"""
    check(message("tools/list"), headers, tool=MIRRORED)
    check(message("tools/list"), headers, repeated=set(headers))


# Server Behavior for Custom Headers (B78)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"count": 42}, {"mcp-param-count": "42.0"}),
        ({"count": 42.0}, {"mcp-param-count": "42"}),
        ({"count": 0}, {"mcp-param-count": "-0"}),
        ({"count": 42}, {"mcp-param-count": " 42\t"}),
        ({"flag": True}, {"mcp-param-flag": "true"}),
        ({"region": " padded "}, {"mcp-param-region": "=?base64?IHBhZGRlZCA=?="}),
        ({"region": "us"}, {"mcp-param-region": "=?base64?dXM=?="}),
        ({"region": ""}, {"mcp-param-region": ""}),
        ({"region": ""}, {"mcp-param-region": "=?base64??="}),
        ({"region": "x"}, {"mcp-param-region": "x", "mcp-param-unknown": "y"}),
    ],
)
def test_an_equivalent_spelling_is_accepted(arguments, headers):
    """Servers SHOULD compare integers numerically; a header that no argument asks for is not read."""
    check(call(**arguments), headers, tool=MIRRORED)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"count": 42}, {"mcp-param-count": "42.5"}),
        ({"count": 42}, {"mcp-param-count": "042"}),
        ({"count": 42}, {"mcp-param-count": "4.2e1"}),
        ({"count": 42}, {"mcp-param-count": "+42"}),
        ({"count": 42}, {"mcp-param-count": "42."}),
        ({"count": 42}, {"mcp-param-count": "٤٢"}),
        ({"count": 42}, {"mcp-param-count": "9" * 5000}),
        ({"count": "42"}, {"mcp-param-count": "42.0"}),
        ({"flag": True}, {"mcp-param-flag": "True"}),
        ({"flag": True}, {"mcp-param-flag": "1"}),
        ({"flag": False}, {"mcp-param-flag": "0"}),
        ({"region": "us"}, {"mcp-param-region": "US"}),
        ({"region": " padded "}, {"mcp-param-region": " padded "}),
        ({"region": "us"}, {"mcp-param-region": "us, us"}),
        ({"region": "us"}, {"mcp-param-region": "=?base64?dXM?="}),
        ({"where": {"zone": "a"}}, {"mcp-param-zone": "b"}),
    ],
)
def test_a_different_value_is_refused(arguments, headers):
    assert "Header mismatch: " in mismatch(call(**arguments), headers, tool=MIRRORED)


@pytest.mark.parametrize("arguments", [{"region": "us-west1"}, {"count": 0}, {"flag": False}, {"where": {"zone": ""}}])
def test_a_missing_custom_header_with_a_value_in_the_body_is_refused(arguments):
    """SEP-2243, Missing Custom Header with Value in Body."""
    assert "header is missing" in mismatch(call(**arguments), {}, tool=MIRRORED)


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": ["x"]}, {"count": 1.5}])
@pytest.mark.parametrize("value", ["", "null", "x"])
def test_a_custom_header_without_a_value_in_the_body_is_refused(arguments, value):
    """A "server MUST NOT expect the header" there; one that came says what the body does not."""
    headers = {"mcp-param-region": value, "mcp-param-count": value}
    assert "has no value in the body" in mismatch(call(**arguments), headers, tool=MIRRORED)


def test_a_tool_that_does_not_exist_has_no_custom_headers():
    check(call(region="x"), {"mcp-param-region": "y"}, tool=None)
    check(call(region="x"), {"mcp-param-region": "y"}, tool=Mirrored(()))


# Headers that may be absent


def test_an_optional_header_is_right_or_absent():
    check_optional("Mcp-Method", {}, "x")
    check_optional("Mcp-Method", {"mcp-method": "\tx "}, "x")


@pytest.mark.parametrize(("value", "wanted"), [("y", "x"), ("x, x", "x"), ("X", "x"), ("", "x"), ("a,b", "a,b")])
def test_an_optional_header_that_differs_or_may_be_two_is_refused(value, wanted):
    with pytest.raises(HeaderMismatchError, match="does not match body value"):
        check_optional("Mcp-Method", {"mcp-method": value}, wanted)
